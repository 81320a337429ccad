"""Rows of convolutions, filters and spectra with scipy.signal's names. References are its functions."""

import numpy as np
import scipy.signal as ss

import termgraph.tensor as T

from ..table import row

HALF = {"dtypes": ("float16", "float32", "float64")}
FLOATS = {"dtypes": ("float32", "float64"), "special": False, "scaled": True, "loose": 100}


def _pair(c):
    c.may_be_empty = False
    c.x(special=False)
    c.x(shape=tuple(c.n(("filter", k)) for k in range(c.rank)), special=False)
    return {"mode": c.pick("full", "same")}


def _in_single(f):
    """Of arrays of one element SciPy takes no transform, and keeps float16."""
    return lambda x, w, mode: f(x, w, mode).astype(np.result_type(x, "float32"))


for name in ("convolve", "correlate"):
    row(f"signal.{name}", getattr(T.signal, name), getattr(ss, name), _pair, ranks=(1, 2, 3), **FLOATS | HALF)
for name in ("fftconvolve", "oaconvolve"):
    row(f"signal.{name}", getattr(T.signal, name), _in_single(getattr(ss, name)), _pair, ranks=(1, 2, 3), **FLOATS | HALF)
row("signal.convolve (integers)", T.signal.convolve, ss.convolve, _pair, ranks=(1, 2), dtypes=("int64",), special=False)


def _matrices(c):
    return {**_pair(c), "boundary": c.pick("fill", "wrap", "symm")}


for name in ("convolve2d", "correlate2d"):
    row(f"signal.{name}", getattr(T.signal, name), getattr(ss, name), _matrices, ranks=(2,), **FLOATS)


# ---------------------------------------------------------------------- filters
B, A = [0.5, 0.25, -0.125], [2.0, -0.5]
SOS = np.array([[0.5, 0.25, 0.125, 1.0, -0.5, 0.0], [1.0, 0.5, 0.0, 1.0, 0.25, 0.125]])


def _along(least):
    def draw(c):
        c.at_least(least, may_be_empty=False).x(special=False)
        return {"axis": c.axis()}

    return draw


def _narrow(f):
    """In the dtype of the signal: the filters are constants of float64."""
    return lambda x, **how: f(x, **how).astype(x.dtype)


row("signal.lfilter", lambda x, axis: T.signal.lfilter(np.array(B, x.dtype), np.array(A, x.dtype), x, axis),
    lambda x, axis: ss.lfilter(np.array(B, x.dtype), np.array(A, x.dtype), x, axis), _along(1), ranks=(1, 2, 3), **FLOATS)  # fmt: skip
row("signal.lfilter (the past of x alone)", lambda x, axis: T.signal.lfilter(np.array(B, x.dtype), np.ones(1, x.dtype), x, axis),
    lambda x, axis: ss.lfilter(np.array(B, x.dtype), np.ones(1, x.dtype), x, axis), _along(1), ranks=(1, 2, 3), **FLOATS)  # fmt: skip
row("signal.sosfilt", lambda x, axis: T.signal.sosfilt(SOS.astype(x.dtype), x, axis), lambda x, axis: ss.sosfilt(SOS.astype(x.dtype), x, axis),
    _along(1), ranks=(1, 2), **FLOATS)  # fmt: skip
row("signal.filtfilt", lambda x, axis: T.cast(T.signal.filtfilt(B, A, x, axis, padlen=2), x.dtype),
    _narrow(lambda x, axis: ss.filtfilt(B, A, x, axis, padlen=2)), _along(3), ranks=(1, 2), **FLOATS)  # fmt: skip
row("signal.sosfiltfilt", lambda x, axis: T.cast(T.signal.sosfiltfilt(SOS, x, axis, padlen=2), x.dtype),
    _narrow(lambda x, axis: ss.sosfiltfilt(SOS, x, axis, padlen=2)), _along(3), ranks=(1, 2), **FLOATS)  # fmt: skip


# ---------------------------------------------------------------------- spectra
def _spectra(c):
    found = _along(9)(c)
    return {**found, "nperseg": c.pick(4, 5), "window": c.pick("hann", "boxcar", ("tukey", 0.5)), "fs": 2.0}


