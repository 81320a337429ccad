"""T.signal.savgol_filter and its weights: SciPy's numbers for windows of odd and even length, in every mode."""

import numpy as np
import pytest
import scipy.signal

import termgraph as tg
import termgraph.tensor as T
from termgraph.tensor.smoothing import MODES

WINDOWS = [(5, 2, 0), (5, 3, 1), (7, 2, 2), (6, 3, 0), (4, 2, 1), (1, 0, 0), (5, 2, 3), (12, 4, 1)]


@pytest.mark.parametrize(("window", "degree", "deriv"), WINDOWS)
def test_weights(window, degree, deriv):
    for use in ("conv", "dot"):
        for pos in (None, 0, 0.3):
            got = T.signal.savgol_coeffs(window, degree, deriv, 0.5, pos, use).eval()
            want = scipy.signal.savgol_coeffs(window, degree, deriv, 0.5, pos, use)
            np.testing.assert_allclose(got, want, atol=1e-12 * 2**deriv, err_msg=f"{use} {pos}")


@pytest.mark.parametrize("linker", ["auto", "py"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "bool"])
def test_signals(dtype, linker, rng):
    """Along any axis, of known and of unknown lengths; a window may be as long as the signal."""
    v = (rng.normal(size=(3, 12)) * 9).astype(dtype)
    tol = 2e-4 if dtype == "float32" else 1e-9
    for known in (True, False):
        x = T.tensor("x", dtype=dtype, shape=v.shape if known else (None, None))
        asked = [(w, m, axis) for w in WINDOWS for m in MODES for axis in (0, -1) if axis or m != "interp"]
        asked = asked if linker == "py" else asked[::5]
        outputs = [T.signal.savgol_filter(x, *w, 0.5, axis, m, 2.0) for w, m, axis in asked]
        for (w, m, axis), got in zip(asked, tg.function([x], outputs, mode=tg.Mode(linker=linker))(v), strict=True):
            want = scipy.signal.savgol_filter(v, *w, 0.5, axis, m, 2.0)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=tol, atol=tol, err_msg=f"{w} {m} {axis}")


def test_gradients_by_signals_and_by_the_distance_of_their_elements(rng):
    for mode in MODES:
        tg.verify_grad(
            lambda x, d, mode=mode: T.signal.savgol_filter(x, 5, 2, 1, d, 0, mode),
            [rng.normal(size=(6, 2)), 0.7],
            rng=rng,
        )


def test_what_is_refused():
    x = T.dvector("x")
    for call, error, words in [
        (lambda: T.signal.savgol_filter(x, 5, 5), ValueError, "polyorder must be less than window_length .5."),
        (lambda: T.signal.savgol_filter(x, 0, 0), ValueError, "window_length must be positive"),
        (lambda: T.signal.savgol_filter(x, 5.0, 2), TypeError, "window_length must be an integer that is known"),
        (lambda: T.signal.savgol_filter(x, 5, 2, -1), ValueError, "deriv must not be negative"),
        (lambda: T.signal.savgol_filter(x, 5, 2, mode="reflect"), ValueError, "mode must be one of mirror, "),
        (lambda: T.signal.savgol_filter(T.zvector("z"), 5, 2), TypeError, "takes real numbers"),
        (lambda: T.signal.savgol_filter(np.ones(4), 5, 2), ValueError, "at least 5 elements .* it has 4"),
        (lambda: T.signal.savgol_filter(1.0, 5, 2), ValueError, "one dimension at least"),
        (lambda: T.signal.savgol_filter(x, 5, 2, 1, x), ValueError, "delta must be one number"),
        (lambda: T.signal.savgol_coeffs(5, 2, pos=5), ValueError, "pos must be at least 0 and less than window_length"),
        (lambda: T.signal.savgol_coeffs(5, 2, use="sum"), ValueError, "use must be 'conv' or 'dot'"),
    ]:
        with pytest.raises(error, match=words):
            call()
    f = tg.function([x], T.signal.savgol_filter(x, 5, 2))
    assert f(np.arange(5.0)).shape == (5,)
    with pytest.raises(ValueError, match="with mode='interp' x must have at least 5 elements"):
        f(np.arange(4.0))
