"""Statistics and calculus on samples with NumPy's names: nansum, quantile, histogram, corrcoef, gradient, trapezoid.

All of them are composed of other functions, so their gradients, loops and kernels are those of what they are made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from termgraph.tensor.creation import diagonal, full, linspace, zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.indexing import inc_subtensor
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import length, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.nans import count_numbers, has_nan
from termgraph.tensor.products import cov
from termgraph.tensor.reductions import axes_of
from termgraph.tensor.reductions import max as max_over
from termgraph.tensor.reductions import min as min_over
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.selecting import take_along_axis
from termgraph.tensor.shaping import dimshuffle, moveaxis, ravel, reshape
from termgraph.tensor.sorting import median, searchsorted, sort
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import at_axis, normal_axis
from termgraph.terms.term import Const

if TYPE_CHECKING:
    from collections.abc import Sequence

    from termgraph.tensor.likes import AxisLike, TensorLike

METHODS_OF_QUANTILES = ("linear", "lower", "higher", "midpoint")


# ---------------------------------------------------------------------- quantiles
@on_terms
def quantile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, method: str = "linear", keepdims: bool = False
) -> TensorVariable:
    """The numbers below which a share `q` (from 0 to 1) of the elements along axes lies; NaN if there is one.

    Several shares make a new first dimension. `method` is "linear" (between the two neighbours), "lower", "higher" or
    "midpoint".

    >>> import termgraph.tensor as T
    >>> T.quantile([1.0, 2.0, 3.0, 4.0], [0.0, 0.5]).eval()
    array([1. , 2.5])
    """
    a, q = _numbers_and_shares(a, q, method)
    axes = axes_of(axis, a.ndim)
    ordered, n = _ordered(a, axes)
    place = q * cast(n - 1, q.dtype)
    below = cast(ew.floor(place), "int64")
    low, high = ordered[..., below], ordered[..., ew.minimum(below + 1, n - 1)]
    found = _between(low, high, place - cast(below, q.dtype), method)
    if a.type.kind == "f":
        last = ordered[..., -1]  # NaN is sorted to the end
        found = ew.switch(ew.isnan(dimshuffle(last, *range(last.ndim), *["x"] * q.ndim)), np.nan, found)
    return _shares_first(found, a, q, axes, keepdims)


@on_terms
def nanquantile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, method: str = "linear", keepdims: bool = False
) -> TensorVariable:
    """`quantile` of what is not NaN; NaN where everything is.

    >>> import termgraph.tensor as T
    >>> T.nanquantile([1.0, T.nan, 2.0], 0.5).eval()
    array(1.5)
    """
    a, q = _numbers_and_shares(a, q, method)
    if not has_nan(a):
        return quantile(a, q, axis, method, keepdims)
    axes = axes_of(axis, a.ndim)
    ordered = sort(_with_nan(_rows(a, axes)), -1)
    each = [*range(ordered.ndim - 1), *["x"] * q.ndim]
    last = dimshuffle(count_numbers(ordered, -1, False) - 1, *each)  # of the elements of a row; NaNs stand behind it
    place = q * ew.maximum(cast(last, q.dtype), 0)
    below = cast(ew.floor(place), "int64")
    low, high = [_picked(ordered, p) for p in (below, ew.maximum(ew.minimum(below + 1, last), 0))]
    return _shares_first(_between(low, high, place - cast(below, q.dtype), method), a, q, axes, keepdims)


def _picked(ordered: TensorVariable, places: TensorVariable) -> TensorVariable:
    """Elements of each row, at places of its own."""
    if ordered.ndim == 1:
        return ordered[places]
    rows = lengths(ordered)[:-1]
    flat = take_along_axis(ordered, reshape(places, [*rows, product(lengths(places)[len(rows) :])]), -1)
    return reshape(flat, lengths(places))


def _numbers_and_shares(
    a: TensorLike, q: TensorLike, method: str, most: int = 1
) -> tuple[TensorVariable, TensorVariable]:
    """Both as tensors; ValueError where constant shares are not from 0 to `most`."""
    if method not in METHODS_OF_QUANTILES:
        raise ValueError(f"quantile: method must be one of {', '.join(METHODS_OF_QUANTILES)}, got {method!r}")
    a = as_tensor(a)
    if isinstance(q, (int, float)):
        q = np.asarray(q, a.dtype if a.type.kind == "f" else "float64")
    q = as_tensor(q)
    if isinstance(q.term, Const) and not ((q.term.value >= 0) & (q.term.value <= most)).all():
        raise ValueError(f"{'quantile' if most == 1 else 'percentile'}: q must be from 0 to {most}, got {q.term.value}")
    return a, q


def _ordered(a: TensorVariable, axes: Sequence[int]) -> tuple[TensorVariable, Any]:
    """What lies along axes as sorted rows, and how long a row is."""
    rows = _rows(a, axes)
    return sort(rows, -1), length(rows, -1)


def _rows(a: TensorVariable, axes: Sequence[int]) -> TensorVariable:
    """What lies along axes as rows."""
    left = [d for d in range(a.ndim) if d not in axes]
    lengths_left = [length(a, d) for d in left]
    return reshape(dimshuffle(a, *left, *axes), [*lengths_left, product([length(a, d) for d in axes])])


def _with_nan(rows: TensorVariable) -> TensorVariable:
    """Rows that may be empty with a NaN at their end, which is the quantile of nothing."""
    *left, n = lengths(rows)
    if isinstance(n, int) and n:
        return rows
    return concatenate([rows, full([*left, 1], np.nan, rows.dtype)], -1)


def _between(low: TensorVariable, high: TensorVariable, part: TensorVariable, method: str) -> TensorVariable:
    """The quantile a `part` of the way between two neighbours."""
    if method == "lower":
        return low
    if method == "higher":
        return ew.switch(ew.gt(part, 0), high, low)
    low, high = [cast(v, "float64") if v.type.kind != "f" else v for v in (low, high)]
    share = part if method == "linear" else as_tensor(np.asarray(0.5, part.dtype))
    return ew.switch(ew.eq(part, 0), low, low + (high - low) * share)  # an infinity stays itself


def _shares_first(
    found: TensorVariable, a: TensorVariable, q: TensorVariable, axes: Sequence[int], keepdims: bool
) -> TensorVariable:
    """The dimensions of the shares in front of those that are left of the array."""
    rows = a.ndim - len(axes)
    found = moveaxis(found, range(rows, rows + q.ndim), range(q.ndim)) if q.ndim else found
    if not keepdims:
        return found
    kept = iter(range(q.ndim, found.ndim))
    return dimshuffle(found, *range(q.ndim), *["x" if d in axes else next(kept) for d in range(a.ndim)])


@on_terms
def percentile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, method: str = "linear", keepdims: bool = False
) -> TensorVariable:
    """`quantile` with shares from 0 to 100.

    >>> import termgraph.tensor as T
    >>> T.percentile([1.0, 2.0, 3.0, 4.0], 50).eval()
    array(2.5)
    """
    a, q = _numbers_and_shares(a, q, method, 100)
    return quantile(a, ew.true_div(q, 100), axis, method, keepdims)


@on_terms
def nanpercentile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, method: str = "linear", keepdims: bool = False
) -> TensorVariable:
    """`nanquantile` with shares from 0 to 100.

    >>> import termgraph.tensor as T
    >>> T.nanpercentile([1.0, T.nan, 2.0], 50).eval()
    array(1.5)
    """
    a, q = _numbers_and_shares(a, q, method, 100)
    return nanquantile(a, ew.true_div(q, 100), axis, method, keepdims)


@on_terms
def nanmedian(a: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """The middle of what is not NaN, or the mean of the two middle elements; NaN where everything is.

    >>> import termgraph.tensor as T
    >>> T.nanmedian([1.0, T.nan, 2.0]).eval()
    array(1.5)
    """
    a = as_tensor(a)
    if not has_nan(a):
        return median(a, axis, keepdims)
    low, high = [nanquantile(a, 0.5, axis, method, keepdims) for method in ("lower", "higher")]
    return ew.switch(ew.eq(low, high), low, (low + high) / 2)


@on_terms
def histogram(
    a: TensorLike,
    bins: TensorLike = 10,
    range: Sequence[float] | None = None,
    density: bool = False,
    weights: TensorLike | None = None,
) -> list:
    """[counts, edges]: how many elements lie in each of `bins` intervals of equal width, or between given edges.

    The last interval has its right end in it. `range` is the (smallest, largest) edge, by default that of the elements.
    With `density` the counts are divided so that the area is 1.

    >>> import termgraph.tensor as T
    >>> counts, edges = T.histogram([1.0, 2.0, 2.5, 4.0], bins=3)
    >>> counts.eval(), edges.eval()
    (array([1, 2, 1]), array([1., 2., 3., 4.]))
    """
    a = ravel(as_tensor(a))
    edges = _edges(a, bins, range) if isinstance(bins, int) else as_tensor(bins)
    n = length(edges, 0) - 1
    place = searchsorted(edges, a, side="right") - 1  # in the wider of the two dtypes: edges may be whole numbers
    place = ew.switch(ew.eq(a, edges[-1]), n - 1, place)
    inside = ew.logical_and(ew.ge(place, 0), ew.lt(place, n))
    inside = ew.logical_and(inside, ew.eq(a, a))
    counted = cast(inside, "int64") if weights is None else ew.switch(inside, ravel(as_tensor(weights)), 0)
    counts = inc_subtensor(zeros(n, dtype=counted.dtype)[ew.clip(place, 0, n - 1)], counted)
    if density:
        counts = counts / (edges[1:] - edges[:-1]) / sum_over(counts)
    return [counts, edges]


def _edges(a: TensorVariable, bins: int, limits: TensorVariable) -> Any:
    """The ends of intervals of equal width."""
    dtype = a.dtype if a.type.kind == "f" else "float64"
    low, high = (min_over(a), max_over(a)) if limits is None else [as_tensor(v) for v in limits]
    low, high = cast(low, dtype), cast(high, dtype)
    flat = ew.eq(low, high)
    return linspace(ew.switch(flat, low - 0.5, low), ew.switch(flat, high + 0.5, high), bins + 1)


@on_terms
def corrcoef(x: TensorLike, y: TensorLike | None = None, rowvar: bool = True) -> TensorVariable:
    """The correlations of variables that are the rows of `x` (columns where not `rowvar`); `y` holds more of them.

    >>> import termgraph.tensor as T
    >>> T.corrcoef([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).eval()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    spread = ew.sqrt(ew.real(diagonal(c)))
    c = c / dimshuffle(spread, 0, "x") / dimshuffle(spread, "x", 0)
    if c.type.kind == "c":
        return ew.complex_(ew.clip(ew.real(c), -1, 1), ew.clip(ew.imag(c), -1, 1))
    return ew.clip(c, -1, 1)


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
    steps = list(spacing) or [1.0]
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
    step = as_tensor(step)
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


__all__ = [
    "corrcoef", "gradient", "histogram", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile",
    "trapezoid",
]  # fmt: skip
