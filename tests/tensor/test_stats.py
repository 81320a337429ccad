"""T.stats: each function of each distribution is SciPy's, within its support and without, and its gradient."""

import copy
import pickle

import mpmath
import numpy as np
import pytest
import scipy.stats

import termgraph as tg
import termgraph.tensor as T

SHAPES = {
    "gennorm": [1.3], "t": [3.5], "vonmises": [1.5], "gamma": [2.5], "chi2": [3.0], "invgamma": [2.5], "lognorm": [0.7],
    "weibull_min": [1.7], "f": [3.0, 5.0], "pareto": [2.5], "beta": [2.0, 3.5], "truncnorm": [-0.5, 2.0],
    "wrapcauchy": [0.4], "bernoulli": [0.3], "binom": [7.0, 0.3], "betabinom": [7.0, 2.0, 3.0], "geom": [0.3],
    "nbinom": [3.0, 0.4], "poisson": [2.5],
}  # fmt: skip
KINDS = ["logpdf", "pdf", "logpmf", "pmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"]
POINTS = np.array([-np.inf, -3, -1, -0.5, 0, 0.25, 0.5, 1, 1.5, 2, 3, 5, 6, 7, 7.5, 8, np.inf, np.nan])
CHANCES = np.array([-1, 0, 0.1, 0.4, 0.9, 0.99, 1, 2, np.nan])


def kinds_of(name):
    return [k for k in KINDS if hasattr(getattr(T.stats, name), k)]


def compare(name, mode, points=POINTS, rtol=1e-11, **place):
    of, x = getattr(T.stats, name), T.dvector("x")
    kinds, shapes = kinds_of(name), SHAPES.get(name, [])
    found = tg.function([x], [getattr(of, k)(x, *shapes, **place) for k in kinds], mode=mode)
    at = {k: CHANCES if k in ("ppf", "isf") else points for k in kinds}
    got = {k: found(at[k])[i] for i, k in enumerate(kinds)}
    for k in kinds:
        with np.errstate(all="ignore"):
            want = getattr(getattr(scipy.stats, name), k)(at[k], *shapes, **place)
        want = np.where(np.isinf(at[k]) & np.isnan(want), -np.inf if "log" in k else 0, want)  # SciPy's NaN at the ends
        np.testing.assert_allclose(got[k], want, rtol=rtol, atol=1e-15, err_msg=f"{name}.{k}")


@pytest.mark.parametrize("name", T.stats.__all__)
def test_functions_are_those_of_scipy(name):
    whole = getattr(T.stats, name).whole
    compare(name, "FAST_RUN", **({"loc": 1} if whole else {"loc": 0.5, "scale": 2.0}))
    compare(name, tg.Mode(linker="py"))


@pytest.mark.parametrize("name", T.stats.__all__)
@pytest.mark.filterwarnings("ignore")
def test_parameters_that_cannot_be_and_gradients(name, rng):
    of, shapes = getattr(T.stats, name), SHAPES.get(name, [])
    log = of.logpmf if of.whole else of.logpdf
    bad = [-1.0] * len(shapes) if name != "truncnorm" else [1.0, 0.0]
    assert not shapes or np.isnan(log(1.0, *bad).eval())
    assert of.whole or np.isnan(log(1.0, *shapes, scale=0).eval())
    inside, some = T.dvector("inside"), [T.dscalar() for _ in shapes]
    at = np.array([1.2, 1.5, 1.7]) if name == "pareto" else np.array([0.3, 0.6, 0.7])
    slopes = tg.grad(log(inside, *some).sum(), [inside, *some], disconnected_inputs="ignore")
    f = tg.function([inside, *some], slopes, on_unused_input="ignore")
    beyond = np.array([-1.5, 50.0, 0.5])  # where there is no slope, and no NaN
    for points in (at, np.array([1.0, 2.0, 1.0]) if of.whole else np.array([0.9, 2.0, 1.1]), beyond):
        assert of.whole and points is at or all(np.isfinite(s).all() for s in f(points, *shapes)), name
    if not of.whole:
        tg.verify_grad(lambda x: log(x, *shapes, loc=-0.1, scale=1.1), [at], rng=rng)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_dtypes(dtype):
    x = T.tensor("x", dtype=dtype, shape=(None,))
    values = np.array([0, 1, 2], dtype)
    for name, shapes in (("norm", []), ("gamma", [2.5]), ("t", [3.0]), ("poisson", [2.5])):
        of, theirs = getattr(T.stats, name), getattr(scipy.stats, name)
        kind = "logpmf" if of.whole else "logpdf"
        for k in (kind, "cdf"):
            got = tg.function([x], getattr(of, k)(x, *shapes))(values)
            assert got.dtype == ("float64" if dtype == "int64" else dtype)
            off = {"float16": 1e-3, "float32": 1e-6}.get(dtype, 1e-13)
            np.testing.assert_allclose(got, getattr(theirs, k)(values.astype(float), *shapes), rtol=off)
    empty = T.stats.beta.logpdf(np.zeros((0, 3)), 1.0, np.ones(3)).eval()
    assert empty.shape == (0, 3)


