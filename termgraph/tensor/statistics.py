"""Statistics and calculus on samples with NumPy's names: average, corrcoef, gradient, trapezoid.

All of them are composed of other functions, so their gradients, loops and kernels are those of what they are made of.
"""

from __future__ import annotations

from typing import Any, Literal, overload

from termgraph.tensor.creation import diagonal
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import at_least, length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, DTypeLike, TensorLike
from termgraph.tensor.products import cov
from termgraph.tensor.reductions import axes_of, count, mean, to_dtype
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.shaping import broadcast_to, dimshuffle, shape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import promote
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.gradmarks import zero_grad
from termgraph.terms.ops.shapes import at_axis, normal_axis


# ---------------------------------------------------------------------- means and correlations
@overload
def average(
    x: TensorLike,
    axis: AxisLike = None,
    weights: TensorLike | None = None,
    keepdims: bool = False,
    *,
    returned: Literal[False] = False,
) -> TensorVariable: ...
@overload
def average(
    x: TensorLike,
    axis: AxisLike = None,
    weights: TensorLike | None = None,
    keepdims: bool = False,
    *,
    returned: Literal[True],
) -> list[TensorVariable]: ...
@on_terms
def average(
    x: TensorLike,
    axis: AxisLike = None,
    weights: TensorLike | None = None,
    keepdims: bool = False,
    *,
    returned: bool = False,
) -> Any:
    """The mean, or the weighted mean. One-dimensional weights go along a single axis.

    With `returned` a list of it and of the sum of the weights (the number of elements, where there are none).
    """
    x = as_tensor(x)
    if weights is None:
        found = mean(x, axis, keepdims=keepdims)
        return [found, _everywhere(found, count(x, axis))] if returned else found
    weights = along_axes(weights, axis, x.ndim, "average")
    dtype = promote(x.type.np_dtype, weights.type.np_dtype, *(["float64"] if _whole(x) else [])).name
    total = (
        sum_over(weights, axis, dtype, keepdims)
        if weights.type.shape == x.type.shape
        else _spread(x, weights, axis, dtype, keepdims)
    )
    found = ew.true_div(sum_over(ew.mul(x, weights), axis, dtype, keepdims), total)
    return [found, _everywhere(found, total)] if returned else found


def along_axes(weights: TensorLike, axis: AxisLike, ndim: int, who: str) -> TensorVariable:
    """Weights with as many dimensions as the array; those with one for each axis lie along these, as they are given."""
    w = as_tensor(weights)
    if w.ndim == ndim:
        return w
    axes = axes_of(axis, ndim)
    axes = [normal_axis(a, ndim) for a in axis] if isinstance(axis, (tuple, list)) else axes
    if axis is None or w.ndim != len(axes):
        raise TypeError(f"{who}: weights have {w.ndim} dimensions; expected {ndim}, or one per axis given")
    return dimshuffle(w, *[axes.index(d) if d in axes else "x" for d in range(ndim)])


def _everywhere(found: TensorVariable, total: TensorLike) -> TensorVariable:
    """`total` in the shape and dtype of `found`."""
    return broadcast_to(to_dtype(as_tensor(total), found.type.dtype), shape(found))


def _whole(x: TensorVariable) -> bool:
    return x.type.kind in "biu"


def _spread(x: object, weights: TensorLike, axis: AxisLike, dtype: str, keepdims: bool) -> Any:
    return sum_over(broadcast_to(weights, shape(x)), axis, dtype, keepdims)


