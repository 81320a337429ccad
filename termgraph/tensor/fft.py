"""T.fft: discrete Fourier transforms with numpy.fft's names, and scipy.fft's of cosines and sines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.tensor.cosines import dct, dctn, dst, dstn, idct, idctn, idst, idstn
from termgraph.tensor.creation import arange
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate, roll
from termgraph.tensor.lengths import length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, TensorLike
from termgraph.tensor.points import computed_points, known_points, of_points, over_axes
from termgraph.tensor.protocols import refuse_in
from termgraph.tensor.shaping import specify_shape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import HALVES
from termgraph.terms.op import Op
from termgraph.terms.ops import fft as ops
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.elementwise import conj, eq, real
from termgraph.terms.ops.shapes import normal_axis


def _whole_spectrum(half: TensorVariable, n: TensorVariable, axis: int) -> TensorVariable:
    """All n frequencies of real numbers: negative ones are the conjugates of positive ones."""
    before = (slice(None),) * axis
    mirrored = half[(*before, slice(1, n - n // 2))]
    return concatenate([half, conj(mirrored[(*before, slice(None, None, -1))])], axis=axis)


def _symbolic_points(op: Op, a: TensorVariable, n: TensorVariable, axis: int, norm: str) -> TensorVariable:
    """The transform of a number of points that is known when it runs: of an array that is cut or filled to it."""
    if op is not ops.irfft:
        return op(of_points(a, n, axis), n=None, axis=axis, norm=norm)
    a = of_points(a, n // 2 + 1, axis)
    even, odd = op(a, n=None, axis=axis, norm=norm), ops.ifft(_whole_spectrum(a, n, axis), n=None, axis=axis, norm=norm)
    sides = [specify_shape(x, *[n if d == axis else None for d in range(a.ndim)]) for x in (even, real(odd))]
    return as_tensor(ifelse.bind(n=1)(eq(n % 2, 0), *sides))


def _function(op: Op, doc: str) -> Callable:
    def transform(
        a: TensorLike, n: TensorLike | None = None, axis: int = -1, norm: str | None = None
    ) -> TensorVariable:
        a = as_tensor(a)
        if a.ndim == 0:
            raise ValueError(f"{op.name} needs an array with at least one dimension")
        axis, norm = normal_axis(axis, a.ndim), norm or "backward"
        if a.type.dtype in HALVES:  # computed in single precision, as NumPy does
            found = transform(cast(a, "float32"), n, axis, norm)
            return cast(found, a.type.dtype) if found.type.kind == "f" else found
        if hasattr(n, "term"):
            return _symbolic_points(op, a, computed_points(n), axis, norm)
        return op(a, n=known_points(n), axis=axis, norm=norm)

    transform.__name__ = transform.__qualname__ = op.name
    transform.__doc__ = (
        f"{doc}\n\n`n` points (cut or filled with zeros); norm is 'backward' (default), 'ortho' or 'forward'."
    )
    return on_terms(transform)


fft = _function(ops.fft, "The discrete Fourier transform along an axis.")
ifft = _function(ops.ifft, "The inverse discrete Fourier transform along an axis.")
rfft = _function(ops.rfft, "The transform of real numbers: its n // 2 + 1 non-negative frequencies.")
irfft = _function(ops.irfft, "The inverse of `rfft`; say n if it is odd (by default twice the length, less 2).")


def _several(one: Callable, name: str, default: int | None, doc: str) -> Callable:
    def transform(
        a: TensorLike, s: int | Sequence[int] | None = None, axes: AxisLike = None, norm: str | None = None
    ) -> TensorVariable:
        a = as_tensor(a)
        for axis, n in over_axes(name, a, s, axes, default):
            a = one(a, n, axis, norm)
        return a

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = doc
    return on_terms(transform)


fftn = _several(fft, "fftn", None, "The transform over several axes (all of them by default).")
ifftn = _several(ifft, "ifftn", None, "The inverse transform over several axes (all of them by default).")
fft2 = _several(fft, "fft2", 2, "The transform over the last two axes.")
ifft2 = _several(ifft, "ifft2", 2, "The inverse transform over the last two axes.")


@on_terms
def rfftn(
    a: TensorLike, s: int | Sequence[int] | None = None, axes: AxisLike = None, norm: str | None = None
) -> TensorVariable:
    """The transform of real numbers over several axes; the last of them has the non-negative frequencies."""
    return _real("rfftn", a, s, axes, norm)


@on_terms
def irfftn(
    a: TensorLike, s: int | Sequence[int] | None = None, axes: AxisLike = None, norm: str | None = None
) -> TensorVariable:
    """The inverse of `rfftn`."""
    return _real_back("irfftn", a, s, axes, norm)


@on_terms
def rfft2(
    a: TensorLike, s: int | Sequence[int] | None = None, axes: AxisLike = (-2, -1), norm: str | None = None
) -> TensorVariable:
    """The transform of real numbers over the last two axes."""
    return _real("rfft2", a, s, axes, norm)


@on_terms
def irfft2(
    a: TensorLike, s: int | Sequence[int] | None = None, axes: AxisLike = (-2, -1), norm: str | None = None
) -> TensorVariable:
    """The inverse of `rfft2`."""
    return _real_back("irfft2", a, s, axes, norm)


def _real(name: str, a: TensorLike, s: Any, axes: AxisLike, norm: str | None) -> TensorVariable:
    a = as_tensor(a)
    for k, (axis, n) in enumerate(over_axes(name, a, s, axes)):
        a = fft(a, n, axis, norm) if k else rfft(a, n, axis, norm)
    return a


def _real_back(name: str, a: TensorLike, s: Any, axes: AxisLike, norm: str | None) -> TensorVariable:
    a = as_tensor(a)
    last, *others = over_axes(name, a, s, axes)
    for axis, n in reversed(others):
        a = ifft(a, n, axis, norm)
    return irfft(a, last[1], last[0], norm)


def _shift(x: TensorLike, axes: AxisLike, back: bool) -> TensorVariable:
    x = as_tensor(x)
    places = range(x.ndim) if axes is None else [axes] if hasattr(axes, "__index__") else axes
    for d in places:
        n = length(x, normal_axis(d, x.ndim))
        half = n // 2
        x = roll(x, -half if back else half, normal_axis(d, x.ndim))
    return x


@on_terms
def fftshift(x: TensorLike, axes: AxisLike = None) -> TensorVariable:
    """Frequency 0 moved to the middle of the axes."""
    return _shift(x, axes, back=False)


@on_terms
def ifftshift(x: TensorLike, axes: AxisLike = None) -> TensorVariable:
    """The inverse of `fftshift`."""
    return _shift(x, axes, back=True)


_OTHER_SIDE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}  # which divides by n


@on_terms
def hfft(a: TensorLike, n: TensorLike | None = None, axis: int = -1, norm: str | None = None) -> TensorVariable:
    """The real transform of n numbers of which the second half are the conjugates of the first; say n if it is odd."""
    return irfft(conj(as_tensor(a)), n, axis, _OTHER_SIDE.get(norm, norm))


@on_terms
def ihfft(a: TensorLike, n: TensorLike | None = None, axis: int = -1, norm: str | None = None) -> TensorVariable:
    """The inverse of `hfft`."""
    return conj(rfft(a, n, axis, _OTHER_SIDE.get(norm, norm)))


TABLE = 4096  # points, up to which known frequencies are numbers of the program: more are sooner computed than read


def fftfreq(n: int | TensorVariable, d: float | TensorVariable = 1.0) -> TensorVariable:
    """The frequencies of the results of `fft` of n points at distance d."""
    if isinstance(n, int) and isinstance(d, (int, float)):
        if n <= TABLE:
            return as_tensor(np.fft.fftfreq(n, d))
        return _places(n) * (1.0 / (n * d))  # as NumPy computes them: a division of each takes four times as long
    n = as_tensor(n)
    return _places(n) / (n * as_tensor(d))


def _places(n: Any) -> TensorVariable:
    return concatenate([arange((n + 1) // 2), arange(-(n // 2), 0)])


def rfftfreq(n: int | TensorVariable, d: float | TensorVariable = 1.0) -> TensorVariable:
    """The frequencies of the results of `rfft` of n points at distance d."""
    if isinstance(n, int) and isinstance(d, (int, float)):
        return as_tensor(np.fft.rfftfreq(n, d)) if n <= TABLE else arange(n // 2 + 1) * (1.0 / (n * d))
    n = as_tensor(n)
    return arange(n // 2 + 1) / (n * as_tensor(d))


__all__ = [
    "dct", "dctn", "dst", "dstn", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "idct", "idctn", "idst",
    "idstn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq",
    "rfftn",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


globals()["__getattr__"] = refuse_in(".fft")  # type checkers shall not believe that any name is there
