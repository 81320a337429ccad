"""NumPy's functions of places, histograms of points, polynomials' roots, and functions mapped along axes."""

import numpy as np
import pytest
import scipy.special as sps

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(2, 50))
CUBE = RNG.normal(size=(3, 4, 2))
EDGES, FAR = np.linspace(-1, 1, 4), np.array([1, -70, 99])


def changed(function):
    """One of NumPy's functions that change their argument, made one that gives the changed copy."""

    def run(a, *args):
        a = a.copy()
        function(a, *args)
        return a

    return run


def flat(found):
    """The results, those in inner lists too."""
    return [v for part in found for v in flat(part)] if isinstance(found, (list, tuple)) else [found]


CASES = {
    "poly": (T.poly, np.poly, X[:5]),
    "poly of nothing": (T.poly, np.poly, X[:0]),
    "poly of a matrix": (T.poly, np.poly, CUBE[:, :3, 0]),
    "poly of integers": (T.poly, np.poly, np.array([1, 2, 3])),
    "poly of complex numbers": (T.poly, np.poly, X[:3] + 1j * Y[:3]),
    "poly of many": (T.poly, np.poly, np.linspace(-1, 1, 70)),
    "polydiv": (T.polydiv, np.polydiv, X[:6], Y[:3]),
    "polydiv by longer": (T.polydiv, np.polydiv, X[:2], Y[:3]),
    "polydiv by as long": (T.polydiv, np.polydiv, X[:3], Y[:3]),
    "polydiv by a number": (T.polydiv, np.polydiv, np.array([4, 2]), np.array([2])),
    "histogram2d": (lambda x, y: T.histogram2d(x, y, 5), lambda x, y: np.histogram2d(x, y, 5), X, Y),
    "histogram2d, edges": (lambda x, y: T.histogram2d(x, y, EDGES), lambda x, y: np.histogram2d(x, y, EDGES), X, Y),
    "histogram2d, each": (lambda x, y: T.histogram2d(x, y, [5, EDGES], density=True),
                          lambda x, y: np.histogram2d(x, y, [5, EDGES], density=True), X, Y),
    "histogram2d, ranges": (lambda x, y: T.histogram2d(x, y, [3, 4], [[0, 1], [-1, 1]], weights=y),
                            lambda x, y: np.histogram2d(x, y, [3, 4], [[0, 1], [-1, 1]], weights=y), X, Y),
    "histogramdd": (lambda s: T.histogramdd(T.specify_shape(s, (None, 4)), 3), lambda s: np.histogramdd(s, 3),
                    RNG.normal(size=(20, 4))),
    "histogramdd of a vector": (lambda s: T.histogramdd(s, 3, density=True),
                                lambda s: np.histogramdd(s, 3, density=True), X),
    "resize": (lambda a: T.resize(a, (4, 4)), lambda a: np.resize(a, (4, 4)), CUBE[0, :3]),
    "resize, fewer": (lambda a: T.resize(a, 3), lambda a: np.resize(a, 3), CUBE),
    "resize of nothing": (lambda a: T.resize(a, (2, 2)), lambda a: np.resize(a, (2, 2)), X[:0]),
    "place": (T.place, changed(np.place), CUBE, CUBE > 0, np.array([1.0, 2.0, 3.0])),
    "putmask": (T.putmask, changed(np.putmask), CUBE, CUBE > 0, np.array([1.0, 2.0, 3.0])),
    "putmask, integers": (T.putmask, changed(np.putmask), np.arange(5), np.arange(5) % 2, np.array([-1])),
    "put": (T.put, changed(np.put), CUBE, np.array([1, -2, 5]), np.array([1.0, 2.0])),
    "put, none": (T.put, changed(np.put), X, np.array([], "int64"), np.array([1.0])),
    "put, wrap": (lambda *a: T.put(*a, "wrap"), changed(lambda *a: np.put(*a, "wrap")), X, FAR, Y[:2]),
    "put, clip": (lambda *a: T.put(*a, "clip"), changed(lambda *a: np.put(*a, "clip")), X, FAR, Y[:2]),
    "diag_indices_from": (T.diag_indices_from, np.diag_indices_from, CUBE[:, :3, 0]),
    "diag_indices": (lambda a: a[T.diag_indices(2, 3)], lambda a: a[np.diag_indices(2, 3)], CUBE),
    "mask_indices": (lambda a: a[T.mask_indices(3, T.tril, -1)], lambda a: a[np.mask_indices(3, np.tril, -1)],
                     CUBE[:, :, 0]),
    "ix_": (lambda a: a[T.ix_([0, 2], a[0, :, 0] > 0, [])], lambda a: a[np.ix_([0, 2], a[0, :, 0] > 0, [])], CUBE),
    "apply_over_axes": (lambda a: T.apply_over_axes(T.sum, a, [0, -1]),
                        lambda a: np.apply_over_axes(np.sum, a, [0, -1]), CUBE),
    "vectorize": (T.vectorize(lambda a, b: T.where(a > b, a - b, a + b)),
                  np.vectorize(lambda a, b: a - b if a > b else a + b), X[:3, None], Y[None, :4]),
    "vectorize, several": (T.vectorize(lambda a, b: (a @ b, a), signature="(n,m),(m)->(n),(n,m)"),
                           np.vectorize(lambda a, b: (a @ b, a), signature="(n,m),(m)->(n),(n,m)"),
                           RNG.normal(size=(2, 1, 3, 4)), RNG.normal(size=(5, 4))),
    "vectorize, one shared": (T.vectorize(lambda a, b: a @ b, signature="(n),(n)->()"),
                              np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()"), X[:3], CUBE[0, :3].T),
    "vectorize, nothing around": (T.vectorize(lambda a: a.sum(), signature="(n)->()"), np.sum, X),
    "vectorize, excluded": (lambda a: T.vectorize(lambda n, a: a**n, excluded=[0])(2, a), np.square, X),
    "sort_complex": (T.sort_complex, np.sort_complex, X),
    "sort_complex of small": (T.sort_complex, np.sort_complex, np.array([3, 1], "int8")),
    "divmod": (T.divmod, np.divmod, np.array([7, -7, 5]), np.array([3, 2, -2])),
    "fromfunction": (lambda a: T.fromfunction(lambda i, j: i * a.sum() + j, (2, 3)),
                     lambda a: np.fromfunction(lambda i, j: i * a.sum() + j, (2, 3)), X),
}  # fmt: skip
for k in (-1, 0, 2):
    for name in ("tril_indices", "triu_indices"):
        ours, theirs = getattr(T, name), getattr(np, name)
        CASES[f"{name} {k}"] = (lambda a, f=ours, k=k: a[f(3, k)], lambda a, f=theirs, k=k: a[f(3, k)], CUBE[:, :, 0])
        ours, theirs = getattr(T, f"{name}_from"), getattr(np, f"{name}_from")
        CASES[f"{name}_from {k}"] = (lambda a, f=ours, k=k: f(a, k), lambda a, f=theirs, k=k: f(a, k), CUBE[:, :, 0])
for axis in (0, 1, -1):
    for name, row in {
        "row": (lambda v: T.sort(v)[:2], lambda v: np.sort(v)[:2]), "number": (T.sum, np.sum),
        "matrix": (lambda v: T.outer(v, v[:2]), lambda v: np.outer(v, v[:2])),
    }.items():  # fmt: skip
        CASES[f"apply_along_axis {axis}, {name}"] = (
            lambda a, f=row[0], i=axis: T.apply_along_axis(f, i, a),
            lambda a, f=row[1], i=axis: np.apply_along_axis(f, i, a),
            CUBE,
        )


@pytest.mark.parametrize("known", [True, False, None], ids=["lengths known", "unknown", "arrays"])
@pytest.mark.parametrize("case", CASES)
def test_as_in_numpy(case, known):
    ours, theirs, *arrays = CASES[case]
    if known is None:
        indexed = case.startswith(("tril", "triu", "diag", "mask", "ix_"))  # by variables, which NumPy's arrays are not
        for have, want in zip(
            flat(ours(*map(T.constant, arrays) if indexed else arrays)), flat(theirs(*arrays)), strict=True
        ):
            np.testing.assert_allclose(have.eval(), want, rtol=1e-9, atol=1e-12)
        return
    lengths = [[n if known or n == 1 else None for n in a.shape] for a in arrays]
    inputs = [T.tensor(dtype=a.dtype.name, shape=n) for a, n in zip(arrays, lengths)]
    got = tg.function(inputs, flat(ours(*inputs)), on_unused_input="ignore")(*arrays)
    for have, want in zip(got, flat(theirs(*arrays)), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-12)
        assert have.dtype == np.asarray(want).dtype


def test_slopes():
    for f in (lambda x: T.poly(x)[1:], lambda x: T.polydiv(x, x[:3])[0], lambda x: T.resize(x, 7)):
        tg.verify_grad(f, [X[:5]], rng=np.random.RandomState(1))
    tg.verify_grad(lambda x, v: T.put(x, [1, 3], v), [X[:5], Y[:2]], rng=np.random.RandomState(1))
    tg.verify_grad(lambda x, v: T.place(x, X[:5] > 0, v), [X[:5], Y[:2]], rng=np.random.RandomState(1))
    tg.verify_grad(lambda a: T.apply_along_axis(lambda v: v / v.sum(), 1, a), [CUBE], rng=np.random.RandomState(1))


FAR_OUT = np.array([0.0, np.inf, -np.inf, np.nan, 1e-300, 37.5, -37.5, -38.6, -1.0, -1.0000001, -1e4, 0.3, 1.0, 2.0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["ndtr", "log_ndtr", "ndtri", "entr"])
def test_the_normal_distribution_far_out(name, dtype):
    x = T.vector("x", dtype=dtype)
    with np.errstate(all="ignore"):
        want = getattr(sps, name)(FAR_OUT.astype(dtype).astype("float64")).astype(dtype)
    got = tg.function([x], getattr(T, name)(x))(FAR_OUT.astype(dtype))
    np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == "float32" else 1e-12)
    assert got.dtype == dtype


def test_entropies_and_slopes_far_out():
    x, y = [v.ravel() for v in np.meshgrid(FAR_OUT, FAR_OUT)]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(T.rel_entr(T.constant(x), T.constant(y)).eval(), sps.rel_entr(x, y), rtol=1e-12)
    at = np.array([-1e4, -100.0, -1.0, 0.0, 3.0])
    slope = tg.grad(T.log_ndtr(v := T.dvector("v")).sum(), v).eval({v: at})
    np.testing.assert_allclose(slope, np.sqrt(2 / np.pi) / sps.erfcx(-at / np.sqrt(2)), rtol=1e-12)
    assert abs(T.multigammaln(5.3, 3).eval() - sps.multigammaln(5.3, 3)) < 1e-13
    with pytest.raises(ValueError, match="multigammaln: d must be an integer of at least 1"):
        T.multigammaln(v, 0)


def test_numbers_of_rows_that_are_symbolic():
    n, k = T.lscalars("n", "k")
    f = tg.function([n, k], [*T.tril_indices(n, k), *T.triu_indices(n, k, 3), *T.diag_indices(n)])
    want = [*np.tril_indices(4, -1), *np.triu_indices(4, -1, 3), *np.diag_indices(4)]
    for have, expected in zip(f(4, -1), want, strict=True):
        np.testing.assert_array_equal(have, expected)


def test_arrays_and_dtypes():
    x = T.dscalar("x")
    np.testing.assert_array_equal(T.array([[x, 1], [2, x]], ndmin=3).eval({x: 5.0}), [[[5, 1], [2, 5]]])
    assert T.array([1, 2], "int8").dtype == "int8" and T.promote_types("int32", "float32") == "float64"


def test_what_is_refused_says_why():
    m, x = T.dmatrix("m"), T.dvector("x")
    twice = T.vectorize(lambda a: a * 2, signature="(n)->()")
    for wrong, why in {
        lambda: T.poly(T.zeros((2, 3))): "poly takes a vector of roots or a square matrix",
        lambda: T.histogramdd(m): "known number of columns",
        lambda: T.histogramdd([x, x], [3]): "1 bins for points with 2 coordinates",
        lambda: T.histogramdd([x, x], range=[None]): "1 ranges for points with 2 coordinates",
        lambda: T.histogramdd([]): "at least one coordinate",
        lambda: T.place(T.zeros(3), T.zeros(4), [1.0]): "mask and array must have as many elements, got 4 and 3",
        lambda: T.place(x, x > 0, []): "place: there are no values to put into the array",
        lambda: T.resize(x, -1): "a length must not be negative, got -1",
        lambda: T.polydiv(x, []): "polydiv: a polynomial must have a coefficient",
        lambda: T.tril_indices_from(x): "tril_indices_from takes a matrix",
        lambda: T.diag_indices_from(T.zeros((2, 3))): "two dimensions of one length",
        lambda: T.ix_(m): "ix_ takes vectors, argument 0 has 2 dimensions",
        lambda: T.apply_over_axes(lambda a, axis: T.sum(a), T.zeros((2, 3, 4)), 0): "of 3 it made 0",
        lambda: T.apply_along_axis(T.sum, 0, 3.0): "has no axis",
        lambda: T.vectorize(T.sum, signature="n->m"): r"reads like \(n,m\),\(m\)->\(n\)",
        lambda: twice(T.zeros((2, 3))): r"the signature says \(\) of the results, which have 1 dimensions",
        lambda: twice(2.0): r"argument 0 must have the dimensions \(n\)",
    }.items():
        with pytest.raises(ValueError, match=why):
            wrong()
    with pytest.raises(TypeError, match="the signature has 1 arguments, 2 are given"):
        twice(x, x)
    for wrong in (lambda: T.vectorize(3), lambda: T.apply_along_axis(3, 0, x)):
        with pytest.raises(TypeError, match="takes a function"):
            wrong()
    for changed_ in (T.put(x, [0], m[0]), T.place(x, x > 0, m[0]), T.putmask(x, x > 0, m[0])):
        with pytest.raises(ShapeError, match="there are no values to put into the array"):
            changed_.eval({x: X, m: np.zeros((1, 0))})
    assert T.put(x, [0], []) is x and T.putmask(x, x > 0, []) is x
    with pytest.raises(IndexError):
        T.put(T.zeros(3), [5], 1.0).eval()
    with pytest.raises(AssertionError, match="diag_indices_from: the dimensions must have one length"):
        T.diag_indices_from(m)[0].eval({m: np.zeros((2, 3))})


def test_truth_values_are_places_zero_and_one():
    np.testing.assert_array_equal(T.put([5, 6, 7], [True, False], [1, 2]).eval(), [2, 1, 7])


def test_what_an_array_cannot_hold_is_refused():
    for put in (T.put, T.place, T.putmask):
        with pytest.raises(TypeError, match="complex values do not fit an array of dtype float64"):
            put(T.zeros(2), [1, 0], 1j)


@pytest.mark.parametrize("name", ["put", "place", "putmask", "insert"])
@pytest.mark.parametrize(
    "value", [300, [300], [7, [300][0]], -200, 2**70, 300.0, [1.7], True, np.nan, np.array([300]), [], 5]
)
def test_numbers_of_pythons_fit_or_are_refused_as_in_numpy(name, value):
    if name in ("place", "putmask") and isinstance(value, np.ndarray):
        pytest.skip("NumPy takes safe casts only, here they are casts as in the others")
    at = 1 if name == "insert" else [0, 1, 1]
    old = np.array([1, 2, 3], "int8")
    try:
        want = (
            getattr(np, name)(np.copy(old), at, value)
            if name == "insert"
            else changed(getattr(np, name))(old, at, value)
        )
    except (OverflowError, ValueError) as error:
        with pytest.raises(type(error)):
            getattr(T, name)(old, at, value).eval()
        return
    found = getattr(T, name)(old, at, value).eval()
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)


