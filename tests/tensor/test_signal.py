"""T.signal's convolutions, filters and spectra: edges, slopes, symbolic lengths and rates, and what they refuse."""

import numpy as np
import pytest
import scipy.signal as ss

import termgraph as tg
import termgraph.tensor as T

S = T.signal
B, A = ss.butter(3, 0.2)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_unknown_lengths(rng, mode):
    x, y = T.dmatrix("x"), T.dmatrix("y")
    f = tg.function(
        [x, y], [g(x, y, mode) for g in (S.convolve, S.correlate, S.fftconvolve, S.convolve2d, S.correlate2d)]
    )
    for a, b in (
        (rng.normal(size=(5, 6)), rng.normal(size=(2, 4))),
        (rng.normal(size=(2, 4)), rng.normal(size=(5, 6))),
    ):
        for got, name in zip(
            f(a, b), ["convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d"], strict=True
        ):
            np.testing.assert_allclose(got, getattr(ss, name)(a, b, mode), atol=1e-12)


def test_valid_asks_that_one_fits_into_the_other():
    x, y = T.dmatrix("x"), T.dmatrix("y")
    f = tg.function([x, y], S.convolve2d(x, y, "valid"))
    with pytest.raises(AssertionError, match="convolve2d: mode='valid': neither array fits into the other"):
        f(np.ones((5, 1)), np.ones((1, 5)))
    with pytest.raises(ValueError, match=r"neither fits into the other, of \(5, 1\) and \(1, 5\)"):
        S.convolve2d(np.ones((5, 1)), np.ones((1, 5)), "valid")
    with pytest.raises(ValueError, match="convolve: in1 has no elements"):
        tg.function([x, y], S.convolve(x, y))(np.ones((0, 2)), np.ones((1, 1)))


def test_infinities_stay_where_they_are():
    x = np.array([1.0, np.inf, 0.0, 2.0, 0.0, 0.0])
    assert np.isfinite(S.convolve2d(x[None], [[1.0, 0.5]]).eval()[0]).tolist() == [
        True,
        False,
        False,
        True,
        True,
        True,
        True,
    ]


def test_filters_go_on_where_they_were(rng):
    x, zi = T.dvector("x"), T.dvector("z")
    f = tg.function([x, zi], S.lfilter(B, A, x, -1, zi))
    values, state, parts = rng.normal(size=20), np.zeros(3), []
    for part in np.split(values, [3, 3, 12]):
        y, state = f(part, state)
        parts.append(y)
    np.testing.assert_allclose(np.concatenate(parts), ss.lfilter(B, A, values))


def test_coefficients_have_slopes(rng):
    x = rng.normal(size=7)
    tg.verify_grad(lambda b, a, v: S.lfilter(b, a + np.array([2.0, 0, 0]), v), [B[:2], A[:3] * 0.1, x], rng=rng)
    tg.verify_grad(lambda v: S.filtfilt(B, A, v, padlen=3), [x], rng=rng)
    tg.verify_grad(lambda v: S.istft(S.stft(v, nperseg=4)[2] * 2, nperseg=4)[1], [x], rng=rng)
    tg.verify_grad(lambda v: S.welch(v, nperseg=4)[1], [x], rng=rng)
    tg.verify_grad(
        lambda v, w: S.convolve2d(v, w, "same", "symm"), [rng.normal(size=(3, 4)), rng.normal(size=(2, 3))], rng=rng
    )


def test_there_and_back(rng):
    x, fs = T.fvector("x"), T.fscalar("fs")
    f, t, z = S.stft(x, fs, nperseg=8, noverlap=6)
    times, back = S.istft(z, fs, nperseg=8, noverlap=6)
    values = rng.normal(size=23).astype("float32")
    got = tg.function([x, fs], [f, t, times, back])(values, 2.0)
    want = ss.stft(values, 2.0, nperseg=8, noverlap=6)
    np.testing.assert_allclose(got[0], want[0])
    np.testing.assert_allclose(got[1], want[1])
    assert got[3].dtype == "float32" and got[2][1] == 0.5
    np.testing.assert_allclose(got[3][:23], values, atol=1e-5)


@pytest.mark.parametrize("window", [
    "hann", "hamming", "blackman", "bartlett", "boxcar", "triang", ("kaiser", 4.0), ("tukey", 0.3), ("gaussian", 2.0),
])  # fmt: skip
def test_windows(rng, window):
    x = rng.normal(size=40)
    for n in (7, 8):
        got, want = S.welch(x, window=window, nperseg=n), ss.welch(x, window=window, nperseg=n)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a.eval(), b, atol=1e-12)


