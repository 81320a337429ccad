"""Images at other places, for T.nnet: made larger or smaller (interpolate), read along a grid (grid_sample)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from termgraph._lazy import lazy
from termgraph.config import config
from termgraph.tensor.adaptive import adaptive_average
from termgraph.tensor.creation import arange, ones
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import stack
from termgraph.tensor.lengths import as_lengths, length, lengths, product, same
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import ShapeLike, TensorLike
from termgraph.tensor.products import matmul
from termgraph.tensor.reductions import to_dtype, wide
from termgraph.tensor.selecting import take
from termgraph.tensor.shaping import dimshuffle, reshape, swapaxes
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew

if TYPE_CHECKING:
    from fractions import Fraction

fractions = lazy("fractions")

CUBIC = -0.75  # the slope of the cubic pieces, as PyTorch and OpenCV have it
MODES = {"nearest": None, "nearest-exact": None, "area": None, "linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4}
PADDINGS = ("zeros", "border", "reflection")


class Tap(NamedTuple):
    """The elements read for each place along one axis, and what they count for."""

    index: Any
    weight: Any  # None: 1
    inside: Any = None  # None: all are


FAR = 2.0**31  # no image is as long: places beyond are as good as this one


def of_floats(x: TensorVariable) -> TensorVariable:
    return x if x.type.kind in "fc" else cast(x, config.floatX)


def _images(name: str, input: TensorLike, ranks: tuple[int, ...]) -> TensorVariable:
    x = as_tensor(input)
    if x.ndim not in ranks:
        raise TypeError(
            f"{name} takes images (batch, channels, ...) of {' or '.join(map(str, ranks))} dimensions, {x} has {x.ndim}"
        )
    return x


# ---------------------------------------------------------------------- taps of places
def linear_taps(below: Any, weight: Any) -> list[Tap]:
    """The element at `below` and the next one, `weight` of the way between them."""
    return [Tap(below, 1 - weight), Tap(below + 1, weight)]


def cubic_taps(below: Any, t: Any) -> list[Tap]:
    """Two elements before and two after a place, by Keys' cubic convolution."""

    def near(d: Any) -> Any:
        return ((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((CUBIC * d - 5 * CUBIC) * d + 8 * CUBIC) * d - 4 * CUBIC

    return [Tap(below - 1, far(t + 1)), Tap(below, near(t)), Tap(below + 1, near(1 - t)), Tap(below + 2, far(2 - t))]


def along(x: TensorVariable, axis: int, place: Any, parts: Any, taps: Any = linear_taps) -> TensorVariable:
    """x at places along one axis, given in whole `parts` of the distance of two elements; beyond the ends are these."""
    n, below = length(x, axis), place // parts
    order = [0 if d == axis else "x" for d in range(x.ndim)]
    weight = cast(place - below * parts, x.dtype) / cast(parts, x.dtype)
    found = [
        take(x, ew.clip(tap.index, 0, n - 1), axis=axis) * dimshuffle(tap.weight, *order) for tap in taps(below, weight)
    ]
    return sum(found[1:], found[0])


# ---------------------------------------------------------------------- other sizes
@on_terms
def interpolate(
    input: TensorLike,
    size: ShapeLike = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
) -> TensorVariable:
    """Images (batch, channels, ...) with other lengths: `size`, or `scale_factor` times those they have.

    Modes are PyTorch's: 'nearest', 'nearest-exact' and 'area' for one to three dimensions beside batch and channels,
    'linear' for one, 'bilinear' and 'bicubic' for two, 'trilinear' for three. Elements are squares side by side; with
    `align_corners` they are points, and the first and the last ones stay where they are.

    >>> import termgraph.tensor as T
    >>> T.nnet.interpolate([[[0.0, 4.0]]], size=4, mode="linear").eval()
    array([[[0., 1., 3., 4.]]])
    >>> T.nnet.interpolate([[[0.0, 4.0]]], scale_factor=1.5).eval()
    array([[[0., 0., 4.]]])
    """
    x = _images("interpolate", input, (3, 4, 5))
    _check_mode(x, mode, align_corners)
    x = x if mode.startswith("nearest") else of_floats(x)
    sizes, ratios = _sizes(x, size, scale_factor)
    if mode == "area":
        return adaptive_average(x, sizes)
    if MODES[mode] is None:
        return _nearest(x, sizes, ratios, 1 if mode == "nearest-exact" else 0)
    found = wide(x)
    for axis, (n, m, up, down) in _steps(x, sizes, ratios):
        if not same(n, m):
            taps = cubic_taps if mode == "bicubic" else linear_taps
            found = _between(found, axis, arange(m), up, down, m, align_corners, taps)
    return to_dtype(found, x.type.dtype)


def _steps(x: TensorVariable, sizes: list, ratios: list) -> Any:
    """Of each axis: its lengths before and after, and the ratio of these, which may have been asked for."""
    for axis, (m, ratio) in enumerate(zip(sizes, ratios, strict=True), 2):
        n = length(x, axis)
        yield axis, (n, m, *((ratio.numerator, ratio.denominator) if ratio else (m, n)))


def _nearest(x: TensorVariable, sizes: list, ratios: list, middle: int) -> TensorVariable:
    """The element in which each new one begins, or has its middle."""
    found = x
    for axis, (n, m, up, down) in _steps(x, sizes, ratios):
        if not same(n, m):
            at = (2 * arange(m) + 1) * down // (2 * up) if middle else arange(m) * down // up
            found = take(found, ew.minimum(at, n - 1), axis=axis)
    return found


def _between(x: Any, axis: int, at: Any, up: Any, down: Any, m: Any, align_corners: bool, taps: Any) -> TensorVariable:
    if align_corners:
        return along(x, axis, at * (length(x, axis) - 1), ew.maximum(as_tensor(m) - 1, 1), taps)
    place = (2 * at + 1) * down - up
    if taps is linear_taps:  # what lies before the first element is that element
        place = ew.maximum(place, 0)
    return along(x, axis, place, as_tensor(2 * up), taps)


def _check_mode(x: TensorVariable, mode: str, align_corners: bool) -> None:
    if mode not in MODES:
        raise ValueError(f"interpolate: mode must be one of {', '.join(MODES)}, got {mode!r}")
    if MODES[mode] not in (None, x.ndim):
        raise ValueError(f"interpolate: mode={mode!r} is for images of {MODES[mode]} dimensions, {x} has {x.ndim}")
    if align_corners and MODES[mode] is None:
        raise ValueError(f"interpolate: align_corners is for modes that interpolate, not for {mode!r}")


def _sizes(x: TensorVariable, size: ShapeLike, scale_factor: Any) -> tuple[list, list]:
    """The lengths of the result, and by which fractions they were asked for (None: by themselves)."""
    spatial = x.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    if size is not None:
        found = as_lengths(size, "size", spatial)
        found = found * spatial if len(found) == 1 else found
        if len(found) != spatial or any(isinstance(n, int) and n < 1 for n in found):
            raise ValueError(f"interpolate: size must be {spatial} positive lengths, got {size!r}")
        return found, [None] * spatial
    factors = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * spatial
    if len(factors) != spatial or any(not isinstance(f, (int, float)) or not 0 < f < 1e9 for f in factors):
        raise ValueError(f"interpolate: scale_factor must be {spatial} positive numbers, got {scale_factor!r}")
    ratios = [fractions.Fraction(f).limit_denominator(10_000) for f in factors]
    return [_times(length(x, d), r) for d, r in enumerate(ratios, 2)], ratios


def _times(n: int | TensorVariable, ratio: Fraction) -> Any:
    return floor(n * ratio) if isinstance(n, int) else n * ratio.numerator // ratio.denominator


# ---------------------------------------------------------------------- along a grid
@on_terms
def affine_grid(theta: TensorLike, size: ShapeLike, align_corners: bool = False) -> TensorVariable:
    """The grid for `grid_sample` of images of a `size` moved by affine maps: theta (batch, 2, 3), or (batch, 3, 4).

    >>> import termgraph.tensor as T
    >>> T.nnet.affine_grid([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], (1, 1, 1, 2), align_corners=True).eval()
    array([[[[-1.,  0.],
             [ 1.,  0.]]]])
    """
    theta = as_tensor(theta)
    spatial = {2: 2, 3: 3}.get(theta.type.shape[1] if theta.ndim == 3 else None)  # type: ignore[arg-type]
    if spatial is None or theta.type.shape[2] not in (None, spatial + 1):
        raise TypeError(
            f"affine_grid: theta must be of type (batch, 2, 3), or (batch, 3, 4) for volumes (T.specify_shape); "
            f"{theta} is {theta.type}"
        )
    sizes = as_lengths(size, "size", spatial + 2)
    if len(sizes) != spatial + 2:
        raise ValueError(f"affine_grid: size must be (batch, channels, ...), {spatial + 2} lengths, got {size!r}")
    axes = []
    for d, n in enumerate(sizes[2:]):
        steps = cast(2 * arange(n) + (1 - n), theta.dtype)  # from 1 - n to n - 1
        whole = ew.maximum(as_tensor(n) - 1, 1) if align_corners else as_tensor(n)
        order = [0 if e == d else "x" for e in range(spatial)]
        axes.append(dimshuffle(steps / cast(whole, theta.dtype), *order) * ones(sizes[2:], theta.dtype))
    places = stack([*axes[::-1], ones(sizes[2:], theta.dtype)], axis=-1)  # the last axis of images is x
    flat = places.reshape((-1, spatial + 1))
    return matmul(flat, swapaxes(theta, 1, 2)).reshape((sizes[0], *sizes[2:], spatial))


@on_terms
def grid_sample(
    input: TensorLike,
    grid: TensorLike,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> TensorVariable:
    """Images (batch, channels, rows, columns), or volumes, read at the places of a grid (batch, ..., 2 or 3).

    Places are (x, y), or (x, y, z), from -1 to 1 over the image: over its elements as squares, or as points with
    `align_corners`; NaN is -1. `mode` is 'bilinear', 'nearest' or, for images, 'bicubic'; outside the image are
    'zeros', its 'border', or its 'reflection'. The gradient is by both the images and the grid.

    >>> import termgraph.tensor as T
    >>> T.nnet.grid_sample([[[[0.0, 4.0]]]], [[[[0.0, 0.0], [0.5, 0.0]]]], align_corners=True).eval()
    array([[[[2., 3.]]]])
    """
    x = of_floats(_images("grid_sample", input, (4, 5)))
    grid, spatial = as_tensor(grid), x.ndim - 2
    if grid.ndim != x.ndim or grid.type.shape[-1] not in (None, spatial) or grid.type.kind != "f":
        raise TypeError(
            f"grid_sample: the grid must hold {spatial} floats for each place, (batch, ..., {spatial}); "
            f"{grid} is {grid.type}"
        )
    if mode not in ("bilinear", "nearest", "bicubic") or mode == "bicubic" and spatial == 3:
        raise ValueError(f"grid_sample: mode must be 'bilinear', 'nearest' or, for images, 'bicubic', got {mode!r}")
    if padding_mode not in PADDINGS:
        raise ValueError(f"grid_sample: padding_mode must be one of {', '.join(PADDINGS)}, got {padding_mode!r}")
    sizes = lengths(grid)
    places = reshape(wide(grid), (sizes[0], product(sizes[1:-1]), spatial))  # one loop over all of an image
    taps = [
        _taps(places[..., spatial - 1 - d], length(x, 2 + d), mode, padding_mode, align_corners) for d in range(spatial)
    ]
    found = to_dtype(sum_of_images(wide(x), taps), x.type.dtype)
    return reshape(found, (*lengths(found)[:2], *sizes[1:-1]))


def _taps(place: Any, n: Any, mode: str, padding: str, align_corners: bool) -> list[Tap]:
    """What each place of one axis reads, with indices inside the image."""
    size = cast(as_tensor(n), place.dtype)
    place = ew.switch(ew.isnan(place), np.asarray(-1, place.dtype), place)
    at = (place + 1) * ((size - 1) / 2) if align_corners else ((place + 1) * size - 1) / 2
    at = ew.clip(at, -FAR, FAR)
    if mode == "nearest":
        found = [Tap(ew.round_(at), None)]
    else:
        below = ew.floor(at)
        found = (cubic_taps if mode == "bicubic" else linear_taps)(below, at - below)
    return [_inside(tap, n, padding, align_corners) for tap in found]


def _inside(tap: Tap, n: Any, padding: str, align_corners: bool) -> Tap:
    index = cast(tap.index, "int64")
    kept = ew.clip(index, 0, n - 1)
    if padding == "reflection":
        kept = ew.clip(_reflected(index, n, align_corners), 0, n - 1)
    if padding == "zeros":
        return Tap(kept, tap.weight, ew.eq(index, kept))
    return Tap(kept, tap.weight)


def _reflected(index: Any, n: Any, align_corners: bool) -> Any:
    """Back from the edges of the first and last elements, or from their middles with `align_corners`."""
    period = ew.maximum(as_tensor(2 * n - 2), 1) if align_corners else as_tensor(2 * n)
    once = index % period
    return ew.minimum(once, period - once if align_corners else period - 1 - once)


def sum_of_images(x: TensorVariable, taps: list[list[Tap]]) -> TensorVariable:
    """`sum_of_corners` in each channel of each image; the taps have the images first."""
    sizes = lengths(x)
    flat = reshape(x, (*sizes[:2], product(sizes[2:])))
    batch, channel = arange(sizes[0])[:, None, None], arange(sizes[1])[:, None]
    taps = [[Tap(*[a if a is None else a[:, None] for a in tap]) for tap in each] for each in taps]
    return sum_of_corners(lambda place: flat[batch, channel, place], sizes[2:], taps)


def sum_of_corners(
    read: Callable[[Any], TensorVariable], sizes: Sequence[Any], taps: list[list[Tap]], outside: Any = 0
) -> TensorVariable:
    """The elements at all combinations of taps, by the products of their weights; those not inside are a number.

    `read` gives elements by their places in the array laid out in a row, one place to look up for each corner.
    """

    def corners(d: int, index: tuple, weight: Any, inside: Any) -> TensorVariable:
        if d == len(taps):
            place = index[0]
            for n, i in zip(sizes[1:], index[1:], strict=True):
                place = place * n + i
            found = read(place)
            if inside is not None:  # what is not read may be NaN
                found = ew.switch(inside, found, as_tensor(outside, dtype=found.dtype))
            return found if weight is None else found * cast(weight, found.dtype)
        parts = []
        for tap in taps[d]:
            both, kept = _and(weight, tap.weight, ew.mul), _and(inside, tap.inside, ew.logical_and)
            parts.append(corners(d + 1, (*index, tap.index), both, kept))
        return sum(parts[1:], parts[0])

    return corners(0, (), None, None)


def _and(x: Any, y: Any, op: Any) -> Any:
    return y if x is None else x if y is None else op(x, y)
