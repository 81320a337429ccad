"""Pooling to a given number of windows, whatever the size of the images, for T.nnet: adaptive averages and maxima."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.tensor.creation import arange
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import as_lengths, length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import ShapeLike, TensorLike
from termgraph.tensor.reductions import max as max_over
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.reductions import to_dtype, wide
from termgraph.tensor.selecting import take
from termgraph.tensor.shaping import dimshuffle
from termgraph.tensor.signal import pool_2d
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import lowest
from termgraph.terms.ops import elementwise as ew

FEW = 8  # windows whose loops are written out


def adaptive_average(x: TensorVariable, sizes: list) -> TensorVariable:
    """The averages of `sizes` windows along the last axes; window i of m goes from i*n/m to (i+1)*n/m, rounded out."""
    return _pooled(x, sizes, "average_exc_pad")


def _pooled(x: TensorVariable, sizes: list, mode: str) -> TensorVariable:
    first = x.ndim - len(sizes)
    if len(sizes) == 2 and (whole := _whole_windows(x, sizes)):
        return pool_2d(x, whole, ignore_border=True, mode=mode)
    found = x if mode == "max" else wide(x)
    counts: Any = None
    for axis, m in enumerate(sizes, first):
        found = _along(found, axis, m, mode)
        along = dimshuffle(_counts(length(x, axis), m), *[0 if d == axis else "x" for d in range(x.ndim)])
        counts = along if counts is None else counts * along
    return found if mode == "max" else to_dtype(found / cast(counts, found.type.dtype), x.type.dtype)


def _whole_windows(x: TensorVariable, sizes: list) -> tuple | None:
    """The windows' size, where all are known and none share elements."""
    pairs = list(zip(x.type.shape[-2:], sizes, strict=True))
    if any(not isinstance(n, int) or not isinstance(m, int) or not n or n % m for n, m in pairs):
        return None
    return tuple([n // m for n, m in pairs])


def _windows(n: Any, m: Any, which: Any) -> tuple[Any, Any]:
    """Where windows of m begin and end, by their numbers."""
    return which * n // m, ((which + 1) * n + (m - 1)) // m


def _counts(n: Any, m: Any) -> TensorVariable:
    """How many elements each of m windows has."""
    if isinstance(m, int) and m <= FEW:
        return as_tensor([end - start for start, end in (_windows(n, m, i) for i in range(m))])
    start, end = _windows(n, m, arange(m))
    return end - start


def _along(x: TensorVariable, axis: int, m: Any, mode: str) -> TensorVariable:
    """The sums or maxima of windows along an axis: of few one after the other, or the elements of each along a new
    axis as long as the longest."""
    n = length(x, axis)
    if isinstance(m, int) and m <= FEW:
        return concatenate([_one(x, axis, *_windows(n, m, i), mode) for i in range(m)], axis)
    start, end = _windows(n, m, arange(m))
    element = dimshuffle(start, 0, "x") + dimshuffle(arange(_longest(n, m)), "x", 0)
    inside = ew.lt(element, dimshuffle(end, 0, "x"))
    found = take(x, ew.minimum(element, dimshuffle(end - 1, 0, "x")), axis=axis)
    order = [d - axis if axis <= d < axis + 2 else "x" for d in range(found.ndim)]
    none = lowest(x.type.np_dtype) if mode == "max" else 0
    found = ew.switch(dimshuffle(inside, *order), found, np.asarray(none, x.type.np_dtype))
    return max_over(found, axis=axis + 1) if mode == "max" else sum_over(found, axis=axis + 1)


def _one(x: TensorVariable, axis: int, start: Any, end: Any, mode: str) -> TensorVariable:
    window = x[(slice(None),) * axis + (slice(start, end),)]
    return (max_over if mode == "max" else sum_over)(window, axis=axis, keepdims=True)


def _longest(n: Any, m: Any) -> Any:
    if isinstance(n, int) and isinstance(m, int):
        return max((((i + 1) * n + m - 1) // m - i * n // m for i in range(m)), default=1)
    return n // m + 2


def _function(spatial: int, mode: str) -> Any:
    what = "average" if mode != "max" else "maximum"
    name = f"adaptive_{'max' if mode == 'max' else 'avg'}_pool{spatial}d"

    def pool(input: TensorLike, output_size: ShapeLike) -> TensorVariable:
        x = as_tensor(input)
        if x.ndim not in (spatial + 1, spatial + 2):
            raise TypeError(f"{name} takes (batch, channels, {spatial} lengths), {x} has {x.ndim} dimensions")
        if mode != "max" and x.type.kind not in "fc":
            raise TypeError(f"{name}: an average of {x.type.dtype} is not a whole number; cast the array first")
        return _pooled(x, _output_size(name, x, output_size, spatial), mode)

    pool.__name__ = pool.__qualname__ = name
    where = "dimension" if spatial == 1 else f"{spatial} dimensions"
    pool.__doc__ = f"""The {what} of each of `output_size` windows over the last {where}.

    Windows are as even as may be: where a length does not divide, neighbours share an element. None keeps a length.
    """
    return on_terms(pool)


def _output_size(name: str, x: TensorVariable, given: ShapeLike, spatial: int) -> list:
    items: list[Any] = list(given) if isinstance(given, (tuple, list)) else [given] * spatial
    if len(items) != spatial:
        raise ValueError(f"{name}: output_size must be {spatial} lengths, got {given!r}")
    kept = [length(x, d - spatial) if item is None else item for d, item in enumerate(items)]
    found = as_lengths(kept, "output_size")
    if any(isinstance(m, int) and m < 1 for m in found):
        raise ValueError(f"{name}: output_size must be positive, got {given!r}")
    return found


adaptive_avg_pool1d = _function(1, "average_exc_pad")
adaptive_avg_pool2d = _function(2, "average_exc_pad")
adaptive_avg_pool3d = _function(3, "average_exc_pad")
adaptive_max_pool1d = _function(1, "max")
adaptive_max_pool2d = _function(2, "max")
adaptive_max_pool3d = _function(3, "max")
