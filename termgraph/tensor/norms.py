"""Norms of vectors and matrices, with NumPy's meaning of `ord`, and condition numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor.elemwise import cast
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.reductions import max as max_over
from termgraph.tensor.reductions import min as min_over
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.shaping import dimshuffle, moveaxis, ravel
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import linalg as ops
from termgraph.terms.ops.shapes import normal_axis

if TYPE_CHECKING:
    from termgraph.tensor.likes import AxisLike, TensorLike
    from termgraph.tensor.variable import TensorVariable


@on_terms
def norm(x: TensorLike, ord: Any = None, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """The norm of vectors (one axis) or matrices (two axes), with NumPy's meaning of `ord`.

    Without `ord` the square root of the sum of squares, of all elements if there is no `axis` either.

    >>> import termgraph.tensor as T
    >>> T.linalg.norm(T.fmatrix("x"), axis=1).type
    TensorType(float32, (?,))
    """
    x = as_tensor(x)
    if x.type.kind in "biu":
        x = cast(x, "float64")
    if axis is None and ord is None:
        axes = tuple(range(x.ndim))
        return ew.sqrt(_total(_squares(x), axes, keepdims))
    if axis is None and x.ndim not in (1, 2):
        raise ValueError(f"norm: ord={ord!r} needs a vector or a matrix, or axis=; the array has {x.ndim} dimensions")
    places = tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    places = tuple([normal_axis(p, x.ndim) for p in places])
    if len(places) == 1:
        return _vector_norm(x, 2 if ord is None else ord, places[0], keepdims)
    if len(places) != 2 or places[0] == places[1]:
        raise ValueError(f"norm: axis must be one axis or two different ones, got {axis!r}")
    return _matrix_norm(x, ord, places, keepdims)


def _squares(x: TensorVariable) -> TensorVariable:
    return ew.add(ew.sqr(ew.real(x)), ew.sqr(ew.imag(x))) if x.type.kind == "c" else ew.sqr(x)


def _total(x: TensorVariable, axis: AxisLike, keepdims: bool) -> TensorVariable:
    """The sum, in the dtype of what is summed."""
    return sum_over(x, axis=axis, keepdims=keepdims, dtype=x.type.dtype)


def _largest(x: TensorVariable, axis: int, keepdims: bool = False) -> TensorVariable:
    """The largest of numbers that are not negative; of none it is zero, as it is for NumPy from 2.4 on."""
    return max_over(x, axis=axis, keepdims=keepdims, initial=None if x.type.shape[axis] else 0)


def _vector_norm(x: TensorVariable, ord: float, axis: int, keepdims: bool) -> TensorVariable:
    if isinstance(ord, str):
        raise ValueError(f"norm: ord={ord!r} is not defined for vectors; give two axes, or a number")
    if not hasattr(ord, "term"):
        if ord == np.inf:
            return _largest(ew.abs_(x), axis, keepdims)
        if ord == -np.inf:
            return min_over(ew.abs_(x), axis=axis, keepdims=keepdims)
        if ord == 0:
            return _total(cast(ew.neq(x, 0), ew.abs_(x).type.dtype), axis, keepdims)
        if ord == 1:
            return _total(ew.abs_(x), axis, keepdims)
        if ord == 2:
            return ew.sqrt(_total(_squares(x), axis, keepdims))
    return ew.pow_(_total(ew.pow_(ew.abs_(x), ord), axis, keepdims), 1.0 / ord)


def _matrix_norm(x: TensorVariable, ord: Any, axes: tuple[int, int], keepdims: bool) -> TensorVariable:
    row, column = axes
    if ord in (None, "fro", "f"):
        return ew.sqrt(_total(_squares(x), axes, keepdims))
    best = {1: _largest, np.inf: _largest, 2: _largest, -1: min_over, -np.inf: min_over, -2: min_over}
    if ord in ("nuc", 2, -2):
        s = ops.svdvals(moveaxis(x, axes, (-2, -1)))
        found = _total(s, -1, False) if ord == "nuc" else best[ord](s, axis=-1)
    elif ord in best:
        summed, along = (row, column) if abs(ord) == 1 else (column, row)
        sums = _total(ew.abs_(x), summed, False)
        found = best[ord](sums, axis=along - (along > summed))
    else:
        raise ValueError(f"norm: ord={ord!r} is not defined for matrices; use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    if not keepdims:
        return found
    left = iter(range(found.ndim))
    return dimshuffle(found, *["x" if d in axes else next(left) for d in range(x.ndim)])


@on_terms
def vector_norm(x: TensorLike, axis: AxisLike = None, keepdims: bool = False, ord: float = 2) -> TensorVariable:
    """The norm of vectors: of all elements, or along an axis."""
    x = as_tensor(x)
    if axis is not None:
        return norm(x, ord, axis, keepdims)
    found = norm(ravel(x), ord, 0)
    return dimshuffle(found, *["x"] * x.ndim) if keepdims else found


@on_terms
def matrix_norm(x: TensorLike, keepdims: bool = False, ord: str = "fro") -> TensorVariable:
    """The norm of the matrices in the last two dimensions."""
    return norm(x, ord, (-2, -1), keepdims)


@on_terms
def cond(x: TensorLike, p: TensorLike | None = None) -> TensorVariable:
    """The condition number: the norm of a matrix times the norm of its inverse."""
    x = as_tensor(x)
    if p in (None, 2, -2):
        s = ops.svdvals(x)
        first, last = s[..., 0], s[..., -1]
        return ew.true_div(last, first) if p == -2 else ew.true_div(first, last)
    return ew.mul(norm(x, p, (-2, -1)), norm(ops.inv(x), p, (-2, -1)))
