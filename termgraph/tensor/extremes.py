"""Largest and least of each element's neighbours with scipy.ndimage's names, for T.ndimage."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, TensorLike
from termgraph.tensor.neighbourhoods import Modes, by_axis, check_size, numbers, over_windows, reach
from termgraph.tensor.reductions import axes_in_order
from termgraph.tensor.variable import TensorVariable
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import normal_axis


@on_terms
def maximum_filter1d(
    input: TensorLike, size: int, axis: int = -1, mode: str = "reflect", cval: TensorLike = 0.0, origin: int = 0
) -> TensorVariable:
    """The largest of the `size` elements around each one along an axis; modes and origins are those of `correlate1d`.

    A NaN is the largest and the least of its windows.

    >>> import termgraph.tensor as T
    >>> T.ndimage.maximum_filter1d([2, 8, 0, 4, 9, 9], 3).eval()
    array([8, 8, 8, 9, 9, 9])
    """
    x = numbers("maximum_filter1d", input)
    return _along("maximum_filter1d", ew.maximum, x, normal_axis(axis, x.ndim), size, mode, cval, origin)


@on_terms
def minimum_filter1d(
    input: TensorLike, size: int, axis: int = -1, mode: str = "reflect", cval: TensorLike = 0.0, origin: int = 0
) -> TensorVariable:
    """The least of the `size` elements around each one along an axis, as `maximum_filter1d`.

    >>> import termgraph.tensor as T
    >>> T.ndimage.minimum_filter1d([2, 8, 0, 4, 9, 9], 3).eval()
    array([2, 0, 0, 0, 4, 9])
    """
    x = numbers("minimum_filter1d", input)
    return _along("minimum_filter1d", ew.minimum, x, normal_axis(axis, x.ndim), size, mode, cval, origin)


@on_terms
def maximum_filter(
    input: TensorLike,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    mode: Modes = "reflect",
    cval: TensorLike = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: AxisLike = None,
) -> TensorVariable:
    """The largest of the elements around each one: `size` along each axis (or `axes`), or those of a `footprint`.

    A footprint is an array of truth values, one for each place of the window. If all are true, its lengths are sizes
    for `axes` in their order; else, as in SciPy, its dimensions are in the order of the array's.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.ndimage.maximum_filter(np.arange(9).reshape(3, 3), footprint=[[0, 1, 0], [1, 1, 1], [0, 1, 0]]).eval()
    array([[3, 4, 5],
           [6, 7, 8],
           [7, 8, 8]])
    """
    return _filtered("maximum_filter", ew.maximum, input, size, footprint, mode, cval, origin, axes)


@on_terms
def minimum_filter(
    input: TensorLike,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    mode: Modes = "reflect",
    cval: TensorLike = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: AxisLike = None,
) -> TensorVariable:
    """The least of the elements around each one, as `maximum_filter`.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.ndimage.minimum_filter(np.arange(9).reshape(3, 3), size=3).eval()
    array([[0, 0, 1],
           [0, 0, 1],
           [3, 3, 4]])
    """
    return _filtered("minimum_filter", ew.minimum, input, size, footprint, mode, cval, origin, axes)


def _along(
    name: str, op: Callable, x: TensorVariable, axis: int, size: int, mode: str, cval: TensorLike, origin: int
) -> TensorVariable:
    check_size(name, size)
    return over_windows(op, reach(name, x, axis, size, mode, cval, origin), axis, length(x, axis), size, twice=True)


def _filtered(
    name: str,
    op: Callable,
    input: TensorLike,
    size: Any,
    footprint: Any,
    mode: Any,
    cval: TensorLike,
    origin: Any,
    axes: Any,
) -> TensorVariable:
    x = numbers(name, input)
    if (size is None) == (footprint is None):
        raise ValueError(f"{name}: give size or footprint")
    if hasattr(footprint, "term"):
        raise TypeError(f"{name}: footprint must be numbers, got {footprint}")
    places = sorted(axes_in_order(name, axes, x.ndim))
    among = None if footprint is None else np.asarray(footprint, bool)
    if among is not None and (among.ndim != len(places) or not among.any()):
        raise ValueError(
            f"{name}: footprint must have {len(places)} dimensions and a place in it, got {footprint!r:.60}"
        )
    if among is None or among.all():
        size = size if among is None else list(among.shape)
        for axis, n, how, at in by_axis(name, x, axes, size=size, mode=mode, origin=origin):
            x = x if n == 1 else _along(name, op, x, axis, n, how, cval, at)
        return x
    around, kept, sizes = x, [slice(None)] * x.ndim, dict(zip(places, among.shape, strict=True))
    for axis, how, at in by_axis(name, x, axes if len(places) < x.ndim else None, mode=mode, origin=origin):
        around = reach(name, around, axis, sizes[axis], how, cval, at)
    parts, counts = [], lengths(x)
    for found in np.argwhere(among).tolist():
        for axis, k in zip(places, found, strict=True):
            kept[axis] = slice(k, k + counts[axis])
        parts.append(around[tuple(kept)])
    return functools.reduce(op, parts)