def test_digits_far_out():
    """Where a difference or a product of what is large would lose them."""
    with mpmath.workdps(60):
        for df in (0.5, 30.0, 1e6, 1e12):
            z = mpmath.mpf(df)
            want = mpmath.log(mpmath.gammaprod([(z + 1) / 2], [z / 2]) / mpmath.sqrt(z * mpmath.pi)) if df < 1e5 else (
                -mpmath.log(2 * mpmath.pi) / 2 - 1 / (4 * z))  # fmt: skip
            assert abs(float(T.stats.t.logpdf(0.0, df).eval()) - float(want)) < 5e-15
        for x in (9.0, 20.0, -12.0):
            near = mpmath.log(mpmath.ncdf(-abs(x)))
            got = T.stats.norm.logsf(x).eval() if x > 0 else T.stats.norm.logcdf(x).eval()
            assert abs(float(got) / float(near) - 1) < 1e-14
    assert T.stats.truncnorm.logcdf(9.5, 9.0, 10.0).eval() == pytest.approx(
        scipy.stats.truncnorm.logcdf(9.5, 9.0, 10.0), rel=1e-10
    )
    assert T.stats.halfnorm.logcdf(20.0).eval() == pytest.approx(-5.50724824e-89)


@pytest.mark.parametrize("ends", [(0.0, np.inf), (-np.inf, 1.0), (-np.inf, np.inf), (-1.0, 3.0)])
@pytest.mark.parametrize("kind", ["logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"])
def test_a_normal_cut_at_infinity_has_gradients(kind, ends):
    of = getattr(T.stats.truncnorm, kind)
    given = x, a, b, loc = T.dscalars("x", "a", "b", "loc")
    y = of(x, a, b, loc, 1.2)
    got = tg.function([*given], [y, *tg.grad(y, [*given])])(0.5, *ends, 0.1)
    np.testing.assert_allclose(got[0], getattr(scipy.stats.truncnorm, kind)(0.5, *ends, 0.1, 1.2), rtol=1e-13)
    for i, at in enumerate((0.5, *ends, 0.1)):
        step = np.eye(4)[i] * 1e-6
        near = [getattr(scipy.stats.truncnorm, kind)(*(np.array([0.5, *ends, 0.1]) + d), 1.2) for d in (step, -step)]
        want = (near[0] - near[1]) / 2e-6 if np.isfinite(at) else 0
        np.testing.assert_allclose(got[i + 1], want, rtol=1e-6, atol=1e-9)
    out = tg.function([*given], tg.grad(y, [*given]))(-1e300, *ends, 0.1)
    assert kind == "logpdf" or np.isfinite(out).all()


def test_a_cut_normal_far_out():
    inf = np.inf
    for kind, *given in (
        ("cdf", -1e300, -inf, 0), ("sf", 1e300, 30, inf), ("logcdf", 40, 30, inf), ("logsf", -40, -inf, -30),
        ("logcdf", 0.3, -inf, inf), ("logsf", -5, -inf, inf), ("logpdf", 31, 30, inf), ("sf", 1e300, -inf, inf),
    ):  # fmt: skip
        got = getattr(T.stats.truncnorm, kind)(*given).eval()
        np.testing.assert_allclose(got, getattr(scipy.stats.truncnorm, kind)(*given), rtol=1e-13)
    assert T.stats.truncnorm.cdf(1e-9, -1e-8, 1e-8).eval() == pytest.approx(0.55, rel=1e-13)  # SciPy 3e-8 off


