"""Signals with another number of samples, with scipy.signal's names, for T.signal: by transforms, or by filters."""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np

from termgraph._lazy import lazy
from termgraph.tensor.creation import arange, zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.fft import fft, ifft, irfft, rfft
from termgraph.tensor.joining import concatenate, flip
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.padding import pad
from termgraph.tensor.quantiles import median
from termgraph.tensor.reductions import max as max_over
from termgraph.tensor.reductions import mean
from termgraph.tensor.reductions import min as min_over
from termgraph.tensor.shaping import expand_dims, moveaxis
from termgraph.tensor.spectra import WindowLike, window_of
from termgraph.tensor.trends import signal_of
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import kind_of, promote, real_part
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import resampling as ops
from termgraph.terms.ops.shapes import normal_axis

scipy_signal = lazy("scipy.signal")


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


# ---------------------------------------------------------------------- filters between rates
BEYOND = ("constant", "wrap", "edge", "smooth", "symmetric", "reflect", "antisymmetric", "antireflect", "line")
BACKGROUNDS: dict[str, Any] = {"mean": mean, "median": median, "minimum": min_over, "maximum": max_over}


@on_terms
def upfirdn(
    h: TensorLike,
    x: TensorLike,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: complex = 0,
) -> TensorVariable:
    """`up - 1` zeros between all samples, then the filter h, then every `down`-th result, as scipy.signal.upfirdn.

    Only products that count are made. `mode` says what follows beyond the ends of x: `cval` ("constant"), x again
    ("wrap"), its last sample ("edge"), its mirror image with that sample twice ("symmetric") or once ("reflect"),
    those with another sign ("antisymmetric", or "antireflect", around the last sample), and the line through the last
    two samples ("smooth") or through the first and the last one ("line").

    >>> import termgraph.tensor as T
    >>> T.signal.upfirdn([1.0, 1.0], [1.0, 2.0, 3.0], 2).eval()
    array([1., 1., 2., 2., 3., 3.])
    """
    taps, up, down = as_tensor(h), _rate("upfirdn", "up", up), _rate("upfirdn", "down", down)
    if taps.ndim != 1 or taps.type.shape[0] == 0:
        raise ValueError(f"upfirdn: h must be a vector with elements, got {taps} of type {taps.type}")
    if mode not in BEYOND:
        raise ValueError(f"upfirdn: mode must be one of {', '.join(BEYOND)}, got {mode!r}")
    given, axis = _samples("upfirdn", x, axis)
    found = _between_rates(given, taps, up, down, mode, cval)
    return moveaxis(found, -1, axis)


@on_terms
def resample_poly(
    x: TensorLike,
    up: int,
    down: int,
    axis: int = 0,
    window: TensorLike | WindowLike = ("kaiser", 5.0),
    padtype: str = "constant",
    cval: complex | None = None,
) -> TensorVariable:
    """A signal at `up / down` of its rate, through a low-pass filter without delay, as scipy.signal.resample_poly.

    There are `up / down` times as many samples, rounded up. `window` is what the filter is designed with, by name, or
    the filter itself as a vector. Beyond the ends follows what `padtype` says: a mode of `upfirdn`, with `cval` for
    "constant", or the "mean", "median", "minimum" or "maximum" of x.

    >>> import termgraph.tensor as T
    >>> T.signal.resample_poly([0.0, 0.0, 1.0, 0.0, 0.0], 2, 1).eval().round(3) + 0.0
    array([ 0.   , -0.202,  0.   ,  0.633,  1.001,  0.633,  0.   , -0.202,
            0.   ,  0.111])
    """
    up, down = _rate("resample_poly", "up", up), _rate("resample_poly", "down", down)
    if cval is not None and padtype != "constant":
        raise ValueError(f"resample_poly: cval is for padtype='constant', got padtype={padtype!r}")
    if padtype not in BACKGROUNDS and padtype not in BEYOND:
        raise ValueError(f"resample_poly: padtype must be one of {', '.join((*BACKGROUNDS, *BEYOND))}, got {padtype!r}")
    given, axis = _samples("resample_poly", x, axis)
    up, down = up // math.gcd(up, down), down // math.gcd(up, down)
    if up == down == 1:
        return as_tensor(x)
    taps, half = _low_pass(window, given.type.dtype, up, down)
    before = down - half % down
    widths = [(before, ew.maximum(up - half - 1, 0) if hasattr(half, "term") else max(up - half - 1, 0))]
    taps = pad(taps * np.asarray(up, taps.type.dtype), widths)
    background = BACKGROUNDS[padtype](given, axis=-1, keepdims=True) if padtype in BACKGROUNDS else None
    mode = "constant" if background is not None else padtype
    found = _between_rates(given if background is None else given - background, taps, up, down, mode, cval or 0)
    first, many = (half + before) // down, (length(given, -1) * up + down - 1) // down
    found = found[..., first : first + many]
    return moveaxis(found if background is None else found + background, -1, axis)


