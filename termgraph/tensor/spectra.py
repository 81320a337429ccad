"""Spectra of signals with scipy.signal's names, for T.signal: of windows along time and back, densities, trends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from termgraph.tensor.creation import arange, ones
from termgraph.tensor.elemwise import cast
from termgraph.tensor.fft import fft, ifft, irfft, rfft
from termgraph.tensor.lengths import at_least, length, lengths, of_length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.padding import pad
from termgraph.tensor.quantiles import median
from termgraph.tensor.reductions import mean
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.selecting import take
from termgraph.tensor.shaping import expand_dims, moveaxis, reshape
from termgraph.tensor.trace import warn
from termgraph.tensor.trends import detrend, signal_of
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.windows import unwrap
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import promote
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import normal_axis

if TYPE_CHECKING:
    import numpy.typing as npt

WindowLike: TypeAlias = "str | tuple[str, float] | npt.ArrayLike"  # a name, one with a number, or the weights
Rate: TypeAlias = "float | TensorVariable"  # samples in a unit of time
PARAMETERS = {"kaiser": "beta", "tukey": "alpha", "gaussian": "std"}
WINDOWS = ("boxcar", "hann", "hamming", "blackman", "bartlett", "triang", *PARAMETERS)
BOUNDARIES = {"zeros": ("constant", "even"), "even": ("reflect", "even"), "odd": ("reflect", "odd"),
              "constant": ("edge", "even")}  # fmt: skip
MODES = ("psd", "complex", "magnitude", "angle", "phase")


def window_of(name: str, window: WindowLike, n: int) -> np.ndarray:
    """The weights of n elements; those of a name are periodic: they would begin anew with one more."""
    if not isinstance(window, (str, tuple)):
        found = np.asarray(window)
        if found.ndim != 1 or len(found) != n:
            raise ValueError(f"{name}: the window must be a vector of nperseg={n} numbers, its shape is {found.shape}")
        return found
    kind, *more = (window,) if isinstance(window, str) else window
    if kind not in WINDOWS or (kind in PARAMETERS) != bool(more):
        known = ", ".join(f"('{w}', {PARAMETERS[w]})" if w in PARAMETERS else w for w in WINDOWS)
        raise ValueError(f"{name}: window must be an array or one of {known}; got {window!r}")
    if kind == "boxcar" or n == 1:
        return np.ones(n)
    if kind in ("hamming", "blackman", "bartlett"):
        return np.asarray(getattr(np, kind)(n + 1)[:-1])
    at = np.arange(n)
    if kind == "hann":
        return np.asarray(0.5 - 0.5 * np.cos(2 * np.pi * at / n))
    if kind == "triang":
        near = 2 * np.minimum(at + 1, n + 1 - at)
        return np.asarray(near / (n + 2) if n % 2 == 0 else (near - 1) / (n + 1))
    if kind == "kaiser":
        return np.kaiser(n + 1, more[0])[:-1]
    if kind == "gaussian":
        return np.asarray(np.exp(-0.5 * ((at - n / 2) / more[0]) ** 2))
    edge = more[0] * n / 2  # tukey: a cosine at each end
    rise = np.minimum(at, n - at) / edge if edge > 0 else np.ones(n)
    return np.asarray(np.where(rise < 1, 0.5 * (1 - np.cos(np.pi * rise)), 1.0))


class _Segments:
    """How a signal is cut: the window, lengths and steps, checked."""

    def __init__(
        self, name: str, n: int | None, window: WindowLike, nperseg: int | None, noverlap: int | None, nfft: int | None,
        default: int,
    ) -> None:  # fmt: skip
        if nperseg is None:
            nperseg = 256 if isinstance(window, (str, tuple)) else len(np.asarray(window))
            if isinstance(n, int) and isinstance(window, (str, tuple)):
                nperseg = min(nperseg, n)
        for what, value in (("nperseg", nperseg), ("noverlap", noverlap), ("nfft", nfft)):
            if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__")):
                raise TypeError(f"{name}: {what} must be an integer, got {value!r}")
        if nperseg < 1:
            raise ValueError(f"{name}: nperseg must be positive, got {nperseg}")
        if isinstance(n, int) and n < nperseg:
            if not n or not isinstance(window, (str, tuple)):
                raise ShapeError(f"{name}: nperseg={nperseg} is more than the {n} elements along the axis")
            warn(f"{name}: nperseg={nperseg} is more than the {n} elements along the axis; it is taken as {n}")
            nperseg = n
        self.n, self.points = int(nperseg), int(nperseg if nfft is None else nfft)
        self.step = self.n - int(self.n // default if noverlap is None else noverlap)
        if self.points < self.n:
            raise ValueError(f"{name}: nfft={nfft} must be at least nperseg={nperseg}")
        if self.step < 1:
            raise ValueError(f"{name}: noverlap={noverlap} must be less than nperseg={nperseg}")
        self.weights = window_of(name, window, self.n)

    def fits(self, x: TensorVariable, name: str) -> TensorVariable:
        """The signal, with the time last, which has as many elements as a window at least."""
        told = f"{name}: the signal has less than nperseg={self.n} elements; give fewer, or a signal of known length"
        return at_least(x, -1, self.n, told)

    def scale(self, scaling: str, fs: Rate, name: str) -> Any:
        if scaling == "spectrum":
            return 1 / float(self.weights.sum()) ** 2
        if scaling in ("density", "psd"):
            return 1 / (fs * float((self.weights**2).sum()))
        raise ValueError(f"{name}: scaling must be density (psd of stft and istft) or spectrum, got {scaling!r}")


def _rate(name: str, fs: Rate) -> Rate:
    if isinstance(fs, (int, float)):
        return fs
    rate = as_tensor(fs)
    if rate.ndim:
        raise TypeError(f"{name}: fs, the rate of samples, must be a number, {rate} is {rate.type}")
    return rate


def _root(scale: Rate) -> Rate:
    return math.sqrt(scale) if isinstance(scale, (int, float)) else ew.sqrt(scale)


def _transformed(name: str, x: TensorVariable, cut: _Segments, trend: str | bool, onesided: bool) -> TensorVariable:
    """(..., segments, frequencies) of a signal with the time last."""
    count = (length(x, x.ndim - 1) - cut.n) // cut.step + 1
    places = expand_dims(arange(count) * cut.step, 1) + np.arange(cut.n)
    parts = take(x, places, axis=-1) if cut.step != cut.n else _side_by_side(x, count, cut.n)
    if trend is not False and trend is not None:
        if trend not in ("constant", "linear"):
            raise ValueError(f"{name}: detrend must be 'constant', 'linear' or False, got {trend!r}")
        parts = detrend(parts, -1, trend)
    parts = parts * cut.weights.astype(np.zeros(0, x.type.np_dtype).real.dtype)
    if onesided and x.type.kind == "f":
        return rfft(parts, cut.points)
    return fft(parts, cut.points)


def _side_by_side(x: TensorVariable, count: Any, n: int) -> TensorVariable:
    whole = x[..., : count * n]
    return reshape(whole, (*lengths(x)[:-1], count, n))


def _frequencies(points: int, fs: Rate, onesided: bool) -> TensorVariable:
    made = np.fft.rfftfreq(points) if onesided else np.fft.fftfreq(points)
    return as_tensor(made) * fs


def _times(n: Any, cut: _Segments, fs: Rate) -> TensorVariable:
    """The middle of each segment."""
    count = (n - cut.n) // cut.step + 1
    return (arange(count) * cut.step + cut.n / 2) / fs


def _placed(found: TensorVariable, axis: int) -> TensorVariable:
    """Frequencies where the time was, segments last."""
    return moveaxis(found, -1, axis)


@on_terms
def stft(
    x: TensorLike,
    fs: Rate = 1.0,
    window: WindowLike = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """Frequencies, times, and the Fourier transform of windows along an axis: frequencies there, times last.

    As scipy.signal.stft: windows of `nperseg` elements overlap by `noverlap` (half of them), ends are extended by half
    a window of zeros (`boundary`), the last window is filled up (`padded`). `istft` is the inverse.

    >>> import numpy as np, termgraph.tensor as T
    >>> f, t, z = T.signal.stft(np.ones(8), nperseg=4)
    >>> t.eval(), abs(z).eval()[0].round(6)
    (array([0., 2., 4., 6., 8.]), array([0.75, 1.  , 1.  , 1.  , 0.25]))
    """
    x, axis = signal_of("stft", x, axis)
    fs = _rate("stft", fs)
    cut = _Segments("stft", x.type.shape[-1], window, nperseg, noverlap, nfft, 2)
    x = cut.fits(x, "stft")
    around = cut.n // 2 if boundary is not None else 0
    if boundary is not None:
        if boundary not in BOUNDARIES:
            raise ValueError(f"stft: boundary must be one of {', '.join(BOUNDARIES)} or None, got {boundary!r}")
        how, kind = BOUNDARIES[boundary]
        x = pad(x, [(0, 0)] * (x.ndim - 1) + [(around, around)], how, reflect_type=kind)
    if padded:
        more = (-(length(x, x.ndim - 1) - cut.n)) % cut.step % cut.n
        if not isinstance(more, int) or more:
            x = pad(x, [(0, 0)] * (x.ndim - 1) + [(0, more)])
    onesided = return_onesided and x.type.kind == "f"
    found = _transformed("stft", x, cut, detrend, onesided) * _root(cut.scale(scaling, fs, "stft"))
    times = _times(length(x, x.ndim - 1), cut, fs) - (cut.n / 2 / fs if boundary is not None else 0)
    return _frequencies(cut.points, fs, onesided), times, _placed(found, axis)


@on_terms
def istft(
    Zxx: TensorLike,
    fs: Rate = 1.0,
    window: WindowLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
) -> tuple[TensorVariable, TensorVariable]:
    """Times and the signal whose `stft` that is: windows are transformed back and added up, divided by their squares.

    >>> import numpy as np, termgraph.tensor as T
    >>> f, t, z = T.signal.stft(np.arange(8.0), nperseg=4)
    >>> T.signal.istft(z, nperseg=4)[1].eval().round(9) + 0.0
    array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    z, fs = as_tensor(Zxx), _rate("istft", fs)
    if z.ndim < 2 or z.type.kind not in "fc":
        raise TypeError(f"istft takes numbers of frequencies and times, in two dimensions at least; {z} is {z.type}")
    z = moveaxis(z, (freq_axis, time_axis), (-1, -2))
    count = z.type.shape[-1]
    if count is None and nperseg is None:
        raise ValueError("istft: give nperseg, as the number of frequencies is not known")
    whole = 2 * (count - 1) if input_onesided and count is not None else count
    nperseg = whole if nperseg is None else nperseg
    if nfft is None:
        nfft = nperseg if whole is None or input_onesided and nperseg == whole + 1 else whole
    cut = _Segments("istft", None, window, nperseg, noverlap, max(nfft, nperseg), 2)  # type: ignore[type-var]
    parts = (irfft if input_onesided else ifft)(z, nfft)[..., : cut.n]
    real = np.zeros(0, z.type.np_dtype).real.dtype
    weights = cut.weights.astype(real)
    parts = parts * (weights * (1 / _root(cut.scale(scaling, fs, "istft"))))
    segments = length(z, z.ndim - 2)
    x = _overlapped(parts, segments, cut)
    norm = _overlapped(ones((segments, 1), real.name) * weights**2, segments, cut)
    if boundary:
        half = cut.n // 2
        x, norm = (v[..., half : length(v, v.ndim - 1) - half] for v in (x, norm))
    x = x / ew.switch(norm > 1e-10, norm, np.ones((), real))
    times = arange(length(x, x.ndim - 1)) / fs
    first = min(normal_axis(time_axis, z.ndim), normal_axis(freq_axis, z.ndim))
    time = normal_axis(time_axis, z.ndim)
    return times, moveaxis(x, -1, time - (first < time))