row("signal.stft", T.signal.stft, ss.stft, _spectra, ranks=(1, 2), **FLOATS)
row("signal.welch", T.signal.welch, ss.welch, _spectra, ranks=(1, 2), **FLOATS)
row("signal.spectrogram", T.signal.spectrogram, ss.spectrogram, _spectra, ranks=(1, 2), **FLOATS)
row("signal.istft", lambda x: T.signal.istft(T.signal.stft(x, nperseg=4)[2] * 2, nperseg=4)[1],
    lambda x: ss.istft(ss.stft(x, nperseg=4)[2] * 2, nperseg=4)[1], lambda c: [_along(9)(c), None][1], ranks=(1, 2), **FLOATS)  # fmt: skip


def _two_signals(c):
    found = _spectra(c)
    c.x(special=False)
    return found


def _of_power(c):
    c.layout = "C" if c.layout == "0-stride" else c.layout
    return _two_signals(c)


row("signal.csd", T.signal.csd, ss.csd, _two_signals, ranks=(1, 2), **FLOATS)
row("signal.coherence", lambda x, y, **how: T.signal.coherence(x, y, detrend=False, **how), lambda x, y, **how: ss.coherence(x, y, detrend=False, **how),
    _of_power, ranks=(1,), **{**FLOATS, "loose": 1e4}, smooth=False)  # fmt: skip


def _of_known_length(c):
    c.x(shape=(8,), known=(8,), special=False)
    return {"scaling": c.pick("density", "spectrum")}


row("signal.periodogram", T.signal.periodogram, ss.periodogram, _of_known_length, ranks=(1,), **FLOATS)


def _trends(c):
    return {**_along(3)(c), "type": c.pick("linear", "constant"), "bp": c.pick(0, [2])}


row("signal.detrend", T.signal.detrend, ss.detrend, _trends, ranks=(1, 2, 3), **FLOATS | HALF)
row("signal.hilbert", lambda x, axis: T.signal.hilbert(x, axis=axis), lambda x, axis: ss.hilbert(x, axis=axis), _along(1), ranks=(1, 2), **FLOATS | HALF)


# ---------------------------------------------------------------------- fitted polynomials
def _fitted(c):
    c.x(shape=(3, 8), special=False)
    return {"window_length": c.pick(3, 5, 6), "polyorder": c.pick(1, 2), "deriv": c.pick(0, 1), "mode": c.pick("interp", "mirror", "nearest", "wrap")}


row("signal.savgol_filter", T.signal.savgol_filter, ss.savgol_filter, _fitted, ranks=(2,), **FLOATS)


def _steps(c):
    c.x(0.5, 2, shape=(), special=False)
    return {"deriv": c.pick(0, 1, 2)}


row("signal.savgol_coeffs", lambda delta, deriv: T.signal.savgol_coeffs(5, 3, deriv, delta),
    lambda delta, deriv: ss.savgol_coeffs(5, 3, deriv, float(delta)), _steps, ranks=(1,), dtypes=("float64",), scaled=True)  # fmt: skip


row("signal.resample", lambda x, axis: T.signal.resample(x, 6, axis=axis), lambda x, axis: ss.resample(x, 6, axis=axis), _along(1),
    ranks=(1, 2, 3), **FLOATS | HALF)  # fmt: skip


def _rates(c):
    return {**_along(1)(c), "up": c.pick(1, 3, 2), "down": c.pick(1, 2, 4)}


row("signal.resample_poly", lambda x, axis, up, down: T.signal.resample_poly(x, up, down, axis),
    lambda x, axis, up, down: ss.resample_poly(x, up, down, axis), _rates, ranks=(1, 2, 3), **FLOATS | HALF)  # fmt: skip
row("signal.upfirdn", lambda x, axis, up, down: T.signal.upfirdn([1.0, 2.0, -1.0, 0.5], x, up, down, axis),
    lambda x, axis, up, down: ss.upfirdn([1.0, 2.0, -1.0, 0.5], x, up, down, axis), _rates, ranks=(1, 2, 3), **FLOATS)  # fmt: skip


# ---------------------------------------------------------------------- medians
def _windows(c):
    c.x(special=False)
    return {"kernel_size": [c.pick(1, 3) for _ in range(c.rank)]}


# Which of two zeros stands in the middle of a window is nothing that a median says: SciPy's searching decides it.
MEDIANS = {"dtypes": ("int32", "float32", "float64"), "special": False, "smooth": False, "signs": False}
row("signal.medfilt", T.signal.medfilt, ss.medfilt, _windows, ranks=(1, 2, 3), **MEDIANS)
row("signal.medfilt2d", T.signal.medfilt2d, ss.medfilt, _windows, ranks=(2,), **MEDIANS)