def test_medians_of_windows(rng):
    x = T.dmatrix("x")
    f = tg.function([x], [S.medfilt(x, (3, 5)), S.medfilt2d(x, 7), tg.grad(T.sqr(S.medfilt(x, 1)).sum(), x)])
    values = rng.normal(size=(9, 8))
    few, many, slope = f(values)
    np.testing.assert_array_equal(few, ss.medfilt(values, (3, 5)))
    np.testing.assert_array_equal(many, ss.medfilt2d(values, 7))
    np.testing.assert_allclose(slope, 2 * values)
    values[0, 0] = np.nan
    few, many, _ = f(values)
    assert np.argwhere(np.isnan(few)).tolist() == [[i, j] for i in range(2) for j in range(3)]
    assert np.isnan(many).sum() == 16
    tg.verify_grad(lambda v: S.medfilt(v, 3), [np.arange(1.0, 7.0) ** 2 % 7.5], rng=rng)


def test_what_is_refused():
    x, v = T.dmatrix("x"), T.constant(np.arange(8.0))
    for make, text in (
        (lambda: S.convolve(x, v), "convolve takes two arrays of as many dimensions"),
        (lambda: S.convolve2d(v, v), "convolve2d takes two matrices"),
        (lambda: S.convolve(v, v, "half"), "mode must be one of full, same, valid, got 'half'"),
        (lambda: S.convolve(v, v, method="quick"), "method must be auto, direct or fft"),
        (lambda: S.convolve2d(x, x, boundary="edge"), "boundary must be one of fill, wrap, symm"),
        (lambda: S.lfilter(T.dvector("b"), [1.0], v), "coefficients must be a vector of known length, b is"),
        (lambda: S.sosfilt([[1.0, 2.0]], v), "sos must be a matrix of 6 columns"),
        (lambda: S.filtfilt(B, A, v), "x has 8 elements along axis 0, its extensions need more than padlen=12"),
        (lambda: S.filtfilt(B, A, v, padtype="zero"), "padtype must be one of odd, even, constant or None"),
        (lambda: S.welch(v, window=np.ones(9)), "nperseg=9 is more than the 8 elements along the axis"),
        (lambda: S.welch(v[:0], nperseg=9), "nperseg=9 is more than the 0 elements along the axis"),
        (lambda: S.welch(v, nperseg=4, noverlap=4), "noverlap=4 must be less than nperseg=4"),
        (lambda: S.welch(v, nperseg=4, nfft=3), "nfft=3 must be at least nperseg=4"),
        (lambda: S.welch(v, nperseg=4, window="flat"), "window must be an array or one of boxcar, hann"),
        (lambda: S.welch(v, window=np.ones(3), nperseg=4), "the window must be a vector of nperseg=4 numbers"),
        (lambda: S.stft(v, nperseg=4, boundary="wrap"), "boundary must be one of zeros, even, odd, constant or None"),
        (lambda: S.spectrogram(v, mode="power"), "mode must be one of psd, complex, magnitude, angle, phase"),
        (lambda: S.periodogram(T.dvector("s")), "the length along axis -1 must be known, s is"),
        (lambda: S.welch(v, [1.0], nperseg=4), "fs, the rate of samples, must be a number"),
        (lambda: S.detrend(v, type="cubic"), "type must be linear or constant"),
        (lambda: S.medfilt(v, 4), "kernel_size must be an odd number, or 1 of them, got 4"),
        (lambda: S.medfilt2d(v), "medfilt2d takes a matrix"),
        (lambda: S.hilbert(T.zvector("z")), "hilbert takes real numbers, z is"),
    ):
        with pytest.raises((ValueError, TypeError), match=text):
            make()


SPECTRA = {"welch": (), "csd": ("y",), "coherence": ("y",), "stft": (), "spectrogram": ()}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.filterwarnings("ignore:nperseg")
def test_windows_are_as_long_as_the_signal_at_most(rng, name):
    values = [rng.normal(size=6) for _ in ("x", *SPECTRA[name])]
    ours, theirs = getattr(S, name), getattr(ss, name)
    with pytest.warns(UserWarning, match="nperseg=9 is more than the 6 elements.*taken as 6") as told:
        found = ours(*values, nperseg=9, noverlap=2)
    assert told[0].filename == __file__
    for got, want in zip(found, theirs(*values, nperseg=9, noverlap=2), strict=True):
        np.testing.assert_allclose(got.eval(), want, atol=1e-12)
    signals = [T.dvector(f"x{k}") for k in range(len(values))]
    with pytest.raises(ValueError, match="the signal has less than nperseg=9 elements; give fewer"):
        tg.function(signals, ours(*signals, nperseg=9)[-1])(*values)
    got = tg.function(signals, ours(*signals, nperseg=6)[-1])(*values)
    np.testing.assert_allclose(got, theirs(*values, nperseg=6)[-1], atol=1e-12)


@pytest.mark.parametrize("known", [None, 9, 10])
def test_two_signals_are_as_long(known):
    x, y = T.dvector("x"), T.tensor("y", dtype="float64", shape=(known,))
    many = known or 9
    for pair in ((x, y), (y, x)):
        f = tg.function([x, y], S.csd(*pair, nperseg=4)[1])
        with pytest.raises(ValueError, match="csd: the signals must have as many elements along axis -1"):
            f(np.ones(19 - many), np.ones(many))
        assert f(np.ones(many), np.ones(many)).shape == (3,)


