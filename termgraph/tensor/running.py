"""Running values along an axis that are no sums or products: extremes, and loops whose steps take one element in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from termgraph.tensor.creation import full
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate, flip
from termgraph.tensor.lengths import lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.nested import flatten, unflatten
from termgraph.tensor.shaping import expand_dims, moveaxis, on_axis, squeeze
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import reduce as ops
from termgraph.terms.ops.shapes import normal_axis

if TYPE_CHECKING:
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable
    from termgraph.terms.op import Op

Nested = TypeVar("Nested")
ABOVE: dict[str, Callable[[], Any]] = {}  # loops are a room above this one; entered where all rooms meet


def _extreme(op: Op, x: TensorLike, axis: int | None, reverse: bool) -> TensorVariable:
    """Truth values as numbers of 8 bits, which have an order."""
    x, axis = on_axis(x, axis)
    rows = flip(x, axis) if reverse else x
    found = cast(op(cast(rows, "uint8"), axis=axis), "bool") if x.type.dtype == "bool" else op(rows, axis=axis)
    return flip(found, axis) if reverse else found


@on_terms
def cummax(x: TensorLike, axis: int | None = None, reverse: bool = False) -> TensorVariable:
    """The largest element so far along an axis, or of the flattened array; from the end if `reverse`.

    After a NaN all are NaN. The gradient goes to the element that gave the value, of equal ones to the first.

    >>> import termgraph.tensor as T
    >>> T.cummax([1, 3, 2, 5]).eval()
    array([1, 3, 3, 5])
    """
    return _extreme(ops.cummax, x, axis, reverse)


@on_terms
def cummin(x: TensorLike, axis: int | None = None, reverse: bool = False) -> TensorVariable:
    """The least element so far along an axis, or of the flattened array: as `cummax`.

    >>> import termgraph.tensor as T
    >>> T.cummin([3, 1, 2, 0]).eval()
    array([3, 1, 1, 0])
    """
    return _extreme(ops.cummin, x, axis, reverse)


@on_terms
def associative_scan(
    fn: Callable[[Nested, Nested], Nested], elems: Nested, reverse: bool = False, axis: int = 0
) -> Nested:
    """What `fn` makes of all elements up to each along an axis, for an associative `fn`; from the end if `reverse`.

    `elems` is an array, or a list, tuple or dict of arrays (also nested) of one length along the axis; `fn(a, b)` takes
    and gives the same. As in JAX its operands keep the axis, so that `fn` may be `T.matmul` for a stack of matrices.
    Elements are combined one by one from the first on, `fn(fn(x[0], x[1]), x[2])`: with `reverse` from the last on,
    `fn(fn(x[2], x[1]), x[0])`. There must be one element at least.

    >>> import termgraph.tensor as T
    >>> T.associative_scan(T.maximum, T.constant([1.0, 3.0, 2.0])).eval()
    array([1., 3., 3.])
    >>> gain, offset = T.constant([0.5, 0.5, 2.0]), T.constant([1.0, 1.0, 1.0])
    >>> [v.eval() for v in T.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (gain, offset))]
    [array([0.5 , 0.25, 0.5 ]), array([1. , 1.5, 4. ])]
    """
    leaves, nesting = flatten(elems)
    parts = [as_tensor(x) for _, x in leaves]
    if not parts:
        raise ValueError("associative_scan: elems holds no array; give an array, or a list, tuple or dict of them")
    axes = [normal_axis(axis, x.ndim) for x in parts]
    counts = {n for x, d in zip(parts, axes) if (n := x.type.shape[d]) is not None}
    if len(counts) > 1:
        raise ShapeError(
            f"associative_scan: all arrays of elems must have one length along axis {axis}, got {sorted(counts)}"
        )
    if counts == {0}:
        return unflatten(nesting, parts)
    rows = [flip(moveaxis(x, d, 0), 0) if reverse else moveaxis(x, d, 0) for x, d in zip(parts, axes)]

    def step(before: list[Any], now: list[Any]) -> tuple[list[Any], list[Any]]:
        operands = [unflatten(nesting, [expand_dims(x, d) for x, d in zip(side, axes)]) for side in (before, now)]
        made = [as_tensor(x) for _, x in flatten(fn(*operands))[0]]
        if [(m.ndim, m.dtype) for m in made] != [(x.ndim, x.dtype) for x in parts]:
            raise TypeError(
                f"associative_scan: fn must give what it takes, {[str(x.type) for x in parts]}, but gave "
                f"{[str(m.type) for m in made]}; cast its results or elems"
            )
        now = [squeeze(m, d) for m, d in zip(made, axes)]
        return now, now

    _, rest = ABOVE["loop"]()(step, [x[0] for x in rows], [x[1:] for x in rows])
    whole = [concatenate([x[:1], r], 0) for x, r in zip(rows, rest)]
    return unflatten(nesting, [moveaxis(flip(x, 0) if reverse else x, 0, d) for x, d in zip(whole, axes)])


@on_terms
def logcumsumexp(x: TensorLike, axis: int | None = None, reverse: bool = False) -> TensorVariable:
    """log(cumsum(exp(x))) along an axis, or of the flattened array, without overflow; from the end if `reverse`.

    >>> import termgraph.tensor as T
    >>> T.logcumsumexp([1000.0, 1000.0, -1000.0]).eval().round(6)
    array([1000.      , 1000.693147, 1000.693147])
    """
    x = as_tensor(x)
    if x.type.kind == "c":
        raise TypeError(f"logcumsumexp is defined for real numbers only, got {x.type}")
    x = x if x.type.kind == "f" else cast(x, "float64")
    x, axis = on_axis(x, axis)
    rows = moveaxis(x, axis, 0)
    rows = flip(rows, 0) if reverse else rows
    least, no = np.asarray(-np.inf, x.dtype), np.zeros((), x.dtype)

    def step(sum_: TensorVariable, now: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
        none = ew.maximum(sum_, now) <= least  # two infinities have no difference, and so no derivatives
        found = ew.logaddexp(ew.switch(none, no, sum_), ew.switch(none, no, now))
        sum_ = ew.switch(none, least, found)
        return sum_, sum_

    _, found = ABOVE["loop"]()(step, full(lengths(rows)[1:], least), rows)
    return moveaxis(flip(found, 0) if reverse else found, 0, axis)


__all__ = ["associative_scan", "cummax", "cummin", "logcumsumexp"]
