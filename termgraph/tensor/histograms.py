"""Histograms with NumPy's names: of one array, of pairs, and of points with any number of coordinates.

All of them are composed of other functions, so their loops and kernels are those of what they are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.tensor.creation import arange, linspace, zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.indexing import inc_subtensor
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.quantiles import quantile
from termgraph.tensor.reductions import max as max_over
from termgraph.tensor.reductions import mean, std
from termgraph.tensor.reductions import min as min_over
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.shaping import dimshuffle, ravel
from termgraph.tensor.sorting import searchsorted
from termgraph.tensor.variable import TensorVariable, is_plain_number
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import HALVES, numpy_dtype, promote
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.assume import required


@on_terms
def histogram(
    a: TensorLike,
    bins: TensorLike | str = 10,
    range: Sequence[float] | None = None,
    density: bool = False,
    weights: TensorLike | None = None,
) -> list:
    """[counts, edges]: how many elements lie in each of `bins` intervals of equal width, or between given edges.

    How many intervals there are may also be told by a rule: "auto", "doane", "fd", "rice", "scott", "sqrt", "sturges".
    The last interval has its right end in it. `range` is the (smallest, largest) edge, by default that of the elements.
    With `density` the counts are divided so that the area is 1.

    >>> import termgraph.tensor as T
    >>> counts, edges = T.histogram([1.0, 2.0, 2.5, 4.0], bins=3)
    >>> counts.eval(), edges.eval()
    (array([1, 2, 1]), array([1., 2., 3., 4.]))
    """
    a = ravel(as_tensor(a))
    edges = histogram_bin_edges(a, bins, range, weights)
    place, inside = _bins_of(a, edges)
    counted = cast(inside, "int64") if weights is None else ew.switch(inside, ravel(as_tensor(weights)), 0)
    counts = inc_subtensor(zeros(length(edges, 0) - 1, dtype=counted.dtype)[place], counted)
    if density:
        counts = counts / (edges[1:] - edges[:-1]) / sum_over(counts)
    return [counts, edges]


@on_terms
def histogram_bin_edges(
    a: TensorLike, bins: TensorLike | str = 10, range: Sequence[float] | None = None, weights: TensorLike | None = None
) -> TensorVariable:
    """The edges of `histogram`: the ends of intervals of equal width. Weights make no difference; rules take none.

    >>> import termgraph.tensor as T
    >>> T.histogram_bin_edges([1.0, 2.0, 4.0], bins=3).eval()
    array([1., 2., 3., 4.])
    """
    if isinstance(bins, str):
        if bins not in WIDTHS:
            raise ValueError(f"histogram: bins must be a number, edges, or one of {', '.join(WIDTHS)}, got {bins!r}")
        if weights is not None:
            raise TypeError(f"histogram: bins={bins!r} takes no weights; give the number of bins, or edges")
        return _edges(as_tensor(a), bins, range)
    if isinstance(bins, (int, np.integer)):
        return _edges(as_tensor(a), int(bins), range)
    edges = as_tensor(bins)
    if edges.ndim == 0 and edges.type.kind in "iu":
        return _edges(as_tensor(a), edges, range)
    if hasattr(edges, "data") and (edges.data[1:] < edges.data[:-1]).any():
        raise ValueError(f"edges of a histogram must not decrease, got {edges.data}")
    return edges


def _edges(a: TensorVariable, bins: Any, limits: Sequence[float] | None) -> Any:
    """The ends of intervals of equal width."""
    dtype = a.dtype if a.type.kind == "f" else "float64"
    if limits is None and 0 in a.type.shape:
        limits = 0, 1
    elif limits is not None and all(isinstance(v, (int, float, np.number)) for v in limits):
        low, high = limits
        if not -np.inf < low <= high < np.inf:
            raise ValueError(f"range of a histogram must be its smallest and its largest edge, got {tuple(limits)}")
    low, high = (min_over(a), max_over(a)) if limits is None else [as_tensor(v) for v in limits]
    if limits is not None:  # Python numbers are weak, others may be of a wider dtype
        given = [v if is_plain_number(v) else as_tensor(v).type.np_dtype for v in limits]
        dtype = promote(numpy_dtype(dtype), *given).name
    low, high = cast(low, dtype), cast(high, dtype)
    if limits is None and a.type.kind == "f":
        told = "histogram: the elements are not all finite, so that they give no range of edges: give range=, or edges"
        fine = ew.bitwise_and(ew.isfinite(low), ew.isfinite(high))
        low, high = required(low, fine, message=told), required(high, fine, message=told)
    flat = ew.eq(low, high)
    low, high = ew.switch(flat, low - 0.5, low), ew.switch(flat, high + 0.5, high)
    if isinstance(bins, str):
        flat_a = ravel(a)
        within = flat_a if limits is None else flat_a[ew.logical_and(ew.le(low, flat_a), ew.le(flat_a, high))]
        bins = _count(within, bins, low, high)
    points: Any = bins + 1
    edges = linspace(low, high, points)
    if dtype in HALVES:
        return edges
    # With NumPy's bits, whatever C makes of a product and a sum: elements that are whole numbers lie on whole edges.
    step, i = (high - low) / cast(ew.maximum(bins, 1), dtype), arange(length(edges, 0))
    ways = ew.copysign(step * cast(i, dtype), step)  # rounded before it is added
    return ew.switch(ew.logical_or(ew.eq(i, 0), ew.eq(i, bins)), edges, ways + low)


# ---------------------------------------------------------------------- how wide intervals should be
def _count(a: TensorVariable, rule: str, low: TensorVariable, high: TensorVariable) -> TensorVariable:
    """How many intervals a rule makes of the elements between two ends: one, if it finds no width."""
    n = as_tensor(length(a, 0))
    filled = concatenate([cast(a, "float64"), zeros((ew.maximum(1 - n, 0),), "float64")])  # rules need an element
    width = WIDTHS[rule](filled, cast(ew.maximum(n, 1), "float64"))
    some = ew.logical_and(ew.gt(width, 0), ew.gt(n, 0))
    width = ew.maximum(width, 1.0) if a.type.kind in "biu" else width
    return cast(ew.switch(some, ew.ceil((high - low) / ew.switch(some, width, 1.0)), 1), "int64")


def _spread(a: TensorVariable) -> TensorVariable:
    return max_over(a) - min_over(a)


def _freedman_diaconis(a: TensorVariable, n: TensorVariable) -> TensorVariable:
    quarters = quantile(a, [0.25, 0.75])
    return 2 * (quarters[1] - quarters[0]) * n ** (-1 / 3)


def _doane(a: TensorVariable, n: TensorVariable) -> TensorVariable:
    """Sturges's number of intervals, and more for a skewed distribution."""
    deviation = std(a)
    even = ew.logical_or(ew.le(n, 2), ew.le(deviation, 0))
    skewness = ew.abs_(mean(((a - mean(a)) / ew.switch(even, 1.0, deviation)) ** 3))
    usual = ew.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
    return ew.switch(even, 0.0, _spread(a) / (1 + ew.log2(n) + ew.log2(1 + skewness / ew.switch(even, 1.0, usual))))


