"""Signals with another number of samples, and circulant systems: SciPy's values, gradients, errors."""

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKERS = ["py", pytest.param("c", marks=pytest.mark.skipif(find_compiler() is None, reason="no C compiler"))]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 16])
def test_every_pair_of_lengths_is_scipys(n, dtype, rng):
    given = rng.normal(size=(n, 2)).astype(dtype) * (1 if dtype == "float64" else 1 + 2j)
    weights = rng.random(n)
    for num in (1, 2, 3, 4, 5, 8, 16, 17):
        for window in (None, weights, "hann"):
            x = T.tensor("x", dtype=dtype, shape=(n, 2))
            found = tg.function([x], T.signal.resample(x, num, window=window), mode=tg.Mode(linker="py"))(given)
            np.testing.assert_allclose(found, scipy.signal.resample(given, num, window=window), atol=1e-13)


@pytest.mark.parametrize("linker", LINKERS)
def test_lengths_need_not_be_known_of_real_signals(linker, rng):
    x, t = T.dmatrix("x"), T.dvector("t")
    f = tg.function([x, t], T.signal.resample(x, 12, t, axis=1), mode=tg.Mode(linker=linker))
    for n in (2, 7, 12, 30):
        given, times = rng.normal(size=(3, n)), np.linspace(1, 2, n)
        for found, wanted in zip(f(given, times), scipy.signal.resample(given, 12, times, axis=1)):
            np.testing.assert_allclose(found, wanted, atol=1e-13)


def test_a_transform_is_resampled(rng):
    given = np.fft.fft(rng.normal(size=10))
    x = T.tensor("x", dtype="complex128", shape=(10,))
    found = tg.function([x], T.signal.resample(x, 7, domain="freq"))(given)
    np.testing.assert_allclose(found, scipy.signal.resample(given, 7, domain="freq"), atol=1e-13)


def test_the_gradient_goes_back_to_the_samples(rng):
    tg.verify_grad(lambda x: T.signal.resample(x, 9), [rng.normal(size=(6, 2))], rng=rng)
    tg.verify_grad(
        lambda c, b: T.linalg.solve_circulant(c, b), [rng.normal(size=5) + [5, 0, 0, 0, 0], rng.normal(size=5)], rng=rng
    )


def test_wrong_arguments_are_named():
    x = T.dvector("x")
    with pytest.raises(ValueError, match="num must be a positive whole number, got 0"):
        T.signal.resample(x, 0)
    with pytest.raises(ValueError, match="domain must be 'time' or 'freq', got 'space'"):
        T.signal.resample(x, 3, domain="space")
    with pytest.raises(ValueError, match="wants a known length"):
        T.signal.resample(x, 3, window="hann")
    with pytest.raises(ValueError, match="length of complex numbers must be known"):
        T.signal.resample(T.zvector("z"), 3)
    with pytest.raises(ValueError, match="singular must be 'raise' or 'lstsq', got 'nan'"):
        T.linalg.solve_circulant(x, x, singular="nan")


CIRCULANT = [
    ((5,), (5,), {}),
    ((6,), (6, 3), {}),
    ((4, 6), (6,), {}),
    ((6, 4), (4, 6), {"caxis": 0, "baxis": 1, "outaxis": 1}),
    ((2, 1, 5), (5, 3), {}),
    ((1,), (1, 2), {}),
]


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize(("of_c", "of_b", "axes"), CIRCULANT)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_circulant_systems_are_solved(of_c, of_b, axes, dtype, linker, rng):
    c, b = rng.normal(size=of_c), rng.normal(size=of_b)
    c, b = (
        (c + 1j * c[::-1] if dtype == "complex128" else c).astype(dtype),
        b.astype("float32" if dtype == "float32" else "float64"),
    )
    x, y = T.tensor("x", dtype=dtype, shape=of_c), T.tensor("y", dtype=b.dtype.name, shape=of_b)
    for singular in ("raise", "lstsq"):
        found = tg.function([x, y], T.linalg.solve_circulant(x, y, singular, **axes), mode=tg.Mode(linker=linker))(c, b)
        wanted = scipy.linalg.solve_circulant(c, b, singular, **axes)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-3 if dtype == "float32" else 1e-9)


def test_a_singular_circulant_matrix_is_an_error_or_solved_by_least_squares():
    x = T.dvector("x")
    with pytest.raises(np.linalg.LinAlgError, match="test_resampled.py") as told:
        tg.function([x], T.linalg.solve_circulant(x, x))([1.0, 1.0, 1.0])
    assert "the circulant matrix is singular" in str(told.value)
    found = tg.function([x], T.linalg.solve_circulant(x, [1.0, 2.0, 3.0], "lstsq"))([1.0, 1.0, 1.0])
    np.testing.assert_allclose(found, scipy.linalg.solve_circulant([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], "lstsq"))


