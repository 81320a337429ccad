"""The linker and the modes: what PyTensor needs to run a function on termgraph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pytensor.compile.mode import Mode, optdb, predefined_linkers, predefined_modes, register_linker, register_mode
from pytensor.configdefaults import config
from pytensor.graph.rewriting.basic import GraphRewriter
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.link.basic import JITLinker

import termgraph as tg
from termgraph.pytensor.conversion import Conversion, variable_for

if TYPE_CHECKING:
    from pytensor.graph.fg import FunctionGraph


try:
    from pytensor.compile.rewriting import rewrite_ofg_inner_graph
    from pytensor.scan.rewriting.inner_graph import rewrite_scan_inner_graph

    _INNER_GRAPHS: tuple = (rewrite_ofg_inner_graph, rewrite_scan_inner_graph)
except ImportError:  # before 3.x
    _INNER_GRAPHS = ()

# What PyTensor must not do first: writing in place, and fusing what termgraph fuses.
_LEFT_OUT = (
    "cxx_only", "BlasOpt", "fusion", "inplace", "random_make_inplace", "local_careduce_fusion", "py_only",
    "scan_save_mem_prealloc", "scan_reduce_trace_prealloc", "inplace_elemwise", "scan_make_inplace",
)  # fmt: skip


class TermgraphLinker(JITLinker):
    """Converts the whole graph of a function and compiles it by termgraph.

    `mode` is termgraph's, such as "FAST_COMPILE" or "STRICT"; with `strict` an op without counterpart is an error
    instead of a call of PyTensor's own code.
    """

    required_rewrites = ("minimum_compile",)
    incompatible_rewrites = _LEFT_OUT

    def __init__(self, mode: Any = "FAST_RUN", strict: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.mode, self.strict = mode, strict

    def _again(self, allow_gc: bool | None) -> TermgraphLinker:
        given = {} if allow_gc is None else {"allow_gc": allow_gc}
        return type(self)(self.mode, self.strict, **given)

    def accept(self, fgraph: FunctionGraph, no_recycling: list | None = None, profile: object = None) -> Any:
        """The linker for this graph: another one, with the same options, if this one has a graph already."""
        if self.fgraph is not None and self.fgraph is not fgraph:
            return self._again(self.allow_gc).accept(fgraph, no_recycling, profile)
        return super().accept(fgraph, no_recycling, profile)

    def clone(self, allow_gc: bool | None = None) -> Any:
        """A linker without a graph that has the same options."""
        return self._again(self.allow_gc if allow_gc is None else allow_gc)

    def fgraph_convert(self, fgraph: FunctionGraph, order: Sequence | None = None, **_: object) -> tuple[list, list]:
        """The graph as termgraph's inputs and outputs."""
        self.conversion = Conversion(self.strict, getattr(fgraph, "termgraph_checks", "errors"))
        inputs = [variable_for(v.type, v.name) for v in fgraph.inputs]
        nodes = fgraph.toposort() if order is None else order
        return inputs, self.conversion.graph(nodes, fgraph.outputs, dict(zip(fgraph.inputs, inputs)))

    def jit_compile(self, converted: tuple[list, list]) -> Callable[..., Sequence]:
        """The compiled function, which returns one value for each output."""
        inputs, outputs = converted
        return tg.function(inputs, outputs, mode=self.mode, on_unused_input="ignore", trust_input=True)

    def create_thunk_inputs(self, storage_map: dict) -> list:
        """Where PyTensor puts the values of the inputs."""
        return [storage_map[v] for v in self.fgraph.inputs]

    def __repr__(self) -> str:
        return f"TermgraphLinker(mode={self.mode!r}, strict={self.strict})"


# ---------------------------------------------------------------------- inner graphs
def _leave_inner_graphs_alone() -> None:
    """From 3.x on a linker says how the graphs inside Scan and OpFromGraph are rewritten: termgraph does it itself."""
    for hook in _INNER_GRAPHS:
        hook.register(TermgraphLinker, lambda linker, op, node, inner, *, mode: None)


# ---------------------------------------------------------------------- PyMC's checks of parameters
class TellWhatChecksBecome(GraphRewriter):
    """Rewrites nothing: notes on the graph what PyMC wants its checks of parameters to be, for the conversion."""

    def __init__(self, checks: str) -> None:
        super().__init__()
        self.checks = checks

    def apply(self, fgraph: FunctionGraph) -> None:
        """The note; a pass of PyTensor over the graph would take half as long as the conversion."""
        fgraph.termgraph_checks = self.checks


# PyMC names the first or the second in every query. Its own stand inside `canonicalize`, which is not run here.
_CHECKS = {"local_check_parameter_to_ninf_switch": "minus infinity", "local_remove_check_parameter": "none"}


# ---------------------------------------------------------------------- names
MODES = {"TERMGRAPH": "minimum_compile", "TERMGRAPH_FAST_RUN": "fast_run"}


def install() -> None:
    """Make the modes known to PyTensor. Importing `termgraph.pytensor` does it; calling it again does nothing."""
    if "termgraph" in predefined_linkers:
        return
    _leave_inner_graphs_alone()
    for tag, checks in _CHECKS.items():
        optdb.register(f"termgraph_{tag}", TellWhatChecksBecome(checks), tag, position=0.01)
    register_linker("termgraph", TermgraphLinker())
    for name, tag in MODES.items():
        if name not in predefined_modes:
            register_mode(name, Mode(TermgraphLinker(), RewriteDatabaseQuery(include=[tag])))
    _let_the_flag_name_them()


def _let_the_flag_name_them() -> None:
    """`pytensor.config.mode = "TERMGRAPH"`: the flag takes a closed list of names, and instances of Mode."""
    flag = config._config_var_dict.get("mode")
    accept = getattr(flag, "_apply", None)
    if accept is not None:
        flag._apply = lambda value: value if value in tuple(MODES) else accept(value)
