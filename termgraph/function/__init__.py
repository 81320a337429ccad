"""Compiling: `function()`, its inputs and outputs, modes, and the pipeline from a graph to a callable.

`termgraph` exports the public names.
"""

from termgraph.function import saving, strided_variants  # noqa: F401  they enter themselves in Function
from termgraph.function.api import evaluate, function, rebuild_collect_shared
from termgraph.function.compiled import Function
from termgraph.function.fgraph import FunctionGraph
from termgraph.function.inout import In, Out
from termgraph.function.maker import FunctionMaker
from termgraph.function.mode import Mode, get_mode, register_mode
from termgraph.function.opfromgraph import OpFromGraph
from termgraph.tensor.variable import Variable as _Variable

_Variable.eval = evaluate  # type: ignore[attr-defined]

__all__ = [
    "Function", "FunctionGraph", "FunctionMaker", "In", "Mode", "OpFromGraph", "Out", "evaluate", "function",
    "get_mode", "rebuild_collect_shared", "register_mode",
]  # fmt: skip
