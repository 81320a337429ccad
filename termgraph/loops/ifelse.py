"""`ifelse`: a choice of which only the chosen side is computed."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any, overload

from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import Constant, TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import TypeMismatch
from termgraph.terms.ops.control import ifelse as ifelse_op
from termgraph.terms.types import TensorType


@overload
def ifelse(
    condition: TensorLike, then_branch: list[Any], else_branch: list[Any], name: str | None = None
) -> list[TensorVariable]: ...
@overload
def ifelse(
    condition: TensorLike, then_branch: Variable | float, else_branch: Variable | float, name: str | None = None
) -> TensorVariable: ...
def ifelse(condition: TensorLike, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """`then_branch` if the scalar `condition` is true, else `else_branch`; the other one is not computed.

    Both may be lists of the same length: then a list is returned. `T.switch` chooses element by element instead.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> n, x = T.lscalar("n"), T.dvector("x")
    >>> f = tg.function([n, x], ifelse(n > 0, x.sum(), x.prod()))
    >>> float(f(1, [2.0, 3.0])), float(f(0, [2.0, 3.0]))
    (5.0, 6.0)
    """
    condition = as_tensor(condition)
    if condition.type.ndim != 0:
        raise TypeMismatch(
            f"the condition of ifelse must be a scalar, got {condition} of type {condition.type}; "
            "use T.switch to choose element by element, or reduce it with .all() or .any()"
        )
    for what, branch in (("then", then_branch), ("else", else_branch)):
        if isinstance(branch, (FunctionType, MethodType)):
            raise TypeError(
                f"ifelse: the {what}-branch is a function; give what it returns, ifelse(c, f(x), g(x)): "
                "only the branch that is chosen is computed"
            )
    several = isinstance(then_branch, (list, tuple))
    if several != isinstance(else_branch, (list, tuple)):
        raise TypeError("ifelse: give both branches as single values, or both as lists of the same length")
    thens, elses = (list(then_branch), list(else_branch)) if several else ([then_branch], [else_branch])
    if len(thens) != len(elses) or not thens:
        raise ValueError(f"ifelse: the branches have {len(thens)} and {len(elses)} values; they must be as many")
    pairs = [_matched(a, b, i) for i, (a, b) in enumerate(zip(thens, elses))]
    made = ifelse_op.bind(n=len(pairs))(condition, *[a for a, _ in pairs], *[b for _, b in pairs])
    results = made if isinstance(made, list) else [made]
    for i, v in enumerate(results):
        v.name = None if name is None else name if not several else f"{name}.{i}"
    return results if several else results[0]


def _matched(a: TensorVariable, b: TensorVariable, i: int) -> tuple[Any, Any]:
    """Both values as variables of one dtype: a plain number or constant takes the dtype of the other side."""
    a, b = _variable(a), _variable(b)
    if isinstance(a.type, TensorType) and isinstance(b.type, TensorType) and a.type.dtype != b.type.dtype:
        if isinstance(a, Constant):
            a = as_tensor(b.type.clone(shape=a.type.shape).filter(a.data.astype(b.type.dtype)))
        elif isinstance(b, Constant):
            b = as_tensor(a.type.clone(shape=b.type.shape).filter(b.data.astype(a.type.dtype)))
    if isinstance(a.type, TensorType) and isinstance(b.type, TensorType):
        if a.type.dtype != b.type.dtype or a.type.ndim != b.type.ndim:
            raise TypeMismatch(
                f"ifelse: value {i} has type {a.type} in one branch and {b.type} in the other; "
                "convert one with T.cast or reshape it"
            )
    return a, b


def _variable(value: TensorVariable) -> Any:
    return value if isinstance(value, Variable) else as_tensor(value)
