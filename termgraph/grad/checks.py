"""What gradients are asked for: lists of variables, a cost that is one real number, variables that can move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.tensor.variable import Variable
from termgraph.terms.build import number_like
from termgraph.terms.errors import NullTypeGradError
from termgraph.terms.sparse import SparseType
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    from termgraph.grad import explain
    from termgraph.tensor.variable import TensorVariable
    from termgraph.terms.term import AnyTerm
else:
    explain = lazy("termgraph.grad.explain")  # what errors say

_ARRAYS = (TensorType, SparseType)


def can_move(t: AnyTerm) -> bool:
    """Whether a term has real or complex values: integers and truth values have no neighbours to move to."""
    return t.type.__class__ in _ARRAYS and t.type.kind in "fc"


def listed(function: str, what: str, value: object) -> tuple[list, bool]:
    """A list of variables, and whether one was given without a list."""
    if isinstance(value, Variable):
        return [value], True
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{function}: {what} must be a variable or a list of variables, got {value!r:.60}")
    for i, v in enumerate(value):
        if not isinstance(v, Variable):
            raise TypeError(f"{function}: {what}[{i}] must be a variable, got {type(v).__name__} {v!r:.60}")
    return list(value), False


def variables(what: str, value: Any) -> list:
    """The variables of an option of `grad`."""
    if value is None:
        return []
    return listed("grad", what, value if isinstance(value, Variable) else list(value))[0]


def scalar_start(cost: Any) -> tuple[Variable, Any]:
    """A cost and its cotangent 1."""
    cost = _checked_cost(cost)
    return cost, number_like(cost.term, 1)


def _checked_cost(cost: TensorVariable) -> Variable:
    if not isinstance(cost, Variable):
        raise TypeError(f"grad: the cost must be a variable, got {type(cost).__name__} {cost!r:.60}")
    if not isinstance(cost.type, TensorType):
        raise TypeError(f"grad: the cost must be a number, {explain.label(cost)} has type {cost.type}")
    if cost.type.ndim:
        raise TypeError(
            f"grad: the cost must be a scalar, {explain.label(cost)} has type {cost.type}. Reduce it (cost.sum(), "
            "cost.mean()), or use jacobian for all derivatives of an array, Lop for their product with a vector"
        )
    kind = cost.type.kind
    if kind == "c":
        raise TypeError(
            f"grad: the cost {explain.label(cost)} is complex; a gradient needs a real number, such as T.real(cost) or "
            "abs(cost)"
        )
    if kind != "f":
        raise TypeError(
            f"grad: the cost {explain.label(cost)} has dtype {cost.type.dtype}: a whole number does not change by "
            "small steps; cast what it is computed from to a float dtype"
        )
    return cost


def check_wrt(v: Variable, roots: Sequence[Variable] = ()) -> None:
    """Refuse what has no neighbours to move to."""
    if isinstance(v.type, (TensorType, SparseType)) and not can_move(v.term):
        raise NullTypeGradError(
            f"the gradient with respect to {explain.label(v)} is not defined: it has dtype {v.type.dtype}, and whole "
            "numbers have no neighbours to move to. Make it a float input, or use "
            f"T.cast({explain.label(v)}, 'float64') in the cost and differentiate with respect to that"
            f"{explain.path_text(roots, v)}"
        )
    if not isinstance(v.type, (TensorType, SparseType)):
        raise NullTypeGradError(f"the gradient with respect to {explain.label(v)} is not defined: its type is {v.type}")
