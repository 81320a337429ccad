"""Medians, quantiles and percentiles, with NaN or without: elements of rows in order, or what lies between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.tensor.creation import arange, full
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate, stack
from termgraph.tensor.lengths import length, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, TensorLike
from termgraph.tensor.nans import count_numbers, has_nan
from termgraph.tensor.reductions import axes_of, count, cumsum, keep_dimensions, mean
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.selecting import take_along_axis
from termgraph.tensor.shaping import broadcast_to, dimshuffle, expand_dims, moveaxis, ravel, reshape
from termgraph.tensor.sorting import argsort, sort
from termgraph.tensor.statistics import along_axes
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.assume import required
from termgraph.terms.ops.sorting import order_statistics
from termgraph.terms.term import Const

FROM_ENDS = ("linear", "lower", "higher", "midpoint", "nearest")  # a share q of the way from the first to the last
# Of the others the place is n q + first + slope q, counted from 0: Hyndman and Fan's definitions 1 to 9 without 7
# (the third is rounded to the nearest).
PLACES = {
    "inverted_cdf": (-1.0, 0.0),
    "averaged_inverted_cdf": (-1.0, 0.0),
    "closest_observation": (-1.0, 0.0),
    "interpolated_inverted_cdf": (-1.0, 0.0),
    "hazen": (-0.5, 0.0),
    "weibull": (-1.0, 1.0),
    "median_unbiased": (-2 / 3, 1 / 3),
    "normal_unbiased": (-5 / 8, 1 / 4),
}
METHODS_OF_QUANTILES = (*FROM_ENDS, *PLACES)
_SHORT = 32  # rows of so many elements at most are sorted side by side, whatever is read of them


@on_terms
def median(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """The middle element along axes, or the mean of the two middle ones; NaN if there is one."""
    x = as_tensor(x)
    axes = axes_of(axis, x.ndim)
    last = moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    n = count(x, axes)
    rows = reshape(last, [*[length(x, d) for d in range(x.ndim) if d not in axes], n])
    some = min(n, 1) if isinstance(n, int) else ew.minimum(n, 1)  # nothing is at no place, and its mean is NaN
    places = [arange((n + some) // 2 - some, n // 2 + some)]
    if x.type.kind in "fc":
        places.append(arange(n - some, n))  # NaN is sorted to the end
    found = sorted_at(rows, concatenate(places))
    middle = mean(found[..., : length(places[0], 0)], -1)
    if x.type.kind in "fc":
        end = sum_over(found[..., length(places[0], 0) :], -1)
        middle = ew.switch(ew.isnan(end), end, middle)
    return keep_dimensions(middle, axes, x.ndim) if keepdims else middle


@on_terms
def quantile(
    a: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: TensorLike | None = None,
) -> TensorVariable:
    """The numbers below which a share `q` (from 0 to 1) of the elements along axes lies; NaN if there is one.

    Several shares make a new first dimension. `method` says what lies between two elements, with NumPy's words:
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
    "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased". With `weights`, of all
    elements or one for each place along the axes, shares are those of the weights ("inverted_cdf" only).

    >>> import termgraph.tensor as T
    >>> T.quantile([1.0, 2.0, 3.0, 4.0], [0.0, 0.5]).eval()
    array([1. , 2.5])
    >>> T.quantile([1.0, 2.0, 3.0, 4.0], 0.5, method="inverted_cdf", weights=[1, 1, 1, 7]).eval()
    array(4.)
    """
    a, q, dtype = _numbers_and_shares(a, q, method)
    if weights is not None:
        return _by_weights(a, q, axis, method, keepdims, weights, False)
    axes = axes_of(axis, a.ndim)
    rows = _rows(a, axes)
    n = length(rows, -1)
    below, above, part = _neighbours(q, n, method)
    low, high, last = _elements(rows, below, above, q.ndim, [full([1], n - 1, "int64")])
    found = _between(low, high, cast(part, dtype), method)
    return _shares_first(_nan_if(last[..., 0], found, q), a, q, axes, keepdims)


@on_terms
def nanquantile(
    a: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: TensorLike | None = None,
) -> TensorVariable:
    """`quantile` of what is not NaN; NaN where everything is.

    >>> import termgraph.tensor as T
    >>> T.nanquantile([1.0, T.nan, 2.0], 0.5).eval()
    array(1.5)
    """
    a, q, dtype = _numbers_and_shares(a, q, method)
    if weights is not None:
        return _by_weights(a, q, axis, method, keepdims, weights, has_nan(a))
    if not has_nan(a):
        return quantile(a, cast(q, dtype), axis, method, keepdims)
    axes = axes_of(axis, a.ndim)
    rows = _rows(a, axes)
    last = dimshuffle(_last_number(rows), *range(rows.ndim - 1), *["x"] * q.ndim)
    below, above, part = _neighbours(q, last + 1, method)
    low, high, _ = _elements(_with_nan(rows), below, above, q.ndim)
    return _shares_first(_between(low, high, cast(part, dtype), method), a, q, axes, keepdims)


def _by_weights(
    a: TensorVariable, q: TensorVariable, axis: AxisLike, method: str, keepdims: bool, weights: TensorLike, skip: bool
) -> TensorVariable:
    """The first element of each sorted row up to which a share `q` of the weights lies; `skip`: NaN have none."""
    if method != "inverted_cdf":
        raise ValueError(f"quantile: weights need method='inverted_cdf', got {method!r}")
    axes = axes_of(axis, a.ndim)
    rows = _rows(a, axes)
    order = argsort(rows, -1)
    ordered, heavy = [take_along_axis(v, order, -1) for v in (rows, _rows(_each_weight(a, weights, axis), axes))]
    whole = sum_over(heavy, -1, keepdims=True)
    told = "quantile: weights must be finite, and not all zero"
    heavy = required(heavy, ew.logical_and(ew.gt(whole, 0), ew.lt(whole, np.inf)), message=told)
    if skip:
        heavy = ew.switch(ew.isnan(ordered), 0.0, heavy)
    reached = cumsum(heavy, -1)
    share = cast(reached / expand_dims(reached[..., -1], -1), q.dtype)
    share = ew.switch(ew.gt(share, 0), share, -1)  # a share of 0 ends at the first element that has a weight
    places = sum_over(cast(ew.lt(expand_dims(share, -1), ravel(q)), "int64"), -2)
    last = length(rows, -1) - 1
    found = take_along_axis(ordered, ew.minimum(places, last), -1)
    found = reshape(found, [*lengths(rows)[:-1], *lengths(q)])
    return _shares_first(found if skip else _nan_if(ordered[..., -1], found, q), a, q, axes, keepdims)


def _nan_if(last: TensorVariable, found: TensorVariable, q: TensorVariable) -> TensorVariable:
    """What was found in rows, of which the last element in order is given: NaN where a row has one."""
    if last.type.kind != "f":
        return found
    return ew.switch(ew.isnan(dimshuffle(last, *range(last.ndim), *["x"] * q.ndim)), np.nan, found)


def _each_weight(a: TensorVariable, weights: TensorLike, axis: AxisLike) -> TensorVariable:
    """Weights as numbers of float64 for each element; those with a dimension for each of the axes lie along these."""
    w = cast(along_axes(weights, axis, a.ndim, "quantile"), "float64")
    return broadcast_to(required(w, ew.ge(w, 0), message="quantile: weights must not be negative"), lengths(a))


def _neighbours(q: TensorVariable, n: Any, method: str) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """The places of two neighbours in a sorted row of n elements, and how far between them the quantile lies.

    Where that decides between two elements it is found by comparing: a difference of a product and what it is rounded
    to is no zero where a compiler makes it one multiply-add.
    """
    if method in FROM_ENDS:
        place = q * cast(n - 1, q.dtype)
        floor = ew.floor(place)
        below = cast(floor, "int64")
        return below, ew.minimum(below + 1, n - 1), _part(place, floor, below, method)
    first, slope = PLACES[method]
    if slope or first % 1:
        place = q * cast(n, q.dtype) + (first + slope * q)
        floor = ew.floor(place)
        below, part = cast(floor, "int64"), place - floor
    else:
        place = q * cast(n, q.dtype)
        floor = ew.floor(place)
        below, part = cast(floor, "int64") - 1, _part(place, floor, cast(floor, "int64"), method)
        if method == "closest_observation":  # counted from 1: what lies between k - 1/2 and k + 1/2 is element k
            below, part = below + cast(part, "int64"), part * 0
    return ew.clip(below, 0, n - 1), ew.clip(below + 1, 0, n - 1), part


def _part(place: TensorVariable, floor: TensorVariable, below: TensorVariable, method: str) -> TensorVariable:
    """How far between two neighbours; 0 or 1 (or the middle) by methods that know nothing in between."""
    beyond, half = ew.gt(place, floor), np.asarray(0.5, place.dtype)
    if method in ("higher", "inverted_cdf"):
        return cast(beyond, place.dtype)
    if method in ("midpoint", "averaged_inverted_cdf"):
        exact = np.asarray(0.0 if method == "midpoint" else 0.5, place.dtype)
        return ew.switch(beyond, half if method == "midpoint" else np.ones_like(half), exact)
    if method in ("nearest", "closest_observation"):  # of two as near the one at an even place
        tie = ew.logical_and(ew.eq(place, floor + half), ew.eq(below % 2, 1))
        return cast(ew.logical_or(ew.gt(place, floor + half), tie), place.dtype)
    return place - floor


def sorted_at(rows: TensorVariable, places: TensorVariable) -> TensorVariable:
    """The elements that sorting each row puts at places, a vector for all rows or some for each.

    Short rows are sorted many at once, and complex numbers have no routine that selects.
    """
    n = rows.type.shape[-1]
    if rows.type.kind != "c" and (n is None or n > _SHORT):
        return order_statistics(rows, places)
    ordered = sort(rows, -1)
    return ordered[..., places] if places.ndim == 1 else take_along_axis(ordered, places, -1)


def _elements(
    rows: TensorVariable, below: TensorVariable, above: TensorVariable, common: int, more: Sequence[TensorVariable] = ()
) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """What sorting the rows puts at two places for each share, and at `more` places, behind one another.

    The places have `common` dimensions; those in front of them are the rows', where each row has places of its own.
    """
    lead = lengths(rows)[:-1]
    dims = lengths(below)
    own = dims[: len(dims) - common]
    pairs = 2 * product(dims[len(own) :])
    flat = reshape(stack([below, above], -1), [*own, pairs])  # side by side: one look finds both
    found = sorted_at(rows, concatenate([flat, *more], -1) if more else flat)
    two = reshape(found[..., :pairs], [*lead, *dims[len(own) :], 2])
    return two[..., 0], two[..., 1], found[..., pairs:]


def _numbers_and_shares(
    a: TensorLike, q: TensorLike, method: str, most: int = 1
) -> tuple[TensorVariable, TensorVariable, str]:
    """Both as tensors, and the dtype of shares in the result; ValueError where constants are not from 0 to `most`.

    Shares are of float64, whatever the numbers are: places in long rows are no numbers of shorter floats.
    """
    if method not in METHODS_OF_QUANTILES:
        raise ValueError(f"quantile: method must be one of {', '.join(METHODS_OF_QUANTILES)}, got {method!r}")
    a = as_tensor(a)
    plain = isinstance(q, (int, float))
    q = as_tensor(np.asarray(q, "float64") if plain else q)
    if isinstance(q.term, Const) and not ((q.term.value >= 0) & (q.term.value <= most)).all():
        raise ValueError(f"{'quantile' if most == 1 else 'percentile'}: q must be from 0 to {most}, got {q.term.value}")
    kinds = (a.type, q.type) if plain else (q.type,)
    return a, cast(q, "float64"), next((t.dtype for t in kinds if t.kind == "f"), "float64")


def _share(a: TensorLike, q: TensorLike, method: str) -> Any:
    """A hundredth of `q`; of a plain number a plain one, which leaves the result its dtype."""
    _numbers_and_shares(a, q, method, 100)
    return q / 100 if isinstance(q, (int, float)) else ew.true_div(as_tensor(q), 100)


def _rows(a: TensorVariable, axes: Sequence[int]) -> TensorVariable:
    """What lies along axes as rows."""
    left = [d for d in range(a.ndim) if d not in axes]
    lengths_left = [length(a, d) for d in left]
    return reshape(dimshuffle(a, *left, *axes), [*lengths_left, product([length(a, d) for d in axes])])


def _last_number(rows: TensorVariable) -> TensorVariable:
    """The place of the last number of each sorted row, behind which its NaN stand; 0 where there is none."""
    return ew.maximum(count_numbers(rows, -1, False) - 1, 0)


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
    if method in ("higher", "nearest", "inverted_cdf", "closest_observation"):
        return ew.switch(ew.gt(part, 0), high, low)
    if low.type.kind != "f":
        low, high = cast(low, "float64"), cast(high, "float64")
        return low + (high - low) * part
    stays = ew.logical_and(ew.isinf(low), ew.neq(low, -high))  # nothing lies between both infinities
    return ew.switch(ew.logical_or(ew.eq(part, 0), stays), low, low + (high - low) * part)


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
    a: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: TensorLike | None = None,
) -> TensorVariable:
    """`quantile` with shares from 0 to 100.

    >>> import termgraph.tensor as T
    >>> T.percentile([1.0, 2.0, 3.0, 4.0], 50).eval()
    array(2.5)
    """
    return quantile(a, _share(a, q, method), axis, method, keepdims, weights=weights)


@on_terms
def nanpercentile(
    a: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: TensorLike | None = None,
) -> TensorVariable:
    """`nanquantile` with shares from 0 to 100.

    >>> import termgraph.tensor as T
    >>> T.nanpercentile([1.0, T.nan, 2.0], 50).eval()
    array(1.5)
    """
    return nanquantile(a, _share(a, q, method), axis, method, keepdims, weights=weights)


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
    axes = axes_of(axis, a.ndim)
    rows = _rows(a, axes)
    last = _last_number(rows)
    low, high, _ = _elements(_with_nan(rows), last // 2, (last + 1) // 2, 0)
    middle = mean(stack([low, high], -1), -1)
    return keep_dimensions(middle, axes, a.ndim) if keepdims else middle


__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]
