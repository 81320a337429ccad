"""Arrays moved, stretched and turned with scipy.ndimage's names: `map_coordinates` of where elements come from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.tensor.creation import arange
from termgraph.tensor.elemwise import cast
from termgraph.tensor.lengths import as_lengths, length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import ShapeLike, TensorLike
from termgraph.tensor.places import map_coordinates
from termgraph.tensor.shaping import dimshuffle
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import normal_axis


@on_terms
def shift(
    input: TensorLike, shift: Any, *, order: int, mode: str = "constant", cval: TensorLike = 0.0
) -> TensorVariable:
    """The array moved by a distance, one number for all axes or one for each; see `map_coordinates` about the rest.

    The gradient is by the distance, too, where `order` is 1.

    >>> import termgraph.tensor as T
    >>> T.ndimage.shift([1.0, 2.0, 4.0, 8.0], 0.5, order=1, mode="nearest").eval()
    array([1. , 1.5, 3. , 6. ])
    """
    x = _array("shift", input)
    by = _for_each("shift", "shift", shift, x.ndim)
    return map_coordinates(x, [p - d for p, d in zip(_grid(lengths(x)), by)], order, mode, cval)


@on_terms
def zoom(
    input: TensorLike,
    zoom: Any,
    *,
    order: int,
    mode: str = "constant",
    cval: TensorLike = 0.0,
    grid_mode: bool = False,
) -> TensorVariable:
    """The array stretched by a factor, one number for all axes or one for each; see `map_coordinates` about the rest.

    The first and the last element stay where they are; with `grid_mode` the outer edges of both do. An axis of n
    elements has `round(n * zoom)` of them.

    >>> import termgraph.tensor as T
    >>> T.ndimage.zoom([1.0, 3.0, 5.0], 5 / 3, order=1).eval()
    array([1., 2., 3., 4., 5.])
    """
    x = _array("zoom", input)
    factors = _for_each("zoom", "zoom", zoom, x.ndim)
    sizes = [_whole(n * f, half_to_even=True) for n, f in zip(lengths(x), factors)]
    places = []
    for p, n, m in zip(_grid(sizes), lengths(x), sizes):
        if grid_mode:
            places.append((p + 0.5) * (_float(n) / _at_least_one(_float(m))) - 0.5)
        else:
            places.append(p * ((_float(n) - 1) / _at_least_one(_float(m) - 1)))
    return map_coordinates(x, places, order, mode, cval)


@on_terms
def affine_transform(
    input: TensorLike,
    matrix: TensorLike,
    offset: Any = 0.0,
    output_shape: ShapeLike = None,
    *,
    order: int,
    mode: str = "constant",
    cval: TensorLike = 0.0,
) -> TensorVariable:
    """The array read at `matrix @ o + offset` for each place o of the result; see `map_coordinates` about the rest.

    `matrix` is square, or a vector, its diagonal; one more column has the offset, which stands in the place of
    `offset`, and a last row of zeros and a one may be below it. The result has `output_shape`, or that of the array.
    The gradient is by the matrix and the offset, too, where `order` is 1.

    >>> import termgraph.tensor as T
    >>> T.ndimage.affine_transform([1.0, 2.0, 4.0, 8.0], [0.5], 1.0, order=1).eval()
    array([2., 3., 4., 6.])
    """
    who, x, m = "affine_transform", _array("affine_transform", input), as_tensor(matrix)
    n = x.ndim
    if m.type.kind == "c":
        raise TypeError(f"{who}: matrix must be of real numbers, got {m.type}")
    if m.type.shape not in ((n,), (n, n), (n, n + 1), (n + 1, n + 1)):
        raise ValueError(
            f"{who}: {x} has {n} dimensions, so matrix must be {n} by {n}, its diagonal, or have the offset in one "
            f"column more; got {m.type}. T.specify_shape tells lengths that are not known"
        )
    by = [m[d, n] for d in range(n)] if m.type.shape[-1] == n + 1 else _for_each(who, "offset", offset, n)
    sizes = lengths(x) if output_shape is None else as_lengths(output_shape, f"{who}: output_shape", n)
    if len(sizes) != n:
        raise ValueError(f"{who}: {x} has {n} dimensions, output_shape has {len(sizes)}")
    grid, places = _grid(sizes), []
    for d in range(n):
        if m.ndim == 1:
            places.append(m[d] * grid[d] + by[d])
        else:
            places.append(sum((m[d, k] * grid[k] for k in range(n)), by[d]))
    return map_coordinates(x, places, order, mode, cval)


@on_terms
def rotate(
    input: TensorLike,
    angle: TensorLike,
    axes: Sequence[int] = (1, 0),
    reshape: bool = True,
    *,
    order: int,
    mode: str = "constant",
    cval: TensorLike = 0.0,
) -> TensorVariable:
    """The array turned by degrees in the plane of two axes; see `map_coordinates` about the rest.

    The result has room for the whole of the turned array, or with `reshape=False` the array's shape. The gradient is
    by the angle, too, where `order` is 1.

    >>> import termgraph.tensor as T
    >>> T.ndimage.rotate([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 90, order=1).eval()
    array([[3., 6.],
           [2., 5.],
           [1., 4.]])
    """
    who, x = "rotate", _array("rotate", input)
    if x.ndim < 2:
        raise ValueError(f"{who}: two axes are needed, {x} has {x.ndim}")
    if not isinstance(axes, Sequence) or len(axes) != 2:
        raise ValueError(f"{who}: axes must be two, got {axes!r}")
    first, second = sorted(normal_axis(a, x.ndim) for a in axes)
    if first == second:
        raise ValueError(f"{who}: axes must be two different ones, got {axes!r}")
    c, s = _cosine_and_sine(who, angle)
    sizes, n, m = lengths(x), length(x, first), length(x, second)
    if reshape:
        sizes[first] = _whole(abs(c) * n + abs(s) * m)
        sizes[second] = _whole(abs(s) * n + abs(c) * m)
    places = list(_grid(sizes))
    rows = places[first] - (_float(sizes[first]) - 1) / 2
    columns = places[second] - (_float(sizes[second]) - 1) / 2
    places[first] = c * rows + s * columns + (_float(n) - 1) / 2
    places[second] = c * columns - s * rows + (_float(m) - 1) / 2
    return map_coordinates(x, places, order, mode, cval)


def _array(who: str, input: TensorLike) -> TensorVariable:
    x = as_tensor(input)
    if not x.ndim:
        raise ValueError(f"{who} takes arrays of one dimension at least, {x} has none")
    return x


def _for_each(who: str, what: str, given: Any, ndim: int) -> list:
    """A number for each axis, from one for all or a vector of known length."""
    if isinstance(given, (int, float)):
        return [given] * ndim
    if isinstance(given, Sequence):
        numbers = [g if isinstance(g, (int, float)) else as_tensor(g) for g in given]
    else:
        v = as_tensor(given)
        if v.ndim == 1 and v.type.shape[0] is None:
            raise ValueError(f"{who}: the length of {what} must be known, got {v.type}; give a list of numbers")
        numbers = [v] * ndim if v.ndim == 0 else [v[d] for d in range(v.type.shape[0] or 0)] if v.ndim == 1 else []
    if len(numbers) != ndim or any(getattr(g, "ndim", 0) for g in numbers):
        raise ValueError(f"{who}: {what} must be a number, or one for each of {ndim} dimensions; got {given!r}")
    if any(hasattr(g, "type") and g.type.kind == "c" for g in numbers):
        raise TypeError(f"{who}: {what} must be real, got {given!r}")
    return numbers


def _grid(sizes: Sequence[Any]) -> list:
    """The places of all elements along each axis, which broadcast to the shape."""
    count = len(sizes)
    return [
        dimshuffle(cast(arange(n), "float64"), *["x"] * d, 0, *["x"] * (count - d - 1)) for d, n in enumerate(sizes)
    ]


def _float(n: Any) -> Any:
    return float(n) if isinstance(n, int) else cast(n, "float64")


def _at_least_one(n: Any) -> Any:
    return max(n, 1.0) if isinstance(n, float) else ew.maximum(n, 1)


def _whole(n: Any, half_to_even: bool = False) -> Any:
    """The nearest length."""
    if isinstance(n, (int, float)):
        return round(n) if half_to_even else math.floor(n + 0.5)
    return cast(ew.round_(n) if half_to_even else ew.floor(n + 0.5), "int64")


def _cosine_and_sine(who: str, angle: TensorLike) -> tuple[Any, Any]:
    """Of degrees; exact for quarters of a turn that are known."""
    if isinstance(angle, (int, float, np.integer, np.floating)):
        turn, rest = divmod(float(angle), 90.0)
        c, s = math.cos(math.radians(rest)), math.sin(math.radians(rest))
        return [(c, s), (-s, c), (-c, -s), (s, -c)][int(turn) % 4]
    a = as_tensor(angle)
    if a.ndim or a.type.kind == "c":
        raise ValueError(f"{who}: angle must be one real number, got {a.type}")
    radians = ew.deg2rad(a if a.type.kind == "f" else cast(a, "float64"))
    return ew.cos(radians), ew.sin(radians)