def test_t_of_many_degrees():
    """Every size of df and x, on both sides of where the formulas change; float32 has all of its digits."""
    with mpmath.workdps(50):
        for df in (0.5, 3.5, 100.0, 9e3, 1.1e4, 1e7):
            for x in (1e-9, 1e-7, 1e-3, 0.1, 1.0, 1.01, 2.0, 10.0):
                z, d = mpmath.mpf(x), mpmath.mpf(df)
                near = x <= 1
                shapes, end = ((0.5, d / 2), z * z) if near else ((d / 2, 0.5), d)
                part = mpmath.betainc(*shapes, 0, end / (d + z * z), regularized=True) / 2
                want = float(mpmath.mpf(0.5) - part if near else part)
                assert T.stats.t.sf(x, df).eval() == pytest.approx(want, rel=1e-12, abs=0)
                single = T.stats.t.sf(np.float32(x), np.float32(df)).eval()
                assert single.dtype == "float32" and single == pytest.approx(want, rel=2e-7, abs=0)
    assert T.stats.t.cdf(0.1, 1e10).eval() == pytest.approx(scipy.stats.t.cdf(0.1, 1e10), rel=1e-15)


@pytest.mark.parametrize("kind", ["logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"])
def test_t_of_infinite_df_is_normal_and_has_slopes_at_0(kind):
    x, df = T.dvector("x"), T.dscalar("df")
    y = getattr(T.stats.t, kind)(x, df)
    f = tg.function([x, df], [y, tg.grad(y.sum(), x)])
    at = np.array([-2, 0, 1e-9, 0.5, 1, 3, 20.0])
    for d in (2.0, 1e5, 1e10, np.inf):
        got, slopes = f(at, d)
        theirs = scipy.stats.norm if d == np.inf else scipy.stats.t(d)
        np.testing.assert_allclose(got, getattr(theirs, kind)(at), rtol=1e-11, atol=1e-300)
        if kind in ("cdf", "sf"):
            np.testing.assert_allclose(abs(slopes), theirs.pdf(at), rtol=3e-11, atol=1e-60)
        assert np.isfinite(slopes).all()
    if "pdf" in kind:
        assert tg.function([x, df], tg.grad(y.sum(), df))(at, np.inf) == 0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_quantiles_near_1(dtype):
    q = np.array([1e-15, 1e-10, 0.1, 0.25, 0.3, 0.5, 0.6, 0.75, 0.8, 0.99999, 1 - 2**-24, 1 - 1e-10], dtype)
    q = q[(q > 0) & (q < 1)]
    with mpmath.workdps(60):
        cot = np.array([float(mpmath.cos(v) / mpmath.sin(v)) for v in (mpmath.mpf(float(v)) * mpmath.pi for v in q)])
        tan = np.array([float(mpmath.tan(mpmath.mpf(float(v)) * mpmath.pi / 2)) for v in q])
    x = T.tensor("x", dtype=dtype, shape=(None,))
    for name, wants in (("cauchy", (-cot, cot)), ("halfcauchy", (tan, 1 / tan))):
        of = getattr(T.stats, name)
        for kind, want in zip(("ppf", "isf"), wants, strict=True):
            y = getattr(of, kind)(x)
            got, slopes = tg.function([x], [y, tg.grad(y.sum(), x)])(q)
            assert got.dtype == dtype
            np.testing.assert_allclose(got, want, rtol=1e-15 if dtype == "float64" else 3e-7, atol=1e-30)
            np.testing.assert_allclose(abs(slopes), (1 + want**2) * np.pi / (1 + (name == "halfcauchy")), rtol=1e-6)
    assert T.stats.cauchy.ppf(0.5).eval() == T.stats.cauchy.isf(0.5).eval() == 0


