"""The subcommand `termgraph viz`: draw an expression, or what a file saved by `tg.save` holds.

`add_arguments` and `run` are called by the command line's registry.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from termgraph.db.rules_cli import expression
from termgraph.function.api import function
from termgraph.function.files import load
from termgraph.tensor.graph import graph_inputs
from termgraph.tensor.variable import Constant, Variable
from termgraph.viz.picture import STYLES, pydotprint
from termgraph.viz.timeline import timeline

SUCCESS = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of `termgraph viz`."""
    parser.add_argument(
        "what", help='an expression such as "log(1 + exp(x))", in which unknown names are vectors, or a file of tg.save'
    )
    parser.add_argument("outfile", nargs="?", help="default: graph.html; .svg and .dot, or what Graphviz makes")
    parser.add_argument("--type", action="append", default=[], metavar="NAME=TYPE", help="such as x=fmatrix")
    parser.add_argument("--compiled", action="store_true", help="what is left of the expression after rewriting")
    parser.add_argument("--timeline", action="store_true", help="the rewrites in order, with counts by rule")
    parser.add_argument(
        "--style", choices=STYLES, default="graph", help="structure: variables, applications, ops, types"
    )
    parser.add_argument("--json", action="store_true", help="print the name of the file as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do what the parsed arguments ask for; the return value is the exit status."""
    graph = _graph(arguments.what, arguments.type)
    if (arguments.compiled or arguments.timeline) and not hasattr(graph, "maker"):
        graph = _compiled(graph)
    outfile = Path(arguments.outfile or ("rewrites.html" if arguments.timeline else "graph.html"))
    if arguments.timeline:
        path = timeline(graph, outfile)
    else:
        path = pydotprint(graph, outfile, var_with_name_simple=True, style=arguments.style, say=False)
    sys.stdout.write((json.dumps({"file": str(path)}) if arguments.json else f"wrote {path}") + "\n")
    return SUCCESS


def _graph(what: str, typed: list[str]) -> Any:
    if Path(what).is_file():
        return load(what)
    return expression(what, typed)


def _compiled(graph: Any) -> Any:
    outputs = graph if isinstance(graph, (list, tuple)) else [graph]
    if not all(isinstance(v, Variable) for v in outputs):
        raise ValueError("nothing to rewrite: the expression is no variable")
    inputs = [v for v in graph_inputs(outputs) if not isinstance(v, Constant) and not hasattr(v, "get_value")]
    return function(inputs, graph, mode="FAST_RUN")