def _overlapped(parts: TensorVariable, count: Any, cut: _Segments) -> TensorVariable:
    """The sum of segments, each a step after the one before."""
    times = -(-cut.n // cut.step)
    more = times * cut.step - cut.n
    shape = lengths(parts)[:-2]
    parts = pad(parts, [(0, 0)] * (parts.ndim - 1) + [(0, more)]) if more else parts
    parts = reshape(parts, (*shape, count, times, cut.step))
    rows = [pad(parts[..., k, :], [(0, 0)] * len(shape) + [(k, times - 1 - k), (0, 0)]) for k in range(times)]
    whole = reshape(sum(rows[1:], rows[0]), (*shape, (count + times - 1) * cut.step))
    return whole[..., : (count - 1) * cut.step + cut.n]


@on_terms
def csd(
    x: TensorLike,
    y: TensorLike,
    fs: Rate = 1.0,
    window: WindowLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[TensorVariable, TensorVariable]:
    """Frequencies and the cross spectral density of two signals, by Welch's method: the mean (or median) of windows.

    >>> import numpy as np, termgraph.tensor as T
    >>> x = np.array([1.0, -1.0, 1.0, -1.0])
    >>> T.signal.csd(x, 2 * x, window="boxcar", nperseg=2)[1].eval().real
    array([0., 4.])
    """
    how = (fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    return _density("csd", x, y, *how)


@on_terms
def welch(
    x: TensorLike,
    fs: Rate = 1.0,
    window: WindowLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[TensorVariable, TensorVariable]:
    """Frequencies and the power spectral density of a signal, by Welch's method: the mean (or median) of windows.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.signal.welch([1.0, -1.0, 1.0, -1.0], window="boxcar", nperseg=2)[1].eval()
    array([0., 2.])
    """
    how = (fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    return _density("welch", x, None, *how)


@on_terms
def periodogram(
    x: TensorLike,
    fs: Rate = 1.0,
    window: WindowLike = "boxcar",
    nfft: int | None = None,
    detrend: str | bool = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> tuple[TensorVariable, TensorVariable]:
    """Frequencies and the power spectral density of a signal of known length, in one window.

    >>> import termgraph.tensor as T
    >>> T.signal.periodogram([1.0, -1.0, 1.0, -1.0])[1].eval()
    array([0., 0., 4.])
    """
    x = as_tensor(x)
    n = x.type.shape[normal_axis(axis, x.ndim)] if x.ndim else None
    if n is None:
        raise ValueError(f"periodogram: the length along axis {axis} must be known, {x} is {x.type}; welch takes any")
    if nfft is not None and nfft < n:
        return periodogram(take(x, np.arange(nfft), axis), fs, window, nfft, detrend, return_onesided, scaling, axis)
    return _density("periodogram", x, None, fs, window, n, 0, nfft, detrend, return_onesided, scaling, axis, "mean")


@on_terms
def coherence(
    x: TensorLike,
    y: TensorLike,
    fs: Rate = 1.0,
    window: WindowLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool = "constant",
    axis: int = -1,
) -> tuple[TensorVariable, TensorVariable]:
    """Frequencies and how much of two signals' power they share there: abs(csd) ** 2 by both densities.

    >>> import numpy as np, termgraph.tensor as T
    >>> x = np.array([1.0, -1.0, 1.0, 2.0])
    >>> T.signal.coherence(x, 2 * x, nperseg=2, detrend=False)[1].eval().round(9)
    array([1., 1.])
    """
    how = (fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis)
    f, both = csd(x, y, *how)
    return f, (ew.sqr(ew.real(both)) + ew.sqr(ew.imag(both))) / (welch(x, *how)[1] * welch(y, *how)[1])


def _density(
    name: str, x: TensorLike, y: TensorLike | None, fs: Rate, window: WindowLike, nperseg: int | None,
    noverlap: int | None, nfft: int | None, trend: str | bool, onesided: bool, scaling: str, axis: int, average: str,
) -> tuple:  # fmt: skip
    if average not in ("mean", "median"):
        raise ValueError(f"{name}: average must be mean or median, got {average!r}")
    found, freqs, _, axis = _powers(name, x, y, fs, window, nperseg, noverlap, nfft, trend, onesided, scaling, axis, 2)
    if average == "mean":
        return freqs, moveaxis(mean(found, axis=-2), -1, axis)
    count = length(found, found.ndim - 2)
    place = as_tensor(arange(1, (count - 1) // 2 + 1)) * 2
    bias = 1 + sum_over(1 / (place + 1) - 1 / place)  # of the median of squares of normal numbers
    bias = cast(bias, np.zeros(0, found.type.np_dtype).real.dtype.name)
    if found.type.kind == "c":
        middle = ew.complex_(median(ew.real(found), axis=-2), median(ew.imag(found), axis=-2))
    else:
        middle = median(found, axis=-2)
    return freqs, moveaxis(middle / bias, -1, axis)


def _powers(
    name: str, x: TensorLike, y: TensorLike | None, fs: Rate, window: WindowLike, nperseg: int | None,
    noverlap: int | None, nfft: int | None, trend: str | bool, onesided: bool, scaling: str, axis: int, default: int,
) -> tuple:  # fmt: skip
    """(..., segments, frequencies) of products of two spectra; frequencies, the cut, and the signal's axis."""
    x, place = signal_of(name, x, axis)
    fs = _rate(name, fs)
    other = None if y is None else signal_of(name, y, axis)[0]
    if other is not None:
        common = promote(x.type.np_dtype, other.type.np_dtype).name
        x, other = cast(x, common), cast(other, common)
        counts = x.type.shape[-1], other.type.shape[-1]
        if None not in counts and counts[0] != counts[1]:
            raise ShapeError(f"{name}: the signals have {counts[0]} and {counts[1]} elements along axis {axis}")
        told = f"{name}: the signals must have as many elements along axis {axis}"
        if counts[0] is None:
            x = of_length(x, -1, length(other, -1), told)
        else:
            other = of_length(other, -1, counts[0], told)
    cut = _Segments(name, x.type.shape[-1], window, nperseg, noverlap, nfft, default)
    x = cut.fits(x, name)
    onesided = onesided and x.type.kind == "f"
    one = _transformed(name, x, cut, trend, onesided)
    if other is None:
        found = ew.sqr(ew.real(one)) + ew.sqr(ew.imag(one))
    else:
        found = ew.conj(one) * _transformed(name, other, cut, trend, onesided)
    return found * _factors(cut, scaling, fs, name, onesided, x), _frequencies(cut.points, fs, onesided), cut, place


def _factors(cut: _Segments, scaling: str, fs: Rate, name: str, onesided: bool, x: TensorVariable) -> Any:
    """What each frequency counts: one-sided ones stand for two, but for the first and, of an even number, the last."""
    twice = np.ones(cut.points // 2 + 1 if onesided else cut.points)
    if onesided:
        twice[1 : len(twice) - (cut.points % 2 == 0)] = 2
    scale = cut.scale(scaling, fs, name)
    real = np.zeros(0, x.type.np_dtype).real.dtype
    return (twice * scale).astype(real) if isinstance(scale, float) else twice.astype(real) * scale


@on_terms
def spectrogram(
    x: TensorLike,
    fs: Rate = 1.0,
    window: WindowLike = ("tukey", 0.25),
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """Frequencies, times, and the spectra of windows along an axis: powers, or what `mode` says.

    Modes: "psd", "complex" (the transforms), "magnitude", "angle" and "phase" (without jumps). An eighth of windows
    overlaps unless `noverlap` is given; half of them do so but for "psd".

    >>> import numpy as np, termgraph.tensor as T
    >>> f, t, power = T.signal.spectrogram(np.tile([1.0, -1.0], 4), window="boxcar", nperseg=4, noverlap=0)
    >>> t.eval(), power.eval()[2]
    (array([2., 6.]), array([4., 4.]))
    """
    if mode not in MODES:
        raise ValueError(f"spectrogram: mode must be one of {', '.join(MODES)}, got {mode!r}")
    x, place = signal_of("spectrogram", x, axis)
    fs = _rate("spectrogram", fs)
    n = length(x, x.ndim - 1)
    if mode == "psd":
        found, freqs, cut, _ = _powers("spectrogram", x, None, fs, window, nperseg, noverlap, nfft, detrend,
                                       return_onesided, scaling, -1, 8)  # fmt: skip
        return freqs, _times(n, cut, fs), _placed(found, place)
    cut = _Segments("spectrogram", x.type.shape[-1], window, nperseg, noverlap, nfft, 8)
    x = cut.fits(x, "spectrogram")
    onesided = return_onesided and x.type.kind == "f"
    found = _transformed("spectrogram", x, cut, detrend, onesided) * _root(cut.scale(scaling, fs, "spectrogram"))
    if mode == "magnitude":
        found = ew.abs_(found)
    elif mode != "complex":
        found = ew.arctan2(ew.imag(found), ew.real(found))
        if mode == "phase":
            found = unwrap(found, axis=-2)
    return _frequencies(cut.points, fs, onesided), _times(n, cut, fs), _placed(found, place)