# ---------------------------------------------------------------------- filters between rates
RATES = [(1, 1), (3, 2), (2, 3), (1, 4), (4, 1), (6, 4), (40, 1)]
PADS = ["constant", "mean", "median", "minimum", "maximum", "wrap", "edge", "smooth", "symmetric", "reflect",
        "antisymmetric", "antireflect", "line"]  # fmt: skip


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "int64"])
@pytest.mark.parametrize("rates", RATES, ids=str)
def test_rates_are_changed_as_by_scipy(rates, dtype, linker, rng):
    x, h = T.tensor("x", dtype=dtype, shape=(None, None)), T.dvector("h")
    outputs = [T.signal.resample_poly(x, *rates), T.signal.resample_poly(x, *rates, axis=1, window=h)]
    f = tg.function([x, h], outputs, mode=tg.Mode(linker=linker), on_unused_input="ignore")
    near = 1e-3 if dtype in ("float32", "complex64") else 1e-11
    for n in (0, 1, 2, 30, 300):
        given = (rng.normal(size=(n, 2)) * (5 + 2j if dtype == "complex64" else 5)).real.astype(dtype)
        taps = rng.normal(size=8)
        for found, wanted in zip(
            f(given, taps),
            [scipy.signal.resample_poly(given, *rates),
             scipy.signal.resample_poly(given, *rates, axis=1, window=taps)],
        ):  # fmt: skip
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, atol=near)


@pytest.mark.parametrize("padtype", PADS)
def test_what_follows_beyond_the_ends(padtype, rng):
    x = T.dmatrix("x")
    f = tg.function([x], T.signal.resample_poly(x, 5, 3, axis=1, padtype=padtype))
    for n in (2, 3, 40, 101):  # shorter than the filter and longer
        given = rng.normal(size=(3, n))
        np.testing.assert_allclose(
            f(given), scipy.signal.resample_poly(given, 5, 3, axis=1, padtype=padtype), atol=1e-11
        )
    found = tg.function([x], T.signal.resample_poly(x, 5, 3, cval=2.5))(given)
    np.testing.assert_allclose(found, scipy.signal.resample_poly(given, 5, 3, cval=2.5), atol=1e-12)


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("rates", [*RATES, (160, 147)], ids=str)
def test_upfirdn_is_scipys(rates, linker, rng):
    x, h, z = T.dvector("x"), T.dvector("h"), T.zvector("z")
    outputs = [T.signal.upfirdn(h, x, *rates), T.signal.upfirdn(z, T.complex(x, x[::-1]), *rates)]
    f = tg.function([x, h, z], outputs, mode=tg.Mode(linker=linker))
    for n in (1, 2, 70, 3000):
        for k in (1, 3, 61):
            given, taps = rng.normal(size=2 * n)[::-2], rng.normal(size=k)
            twisted = taps + 1j * taps[::-1]
            one, two = f(given, taps, twisted)
            np.testing.assert_allclose(one, scipy.signal.upfirdn(taps, given, *rates), atol=1e-11)
            wanted = scipy.signal.upfirdn(twisted, given + 1j * given[::-1], *rates)
            np.testing.assert_allclose(two, wanted, atol=1e-11)