@pytest.mark.parametrize("make", [
    lambda x: S.filtfilt(B, A, x), lambda x: S.sosfiltfilt(ss.butter(3, 0.2, output="sos"), x, padlen=12),
    lambda x: S.detrend(x, bp=13), lambda x: S.filtfilt(B, A, x[:, None], 0, "even", 12)[:, 0],
])  # fmt: skip
def test_signals_that_are_too_short(rng, make):
    x = T.dvector("x")
    f = tg.function([x], make(x))
    with pytest.raises(ValueError, match="more than padlen=12 elements along axis|break points must lie within"):
        f(np.ones(12))
    values = rng.normal(size=13)
    np.testing.assert_allclose(f(values), make(T.constant(values)).eval(), atol=1e-12)


def test_what_filters_hold_is_as_long_as_they_need():
    zi, held = T.dvector("zi"), T.dmatrix("held")
    f = tg.function([zi], S.lfilter(B, A, np.ones(5), zi=zi)[0])
    g = tg.function([held], S.sosfilt([[1.0, 0, 0, 1.0, 0, 0]], np.ones(5), zi=held)[0])
    for call, text in (
        (lambda: f(np.ones(4)), "zi must have 3 elements along axis 0"),
        (lambda: g(np.ones((2, 2))), "zi must have 1 sections"),
        (lambda: g(np.ones((1, 3))), "zi must have 2 elements"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            call()


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int32"])
def test_vectors_of_unknown_lengths_are_convolved_part_by_part(dtype):
    """Whichever is the longer one, in one part or several."""
    rng = np.random.default_rng(0)
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    f = tg.function([x, y], [T.signal.oaconvolve(x, y, mode) for mode in ("full", "same", "valid")])
    for n, k in ((1000, 7), (7, 1000), (1, 1), (5, 1), (1, 5), (100, 100), (3000, 33), (64, 8), (65, 9)):
        a, b = (rng.normal(0, 3, size).astype(dtype) for size in (n, k))
        for mode, got in zip(("full", "same", "valid"), f(a, b), strict=True):
            wanted = np.convolve(a.astype("complex128"), b.astype("complex128"))
            start, count = {"full": (0, n + k - 1), "same": ((k - 1) // 2, n)}.get(
                mode, (min(n, k) - 1, abs(n - k) + 1)
            )
            wanted = wanted[start : start + count]
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-3 if dtype == "float32" else 1e-10)
    x = T.dvector("x")
    slope = tg.function([x, w := T.dvector("w")], tg.grad((T.signal.oaconvolve(x, w) ** 2).sum(), w))
    a, b = rng.normal(size=300), rng.normal(size=5)
    np.testing.assert_allclose(slope(a, b), 2 * np.correlate(np.convolve(a, b), a, "valid"), rtol=1e-9)


def test_transforms_along_no_axis_are_refused():
    x = T.matrix("x")
    for function in (T.signal.fftconvolve, T.signal.oaconvolve):
        with pytest.raises(ValueError, match="axes must name an axis"):
            function(x, x, axes=())


@pytest.mark.parametrize("lengths", [(1, 1), (1, 2), (2, 1), (2, 2), (3, 4), (8, 9), (100, 7)])
def test_convolutions_of_unknown_lengths_by_transforms_of_an_even_number_of_points(lengths):
    """Also where few points would do, as for one number."""
    n, k = lengths
    x, w = np.arange(1.0, n + 1), np.arange(k, 0.0, -1)
    a, b = T.vector("a"), T.vector("b")
    for given in ((x, w), (x.astype("complex128") * 1j, w)):
        variables = [T.tensor(dtype=v.dtype.name, shape=(None,), name="v") for v in given]
        f = tg.function(variables, T.signal.fftconvolve(*variables))
        np.testing.assert_allclose(f(*given), np.convolve(*given), atol=1e-9)
    slope = tg.function([a, b], tg.grad(T.sum(T.signal.fftconvolve(a, b) ** 2), b))
    direct = tg.function([a, b], tg.grad(T.sum(T.signal.convolve(a, b, method="direct") ** 2), b))
    np.testing.assert_allclose(slope(x, w), direct(x, w), rtol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 100])
def test_the_real_part_of_an_analytic_signal_is_the_signal(n):
    x = np.random.default_rng(n).normal(size=(2, n))
    y = T.dmatrix("y")
    np.testing.assert_array_equal(tg.function([y], S.hilbert(y))(x).real, x)
    for points in (1, n, n + 3, max(1, n - 2)):
        got = tg.function([y], S.hilbert(y, points))(x)
        np.testing.assert_allclose(got, ss.hilbert(x, points), atol=1e-14)


def test_the_analytic_signal_of_one_element():
    x = T.dvector("x")
    np.testing.assert_array_equal(tg.function([x], S.hilbert(x))([3.0]), [3.0 + 0.0j])
