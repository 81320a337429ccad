"""Jacobians and products with them: Lop, Rop, jacobian, hessian, hessian_vector_product, subgraph_grad."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from termgraph.batching.lanes import spread
from termgraph.batching.lift import lifted_terms
from termgraph.grad.api import grad
from termgraph.grad.checks import check_wrt, listed, scalar_start, variables
from termgraph.grad.explain import disconnected_text, label, refusal_text
from termgraph.grad.forward import tangents_of
from termgraph.grad.made import Gap, checked_cotangent, connected, fill_gaps, gradients_of, shaped_like, zero_like
from termgraph.grad.reverse import Refusal
from termgraph.tensor.bipartite import DeferredView
from termgraph.tensor.likes import ShapeLike, TensorLike
from termgraph.tensor.trace import user_site
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.build import filled_like, lengths
from termgraph.terms.errors import DisconnectedInputError
from termgraph.terms.invariants import outer_terms
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.elementwise import cast, eq, mul
from termgraph.terms.ops.loop import make_loop, projections
from termgraph.terms.ops.shaping import arange, eye, reshape
from termgraph.terms.term import AnyTerm, Const, Input, mk, mk1
from termgraph.terms.traverse import resolve_bound, substitute
from termgraph.terms.types import TensorType


# ---------------------------------------------------------------------- products
@overload
def Lop(
    f: TensorLike,
    wrt: Variable,
    eval_points: Any,
    consider_constant: TensorLike | None = None,
    disconnected_inputs: str = "raise",
    return_disconnected: str = "zero",
) -> TensorVariable: ...
@overload
def Lop(
    f: TensorLike,
    wrt: Sequence[Variable],
    eval_points: Any,
    consider_constant: TensorLike | None = None,
    disconnected_inputs: str = "raise",
    return_disconnected: str = "zero",
) -> list[TensorVariable]: ...
def Lop(
    f: TensorLike,
    wrt: Any,
    eval_points: Any,
    consider_constant: TensorLike | None = None,
    disconnected_inputs: str = "raise",
    return_disconnected: str = "zero",
) -> Any:
    """The product of a vector with the jacobian from the left: sum(eval_points * df/dwrt), without the jacobian.

    `f` and `eval_points` may be lists of the same length; each point has the shape of its output.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x, v = T.dvectors("x", "v")
    >>> tg.Lop(x ** 2, x, v).eval({x: [1.0, 2.0], v: [1.0, 10.0]})
    array([ 2., 40.])
    """
    outputs, _ = listed("Lop", "f", f)
    points = list(eval_points) if isinstance(eval_points, (list, tuple)) else [eval_points]
    _same_number("Lop", "f", outputs, points)
    asked, single = listed("Lop", "wrt", wrt)
    starts = [(y, checked_cotangent("Lop", y, p)) for y, p in zip(outputs, points)]
    found = gradients_of(starts, asked, variables("consider_constant", consider_constant))
    found = fill_gaps(found, outputs, asked, disconnected_inputs, return_disconnected)
    return found[0] if single else found


@overload
def Rop(
    f: Variable, wrt: Any, eval_points: Any, disconnected_outputs: str = "raise", return_disconnected: str = "zero"
) -> TensorVariable: ...
@overload
def Rop(
    f: Sequence[Variable],
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: str = "raise",
    return_disconnected: str = "zero",
) -> list[TensorVariable]: ...
def Rop(
    f: Any, wrt: Any, eval_points: Any, disconnected_outputs: str = "raise", return_disconnected: str = "zero"
) -> Any:
    """The product of the jacobian with a vector from the right: how f changes when wrt moves by eval_points.

    `wrt` and `eval_points` may be lists of the same length; each point has the shape of its variable.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x, v = T.dvectors("x", "v")
    >>> tg.Rop((x ** 2).sum(), x, v).eval({x: [1.0, 2.0], v: [1.0, 10.0]})
    array(42.)
    """
    outputs, single = listed("Rop", "f", f)
    asked, _ = listed("Rop", "wrt", wrt)
    points = list(eval_points) if isinstance(eval_points, (list, tuple)) else [eval_points]
    _same_number("Rop", "wrt", asked, points)
    targets = resolve_bound([v.term for v in asked])
    given = {t: checked_cotangent("Rop", v, p) for t, v, p in zip(targets, asked, points)}
    try:
        found = tangents_of(resolve_bound([y.term for y in outputs]), given)
    except Refusal as refusal:
        raise refusal.kind(refusal_text(refusal, outputs, asked)) from None
    view = DeferredView([*outputs, *asked, *[p for p in points if isinstance(p, Variable)]], {})
    site = user_site()
    results: list[Any] = []
    for y, t in zip(outputs, found):
        if t is not None:
            results.append(view.variable(shaped_like(y.term, t), site))
        else:
            results.append(_no_tangent(y, asked, disconnected_outputs, return_disconnected))
    return results[0] if single else results


def _no_tangent(y: Variable, wrt: Sequence[Variable], disconnected: str, returned: str) -> Any:
    if y.term.type.kind in "fc" and any(_depends(y, v) for v in wrt):
        return as_tensor(zero_like(y.term))  # connected by steps, whose derivative is zero
    if disconnected == "raise":
        raise DisconnectedInputError(f"Rop: the output {label(y)}: {disconnected_text(wrt[0], [y])}")
    return None if returned == "none" else as_tensor(filled_like(y.term, 0))


def _depends(y: Variable, v: Variable) -> bool:
    return v.term in connected([y.term], set())


def _same_number(function: str, what: str, variables_: Sequence, points: Sequence) -> None:
    if len(variables_) != len(points):
        raise ValueError(
            f"{function}: {what} has {len(variables_)} variables, but {len(points)} eval_points were given"
        )


# ---------------------------------------------------------------------- jacobians
@overload
def jacobian(
    expression: Variable,
    wrt: Variable,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
    vectorize: bool = True,
) -> TensorVariable: ...
@overload
def jacobian(
    expression: Variable,
    wrt: Sequence[Variable],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
    vectorize: bool = True,
) -> list[TensorVariable]: ...
def jacobian(
    expression: Variable,
    wrt: Variable | Sequence[Variable],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
    vectorize: bool = True,
) -> Any:
    """All derivatives of an array with respect to one variable, or to each of a list: shape expression + wrt.

    All rows are computed at once. `vectorize=False` computes them one after the other, in a loop, which takes longer
    and needs less memory for what lies between.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.tensor("x", dtype="float64", shape=(2,))
    >>> tg.jacobian(x ** 2, x).eval({x: [1.0, 2.0]})
    array([[2., 0.],
           [0., 4.]])
    """
    if not isinstance(expression, Variable):
        instead = "; write tg.jacobian(f(x), x)" if callable(expression) else ""
        raise TypeError(f"jacobian: the expression must be a variable, got {type(expression).__name__}{instead}")
    asked, single = listed("jacobian", "wrt", wrt)
    constant = variables("consider_constant", consider_constant)
    check_wrt(expression)
    seed = Input("seed", expression.term.type)
    found = gradients_of([(expression, seed)], asked, constant)
    gaps = fill_gaps(found, [expression], asked, disconnected_inputs, "zero")
    view = DeferredView([expression, *asked, *constant], {})
    site = user_site()
    rows = _all_at_once if vectorize else _looped
    results = [view.variable(_stacked(g.term, seed, expression.term, rows), site) for g in gaps]
    return results[0] if single else results


def _stacked(g: AnyTerm, seed: AnyTerm, y: AnyTerm, rows: Callable[..., Any]) -> AnyTerm:
    """The gradient at a symbolic seed, evaluated at every unit vector, as one array of shape y + wrt."""
    shape, dtype = lengths(y), y.type.dtype
    if not shape:
        return substitute([g], {seed: Const(np.ones((), dtype))})[0]
    size = shape[0] if len(shape) == 1 else mk(mul, tuple(shape))
    stacked = rows(g, seed, size, shape, dtype)
    return stacked if len(shape) == 1 else mk(reshape, (stacked, *shape, *lengths(stacked)[1:]))


def _all_at_once(g: AnyTerm, seed: AnyTerm, size: ShapeLike, shape: list, dtype: str) -> AnyTerm:
    units = mk(eye.bind(dtype=dtype), (size, size, Const(np.int64(0))))
    if len(shape) > 1:
        units = mk(reshape, (units, size, *shape))
    (found,) = lifted_terms(inline_calls([g]), {seed: units}, size)
    return spread(found, size)


def _looped(g: TensorVariable, seed: TensorVariable, size: ShapeLike, shape: list, dtype: str) -> Any:
    index = Input("row", TensorType.of("int64", ()))
    zero, one = Const(np.int64(0)), Const(np.int64(1))
    numbers = mk(arange.bind(dtype="int64"), (zero, size, one))
    unit = mk1(cast.bind(dtype=dtype), mk(eq, (numbers, index)))
    (row,) = substitute([g], {seed: mk(reshape, (unit, *shape))})
    constants = [(t, t) for t in outer_terms([row], [index])]
    return projections(make_loop(size, constants, [], [(index, numbers)], [row], name="jacobian"))[0]


@overload
def hessian(
    cost: Variable,
    wrt: Variable,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> TensorVariable: ...
@overload
def hessian(
    cost: Variable,
    wrt: Sequence[Variable],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> list[TensorVariable]: ...
def hessian(
    cost: Variable,
    wrt: Variable | Sequence[Variable],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> TensorVariable | list[TensorVariable]:
    """All second derivatives of a scalar with respect to one variable, or to each of a list: shape wrt + wrt.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.tensor("x", dtype="float64", shape=(2,))
    >>> tg.hessian(x[0] * x[1] ** 2, x).eval({x: [1.0, 2.0]})
    array([[0., 4.],
           [4., 2.]])
    """
    if callable(cost):
        raise TypeError("hessian: the cost must be an expression, got a function; write tg.hessian(f(x), x)")
    asked, single = listed("hessian", "wrt", wrt)
    first = grad(cost, asked, consider_constant=consider_constant, disconnected_inputs=disconnected_inputs)
    second = [jacobian(g, v, consider_constant, "ignore") for g, v in zip(first, asked)]
    return second[0] if single else second


@overload
def hessian_vector_product(cost: Variable, wrt: Variable, p: TensorLike, **grad_kwargs: Any) -> TensorVariable: ...
@overload
def hessian_vector_product(
    cost: Variable, wrt: Sequence[Variable], p: Sequence[TensorLike], **grad_kwargs: Any
) -> list[TensorVariable]: ...
def hessian_vector_product(cost: Variable, wrt: TensorLike, p: TensorLike, **grad_kwargs: Any) -> Any:
    """The product of the second derivatives of a scalar with a vector, without the matrix.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x, p = T.dvectors("x", "p")
    >>> tg.hessian_vector_product((x ** 3).sum(), x, p).eval({x: [1.0, 2.0], p: [1.0, 1.0]})
    array([ 6., 12.])
    """
    asked, single = listed("hessian_vector_product", "wrt", wrt)
    points = list(p) if isinstance(p, (list, tuple)) else [p]
    first = grad(cost, asked, **grad_kwargs)
    out = Rop(first, asked, points, disconnected_outputs="ignore")
    return out[0] if single else out


# ---------------------------------------------------------------------- parts of a graph
def subgraph_grad(
    wrt: Any, end: Any, start: Mapping[Variable, Any] | None = None, cost: Variable | None = None, details: bool = False
) -> tuple[list[TensorVariable] | None, ...]:
    """Gradients through a part of a graph: from `cost` and the known gradients of `start` down to the variables `end`.

    Returns (gradients of `wrt`, gradients of `end`); nothing is propagated beyond `end`. Calling it again with
    `start=dict(zip(end, gradients of end))` continues. With `details`, also what cost and start contributed.
    """
    if start is None and cost is None:
        raise ValueError("subgraph_grad needs a cost, or start: a dictionary of variables and their gradients")
    params, _ = listed("subgraph_grad", "wrt", wrt)
    ends, _ = listed("subgraph_grad", "end", end)
    from_start = [(v, checked_cotangent("subgraph_grad: start", v, g)) for v, g in (start or {}).items()]
    from_cost = [scalar_start(cost)] if cost is not None else []
    asked = [*params, *ends]
    total = _zeros_for_gaps(gradients_of([*from_cost, *from_start], asked, ends), asked)
    pair = total[: len(params)], total[len(params) :]
    if not details:
        return pair
    parts = [
        _zeros_for_gaps(gradients_of(starts, asked, ends), asked) if starts else None
        for starts in (from_start, from_cost)
    ]
    return (*pair, parts[0], parts[1])


def _zeros_for_gaps(found: list, asked: Sequence[Variable]) -> list:
    return [as_tensor(filled_like(v.term, 0)) if isinstance(g, Gap) else g for v, g in zip(asked, found)]