@pytest.mark.parametrize("name", [n for n in T.stats.__all__ if not getattr(T.stats, n).whole])
def test_places_at_infinity_have_no_slope(name):
    of, shapes = getattr(T.stats, name), SHAPES.get(name, [])
    x, loc, scale = T.dvector("x"), T.dscalar("loc"), T.dscalar("scale")
    for kind in (k for k in kinds_of(name) if k not in ("ppf", "isf")):
        y = getattr(of, kind)(x, *shapes, loc, scale)
        cost = T.sum(T.switch(T.isinf(y), 0.0, y))
        slopes = tg.function([x, loc, scale], tg.grad(cost, [x, loc, scale]))
        got, want = slopes([-np.inf, 2.1, np.inf], 0.5, 1.1), slopes([2.1], 0.5, 1.1)
        np.testing.assert_allclose(got[0], [0, want[0][0], 0], err_msg=kind)
        np.testing.assert_allclose(got[1:], want[1:], err_msg=kind)


def test_numbers_that_are_very_large_or_small():
    for name, kind, *given in (
        ("beta", "isf", 1 - 1e-10, 0.5, 0.5),
        ("beta", "ppf", 1e-10, 2, 5), ("beta", "isf", 1e-10, 2, 5), ("beta", "isf", 0.7, 2, 5),
    ):  # fmt: skip
        want = getattr(getattr(scipy.stats, name), kind)(*given)
        np.testing.assert_allclose(getattr(getattr(T.stats, name), kind)(*given).eval(), want, rtol=1e-11)
    far = -np.log(np.pi) - 2 * np.log(1e300)
    np.testing.assert_allclose(T.stats.cauchy.logpdf(1e300).eval(), far, rtol=1e-15)
    np.testing.assert_allclose(T.stats.halfcauchy.logpdf(1e300).eval(), far + np.log(2), rtol=1e-15)
    np.testing.assert_allclose(T.stats.beta.ppf(1e-300, 2, 5).eval(), np.sqrt(1e-300 / 15), rtol=1e-12)
    want = np.log(2 / (np.pi * np.sqrt(3))) + 2 * np.log(3) - 4 * np.log(1e200)
    np.testing.assert_allclose(T.stats.t.logpdf(1e200, 3.0).eval(), want, rtol=1e-12)
    q = T.dscalar("q")
    assert np.isfinite(tg.function([q], tg.grad(T.stats.beta.isf(q, 2.0, 5.0), q))(0.7))


def test_errors_say_what_there_is():
    assert repr(T.stats.norm) == "T.stats.norm"
    with pytest.raises(AttributeError, match=r"T.stats.t has no ppf, but pdf, logpdf, cdf, "):
        T.stats.t.ppf(0.5, 2.0)
    with pytest.raises(TypeError, match=r"T.stats.gamma.logpdf: .*'a'; it takes \(x, a, loc=0, scale=1\)"):
        T.stats.gamma.logpdf(1.0)
    with pytest.raises(TypeError, match="is of real numbers"):
        T.stats.norm.pdf(1j)


@pytest.mark.parametrize("name", T.stats.__all__)
def test_copies_are_the_same_distribution(name):
    of = getattr(T.stats, name)
    assert copy.copy(of) is of and copy.deepcopy([of])[0] is of
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(of, protocol)) is of
    bare = type(of).__new__(type(of))
    with pytest.raises(AttributeError, match="no attribute 'logpdf'"):
        bare.logpdf
    assert not hasattr(of, "__array__")


@pytest.mark.parametrize("df", [0.01, 0.5, 3.0, 5.0, 1e3, 1e6])
def test_t_far_out_is_as_near_as_it_falls(df):
    """x**2 is no number beyond 1e154; the chance falls as x**-df, which for few degrees of freedom is not 0."""
    x = np.array([1e10, 1e149, 1e151, 1e200, 1e300])
    v = T.dvector("v")
    f = tg.function([v], [T.stats.t.sf(v, df), T.stats.t.cdf(-v, df), T.stats.t.cdf(v, df), T.stats.t.logcdf(-v, df)])
    sf, below, above, log_below = f(x)
    at = scipy.stats.t.sf(x[0], df)
    expected = at * np.exp(-df * np.log(x / x[0])) if df < 1e5 else np.zeros(5)
    np.testing.assert_allclose(sf, expected, rtol=1e-9, atol=1e-300)
    np.testing.assert_array_equal(sf, below)
    np.testing.assert_allclose(above, 1 - expected, rtol=1e-15)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(log_below, np.log(sf), rtol=1e-12)
    assert [float(g) for g in f([np.inf, -np.inf])[0]] == [0.0, 1.0]
