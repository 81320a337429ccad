"""The subcommand `termgraph stages`: what each stage of compiling made of an expression or of a saved function."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from termgraph.config import config
from termgraph.db.rules_cli import expression
from termgraph.function.api import function
from termgraph.function.files import load
from termgraph.tensor.graph import graph_inputs
from termgraph.tensor.variable import Constant

SUCCESS = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of `termgraph stages`."""
    parser.add_argument(
        "what", help='an expression such as "log(1 + exp(x))", in which unknown names are vectors, or a file of tg.save'
    )
    parser.add_argument("stage", nargs="*", help="stages whose values are printed, such as schedule; default: a table")
    parser.add_argument("--type", action="append", default=[], metavar="NAME=TYPE", help="such as x=fmatrix")
    parser.add_argument("--mode", default="FAST_RUN", help="how an expression is compiled")
    parser.add_argument("--json", action="store_true", help="the table, or the values as text, as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do what the parsed arguments ask for; the return value is the exit status."""
    f = _compiled(arguments.what, arguments.type, arguments.mode)
    if arguments.stage:
        values = {name: str(f.stage(name)) for name in arguments.stage}
        shown = "\n".join(f"== {name}\n{text}" for name, text in values.items())
        text = json.dumps(values) if arguments.json else shown
    else:
        text = json.dumps([row._asdict() for row in f.stages]) if arguments.json else str(f.stages)
    sys.stdout.write(text.rstrip("\n") + "\n")
    return SUCCESS


def _compiled(what: str, typed: list[str], mode: str) -> Any:
    if Path(what).is_file():
        f = load(what)
        if not hasattr(f, "stages"):
            raise ValueError(f"{what} holds no function but {type(f).__name__}; save what tg.function gives")
        return f
    outputs = expression(what, typed)
    roots = outputs if isinstance(outputs, list) else [outputs]
    inputs = [v for v in graph_inputs(roots) if not isinstance(v, Constant) and not hasattr(v, "get_value")]
    with config.change_flags({"cache.programs": False}):  # every stage runs, so that there is something to show
        return function(inputs, outputs, mode=mode)
