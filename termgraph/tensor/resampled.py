"""Signals with another number of samples, with scipy.signal's names, for T.signal: resample."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from termgraph.tensor.creation import arange, zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.fft import fft, ifft, irfft, rfft
from termgraph.tensor.joining import concatenate, flip
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.shaping import moveaxis
from termgraph.tensor.spectra import WindowLike, window_of
from termgraph.tensor.trends import signal_of
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import real_part
from termgraph.terms.ops import elementwise as ew


@overload
def resample(
    x: TensorLike,
    num: int,
    t: None = None,
    axis: int = 0,
    window: TensorLike | WindowLike | None = None,
    domain: str = "time",
) -> TensorVariable: ...
@overload
def resample(
    x: TensorLike,
    num: int,
    t: TensorLike,
    axis: int = 0,
    window: TensorLike | WindowLike | None = None,
    domain: str = "time",
) -> list[TensorVariable]: ...
@on_terms
def resample(
    x: TensorLike,
    num: int,
    t: TensorLike | None = None,
    axis: int = 0,
    window: TensorLike | WindowLike | None = None,
    domain: str = "time",
) -> Any:
    """A periodic signal with `num` samples, by its Fourier transform, as scipy.signal.resample.

    With `t`, the times of the samples at equal distances, the result is [samples, their times]. `window` is a vector
    of weights for the frequencies of `x`, in the order of `T.fft.fft`, or the name of one as `stft` takes it, where
    the length is known. `domain="freq"` says that `x` is a transform.

    >>> import termgraph.tensor as T
    >>> T.signal.resample([0.0, 1.0, 0.0, -1.0], 8).eval().round(3) + 0.0
    array([ 0.   ,  0.707,  1.   ,  0.707,  0.   , -0.707, -1.   , -0.707])
    """
    if domain not in ("time", "freq"):
        raise ValueError(f"resample: domain must be 'time' or 'freq', got {domain!r}")
    if isinstance(num, bool) or not isinstance(num, (int, np.integer)) or num < 1:
        raise ValueError(f"resample: num must be a positive whole number, got {num!r}")
    num = int(num)
    given, axis = signal_of("resample", x, axis)
    n = length(given, given.ndim - 1)
    weights = _weights(window, n)
    if weights is not None and (weights.ndim != 1 or weights.type.kind == "c"):
        raise ValueError(f"resample: window must be a vector of real numbers, one for each frequency, got {window!r}")
    if domain == "time" and given.type.kind == "f":
        samples = _of_real(given, n, num, weights)
    else:
        samples = _of_complex(given, n, num, weights, domain)
    samples = moveaxis(samples, -1, axis)
    if t is None:
        return samples
    times = as_tensor(t)
    step = (times[1] - times[0]) * (cast(as_tensor(n), "float64") / num)
    return [samples, times[0] + step * arange(num)]


def _weights(window: Any, n: Any) -> TensorVariable | None:
    if window is None or not isinstance(window, (str, tuple)):
        return None if window is None else as_tensor(window)
    if not isinstance(n, int):
        raise ValueError(
            f"resample: a window by name, {window!r}, wants a known length along the axis; T.specify_shape"
        )
    return as_tensor(np.fft.fftshift(window_of("resample", window, n)))


def _of_real(x: TensorVariable, n: Any, num: int, window: Any) -> TensorVariable:
    half = rfft(x, n)
    if window is not None:  # that of a frequency and of the negative one, which is not there
        both = (window[1:] + flip(window[1:], 0)) / 2
        whole = concatenate([window[:1], both], 0)[: length(half, half.ndim - 1)]
        half = half * cast(whole, real_part(half.type.dtype))
    fewer = min(n, num) if isinstance(n, int) else ew.minimum(n, num)
    half = half[..., : fewer // 2 + 1]
    place = arange(length(half, half.ndim - 1))
    # The frequency of which there are two samples a period has its negative one in itself on one side only.
    alone = ew.eq(2 * place, fewer) & ew.neq(as_tensor(n), num)
    factor = ew.switch(alone, ew.switch(ew.lt(num, as_tensor(n)), 2.0, 0.5), 1.0) * (
        num / cast(as_tensor(n), "float64")
    )
    return irfft(half * cast(factor, real_part(half.type.dtype)), num)


def _of_complex(x: TensorVariable, n: Any, num: int, window: Any, domain: str) -> TensorVariable:
    if not isinstance(n, int):
        raise ValueError(
            f"resample: the length of complex numbers must be known along the axis, {x} is {x.type}; T.specify_shape "
            "tells it"
        )
    whole = fft(x) if domain == "time" else x if x.type.kind == "c" else cast(x, "complex128")
    if window is not None:
        whole = whole * cast(window, real_part(whole.type.dtype))
    fewer, scale = min(n, num), num / n
    negative = (fewer - 1) // 2
    first = negative + 1  # those that are not negative, without the one that may be alone
    gap = [zeros((*lengths(whole)[:-1], num - fewer), whole.type.dtype)] if num > fewer else []
    parts = [whole[..., :first]]
    if fewer % 2:
        parts += gap
    else:
        alone = whole[..., first : first + 1]
        if num < n:  # both are one now
            parts.append(alone + whole[..., n - fewer // 2 : n - fewer // 2 + 1])
        elif num == n:
            parts.append(alone)
        else:
            last = [gap[0][..., 1:]] if num > fewer + 1 else []
            parts += [alone / 2, *last, alone / 2]
    if negative:
        parts.append(whole[..., n - negative :])
    return ifft(concatenate(parts, -1) * np.asarray(scale, real_part(whole.type.dtype)), num)