@on_terms
def corrcoef(
    x: TensorLike, y: TensorLike | None = None, rowvar: bool = True, *, dtype: DTypeLike = None
) -> TensorVariable:
    """The correlations of variables that are the rows of `x` (columns where not `rowvar`); `y` holds more of them.

    >>> import termgraph.tensor as T
    >>> T.corrcoef([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).eval()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = ew.sqrt(ew.real(diagonal(c)))
    c = c / dimshuffle(spread, 0, "x") / dimshuffle(spread, "x", 0)
    if c.type.kind == "c":
        return ew.complex_(_within_one(ew.real(c)), _within_one(ew.imag(c)))
    return _within_one(c)


def _within_one(c: TensorVariable) -> TensorVariable:
    """Correlations without what rounding adds to 1; the slope at 1 must not depend on it, so it is that before."""
    return c + zero_grad(ew.clip(c, -1, 1) - c)


# ---------------------------------------------------------------------- slopes and areas of samples
@on_terms
def trapezoid(y: TensorLike, x: TensorLike | None = None, dx: TensorLike = 1.0, axis: int = -1) -> TensorVariable:
    """The area under samples along an axis by trapezia; they are `dx` apart, or lie at `x`.

    >>> import termgraph.tensor as T
    >>> T.trapezoid([1.0, 2.0, 3.0], dx=2).eval()
    array(8.)
    """
    y = as_tensor(y)
    axis = normal_axis(axis, y.ndim)
    width: Any = dx
    if x is not None:
        x = as_tensor(x)
        along = 0 if x.ndim == 1 else axis
        width = _steps(x, along)
        width = dimshuffle(width, *["x"] * axis, 0, *["x"] * (y.ndim - axis - 1)) if x.ndim == 1 else width
    pairs = y[at_axis(axis, slice(1, None))] + y[at_axis(axis, slice(None, -1))]
    return sum_over(width * pairs / 2.0, axis)


@overload
def gradient(f: TensorLike, *spacing: TensorLike, axis: int, edge_order: int = 1) -> TensorVariable: ...
@overload  # one array or a list of them, as the rank says
def gradient(f: TensorLike, *spacing: TensorLike, axis: AxisLike = None, edge_order: int = 1) -> Any: ...
@on_terms
def gradient(f: TensorLike, *spacing: TensorLike, axis: AxisLike = None, edge_order: int = 1) -> Any:
    """The slopes of samples by central differences, one-sided at both ends: one array per axis, in a list if several.

    `spacing` is nothing (1), one number for all axes, or for each axis a number or the places of the samples. This is
    about numbers in an array; the derivative of an expression is `tg.grad`.

    >>> import termgraph.tensor as T
    >>> T.gradient([1.0, 2.0, 4.0, 7.0]).eval()
    array([1. , 1.5, 2.5, 3. ])
    """
    f = as_tensor(f)
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order must be 1 or 2, got {edge_order!r}")
    f = cast(f, "float64") if f.type.kind in "biu" else f
    axes = axes_of(None, f.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple([normal_axis(k, f.ndim) for k in axes])
    steps = list(spacing) or [1]  # which takes the dtype of f
    steps = steps * len(axes) if len(steps) == 1 else steps
    if len(steps) != len(axes):
        raise TypeError(f"gradient: {len(steps)} spacings for {len(axes)} axes; give one, or one for each axis")
    found = [cast(_slope(f, k, step, edge_order), f.dtype) for k, step in zip(axes, steps, strict=True)]
    return found[0] if len(found) == 1 else found


def _steps(x: TensorVariable, axis: int) -> Any:
    """The distances of neighbours."""
    return x[at_axis(axis, slice(1, None))] - x[at_axis(axis, slice(None, -1))]


def _slope(f: TensorVariable, axis: int, step: TensorLike, edge_order: int) -> TensorVariable:
    """The slopes along one axis."""
    step, n, least = as_tensor(step), length(f, axis), edge_order + 1
    told = f"gradient: axis {axis} needs at least {least} elements (edge_order + 1), it has {{0}}"
    if isinstance(n, int) and n < least:
        raise ValueError(told.format(n))
    f = at_least(f, axis, least, told)
    if step.ndim == 0:
        before = after = cast(step, f.dtype) if step.type.kind in "biu" else step
        first = last = before
        second = before_last = first
    else:
        apart = _steps(cast(step, f.dtype) if step.type.kind in "biu" else step, 0)
        first, last = apart[0], apart[-1]
        second, before_last = (apart[1], apart[-2]) if edge_order == 2 else (first, last)
        before, after = [dimshuffle(h, 0, *["x"] * (f.ndim - axis - 1)) for h in (apart[:-1], apart[1:])]
    low, middle, high = [f[at_axis(axis, part)] for part in (slice(None, -2), slice(1, -1), slice(2, None))]
    inner = _through_three(low, middle, high, before, after, step.ndim == 0)
    ends = [f[at_axis(axis, slice(k, k + 1 or None))] for k in (0, 1, 2, -3, -2, -1)]
    if edge_order == 1:
        edges = [(ends[1] - ends[0]) / first, (ends[5] - ends[4]) / last]
    else:
        edges = [_one_sided(ends[:3], first, second), -_one_sided(ends[:2:-1], last, before_last)]
    return concatenate([edges[0], inner, edges[1]], axis)


def _through_three(
    low: TensorVariable,
    middle: TensorVariable,
    high: TensorVariable,
    before: TensorVariable,
    after: TensorVariable,
    even: bool,
) -> TensorVariable:
    """The slope of the parabola through three neighbours at the middle one."""
    if even:
        return (high - low) / (2.0 * before)
    both = before + after
    return (
        -after / (before * both) * low + (after - before) / (before * after) * middle + before / (after * both) * high
    )


def _one_sided(f: list, near: TensorVariable, far: TensorVariable) -> Any:
    """The slope of the parabola through three neighbours at the first one."""
    both = near + far
    return -(near + both) / (near * both) * f[0] + both / (near * far) * f[1] - near / (far * both) * f[2]


__all__ = ["average", "corrcoef", "gradient", "trapezoid"]
