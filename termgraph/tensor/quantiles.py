"""Quantiles, percentiles and the median of what is not NaN: elements of sorted rows, or what lies between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.tensor.creation import full
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import length, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, TensorLike
from termgraph.tensor.nans import count_numbers, has_nan
from termgraph.tensor.reductions import axes_of, cumsum
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.selecting import take_along_axis
from termgraph.tensor.shaping import broadcast_to, dimshuffle, expand_dims, moveaxis, ravel, reshape
from termgraph.tensor.sorting import argsort, median, sort
from termgraph.tensor.statistics import in_order
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.assume import required
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
    a, q = _numbers_and_shares(a, q, method)
    if weights is not None:
        return _by_weights(a, q, axis, method, keepdims, weights, False)
    axes = axes_of(axis, a.ndim)
    ordered, n = _ordered(a, axes)
    below, above, part = _neighbours(q, n, method)
    found = _between(ordered[..., below], ordered[..., above], part, method)
    return _shares_first(_nan_if_any(found, ordered, q), a, q, axes, keepdims)


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
    a, q = _numbers_and_shares(a, q, method)
    if weights is not None:
        return _by_weights(a, q, axis, method, keepdims, weights, has_nan(a))
    if not has_nan(a):
        return quantile(a, q, axis, method, keepdims)
    axes = axes_of(axis, a.ndim)
    ordered = sort(_with_nan(_rows(a, axes)), -1)
    each = [*range(ordered.ndim - 1), *["x"] * q.ndim]
    last = dimshuffle(count_numbers(ordered, -1, False) - 1, *each)  # of the elements of a row; NaNs stand behind it
    below, above, part = _neighbours(q, ew.maximum(last, 0) + 1, method)
    low, high = [_picked(ordered, p) for p in (below, above)]
    return _shares_first(_between(low, high, part, method), a, q, axes, keepdims)


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
    return _shares_first(found if skip else _nan_if_any(found, ordered, q), a, q, axes, keepdims)


def _nan_if_any(found: TensorVariable, ordered: TensorVariable, q: TensorVariable) -> TensorVariable:
    """What was found in sorted rows; NaN, which is sorted to the end, where a row has one."""
    if ordered.type.kind != "f":
        return found
    last = ordered[..., -1]
    return ew.switch(ew.isnan(dimshuffle(last, *range(last.ndim), *["x"] * q.ndim)), np.nan, found)


def _each_weight(a: TensorVariable, weights: TensorLike, axis: AxisLike) -> TensorVariable:
    """Weights as numbers of float64 for each element; those with a dimension for each of the axes lie along these."""
    w = as_tensor(weights)
    if w.ndim != a.ndim:
        along = in_order(axis, a.ndim)
        if axis is None or w.ndim != len(along):
            raise TypeError(f"quantile: weights have {w.ndim} dimensions; expected {a.ndim}, or one per axis given")
        w = dimshuffle(w, *[along.index(d) if d in along else "x" for d in range(a.ndim)])
    w = cast(w, "float64")
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
    if method in ("higher", "nearest", "inverted_cdf", "closest_observation"):
        return ew.switch(ew.gt(part, 0), high, low)
    low, high = [cast(v, "float64") if v.type.kind != "f" else v for v in (low, high)]
    return ew.switch(ew.eq(part, 0), low, low + (high - low) * part)  # an infinity stays itself


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
    a, q = _numbers_and_shares(a, q, method, 100)
    return quantile(a, ew.true_div(q, 100), axis, method, keepdims, weights=weights)


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
    a, q = _numbers_and_shares(a, q, method, 100)
    return nanquantile(a, ew.true_div(q, 100), axis, method, keepdims, weights=weights)


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


__all__ = ["nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]
