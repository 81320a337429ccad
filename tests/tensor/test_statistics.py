"""Statistics, and functions that put numbers in places, beside NumPy and SciPy; their gradients beside differences."""

import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError
from termgraph.terms.traverse import subterms

X = np.random.default_rng(0).normal(size=(3, 4, 5))
WITH_NAN = np.where(X > 1, np.nan, X)
PLACES = np.cumsum(np.random.default_rng(1).uniform(0.1, 1, 4))
WHOLE = np.random.default_rng(2).integers(0, 9, (3, 4))
C = T.constant


def same(ours, numpys, rtol=1e-6):
    """Shapes, dtypes and values, of one result or a list of them."""
    ours, numpys = [v if isinstance(v, (list, tuple)) else [v] for v in (ours, numpys)]
    assert len(ours) == len(numpys)
    for got, want in zip(tg.function([], list(ours), mode="FAST_COMPILE")(), map(np.asarray, numpys), strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
def test_sums_and_means_of_what_is_there(axis):
    for x in (WITH_NAN, WHOLE if axis in (None, 0, -1) else X, WITH_NAN.astype("float32"), WITH_NAN + 1j):
        same(T.nansum(C(x), axis), np.nansum(x, axis), rtol=1e-5)
        same(T.nanmean(C(x), axis, keepdims=True), np.nanmean(x, axis, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("q", [0.3, [0.1, 0.5], [[0.0, 1.0], [0.2, 0.7]]], ids=["one", "two", "four"])
@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
def test_quantiles(axis, q):
    for method in ("linear", "lower", "higher", "midpoint"):
        for x in (X, X.astype("float32"), WITH_NAN):
            same(T.quantile(C(x), q, axis, method), np.quantile(x, q, axis=axis, method=method), rtol=1e-5)
    same(T.quantile(C(X), q, axis, keepdims=True), np.quantile(X, q, axis=axis, keepdims=True))


def test_percentiles():
    for x in (X, X.astype("float32"), np.arange(6)):
        same([T.percentile(C(x), 30), T.percentile(C(x), [30, 40])], [np.percentile(x, 30), np.percentile(x, [30, 40])])
    with pytest.raises(ValueError, match="method must be one of linear"):
        T.quantile(C(X), 0.5, method="median")
    for draw in (
        lambda: T.percentile(C(X), [30, 120]),
        lambda: T.nanpercentile(C(X), -1),
        lambda: T.nanpercentile(C(X), np.nan),
    ):
        with pytest.raises(ValueError, match="percentile: q must be from 0 to 100"):
            draw()
    with pytest.raises(ValueError, match=r"quantile: q must be from 0 to 1, got 1\.5"):
        T.quantile(C(X), 1.5)


def test_histograms():
    some = [{}, {"bins": 5}, {"bins": [-1.0, 0, 0.5, 2]}, {"range": (-1.0, 1.0)}, {"density": True}]
    for options in [*some, {"weights": abs(X)}, {"bins": 4, "weights": abs(X), "density": True}]:
        same(T.histogram(C(X), **options), np.histogram(X, **options))
    for x in (np.arange(9), np.ones(3)):
        same(T.histogram(C(x), 3), np.histogram(x, 3))


@pytest.mark.parametrize(
    "edges", [[-2, 0, 1, 3], [-2.5, 0.1, 1, 3], np.array([0, 1, 2], "uint8"), np.array([-1, 0.1], "float32")]
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint64", "bool"])
def test_histograms_of_other_dtypes_than_the_edges(edges, dtype):
    values = np.array([2.041, -2.556, 0.418, -0.568, 0.1, -0.216, 3.0, 1.999])
    values = (values if np.dtype(dtype).kind in "fi" else abs(values)).astype(dtype)
    same(T.histogram(C(values), edges), np.histogram(values, edges))


def test_correlations():
    for x in (X[0], X[0] + 1j * X[1], X[0, 0]):
        same(T.corrcoef(C(x)), np.corrcoef(x))
    same(T.corrcoef(C(X[0]), C(X[1]), rowvar=False), np.corrcoef(X[0], X[1], rowvar=False))


def test_areas():
    same(T.trapezoid(C(X)), np.trapezoid(X))
    same(T.trapezoid(C(X), PLACES, axis=1), np.trapezoid(X, PLACES, axis=1))
    same(T.trapezoid(C(X), dx=0.3, axis=0), np.trapezoid(X, dx=0.3, axis=0))
    same(T.trapezoid(C(X), C(X), axis=0), np.trapezoid(X, X, axis=0))
    same(T.trapezoid([1, 2, 4]), np.trapezoid([1, 2, 4]))


def test_gradients_of_float32_are_computed_in_float32():
    x = T.fvector("x")
    wide = [t for t in subterms([T.gradient(x).term]) if t.type.dtype == "float64"]
    assert not wide


@pytest.mark.parametrize("edge_order", [1, 2])
def test_slopes(edge_order):
    for x, spacing, axis in [(X, (), None), (X, (0.5,), 1), (X, (PLACES,), 1), (X, (2.0, PLACES, 3), None),
                             (X.astype("float32"), (), 0), (np.array([1, 2, 4, 7]), (), None)]:  # fmt: skip
        ours = T.gradient(C(x), *spacing, axis=axis, edge_order=edge_order)
        same(ours, np.gradient(x, *spacing, axis=axis, edge_order=edge_order), rtol=1e-5)


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("linker", ["py", "auto"])
def test_slopes_need_a_neighbour(edge_order, linker):
    """As in NumPy, where of one element an empty array of slopes was made."""
    few = T.tensor("few", dtype="float64", shape=(2, edge_order))
    with pytest.raises(ValueError, match=rf"axis 1 needs at least {edge_order + 1} elements .* it has {edge_order}"):
        T.gradient(few, axis=1, edge_order=edge_order)
    x = T.dvector("x")
    f = tg.function([x], T.gradient(x, edge_order=edge_order), mode=tg.Mode(linker=linker))
    np.testing.assert_allclose(f([1.0, 2.0, 4.0]), np.gradient([1.0, 2.0, 4.0], edge_order=edge_order))
    for n in range(edge_order + 1):
        with pytest.raises(ShapeError, match=rf"axis 0 needs at least {edge_order + 1} elements .* it has {n}"):
            f(np.ones(n))


def test_members_and_choices():
    same(T.isin(C(WHOLE), [1, 2, 20]), np.isin(WHOLE, [1, 2, 20]))
    same(T.isin(C(X), X[0], invert=True), np.isin(X, X[0], invert=True))
    same(T.isin(C(WHOLE), np.zeros(0, int)), np.isin(WHOLE, np.zeros(0, int)))
    same(T.isin([np.nan, 1.0], [np.nan, 1.0]), np.isin([np.nan, 1.0], [np.nan, 1.0]))
    same(T.select([C(X) < 0, C(X) < 1], [C(X), 2 * C(X)], 7.0), np.select([X < 0, X < 1], [X, 2 * X], 7.0))
    with pytest.raises(TypeError, match="conditions are bool"):
        T.select([C(X)], [C(X)])


def test_blocks():
    a, b = X[0], X[1]
    same(T.block([[C(a), C(b)], [C(b), C(a)]]), np.block([[a, b], [b, a]]))
    same(T.block([C(a[0]), 1.0]), np.block([a[0], 1.0]))
    same(T.block([[C(X)], [C(X)]]), np.block([[X], [X]]))
    same(T.linalg.block_diag(C(a), C(b[0]), [[1]]), scipy.linalg.block_diag(a, b[0], [[1]]))
    with pytest.raises(ValueError, match="nested equally deep"):
        T.block([[C(a)], C(b)])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
def test_powers_of_a_vector(dtype):
    v = np.arange(3).astype(dtype)
    for n in (None, 0, 1, 5):
        same([T.vander(C(v), n), T.vander(C(v), n, True)], [np.vander(v, n), np.vander(v, n, True)])


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("order", ["big", "little"])
def test_bits(axis, order):
    bits = np.random.default_rng(0).integers(0, 2, (3, 11)).astype(bool)
    packed = np.packbits(bits, axis, order)
    same(T.packbits(C(bits), axis, order), packed)
    same(T.unpackbits(C(packed), axis, 5, order), np.unpackbits(packed, axis, 5, order))


def test_special_functions():
    a, b, x = X[0] ** 2 + 0.3, X[1] ** 2 + 0.3, 1 / (1 + np.exp(X[2]))
    same(T.betainc(C(a), C(b), C(x)), scipy.special.betainc(a, b, x))
    sps, p = scipy.special, np.array([0.0, -1.0, 0.5, 3.0, np.inf, np.nan, 170.5])
    for name in ("boxcox", "boxcox1p", "comb"):
        first, second = np.meshgrid(p, p)
        same(getattr(T, name)(C(first), C(second)), getattr(sps, name)(first, second))
    same([T.factorial(C(p)), T.loggamma(C(p)), T.factorial(5)], [sps.factorial(p), np.real(sps.loggamma(p)), 120.0])
    same([T.chi2sf(C(a), C(b)), T.gammal(C(a), C(b)) + T.gammau(C(a), C(b))], [sps.chdtrc(b, a), sps.gamma(a)])
    assert T.boxcox(T.fvector(), 0.5).dtype == "float32"
    same([T.logit(C(x)), T.betaln(C(a), C(b))], [scipy.special.logit(x), scipy.special.betaln(a, b)])


def test_roots_of_matrices():
    a = X[0, :, :4] @ X[0, :, :4].T + np.eye(4)
    same(T.linalg.sqrtm(C(a)), scipy.linalg.sqrtm(a))
    same(T.linalg.cho_solve(T.linalg.cho_factor(C(a)), C(a[0])), np.linalg.solve(a, a[0]))
    with pytest.raises(np.linalg.LinAlgError, match="no real square root"):
        T.linalg.sqrtm(C(-a)).eval()


def test_gradients():
    rng, x = np.random.default_rng(0), X[0]
    positive = x[:, :4] @ x[:, :4].T + np.eye(4)
    for function, value in {
        T.nansum: x, T.nanmean: x, T.corrcoef: x, T.trapezoid: x, T.logit: 1 / (1 + np.exp(x)),
        T.linalg.sqrtm: positive,
        lambda v: T.quantile(v, [0.2, 0.7], axis=1): x, lambda v: T.gradient(v, 0.5, axis=1, edge_order=2): x,
        lambda v: T.vander(v[0], 4): x, lambda v: T.block([[v, v * v]]): x,
        lambda v: T.linalg.block_diag(v, v * v): x,
        lambda v: T.select([v > 0], [v], v * v): x, lambda v: T.histogram(x, 3, weights=v)[0]: x,
        lambda v: T.betaln(v * v + 1, 2.0): x, lambda v: T.linalg.cho_factor(v)[0]: positive,
    }.items():  # fmt: skip
        tg.verify_grad(function, [value], rng=rng, mode="FAST_COMPILE")


def test_quantiles_of_what_is_there():
    holes = np.where(X > 1, np.nan, X)
    holes[0, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for axis in (None, 1, (0, 2)):
            for method in ("linear", "lower", "higher", "midpoint"):
                at = [0.1, 0.5, 1.0]
                same(T.nanquantile(C(holes), at, axis, method), np.nanquantile(holes, at, axis, method=method))
            same(T.nanmedian(C(holes), axis, True), np.nanmedian(holes, axis, keepdims=True))
        same(T.nanpercentile(C(holes), 30.0, axis=1), np.nanpercentile(holes, 30.0, axis=1))
    same(T.nanmedian([-np.inf, 1.0, np.nan]), np.float64(-np.inf))


def test_quantiles_beside_infinities():
    """An infinity is itself as far as the next number; between both there is nothing (NumPy has NaN more often)."""
    i, x = np.inf, T.dvector("x")
    wanted = {
        (-i, -i, 1.0): [-i, -i, -i, 1.0], (-i, 5.0, 6.0): [-i, 5.0, 5.5, 6.0], (1.0, i, i): [i, i, i, i],
        (-i, i, i): [np.nan, i, i, i], (1.0, 2.0, i): [1.5, 2.0, i, i], (i, i, i): [i, i, i, i],
    }  # fmt: skip
    f = tg.function([x], [T.quantile(x, [0.25, 0.5, 0.75, 1.0]), T.nanquantile(x, [0.25, 0.5, 0.75, 1.0])])
    for row, quarters in wanted.items():
        for got in f(np.array(row)):
            np.testing.assert_array_equal(got, quarters)


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
def test_places_in_rows_longer_than_their_floats_count(name):
    for dtype, n in (("float16", 3000), ("float16", 70_000), ("float32", 1001)):
        x = np.linspace(-5, 5, n).astype(dtype)
        for q in (0.37, 0.5, np.array([0.37, 0.99]), np.array(0.25, "float32")):
            share = q * 100 if "percent" in name else q
            got, want = getattr(T, name)(C(x), share).eval(), getattr(np, name)(x, share)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-3 if dtype == "float16" else 1e-6, atol=1e-5)


def test_the_middle_of_large_numbers_of_16_bits():
    x = np.array([60000, np.nan, 50000], "float16")
    assert T.nanmedian(C(x)).eval() == 54976 == T.median(C(x[::2])).eval()


@pytest.mark.parametrize("mode", ["auto", "py", "DEBUG_MODE"])
def test_the_quantile_of_nothing_is_nan(mode):
    m = T.dmatrix("m")
    what = [T.nanmedian(m, axis=1), T.nanmedian(m), T.nanquantile(m, 0.3, axis=0), T.nanquantile(m, [0.2, 0.7], axis=1)]
    f = tg.function([m], what, mode=mode if mode == "DEBUG_MODE" else tg.Mode(linker=mode))
    for shape in ((3, 0), (0, 3), (0, 0), (3, 3)):
        x = np.full(shape, np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = [np.nanmedian(x, axis=1), np.nanmedian(x), np.nanquantile(x, 0.3, axis=0)]
        wanted.append(np.full((2, shape[0]), np.nan))  # NumPy forgets that there are two shares
        for got, want in zip(f(x), wanted, strict=True):
            np.testing.assert_array_equal(got, want)
    same(T.nanmedian(T.zeros((2, 0)), axis=1), np.full(2, np.nan))


def test_running_sums_of_what_is_there():
    holes = np.where(X > 1, np.nan, X)
    holes[0, 1] = np.nan
    same(T.nancumsum(C(holes), 1), np.nancumsum(holes, 1))
    same(T.nancumprod(C(holes)), np.nancumprod(holes))


@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_sets(name):
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 9, (3, 7)), rng.integers(2, 14, 11)
    with_nan = [np.array([1.0, np.nan, 2.0]), np.array([np.nan, 2.0])]
    for pair in ((a, b), (a.astype(float), b), (a > 4, b > 4), (a, b[:0]), with_nan):
        same(getattr(T, name)(*map(C, pair)), getattr(np, name)(*pair))
    if name != "union1d":
        u, v = rng.permutation(9), rng.permutation(12)[:7]
        same(getattr(T, name)(C(u), C(v), True), getattr(np, name)(u, v, True))
    if name == "intersect1d":
        for pair, unique in (((a, b), False), ((u, v), True)):
            for ours, numpys in zip(T.intersect1d(*map(C, pair), unique, True), np.intersect1d(*pair, unique, True)):
                same(ours, numpys)
    x = rng.normal(size=6)
    tg.verify_grad(lambda p: getattr(T, name)(p, C(rng.normal(size=3) + 9)), [x], rng=rng, mode="FAST_COMPILE")


def test_slopes_of_what_is_distinct():
    x, t = T.dvector("x"), T.dvector("t")
    given = {x: [3.0, 1.0, 3.0, 2.0], t: [1.0, 2.0, 3.0, 4.0]}
    assert list(tg.grad((T.unique(x) * T.arange(1, 4)).sum(), x).eval({x: given[x]})) == [3, 1, 0, 2]
    values, inverse = T.unique(x, return_inverse=True)
    assert list(tg.grad((values[inverse] * T.arange(1, 5)).sum(), x).eval({x: given[x]})) == [4, 2, 0, 4]
    assert list(tg.Rop(T.unique(x), x, t).eval(given)) == [2, 4, 1]
    rng = np.random.default_rng(0)
    tg.verify_grad(lambda m: T.unique(m, axis=1), [X[0]], rng=rng, mode="FAST_COMPILE")


def test_orders_by_several_keys():
    keys = np.random.default_rng(0).integers(0, 3, (3, 4, 8))
    same(T.lexsort(C(keys)), np.lexsort(keys))
    same(T.lexsort(list(map(C, keys)), axis=0), np.lexsort(keys, axis=0))
    with pytest.raises(ValueError, match="how many keys"):
        T.lexsort(T.dmatrix())
    with pytest.raises(TypeError, match="at least one key"):
        T.lexsort([])


def test_polynomials():
    rng = np.random.default_rng(0)
    p, q, x, y, w = (rng.normal(size=n) for n in (5, 3, 30, 30, 30))
    unknown = T.dvector("p")
    for at in (X[0], 2.5, np.arange(4), x + 1j):
        same(T.polyval(C(p), C(at)), np.polyval(p, at))
        np.testing.assert_allclose(T.polyval(unknown, C(at)).eval({unknown: p}), np.polyval(p, at))
    same(T.polyval([1, 2, 3], [4, 5]), np.polyval([1, 2, 3], [4, 5]))
    same(T.polyfit(C(x), C(y), 3, w=C(abs(w))), np.polyfit(x, y, 3, w=abs(w)))
    same(T.polyfit(C(x), C(np.stack([y, w], 1)), 2), np.polyfit(x, np.stack([y, w], 1), 2))
    for cov in (True, "unscaled"):
        for values in (y, np.stack([y, w], 1)):
            fit, spread = T.polyfit(C(x), C(values), 2, w=C(abs(w)), cov=cov)
            wanted = np.polyfit(x, values, 2, w=abs(w), cov=cov)
            np.testing.assert_allclose(fit.eval(), wanted[0])
            np.testing.assert_allclose(spread.eval(), wanted[1])
    for rcond in (None, 1e-9):
        full = T.polyfit(C(x), C(y), 2, rcond, full=True, w=C(abs(w)))
        for ours, numpys in zip(full, np.polyfit(x, y, 2, rcond, full=True, w=abs(w)), strict=True):
            np.testing.assert_allclose(ours.eval(), numpys)
    narrow = T.polyfit(C(x.astype("float32")), C(y), 2, full=True)
    for ours, numpys in zip(narrow, np.polyfit(x.astype("float32"), y, 2, full=True), strict=True):
        np.testing.assert_allclose(ours.eval(), numpys, rtol=1e-4)
    with pytest.raises(ValueError, match="full=True needs rcond= or a known number of points"):
        T.polyfit(unknown, C(y), 2, full=True)
    with pytest.raises(TypeError, match="full must be True or False, got w; weights are given as w="):
        T.polyfit(x, y, 2, None, T.dvector("w"))
    with pytest.raises(ValueError, match="the covariance of 3 coefficients needs more than 3 points"):
        T.polyfit(x[:3], y[:3], 2, cov=True)
    with pytest.raises(ValueError, match="the covariance of 3 coefficients needs more than 3 points"):
        T.polyfit(unknown, p[:3], 2, cov=True)[1].eval({unknown: x[:3]})
    for m in (0, 1, 2, 7):
        same(T.polyder(C(p), m), np.polyder(p, m))
        same(T.polyint(C(p), m), np.polyint(p, m))
    same(T.polyint(C(p), 2, [3.0, 4.0]), np.polyint(p, 2, [3.0, 4.0]))
    same(T.polyadd(C(p), C(q)), np.polyadd(p, q))
    same(T.polysub(C(q), C(p)), np.polysub(q, p))
    same(T.polymul(C(p), C(q)), np.polymul(p, q))
    first, second = T.dvectors("first", "second")
    product = tg.function([first, second], T.polymul(first, second, trim_leading_zeros=True))
    for pair in (([0.0, 0.0, 1.0, 2.0], [0.0, 3.0]), ([0.0, 0.0], [1.0, 0.0, 2.0]), ([2.0], [0.0]), (p.real, q.real)):
        np.testing.assert_allclose(product(*pair), np.polymul(*pair))
    for wrong in (lambda: T.polyval(T.dmatrix(), 1.0), lambda: T.polyfit(x, y, -1), lambda: T.polyder(p, -1)):
        with pytest.raises(ValueError, match="poly"):
            wrong()
    for function, values in {
        lambda a: T.polyfit(a, y, 3): x, lambda b: T.polyfit(x, b, 3): y, lambda c: T.polyval(c, X[0]): p,
    }.items():  # fmt: skip
        tg.verify_grad(function, [values], rng=rng, mode="FAST_COMPILE")


def test_roots_of_polynomials():
    for p in ([1.0, -6.0, 11.0, -6.0], [2.0, 0.0, 2.0, 0.0], [1, -1j], [3, -6]):
        found = T.roots(C(np.array(p))).eval()
        np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(np.roots(p)), atol=1e-12)
    p = T.fvector("p")
    assert T.roots(p).eval({p: np.float32([1, -3, 2])}).dtype == "complex64"
    assert T.roots([2.0]).eval().shape == T.roots([]).eval().shape == (0,)
    one = T.roots(p).eval({p: np.float32([2.0])})  # of a length that was not known
    assert one.shape == (0,) and one.dtype == "complex64"
    with pytest.raises(ValueError, match="roots takes a vector"):
        T.roots(T.dmatrix())


def test_places_of_extremes_that_are_there():
    holes = np.where(X > 1, np.nan, X)
    for axis in (None, 0, 1, -1):
        same(T.nanargmax(C(holes), axis), np.nanargmax(holes, axis))
        same(T.nanargmin(C(holes), axis, keepdims=True), np.nanargmin(holes, axis, keepdims=True))
    same(np.nanargmax(C(np.array([[np.nan, np.nan], [1.0, 2.0]])), axis=1), np.array([-1, 1]))
    same(T.nanargmin(C(np.array([3, 1]))), np.int64(1))
    with pytest.raises(TypeError, match="real numbers"):
        T.nanargmax(T.zmatrix())


def test_matrices_times_vectors():
    a, b, c = X[:2, :3, :4] + 1j, X[0, 0, :4] * 1j, X[:2, 0, :3] * 1j
    same(T.matvec(C(a), C(b)), a @ b)
    same(T.vecmat(C(c), C(a)), np.einsum("bn,bnm->bm", c.conj(), a))


def test_softmax_of_a_matrix_asks_for_the_axis():
    x, v = T.dmatrix("x"), T.dvector("v")
    for function in (T.softmax, T.log_softmax):
        with pytest.warns(UserWarning, match="axis=-1 for each row") as caught:
            function(x)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            function(v), function(x, axis=None), function(x, -1)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "STRICT", tg.Mode(linker="py")])
def test_the_correlation_of_a_row_with_itself_has_no_slope(mode, rng):
    x = T.tensor("x", dtype="float64", shape=(3, 4))
    itself = T.corrcoef(x)[0, 0]
    f = tg.function([x], [itself, tg.grad(itself, x)[0]], mode=mode)
    for _ in range(50):
        one, slope = f(rng.normal(size=(3, 4)))
        assert one <= 1 and abs(one - 1) < 1e-12 and np.abs(slope).max() < 1e-12


def test_numbers_of_bins_may_be_numpys():
    a = np.array([1.0, 2.0, 5.0])
    same([T.histogram_bin_edges(a, np.int64(3))], [np.histogram_bin_edges(a, 3)])
    same(T.histogram(a, np.int32(3)), np.histogram(a, 3))