def _auto(a: TensorVariable, n: TensorVariable) -> TensorVariable:
    """The narrower of two rules; where quartiles are equal, not below half of the width by the square root."""
    return ew.minimum(ew.maximum(_freedman_diaconis(a, n), WIDTHS["sqrt"](a, n) / 2), WIDTHS["sturges"](a, n))


WIDTHS: dict[str, Any] = {
    "auto": _auto,
    "doane": _doane,
    "fd": _freedman_diaconis,
    "rice": lambda a, n: _spread(a) / (2 * n ** (1 / 3)),
    "scott": lambda a, n: (24 * np.pi**0.5 / n) ** (1 / 3) * std(a),
    "sqrt": lambda a, n: _spread(a) / ew.sqrt(n),
    "sturges": lambda a, n: _spread(a) / (ew.log2(n) + 1),
}


def _bins_of(a: TensorVariable, edges: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """The interval of each element, the nearest one of those outside, and which elements are inside."""
    n = length(edges, 0) - 1
    place = searchsorted(edges, a, side="right") - 1  # in the wider of the two dtypes: edges may be whole numbers
    place = ew.switch(ew.eq(a, edges[-1]), n - 1, place)
    inside = ew.logical_and(ew.ge(place, 0), ew.lt(place, n))
    return ew.clip(place, 0, n - 1), ew.logical_and(inside, ew.eq(a, a))


# ---------------------------------------------------------------------- several coordinates
@on_terms
def histogramdd(
    sample: TensorLike,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple:
    """(counts, [edges of each coordinate]): how many points lie in each box of a grid.

    `sample` has a point in each row, or is a list of coordinates. `bins` is a number for all coordinates, or a list
    with a number or edges for each; `range` a list with a pair or None for each. Counts are float64, as in NumPy.

    >>> import numpy as np, termgraph.tensor as T
    >>> counts, edges = T.histogramdd(np.array([[0.0, 0.0], [1.0, 3.0], [1.0, 2.0]]), bins=2)
    >>> counts.eval()
    array([[1., 0.],
           [0., 2.]])
    """
    points = _coordinates(sample)
    d = len(points)
    several = isinstance(bins, (list, tuple)) or getattr(bins, "ndim", 0) > 0
    each, limits = list(bins) if several else [bins] * d, [None] * d if range is None else list(range)
    if len(each) != d:
        raise ValueError(f"histogramdd: {len(each)} bins for points with {d} coordinates: give one number, or {d}")
    if len(limits) != d:
        raise ValueError(f"histogramdd: {len(limits)} ranges for points with {d} coordinates: give None, or {d}")
    edges = [histogram_bin_edges(p, b, r) for p, b, r in zip(points, each, limits)]
    places, insides = zip(*[_bins_of(p, e) for p, e in zip(points, edges)])
    inside: Any = insides[0]
    for other in insides[1:]:
        inside = ew.logical_and(inside, other)
    counted = (
        cast(inside, "float64")
        if weights is None
        else ew.switch(inside, cast(ravel(as_tensor(weights)), "float64"), 0.0)
    )
    counts = zeros([length(e, 0) - 1 for e in edges], "float64")
    counts = inc_subtensor(counts[places], counted)
    if density:
        counts = counts / sum_over(counts)
        for i, e in enumerate(edges):
            counts = counts / dimshuffle(e[1:] - e[:-1], *["x"] * i, 0, *["x"] * (d - 1 - i))
    return counts, edges


def _coordinates(sample: Any) -> list[TensorVariable]:
    """A vector for each coordinate of the points."""
    if isinstance(sample, (list, tuple)):
        points = [ravel(as_tensor(v)) for v in sample]
    else:
        x = as_tensor(sample)
        x = x if x.ndim > 1 else dimshuffle(ravel(x), 0, "x")
        count = x.type.shape[1] if x.ndim == 2 else None
        if count is None:
            raise ValueError(
                f"histogramdd: points are rows of a matrix with a known number of columns, got {x.type}; "
                "T.specify_shape(x, (None, 2)) says how many, or give a list of vectors"
            )
        points = [x[:, i] for i in range(count)]
    if not points:
        raise ValueError("histogramdd: points must have at least one coordinate")
    return points


@on_terms
def histogram2d(
    x: TensorLike,
    y: TensorLike,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple:
    """(counts, edges along x, edges along y): how many pairs lie in each rectangle of a grid.

    `bins` is a number or edges for both, or a pair with one for each.

    >>> import termgraph.tensor as T
    >>> counts, along_x, along_y = T.histogram2d([0.0, 1.0, 1.0], [0.0, 3.0, 2.0], bins=2)
    >>> counts.eval()
    array([[1., 0.],
           [0., 2.]])
    """
    one = isinstance(bins, (int, np.integer)) or getattr(bins, "ndim", 1) == 0
    if not one and not (isinstance(bins, (list, tuple)) and len(bins) in (1, 2)):  # edges of both
        bins = [as_tensor(bins)] * 2
    counts, (along_x, along_y) = histogramdd([x, y], bins, range, density, weights)
    return counts, along_x, along_y


__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]
