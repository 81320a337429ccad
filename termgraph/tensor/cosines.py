"""Transforms to cosines and sines with scipy.fft's names, for T.fft: Fourier's of other orders."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor.creation import arange, zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.indexing import set_subtensor
from termgraph.tensor.joining import concatenate, flip
from termgraph.tensor.lengths import at_least, length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.points import computed_points, known_points, of_points, over_axes
from termgraph.tensor.reductions import wide
from termgraph.tensor.shaping import reshape
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import fft as ops
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.shapes import at_axis, normal_axis

if TYPE_CHECKING:
    from termgraph.tensor.likes import AxisLike, TensorLike
    from termgraph.tensor.variable import TensorVariable

NORMS = (None, "backward", "ortho", "forward")
INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


@on_terms
def dct(
    x: TensorLike,
    type: int = 2,
    n: TensorLike | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    orthogonalize: bool | None = None,
) -> TensorVariable:
    """The discrete cosine transform of type 1, 2, 3 or 4 along an axis, of n points (cut or filled with zeros).

    norm is 'backward' (default: only the inverse divides), 'ortho' (both do) or 'forward'. With 'ortho' the first
    number of types 2 and 3, and both ends of type 1, count a root of 2 more or less, so that the matrix is orthogonal;
    `orthogonalize` says so for other norms, or not.

    >>> import termgraph.tensor as T
    >>> T.fft.dct([1.0, 1.0, 1.0]).eval().round(9) + 0.0
    array([6., 0., 0.])
    """
    return _along("dct", x, type, n, axis, norm, orthogonalize)


@on_terms
def idct(
    x: TensorLike,
    type: int = 2,
    n: TensorLike | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    orthogonalize: bool | None = None,
) -> TensorVariable:
    """The inverse of `dct` of the same type and norm.

    >>> import termgraph.tensor as T
    >>> T.fft.idct([6.0, 0.0, 0.0]).eval()
    array([1., 1., 1.])
    """
    return _along("idct", x, type, n, axis, norm, orthogonalize)


@on_terms
def dst(
    x: TensorLike,
    type: int = 2,
    n: TensorLike | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    orthogonalize: bool | None = None,
) -> TensorVariable:
    """The discrete sine transform of type 1, 2, 3 or 4 along an axis, of n points; norms are those of `dct`.

    With 'ortho' it is the last number of types 2 and 3 that counts a root of 2 more or less.

    >>> import termgraph.tensor as T
    >>> T.fft.dst([1.0, -1.0, 1.0]).eval().round(9) + 0.0
    array([0., 0., 6.])
    """
    return _along("dst", x, type, n, axis, norm, orthogonalize)


@on_terms
def idst(
    x: TensorLike,
    type: int = 2,
    n: TensorLike | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    orthogonalize: bool | None = None,
) -> TensorVariable:
    """The inverse of `dst` of the same type and norm.

    >>> import termgraph.tensor as T
    >>> T.fft.idst([0.0, 0.0, 6.0]).eval()
    array([ 1., -1.,  1.])
    """
    return _along("idst", x, type, n, axis, norm, orthogonalize)


def _several(one: Callable, doc: str) -> Callable:
    def transform(
        x: TensorLike,
        type: int = 2,
        s: int | Sequence[int] | None = None,
        axes: AxisLike = None,
        norm: str | None = None,
        *,
        orthogonalize: bool | None = None,
    ) -> TensorVariable:
        x = as_tensor(x)
        for axis, n in over_axes(f"{one.__name__}n", x, s, axes, twice=False):
            x = one(x, type, n, axis, norm, orthogonalize=orthogonalize)
        return x

    transform.__name__ = transform.__qualname__ = f"{one.__name__}n"
    transform.__doc__ = doc
    return on_terms(transform)


dctn = _several(dct, "`dct` over several axes (all of them by default), `s` the number of points along each.")
idctn = _several(idct, "`idct` over several axes (all of them by default), `s` the number of points along each.")
dstn = _several(dst, "`dst` over several axes (all of them by default), `s` the number of points along each.")
idstn = _several(idst, "`idst` over several axes (all of them by default), `s` the number of points along each.")


# ---------------------------------------------------------------------- what all of them have in common
def _along(
    name: str, x: TensorLike, type: int, n: Any, axis: int, norm: str | None, orthogonalize: bool | None
) -> TensorVariable:
    x = as_tensor(x)
    if not x.ndim:
        raise ValueError(f"{name} needs an array with at least one dimension, {x} has none")
    if isinstance(type, bool) or type not in INVERSE:
        raise ValueError(f"{name}: type must be 1, 2, 3 or 4, got {type!r}")
    if norm not in NORMS:
        raise ValueError(f"{name}: norm must be one of backward, ortho, forward, got {norm!r}")
    axis = normal_axis(axis, x.ndim)
    if n is not None:
        n = computed_points(n) if hasattr(n, "term") else known_points(n)
        if isinstance(n, int) and n < 1:
            raise ValueError(f"{name}: the number of points must be positive, got {n}")
        x = of_points(x, n, axis)
    x = wide(x) if x.type.kind in "fc" else cast(x, "float64")
    kind, inverse = name.removeprefix("i"), name[0] == "i"
    even = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    how = (INVERSE[type] if inverse else type, inverse, norm, even)
    x = _long_enough(name, x, axis, 2 if (kind, type) == ("dct", 1) else 1)
    if x.type.kind == "c":
        return ew.complex_(*[_real(kind, part, axis, *how) for part in (ew.real(x), ew.imag(x))])
    return _real(kind, x, axis, *how)


def _long_enough(name: str, x: TensorVariable, axis: int, least: int) -> TensorVariable:
    n = length(x, axis)
    told = f"{name}: there must be {least} or more elements along axis {axis}"
    if isinstance(n, int) and n < least:
        raise ShapeError(f"{told}, {x} has {n}")
    return at_least(x, axis, least, told)


def _real(kind: str, x: TensorVariable, axis: int, type: int, inverse: bool, norm: str | None, even: bool) -> Any:
    n = length(x, axis)
    period = 2 * n if type != 1 else 2 * (n - 1) if kind == "dct" else 2 * (n + 1)
    scale: Any = 1.0
    if norm == "ortho":
        scale = 1 / (math.sqrt(period) if isinstance(period, int) else ew.sqrt(cast(period, "float64")))
    elif inverse == (norm != "forward"):
        scale = 1 / period
    if type == 1:
        return _cosines_1(x, axis, scale, even) if kind == "dct" else _sines_1(x, axis, scale)
    if kind == "dct":
        return PLAIN[type](x, axis, scale, even, 1)
    if type == 2:  # sines are cosines of the other end's, with every second sign
        return flip(_cosines_2(x, axis, scale, even, -1), axis)
    return PLAIN[type](flip(x, axis), axis, scale, even, -1)


# ---------------------------------------------------------------------- one type of real floats
def _cosines_1(x: TensorVariable, axis: int, scale: float | TensorVariable, even: bool) -> TensorVariable:
    """Fourier's transform of the numbers there and back, without the ends a second time."""
    x = _scaled(x, scale)
    n = length(x, axis)
    if even:
        place = arange(n)
        ends = ew.bitwise_or(ew.eq(place, 0), ew.eq(place, n - 1))
        x = x * _spread(ew.switch(ends, ROOT, 1.0), x, axis)
    found = ew.real(_rfft(concatenate([x, flip(_part(x, axis, 1, n - 1), axis)], axis=axis), axis))
    return found * _spread(ew.switch(ends, 1 / ROOT, 1.0), x, axis) if even else found


