"""From terms back to variables: the bipartite view of a graph that exists only as terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from termgraph.tensor.variable import Apply, Constant, TensorConstant, Variable, bare, bare_apply, variable_class
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import nth
from termgraph.terms.term import AnyTerm, Term, mk1
from termgraph.terms.traverse import children_first, users_first
from termgraph.terms.types import TensorType, TupleType


def variables_of(
    roots: Sequence[Any],
    leaves: Mapping[Any, Variable] | None = None,
    names: Mapping[Any, str] | None = None,
    sites: Mapping[Any, tuple] | None = None,
) -> list[Variable]:
    """A variable for each root term, with owners all the way down; equal terms share one variable and one Apply.

    `leaves` gives existing variables for some terms (inputs, usually); `names` and `sites` decorate the new ones.
    """
    return Viewer(leaves, names, sites).variables(roots)


class Viewer:
    """Makes variables for terms, remembering those already made, so that several calls share them."""

    def __init__(
        self,
        leaves: Mapping[Any, Variable] | None = None,
        names: Mapping[Any, str] | None = None,
        sites: Mapping[Any, tuple] | None = None,
    ) -> None:
        self.made: dict[Any, Any] = dict(leaves or {})
        self.applies: dict[Any, Apply] = {}
        self.names, self.sites = names or {}, sites or {}

    def variables(self, roots: Sequence[Any]) -> list[Variable]:
        """The variables of the roots."""
        for t in children_first(roots):
            if t not in self.made and not isinstance(t.type, TupleType):
                self.made[t] = self._variable(t)
        return [self.made[r] for r in roots]

    def _variable(self, t: AnyTerm) -> Variable:
        name, site = self.names.get(t), self.sites.get(t, ())
        if t.op is CONST:
            return bare(TensorConstant if isinstance(t.type, TensorType) else Constant, t, name, site)
        if t.__class__ is not Term:
            return bare(variable_class(Variable, t.type), t, name or getattr(t, "name", None), site)
        v = bare(variable_class(Variable, t.type), t, name, site)
        if t.op.family is nth:
            node = self._several(t.args[0])
            v.index = t.op.params["i"]
            node.outputs[v.index] = v
        else:
            v.index = 0
            node = self.applies[t] = bare_apply(t.op, [self.made[a] for a in t.args], [v])
        v._owner = node
        return v

    def _several(self, whole: Term) -> Apply:
        """The Apply of an op with several results; results nobody asked for get a variable too."""
        node = self.applies.get(whole)
        if node is None:
            outputs: list[Any] = []
            node = self.applies[whole] = bare_apply(whole.op, [self.made[a] for a in whole.args], outputs)
            for i, type_ in enumerate(whole.type.types):
                v = bare(variable_class(Variable, type_), mk1(nth.bind(i=i), whole), None, self.sites.get(whole, ()))
                v._owner, v.index = node, i
                outputs.append(v)
        return node


def ancestors(variables: Iterable[Variable]) -> list[Variable]:
    """The variables and all they are computed from, each once, outputs first."""
    return users_first(variables, inputs_of)


def inputs_of(v: Variable) -> Sequence[Variable]:
    """The variables a variable is computed from, without making its Apply."""
    owner = v._owner
    if owner is None:
        return ()
    if owner.__class__ is Apply or v._a is None:
        return v.owner.inputs
    return v._a if v._b is None else (v._a, v._b)


class DeferredView:
    """Variables for the terms of a large new graph, whose owners are made only when somebody looks at them.

    Parts that are terms of `known` variables, or of what those are computed from, are these very variables.
    """

    def __init__(self, known: Sequence[Variable], sites: Any) -> None:
        self._variables, self.sites = list(known), sites
        self._known: dict[Any, Variable] | None = None
        self.made: dict[Any, Variable] = {}

    @property
    def known(self) -> dict[Any, Variable]:
        """The user's variables by their terms."""
        if self._known is None:
            self._known = {}
            for v in ancestors(self._variables):
                self._known.setdefault(v.term, v)
        return self._known

    def variable(self, t: Any, site: tuple | None = None) -> Any:
        """A new variable for a term."""
        if t.op is CONST:
            return bare(TensorConstant if isinstance(t.type, TensorType) else Constant, t, None, site or ())
        v = bare(variable_class(Variable, t.type), t, None, self.sites.get(t, ()) if site is None else site)
        if t.__class__ is Term:
            v._owner, v._a, v._b = self, None, None
            v.index = t.op.params["i"] if t.op.family is nth else 0
        self.made.setdefault(t, v)
        return v

    def fill(self, v: Variable) -> None:
        """Give a variable its owner."""
        t = v.term
        several = t.op.family is nth
        whole = t.args[0] if several else t
        parts = [mk1(nth.bind(i=i), whole) for i in range(len(whole.type.types))] if several else [whole]
        outputs = [v if p is t else self._own(p) for p in parts]
        node = bare_apply(whole.op, [self.existing(a) for a in whole.args], outputs)
        for out in outputs:
            if out._owner is self:
                out._owner = node

    def _own(self, t: AnyTerm) -> Variable:
        found = self.made.get(t)
        return self.variable(t) if found is None or found._owner is not self else found

    def existing(self, t: Any) -> Variable:
        """The variable that stands for a term: the user's, if there is one."""
        # `is None`, never truth: a variable that stands for a comparison refuses to be asked for its truth.
        for found in (self.known.get(t), self.made.get(t)):
            if found is not None:
                return found
        return self.variable(t)