def test_relative_entropies_have_all_digits_and_gradients_where_a_chance_is_zero():
    x, y = T.dvectors("x", "y")
    value = T.rel_entr(x, y)
    f = tg.function([x, y], [value, *tg.grad(value.sum(), [x, y])])
    near = 0.3 * (1 + 1e-9)  # log(0.3 / near) by its series
    u = (near - 0.3) / 0.3
    np.testing.assert_allclose(f([0.3], [near])[0], [0.3 * (-u + u * u / 2)], rtol=1e-14)
    found, by_x, by_y = f([0.0, 0.5, 0.0], [1.0, 0.5, 0.0])
    np.testing.assert_array_equal(found, 0.0)
    np.testing.assert_allclose(by_x[1], 1.0)
    np.testing.assert_allclose(by_y, [0.0, -1.0, 0.0])


def test_the_slope_of_a_certain_chance_is_zero():
    x = T.dvector("x")
    assert tg.function([x], tg.grad(T.log_ndtr(x).sum(), x))([np.inf]) == [0.0]


def test_edges_of_histograms():
    for wrong in ({"range": (1, 0)}, {"range": (0, np.inf)}, {"bins": [3, 2, 1]}):
        with pytest.raises(ValueError, match="of a histogram must"):
            T.histogram(X, **wrong)
    with pytest.raises(ValueError, match="range of a histogram must"):
        T.histogram2d(X, Y, 3, [(0, 1), (1, 0)])
    for found, want in zip(T.histogram2d([], [], 3), np.histogram2d([], [], 3), strict=True):
        np.testing.assert_array_equal(found.eval(), want)


@pytest.mark.parametrize("linker", ["py", "c"])
def test_elements_that_give_a_histogram_no_range_are_refused(linker):
    x = T.dvector("x")
    f = tg.function([x], T.histogram(x, 4), mode=tg.Mode(linker=linker))
    edges = tg.function([x], T.histogram_bin_edges(x, 4), mode=tg.Mode(linker=linker))
    np.testing.assert_array_equal(f([0.0, 1.0, 4.0])[0], [1, 1, 0, 1])
    for wrong in (np.nan, np.inf, -np.inf):
        for g in (f, edges):
            with pytest.raises(ValueError, match="not all finite"):
                g([1.0, wrong])
    within = tg.function([x], T.histogram(x, 4, (0, 4)), mode=tg.Mode(linker=linker))
    np.testing.assert_array_equal(within([1.0, np.nan])[0], np.histogram([1.0, np.nan], 4, (0, 4))[0])