@pytest.mark.parametrize("rates", [(1, 1), (3, 2), (2, 3), (1, 4), (5, 1)], ids=str)
@pytest.mark.parametrize("k", [1, 4, 7])
def test_gradients_between_rates(k, rates, rng):
    tg.verify_grad(lambda x, h: T.signal.upfirdn(h, x, *rates), [rng.normal(size=(2, 5)), rng.normal(size=k)], rng=rng)
    tg.verify_grad(lambda x: T.signal.resample_poly(x, *rates, padtype="line"), [rng.normal(size=(4, 2))], rng=rng)


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("rates", [*RATES, (4, 6), (7, 11), (160, 147)], ids=str)
def test_what_a_filter_has_met(rates, linker, rng):
    """Its gradient is linear in the samples and in the cotangent, and so its gradients are known as well."""
    x, h, c = T.dvector("x"), T.dvector("h"), T.dvector("c")
    met = (T.signal.upfirdn(h, x, *rates) * c).sum()
    slope, by_samples = tg.grad(met, [h, x])
    outputs = [slope, by_samples, *tg.grad((slope * h).sum(), [x, c])]
    f = tg.function([x, h, c], outputs, mode=tg.Mode(linker=linker))
    for n, k in ((1, 1), (2, 3), (70, 1), (70, 61), (3, 300), (9000, 20)):
        given, taps = rng.normal(size=2 * n)[::-2], rng.normal(size=k)
        results = scipy.signal.upfirdn(taps, given, *rates)
        cotangent = rng.normal(size=2 * len(results))[::-2]
        one, samples, second, third = f(given, taps, cotangent)
        wanted = [scipy.signal.upfirdn(unit, given, *rates) @ cotangent for unit in np.eye(k)]
        np.testing.assert_allclose(one, wanted, atol=1e-10)
        np.testing.assert_allclose(second, samples, atol=1e-10)
        np.testing.assert_allclose(third, results, atol=1e-10)


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("rates", [(1, 1), (1, 3), (2, 3), (3, 2)], ids=str)
def test_beyond_the_samples_nothing_meets_a_filter(rates, linker, rng):
    """Not as zeros either, which would make NaN of infinite cotangents; and a filter of nothing has no slope."""
    x, h, c = T.dvector("x"), T.dvector("h"), T.dvector("c")
    made = T.signal.upfirdn(h, x, *rates)
    f = tg.function([x, h, c], tg.grad(None, h, known_grads={made: c}), mode=tg.Mode(linker=linker))
    given, taps = rng.normal(size=7), rng.normal(size=5)
    cotangent = rng.normal(size=len(scipy.signal.upfirdn(taps, given, *rates)))
    cotangent[-1] = np.inf
    plain = tg.function([x, h, c], tg.grad(None, h, known_grads={made: c}), mode=tg.Mode(linker="py"))
    found, wanted = f(given, taps, cotangent), plain(given, taps, cotangent)
    assert np.isfinite(wanted).any()
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("linker", LINKERS)
def test_a_filter_for_each_line_meets_its_own(linker, rng):
    x, h = T.fmatrix("x"), T.fmatrix("h")
    given, taps = rng.normal(size=(3, 40)).astype("float32"), rng.normal(size=(3, 7)).astype("float32")
    each = tg.vmap(lambda a, b: T.signal.upfirdn(b, a, 3, 2))(x, h)
    f = tg.function([x, h], [tg.grad((each**2).sum(), h)], mode=tg.Mode(linker=linker))
    one = tg.function([x, h], tg.grad((T.signal.upfirdn(h[0], x[0], 3, 2) ** 2).sum(), h), mode=tg.Mode(linker="py"))
    for i in range(3):
        np.testing.assert_allclose(f(given, taps)[0][i], one(given[i:], taps[i:])[0], rtol=1e-4)
    slope = tg.grad(T.signal.upfirdn(h[0], x[0], 3, 2).sum(), h)
    empty = tg.function([x, h], slope, mode=tg.Mode(linker=linker))
    np.testing.assert_array_equal(empty(np.zeros((1, 0), "f"), taps), np.zeros((3, 7)))


def test_vmap_and_empty_gradients_between_rates(rng):
    x, h = T.dmatrix("x"), T.dmatrix("h")
    f = tg.function([x, h], tg.vmap(lambda a, b: T.signal.upfirdn(b, a, 3, 2))(x, h))
    given, taps = rng.normal(size=(4, 6)), rng.normal(size=(4, 5))
    np.testing.assert_allclose(f(given, taps), [scipy.signal.upfirdn(b, a, 3, 2) for a, b in zip(given, taps)])
    slope = tg.function([x], tg.grad(T.signal.resample_poly(x, 3, 2, axis=1).sum(), x))
    assert slope(np.zeros((2, 0))).shape == (2, 0)


def test_wrong_rates_and_filters_are_named():
    x = T.dvector("x")
    for name in ("up", "down"):
        with pytest.raises(ValueError, match=f"{name} must be a positive whole number, got 0"):
            T.signal.resample_poly(x, **{"up": 1, "down": 1, name: 0})
    with pytest.raises(ValueError, match="padtype must be one of mean, .* got 'zeros'"):
        T.signal.resample_poly(x, 3, 2, padtype="zeros")
    with pytest.raises(ValueError, match="cval is for padtype='constant', got padtype='mean'"):
        T.signal.resample_poly(x, 3, 2, padtype="mean", cval=1)
    with pytest.raises(ValueError, match="upfirdn: h must be a vector with elements"):
        T.signal.upfirdn(np.zeros(0), x)
    with pytest.raises(ValueError, match="upfirdn: mode must be one of constant, .* got 'full'"):
        T.signal.upfirdn([1.0], x, mode="full")
    with pytest.raises(ValueError, match="a filter must be a vector"):
        T.signal.resample_poly(x, 3, 2, window=T.dmatrix("w"))
    h = T.dvector("h")
    with pytest.raises(ValueError, match=r"upfirdn: the filter has no elements"):
        tg.function([x, h], T.signal.upfirdn(h, x, 2))([1.0], [])
