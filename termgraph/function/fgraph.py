"""FunctionGraph: a compiled function's graph as variables and Apply nodes, each variable with its clients.

Built from terms when first looked at; the graph of the user is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from termgraph.compile.capture import capture, describe
from termgraph.tensor.bipartite import Viewer
from termgraph.tensor.graph import applies_between
from termgraph.tensor.trace import frames_of
from termgraph.tensor.variable import Apply, Constant, Variable, bare, variable_class
from termgraph.terms.errors import GraphError
from termgraph.terms.traverse import free_inputs, substitute

Named: TypeAlias = "Mapping[Any, tuple[str | None, tuple[Any, ...]]]"  # term -> the name and the place of a variable


class FunctionGraph:
    """The graph between some inputs and outputs: a copy, so that it may be looked at and changed freely.

    `inputs`, `outputs`, `apply_nodes`, `variables`; every variable has `clients`, a list of `(Apply, i)` and
    `("output", i)`: the places that use it.

    >>> import termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> graph = FunctionGraph([x], [T.exp(x * x)])
    >>> [node.op.name for node in graph.toposort()]
    ['mul', 'exp']
    """

    def __init__(self, inputs: Sequence[Variable] | None = None, outputs: Sequence[Variable] = (), clone: bool = True):
        if inputs is None:
            raise TypeError("FunctionGraph(inputs, outputs): inputs must be a list of variables")
        for what, vs in (("inputs", inputs), ("outputs", outputs)):
            for i, v in enumerate(vs):
                if not isinstance(v, Variable) or (what == "inputs" and isinstance(v, Constant)):
                    raise TypeError(f"FunctionGraph: {what}[{i}] must be a variable (not a Constant), got {v!r:.60}")
        implied = [leaf.shared for leaf in free_inputs([v.term for v in outputs]) if leaf.shared is not None]
        every = [*inputs, *[s for s in implied if not any(s is v for v in inputs)]]
        captured = capture(every, outputs, {})
        self._setup(captured.args, captured.roots, captured.sources.table())  # type: ignore[union-attr]

    @classmethod
    def from_terms(cls, args: Sequence[Any], roots: Sequence[Any], known: Named | None = None) -> FunctionGraph:
        """The graph of terms over `args`; `known` gives a name and a place for some terms."""
        graph = object.__new__(cls)
        graph._setup(list(args), list(roots), known or {})
        return graph

    sources: Any = None

    def _setup(self, args: list[Any], roots: list[Any], known: Named) -> None:
        self._known = dict(known)
        self.args, self.roots = args, roots
        names = {t: name for t, (name, _) in self._known.items() if name}
        sites = {t: site for t, (_, site) in self._known.items()}
        leaves = {a: bare(variable_class(Variable, a.type), a, names.get(a), sites.get(a, ())) for a in args}
        viewer = Viewer(leaves, names, sites)
        self.outputs = viewer.variables(roots)
        self.inputs = [viewer.made[a] for a in args]
        self._nodes = applies_between((), self.outputs)
        self._collect()

    def _collect(self) -> None:
        for v in self.inputs:
            v.clients = []
        for node in self._nodes:
            for v in (*node.inputs, *node.outputs):
                v.clients = []
        for node in self._nodes:
            for i, v in enumerate(node.inputs):
                v.clients.append((node, i))
        self.variables = dict.fromkeys([*self.inputs, *[v for n in self._nodes for v in (*n.inputs, *n.outputs)]])
        for i, v in enumerate(self.outputs):
            if v not in self.variables:
                v.clients = []
                self.variables[v] = None
            v.clients.append(("output", i))
        self.variables = set(self.variables)  # type: ignore[assignment]

    @property
    def apply_nodes(self) -> set[Apply]:
        """All applications of the graph."""
        return set(self._nodes)

    @property
    def clients(self) -> dict[Variable, list[Any]]:
        """The clients of every variable, as a dictionary."""
        return {v: v.clients for v in self.variables}

    def toposort(self) -> list[Apply]:
        """The applications, each after those it needs."""
        return list(self._nodes)

    def replace(self, old: Variable, new: Variable, reason: str | None = None) -> None:
        """Use `new` wherever `old` is used. Both belong to this graph, or `new` is built on its variables."""
        if old not in self.variables:
            raise GraphError(f"{describe(old)} is not a variable of this graph")
        if not old.type.accepts(new.type):
            raise TypeError(
                f"replacing {describe(old)} of type {old.type} by {describe(new)} of type {new.type}{_why(reason)}"
            )
        roots = substitute(self.roots, {old.term: new.term})
        self._setup(self.args, roots, self._known)

    def clone(self) -> FunctionGraph:
        """An independent copy."""
        return FunctionGraph.from_terms(self.args, self.roots, self._known)

    def __reduce__(self) -> tuple[Any, ...]:
        known = {t: (name, tuple(frames_of(site))) for t, (name, site) in self._known.items()}
        return (FunctionGraph.from_terms, (self.args, self.roots, known))

    def __repr__(self) -> str:
        return f"FunctionGraph({', '.join(describe(v) for v in self.outputs)})"


def _why(reason: str | None) -> str:
    return f" ({reason})" if reason else ""
