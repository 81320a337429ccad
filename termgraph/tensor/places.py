"""Arrays read at places between their elements, for T.ndimage, as scipy.ndimage does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.tensor.checks import Assert
from termgraph.tensor.elemwise import cast
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.reductions import to_dtype, wide
from termgraph.tensor.resampling import Tap, linear_taps, sum_of_corners
from termgraph.tensor.shaping import broadcast_arrays, reshape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew

MODES = ("reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "grid-wrap", "wrap")


@on_terms
def map_coordinates(
    input: TensorLike, coordinates: Any, order: int, mode: str = "constant", cval: TensorLike = 0.0
) -> TensorVariable:
    """An array read at places between its elements: `coordinates` has an array of places for each dimension.

    `order` is 0 (the nearest element) or 1 (linear between neighbours); splines of higher order are not here. Modes
    are SciPy's, where JAX's 'constant' and 'wrap' are 'grid-constant' and 'grid-wrap': outside are `cval`, the
    'nearest' element, or copies of the array, mirrored ('reflect' about the edges of elements, 'mirror' about their
    middles) or not. Whole numbers are rounded, half away from 0. The gradient is by both the array and the places.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.ndimage.map_coordinates(np.arange(12.0).reshape(3, 4), [[0.5, 1.5], [1.5, 2.5]], order=1).eval()
    array([3.5, 8.5])
    """
    who, x = "map_coordinates", as_tensor(input)
    if isinstance(order, bool) or order not in (0, 1):
        raise ValueError(f"{who}: order must be 0 (nearest) or 1 (linear), got {order!r}; splines are not here")
    if mode not in MODES:
        raise ValueError(f"{who}: mode must be one of {', '.join(MODES)}, got {mode!r}")
    if order and x.type.dtype == "bool":
        raise TypeError(f"{who}: {x} is of truth values, between which there is nothing; cast it, or take order=0")
    places = _places(coordinates, x, who)
    source = x if x.type.kind in "fc" else cast(x, "float64")
    taps, seen = [], None
    for d, at in enumerate(places):
        n = length(x, d)
        if mode not in ("nearest", "grid-constant"):  # where there is no copy of the array, `cval` is
            within = ew.bitwise_and(ew.ge(at, 0), ew.le(at, n - 1)) if mode == "constant" else ew.isfinite(at)
            seen = within if seen is None else ew.bitwise_and(seen, within)
            at = ew.switch(within, at, 0)  # NaN would be the weight of a gradient of 0
        at = _folded(at, n, mode)
        taps.append([_inside(tap, n, mode) for tap in _taps(at, order)])
    outside = cast(as_tensor(cval), wide(source).type.dtype)
    flat = reshape(wide(source), (-1,))
    found = sum_of_corners(lambda place: flat[place], lengths(x), taps, outside)
    if seen is not None:
        found = ew.switch(seen, found, outside)
    if x.type.kind in "iu":
        found = ew.trunc(ew.add(found, ew.copysign(0.5, found)))
    return to_dtype(found, x.type.dtype)


def _places(coordinates: Any, x: TensorVariable, who: str) -> list:
    """The places along each dimension as floats of one shape."""
    if isinstance(coordinates, Sequence):
        given = [as_tensor(c) for c in coordinates]
    else:
        whole = as_tensor(coordinates)
        if whole.ndim == 0 or whole.type.shape[0] not in (None, x.ndim):
            raise ValueError(f"{who}: {x} has {x.ndim} dimensions, coordinates are {whole.type}")
        if whole.type.shape[0] is None:
            fits = ew.eq(length(whole, 0), x.ndim)
            whole = Assert(f"{who}: {x} has {x.ndim} dimensions, coordinates have another number of rows")(whole, fits)
        given = [whole[d] for d in range(x.ndim)]
    if not x.ndim or len(given) != x.ndim:
        raise ValueError(f"{who}: {x} has {x.ndim} dimensions, but there are places along {len(given)}")
    for c in given:
        if c.type.kind == "c":
            raise TypeError(f"{who}: places must be real numbers, got {c.type}")
    return broadcast_arrays(*[wide(c) if c.type.kind == "f" else cast(c, "float64") for c in given])


def _folded(at: TensorVariable, n: Any, mode: str) -> TensorVariable:
    """Places beyond the ends as those within that stand for them."""
    size = cast(as_tensor(n), at.dtype)
    if mode == "nearest":
        return ew.clip(at, 0, size - 1)
    if mode == "mirror":
        once = at % ew.maximum(2 * size - 2, 1)
        on = ew.bitwise_and(ew.ge(at, 0), ew.lt(once, size))  # the same element, but for SciPy's choice of the nearest
        return ew.switch(on, once, ew.minimum(once, 2 * size - 2 - once))
    if mode in ("reflect", "grid-mirror"):
        once = at % (2 * size)
        return ew.minimum(once, 2 * size - 1 - once)
    if mode == "grid-wrap":
        return at % size
    if mode == "wrap":  # the last element is the first one of the next copy
        once = at % ew.maximum(size - 1, 1)
        on_seam = ew.bitwise_and(ew.eq(once, 0), ew.bitwise_or(ew.lt(at, 0), ew.eq(at, size - 1)))
        return ew.switch(on_seam, size - 1, once)
    return at


def _taps(at: TensorVariable, order: int) -> list[Tap]:
    if order == 0:
        return [Tap(ew.floor(at + 0.5), None)]
    below = ew.floor(at)
    return linear_taps(below, at - below)


def _inside(tap: Tap, n: Any, mode: str) -> Tap:
    """Indices within the array; those of NaN, whose weights are NaN, too."""
    last = cast(as_tensor(n), tap.index.dtype)
    index = cast(ew.clip(ew.switch(ew.isnan(tap.index), 0, tap.index), -2, last + 1), "int64")
    if mode == "grid-wrap":
        return Tap(index % n, tap.weight)
    kept = ew.clip(ew.minimum(index, 2 * n - 2 - index) if mode == "mirror" else index, 0, n - 1)
    return Tap(kept, tap.weight, ew.eq(index, kept) if mode == "grid-constant" else None)