def _sines_1(x: TensorVariable, axis: int, scale: float | TensorVariable) -> TensorVariable:
    """Fourier's transform of the numbers there and, with the other sign, back."""
    x = _scaled(x, scale)
    zero = zeros([1 if d == axis else n for d, n in enumerate(lengths(x))], dtype=x.dtype)
    found = _rfft(concatenate([zero, x, zero, -flip(x, axis)], axis=axis), axis)
    return -_part(ew.imag(found), axis, 1, length(x, axis) + 1)


def _cosines_2(x: TensorVariable, axis: int, scale: float | TensorVariable, even: bool, sign: int) -> TensorVariable:
    """Fourier's transform of every second number there and of the others back, turned by a part of a quarter each."""
    n = length(x, axis)
    c, s = _quarter(n, x.dtype)
    twice = 2 * scale * ew.switch(ew.eq(arange(n), 0), 1 / ROOT, 1.0) if even else as_tensor(2 * scale)
    c, s = (v * cast(twice, x.dtype) for v in (c, s))
    other = flip(_part(x, axis, 1, None, 2), axis)
    found = _rfft(concatenate([_part(x, axis, 0, None, 2), other if sign > 0 else -other], axis=axis), axis)
    half = n // 2 + 1
    back = flip(_part(found, axis, 1, n - half + 1), axis)  # of negative frequencies: conjugates
    low = _spread(c[:half], x, axis) * ew.real(found) + _spread(s[:half], x, axis) * ew.imag(found)
    high = _spread(c[half:], x, axis) * ew.real(back) - _spread(s[half:], x, axis) * ew.imag(back)
    return concatenate([low, high], axis=axis)


