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
from termgraph.tensor.reductions import mean, to_dtype, wide
from termgraph.tensor.reductions import sum as sum_over
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
    for axis, m in enumerate(sizes, first):
        x = _along(x, axis, m, mode)
    return x


def _whole_windows(x: TensorVariable, sizes: list) -> tuple | None:
    """The windows' size, where all are known and none share elements."""
    pairs = list(zip(x.type.shape[-2:], sizes, strict=True))
    if any(not isinstance(n, int) or not isinstance(m, int) or not n or n % m for n, m in pairs):
        return None
    return tuple([n // m for n, m in pairs])


def _along(x: TensorVariable, axis: int, m: Any, mode: str) -> TensorVariable:
    """One axis: few windows one after the other, or the elements of each along a new axis as long as the longest."""
    n = length(x, axis)
    if isinstance(m, int) and m <= FEW:
        return concatenate([_one(x, axis, i * n // m, ((i + 1) * n + m - 1) // m, mode) for i in range(m)], axis)
    windows = arange(m)
    start, end = windows * n // m, ((windows + 1) * n + (m - 1)) // m
    element = dimshuffle(start, 0, "x") + dimshuffle(arange(_longest(n, m)), "x", 0)
    inside = ew.lt(element, dimshuffle(end, 0, "x"))
    found = take(x, ew.minimum(element, dimshuffle(end - 1, 0, "x")), axis=axis)
    order = [d - axis if axis <= d < axis + 2 else "x" for d in range(found.ndim)]
    if mode == "max":
        return max_over(
            ew.switch(dimshuffle(inside, *order), found, np.asarray(lowest(x.type.np_dtype), x.type.np_dtype)),
            axis=axis + 1,
        )
    found = wide(found)
    total = sum_over(ew.switch(dimshuffle(inside, *order), found, np.zeros((), found.dtype)), axis=axis + 1)
    counts = [0 if d == axis else "x" for d in range(x.ndim)]
    return to_dtype(total / cast(dimshuffle(end - start, *counts), total.dtype), x.type.dtype)


def _one(x: TensorVariable, axis: int, start: Any, end: Any, mode: str) -> TensorVariable:
    window = x[(slice(None),) * axis + (slice(start, end),)]
    return (max_over if mode == "max" else mean)(window, axis=axis, keepdims=True)


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