def _rate(name: str, what: str, rate: int) -> int:
    if isinstance(rate, bool) or not isinstance(rate, (int, np.integer)) or rate < 1:
        raise ValueError(f"{name}: {what} must be a positive whole number, got {rate!r}")
    return int(rate)


def _samples(name: str, x: TensorLike, axis: int) -> tuple[TensorVariable, int]:
    """The signal with its time last, and where that was."""
    given = as_tensor(x)
    if not given.ndim:
        raise ValueError(f"{name} takes a signal along an axis, got {given} of type {given.type}")
    axis = normal_axis(axis, given.ndim)
    return moveaxis(given, axis, -1), axis


def _low_pass(window: Any, dtype: str, up: int, down: int) -> tuple[TensorVariable, Any]:
    """A filter, and how many elements are before its middle."""
    if not isinstance(window, (str, tuple)):
        taps = as_tensor(window)
        if taps.ndim != 1:
            raise ValueError(f"resample_poly: a filter must be a vector, got {taps} of type {taps.type}")
        return taps if taps.type.kind in "fc" else cast(taps, "float64"), (length(taps, 0) - 1) // 2
    highest = max(up, down)
    made = scipy_signal.firwin(20 * highest + 1, 1.0 / highest, window=window)
    real = _part_of(dtype) if kind_of(dtype) in "fc" else "float64"
    return cast(as_tensor(made), real), 10 * highest


def _between_rates(
    x: TensorVariable, taps: TensorVariable, up: int, down: int, mode: str, cval: complex
) -> TensorVariable:
    """`upfirdn` along the last axis."""
    common = promote(x.type.np_dtype, taps.type.np_dtype, np.float32).name
    x, n, k = cast(x, common if x.type.kind == "c" else _part_of(common)), length(x, -1), length(taps, 0)
    if mode != "constant" or cval != 0:
        more = -(-k // (up * down)) * down  # samples on either side: at least what the filter sees, whole results
        skip, many = more // down * up, (n * up + k - up - 1 + down) // down
        found = _between_rates(_beyond(x, more, mode, cval), taps, up, down, "constant", 0)
        return found[..., skip : skip + many]
    part = _part_of(common)
    made = [
        [ops.upfirdn(cast(v, part), cast(w, part), up=up, down=down) for w in _parts(taps)] for v in _parts(x)
    ]  # fmt: skip
    if len(made) == len(made[0]) == 1:
        return made[0][0]
    if len(made) == 1 or len(made[0]) == 1:
        return ew.complex_(*[v for row in made for v in row])
    return ew.complex_(made[0][0] - made[1][1], made[0][1] + made[1][0])


def _part_of(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def _parts(x: TensorVariable) -> list[TensorVariable]:
    return [ew.real(x), ew.imag(x)] if x.type.kind == "c" else [x]


def _beyond(x: TensorVariable, more: Any, mode: str, cval: Any) -> TensorVariable:
    """The signal with so many samples more at both ends."""
    widths = [(0, 0)] * (x.ndim - 1) + [(more, more)]
    if mode == "constant":
        return pad(x, widths, constant_values=cval)
    if mode in ("wrap", "edge", "symmetric", "reflect"):
        return pad(x, widths, mode)
    if mode == "antireflect":
        return pad(x, widths, "reflect", reflect_type="odd")
    n = length(x, -1)
    if mode == "antisymmetric":  # each repetition has another sign than the one before
        sign = 1 - 2 * (((arange(n + 2 * more) - more) // n) % 2)
        return pad(x, widths, "symmetric") * cast(sign, x.type.dtype)
    step = cast(arange(1, more + 1), _part_of(x.type.dtype))
    first, last = expand_dims(x[..., 0], -1), expand_dims(x[..., -1], -1)
    if mode == "line":
        rise = (last - first) / cast(ew.maximum(as_tensor(n) - 1, 1), step.type.dtype)
        begin, end = rise, rise
    else:
        begin, end = expand_dims(x[..., 1], -1) - first, last - expand_dims(x[..., -2], -1)
    return concatenate([first - flip(step, 0) * begin, x, last + step * end], -1)
