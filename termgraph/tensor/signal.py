"""T.signal: pooling with Theano's names; convolutions, filters and spectra with scipy.signal's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.tensor.convolving import convolve, convolve2d, correlate, correlate2d, fftconvolve, oaconvolve
from termgraph.tensor.creation import arange
from termgraph.tensor.filters import filtfilt, lfilter, sosfilt, sosfiltfilt
from termgraph.tensor.lengths import length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import ShapeLike, TensorLike
from termgraph.tensor.medians import medfilt, medfilt2d
from termgraph.tensor.protocols import refuse_in
from termgraph.tensor.resampled import resample, resample_poly, upfirdn
from termgraph.tensor.shaping import dimshuffle
from termgraph.tensor.smoothing import savgol_coeffs, savgol_filter
from termgraph.tensor.spectra import coherence, csd, istft, periodogram, spectrogram, stft, welch
from termgraph.tensor.trends import detrend, hilbert
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.pooling import pool as pool_op

MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


@on_terms
def pool_2d(
    input: TensorLike,
    ws: ShapeLike,
    ignore_border: bool = False,
    stride: ShapeLike = None,
    pad: ShapeLike = (0, 0),
    mode: str = "max",
) -> TensorVariable:
    """The maximum, sum or average of each window of `ws` elements over the last two dimensions.

    `stride` is the distance of windows (by default `ws`: they lie side by side). `ignore_border=True` leaves out
    windows that are not whole; only then `pad` elements may lie around: nothing for a maximum, zeros that an average
    counts ('average_inc_pad') or does not count ('average_exc_pad').

    >>> import termgraph.tensor as T
    >>> x = T.tensor("x", dtype="float32", shape=(8, 3, 7, 6))
    >>> T.signal.pool_2d(x, (2, 2)).type, T.signal.pool_2d(x, (2, 2), ignore_border=True).type
    (TensorType(float32, (8, 3, 4, 3)), TensorType(float32, (8, 3, 3, 3)))
    """
    return _pooled("pool_2d", 2, input, ws, ignore_border, stride, pad, mode)


@on_terms
def pool_3d(
    input: TensorLike,
    ws: ShapeLike,
    ignore_border: bool = False,
    stride: ShapeLike = None,
    pad: ShapeLike = (0, 0, 0),
    mode: str = "max",
) -> TensorVariable:
    """`pool_2d` over the last three dimensions."""
    return _pooled("pool_3d", 3, input, ws, ignore_border, stride, pad, mode)


def _pooled(
    name: str,
    n: int,
    input: TensorLike,
    ws: ShapeLike,
    ignore_border: bool,
    stride: ShapeLike,
    pad: ShapeLike,
    mode: str,
) -> Any:
    x = as_tensor(input)
    if x.ndim < n:
        raise TypeError(f"{name} takes arrays of at least {n} dimensions, {x} has {x.ndim} ({x.type})")
    if mode not in MODES:
        raise ValueError(f"{name}: mode must be one of {', '.join(MODES)}, got {mode!r}")
    if mode.startswith("average") and x.type.kind not in "fc":
        raise TypeError(f"{name}: an average of {x.type.dtype} is not a whole number; cast the array to a float first")
    sizes = whole_numbers(name, "ws", ws, n, 1)
    steps = sizes if stride is None else whole_numbers(name, "stride", stride, n, 1)
    zeros = whole_numbers(name, "pad", pad, n, 0)
    _check_padding(name, sizes, zeros, ignore_border)
    windows = {"size": sizes, "stride": steps, "pad": zeros, "ignore_border": bool(ignore_border)}
    total = pool_op(x, kind="max" if mode == "max" else "sum", **windows)
    if mode == "max":
        return total
    if mode == "sum":
        return total
    inside = None if mode == "average_inc_pad" and ignore_border else zeros
    counts = [length(total, d - n) for d in range(n)]
    return _averaged(total, [length(x, d - n) for d in range(n)], counts, sizes, steps, inside)


def whole_numbers(name: str, what: str, value: Any, n: int, least: int) -> tuple[int, ...]:
    found = (value,) * n if hasattr(value, "__index__") else tuple(value) if isinstance(value, Sequence) else ()
    if len(found) != n or any(isinstance(v, bool) or not hasattr(v, "__index__") or v < least for v in found):
        raise ValueError(f"{name}: {what} must be {n} integers of at least {least}, got {value!r}")
    return tuple([v.__index__() for v in found])


def _check_padding(name: str, sizes: tuple, zeros: tuple, ignore_border: bool) -> None:
    if any(zeros) and not ignore_border:
        raise ValueError(f"{name}: pad={zeros} needs ignore_border=True")
    if any(p >= k for p, k in zip(zeros, sizes, strict=True)):
        raise ValueError(f"{name}: pad={zeros} must be smaller than the windows {sizes}, else some hold padding only")


def _averaged(
    total: TensorVariable, ns: list, counts: list, sizes: tuple, steps: tuple, zeros: tuple | None
) -> TensorVariable:
    """Sums divided by the number of elements in their windows; `zeros` are those around that do not count."""
    if zeros is None:
        return ew.true_div(total, np.asarray(np.prod(sizes), total.type.dtype))
    for d, (n, m, k, s, p) in enumerate(zip(ns, counts, sizes, steps, zeros, strict=True)):
        start = arange(m) * s - p
        inside = ew.sub(ew.minimum(start + k, n), ew.maximum(start, 0))
        order = [0 if e == d else "x" for e in range(len(ns))]
        total = ew.true_div(total, ew.cast(dimshuffle(inside, *order), dtype=total.type.dtype))
    return total


__all__ = [
    "coherence", "convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve", "filtfilt",
    "hilbert", "istft", "lfilter", "medfilt", "medfilt2d", "oaconvolve", "periodogram", "pool_2d", "pool_3d",
    "resample", "resample_poly", "savgol_coeffs", "savgol_filter", "sosfilt", "sosfiltfilt", "spectrogram", "stft",
    "upfirdn", "welch",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


globals()["__getattr__"] = refuse_in(".signal")  # type checkers shall not believe that any name is there