def _cosines_3(x: TensorVariable, axis: int, scale: float | TensorVariable, even: bool, sign: int) -> TensorVariable:
    """The way of `_cosines_2` back, but forwards: Hartley's transform, real less imaginary part, is its own inverse."""
    n = length(x, axis)
    c, s = _quarter(n, x.dtype)
    factor = cast(as_tensor(scale), x.dtype)
    c, s = factor * (c - s)[1:], factor * (c + s)[1:]
    first, rest = _part(x, axis, 0, 1), _part(x, axis, 1)
    first = _scaled(first, scale * (ROOT if even else 1.0))
    rest = _spread(c, x, axis) * rest + _spread(s, x, axis) * flip(rest, axis)
    found = _rfft(concatenate([first, rest], axis=axis), axis)
    there = ew.real(found) - ew.imag(found)
    back = ew.real(found) + ew.imag(found)
    back = _part(back if sign > 0 else -back, axis, 1, n // 2 + 1)
    return _interleaved(_part(there, axis, 0, (n + 1) // 2), back, x, axis)


def _cosines_4(x: TensorVariable, axis: int, scale: float | TensorVariable, even: bool, sign: int) -> TensorVariable:
    """Fourier's transform of n / 2 complex numbers where n is even, else of n: a choice in the call if n is unknown."""
    n = length(x, axis)
    if isinstance(n, int):
        return (_by_halves if n % 2 == 0 else _by_all)(x, axis, scale, sign)
    return as_tensor(ifelse.bind(n=1)(ew.eq(n % 2, 0), _by_halves(x, axis, scale, sign), _by_all(x, axis, scale, sign)))


def _by_halves(x: TensorVariable, axis: int, scale: float | TensorVariable, sign: int) -> TensorVariable:
    """Type 4 of an even number n, by Fourier's transform of half as many complex numbers."""
    n = length(x, axis)
    half = n // 2
    angle = (arange(half) + 0.125) * (np.pi / n)
    c, s = _spread(ew.cos(angle), x, axis), _spread(ew.sin(angle), x, axis)
    a, b = _part(x, axis, 0, None, 2), flip(_part(x, axis, 1, None, 2), axis)
    found = _fft(ew.complex_(c * a + s * b, c * b - s * a), axis)
    c, s = (_scaled(v, 2 * scale) for v in (c, s))
    first, other = c * ew.real(found) + s * ew.imag(found), s * ew.real(found) - c * ew.imag(found)
    return _interleaved(first, flip(other if sign > 0 else -other, axis), x, axis)


def _by_all(x: TensorVariable, axis: int, scale: float | TensorVariable, sign: int) -> TensorVariable:
    """Type 4 of any number n, by Fourier's transform of as many complex numbers."""
    n = length(x, axis)
    c, s = (_spread(v, x, axis) for v in _quarter(n, x.dtype))
    found = _fft(ew.complex_(c * x, -s * x), axis)
    angle = (arange(n) + 0.25) * (np.pi / n)  # the results with even numbers, and from the middle on the odd ones back
    c, s = _spread(2 * scale * ew.cos(angle), x, axis), _spread(2 * scale * ew.sin(angle), x, axis)
    found = c * ew.real(found) + s * ew.imag(found)
    half = (n + 1) // 2
    other = flip(_part(found, axis, half), axis)
    return _interleaved(_part(found, axis, 0, half), -other if sign > 0 else other, x, axis)


ROOT = math.sqrt(2)
PLAIN = {2: _cosines_2, 3: _cosines_3, 4: _cosines_4}  # sign: what every second number counts


def _quarter(n: Any, dtype: str) -> tuple[TensorVariable, TensorVariable]:
    """Cosines and sines of n places of a quarter."""
    angle = arange(n) * (0.5 * np.pi / n)
    return cast(ew.cos(angle), dtype), cast(ew.sin(angle), dtype)


def _rfft(x: TensorVariable, axis: int) -> TensorVariable:
    return ops.rfft(x, n=None, axis=axis, norm="backward")


def _fft(x: TensorVariable, axis: int) -> TensorVariable:
    return ops.fft(x, n=None, axis=axis, norm="backward")


def _part(x: TensorVariable, axis: int, start: Any, stop: Any = None, step: int | None = None) -> TensorVariable:
    return x[at_axis(axis, slice(start, stop, step))]


def _spread(numbers: TensorVariable, like: TensorVariable, axis: int) -> TensorVariable:
    """A vector of factors along an axis, rounded once."""
    return reshape(cast(numbers, like.dtype), (length(numbers, 0), *[1] * (like.ndim - axis - 1)))


def _scaled(x: TensorVariable, scale: float | TensorVariable) -> TensorVariable:
    return x if isinstance(scale, float) and scale == 1.0 else x * cast(as_tensor(scale), x.dtype)


def _interleaved(first: TensorVariable, second: TensorVariable, like: TensorVariable, axis: int) -> TensorVariable:
    """first[0], second[0], first[1] ...: as many as `like` has."""
    whole = set_subtensor(zeros(lengths(like), dtype=like.dtype)[at_axis(axis, slice(None, None, 2))], first)
    return set_subtensor(whole[at_axis(axis, slice(1, None, 2))], second)
