"""Graphs of variables as wholes: walking, cloning with replacements, comparing.

Everything is iterative. Replacing works on terms, so it reaches every equal expression, however it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from termgraph.tensor.bipartite import Viewer, inputs_of
from termgraph.tensor.variable import Apply, Constant, TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.op import INPUT
from termgraph.terms.traverse import children_first, equal_up_to_inputs, parts_first, substitute


def ancestors(variables: Iterable[Variable], blockers: Iterable[Variable] = ()) -> list[Variable]:
    """The variables from which these are computed, themselves included, inputs first. Does not go past `blockers`.

    >>> import termgraph.tensor as T
    >>> x = T.dscalar("x")
    >>> [len(ancestors([v])) for v in (x, x * x + x)]
    [1, 3]
    """
    stop = set(blockers)
    return parts_first(variables, lambda v: () if v in stop else inputs_of(v))


def graph_inputs(variables: Iterable[Variable], blockers: Iterable[Variable] = ()) -> list[Variable]:
    """The variables without an owner (inputs and constants) that these are computed from."""
    return [v for v in ancestors(variables, blockers) if v.owner is None]


def explicit_graph_inputs(variables: Iterable[Variable]) -> list[Variable]:
    """The inputs that need a value: `graph_inputs` without the constants."""
    return [v for v in graph_inputs(variables) if not isinstance(v, Constant)]


def applies_between(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> list[Apply]:
    """The Apply nodes that compute the outputs from the inputs, in an order in which they can run."""
    return list(dict.fromkeys(v.owner for v in ancestors(outputs, inputs) if v.owner is not None))


@overload
def clone(output: Variable, replace: Any = None, strict: bool = True) -> TensorVariable: ...
@overload
def clone(output: Sequence[Variable], replace: Any = None, strict: bool = True) -> list[TensorVariable]: ...
def clone(output: Any, replace: Any = None, strict: bool = True) -> Any:
    """The same expression with parts replaced: plugs one graph into another. `output` is a variable or a list.

    `replace` maps variables to replacements (a dictionary or pairs).
    `strict` refuses a replacement of another type; otherwise it only has to fit where it is used.

    >>> import termgraph.tensor as T
    >>> from termgraph.printing import pp
    >>> x, y, z = T.dscalars("xyz")
    >>> mid = x + y
    >>> pp(clone(T.exp(mid), replace={mid: z}))
    'exp(z)'
    """
    outputs = list(output) if isinstance(output, (list, tuple)) else [output]
    pairs = list(replace.items() if isinstance(replace, Mapping) else replace or ())
    terms: dict[Any, Any] = {}
    leaves: dict[Any, Variable] = {}
    for i, (old, new) in enumerate(pairs):
        old, new = _checked(old, f"replace: key {i}"), as_tensor(new)
        if strict and not old.type.accepts(new.type):
            raise TypeError(
                f"clone: {old} of type {old.type} cannot be replaced by {new} of type {new.type}; "
                "pass strict=False if the other type fits wherever it is used"
            )
        terms[old.term] = new.term
        leaves.update({v.term: v for v in ancestors([new])})
    new_terms = substitute(_bound([_checked(o, "output").term for o in outputs]), terms)
    for v in ancestors(outputs):
        leaves.setdefault(v.term, v)  # what did not change keeps its variable, with its name and line
    kept = {t: leaves[t] for t in children_first(new_terms) if t in leaves}
    made = Viewer(kept).variables(new_terms)
    return made if isinstance(output, (list, tuple)) else made[0]


clone_replace = clone


def _checked(value: TensorVariable, what: str) -> Variable:
    if not isinstance(value, Variable):
        raise TypeError(f"clone: {what} must be a variable, got {type(value).__name__} {value!r:.60}")
    return value


def _bound(roots: list) -> list:
    """Terms with the placeholders that an Apply has bound since resolved."""
    while True:
        bound = {t: t.bound for t in children_first(roots) if t.op is INPUT and t.bound is not None}
        if not bound:
            return roots
        roots = substitute(roots, bound)


def equal_computations(
    xs: Sequence[Variable], ys: Sequence[Variable], in_xs: Sequence[Variable] = (), in_ys: Sequence[Variable] = ()
) -> bool:
    """Whether two lists of expressions compute the same when the i-th of `in_xs` stands for the i-th of `in_ys`.

    Without `in_xs` the graphs must be built on the same inputs.
    """
    if len(xs) != len(ys):
        raise ValueError(f"equal_computations compares lists of equal length, got {len(xs)} and {len(ys)}")
    if len(in_xs) != len(in_ys):
        raise ValueError(f"equal_computations pairs inputs: got {len(in_xs)} in in_xs and {len(in_ys)} in in_ys")
    left, right = _bound([as_tensor(x).term for x in xs]), _bound([as_tensor(y).term for y in ys])
    return equal_up_to_inputs(left, right, [v.term for v in in_xs], [v.term for v in in_ys])


__all__ = [
    "ancestors", "applies_between", "clone", "clone_replace", "equal_computations", "explicit_graph_inputs",
    "graph_inputs",
]  # fmt: skip
