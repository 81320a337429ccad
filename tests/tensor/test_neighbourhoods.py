"""Filters of T.ndimage: SciPy's results in every mode, dtype, size and origin, and gradients."""

import numpy as np
import pytest
import scipy.ndimage

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
CFLAGS = "-O0"  # a third of the compiler's time
MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
OTHERS = {"grid-mirror": "reflect", "grid-constant": "constant", "grid-wrap": "wrap"}
NUMBERS = {"float64": 1e-12, "float32": 2e-5, "int32": 0, "int64": 0, "uint8": 0}
WEIGHTS = np.array([0.5, -1.0, 2.0, 0.25])
SQUARE = np.array([[0.0, 1.0, -1.0], [2.0, 0.5, 0.0], [1.0, 1.0, 0.0], [0.25, -2.0, 1.0]])
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)
# What is asked of a matrix: a function, its arguments, and the dtypes it is asked for.
ALONG = {
    "correlate1d": [(WEIGHTS, {}), (WEIGHTS[:3], {"axis": 0, "origin": -1}), ([1.0], {})],
    "convolve1d": [(WEIGHTS, {"origin": 1}), (WEIGHTS, {"axis": 0}), (WEIGHTS[:3], {"origin": 1})],
    "correlate": [(SQUARE, {}), (SQUARE, {"origin": (1, -1)}), ([[2.0]], {})],
    "convolve": [(SQUARE, {}), (SQUARE, {"origin": [-1, 1]})],
    "uniform_filter1d": [(3, {}), (4, {"axis": 0, "origin": 1}), (17, {"origin": -3})],
    "uniform_filter": [(3, {}), ((2, 5), {"origin": (0, 1)}), ((1, 4), {})],
    "gaussian_filter1d": [(1.0, {}), (0.7, {"axis": 0, "order": 1}), (1.5, {"order": 2, "truncate": 2.0}),
                          (1, {"order": 3, "radius": 2})],
    "gaussian_filter": [(0.8, {}), ((1.0, 2.0), {"order": (0, 1)}), (1.2, {"radius": (1, 2)}), ((0.0, 1.0), {}),
                        (1.0, {"axes": (1,)})],
    "gaussian_laplace": [(1.0, {}), ((0.5, 1.0), {"truncate": 3.0})],
    "gaussian_gradient_magnitude": [(1.0, {})],
    "prewitt": [(0, {}), (1, {})],
    "sobel": [(0, {}), (-1, {})],
    "laplace": [(None, {})],
    "maximum_filter1d": [(3, {}), (4, {"axis": 0, "origin": 1}), (16, {"origin": -2}), (21, {})],
    "minimum_filter1d": [(3, {}), (5, {"axis": 0, "origin": -2}), (15, {})],
    "maximum_filter": [(3, {}), ((2, 5), {"origin": (0, -1)}), (None, {"footprint": CROSS, "origin": (1, 0)})],
    "minimum_filter": [((1, 4), {}), (None, {"footprint": SQUARE != 0})],
}  # fmt: skip
SMOOTH = [n for n in ALONG if "imum" not in n]


def called(space, name, x, first, how):
    found = getattr(space, name)
    return found(x, **how) if first is None else found(x, first, **how)


@pytest.mark.parametrize("linker", ["auto", "py"])
@pytest.mark.parametrize("name", ALONG)
def test_every_mode_is_that_of_scipy(name, linker, rng):
    """Windows are longer than the array, too: beyond the ends it is repeated."""
    for dtype, off in NUMBERS.items() if linker == "auto" else [("float64", 1e-12)]:
        if dtype == "uint8" and not any(part in name for part in ("imum", "uniform", "sobel", "prewitt", "laplace")):
            continue  # -0.99 or -1.01 by the last bit: 0 or 255
        x = T.tensor("x", dtype=dtype, shape=(None, None))
        modes = MODES if dtype == "float64" else ("reflect", "constant") if dtype == "int32" else ("mirror",)
        cases = ALONG[name] if dtype in ("float64", "int32") else ALONG[name][:1]
        asked = [(first, {**how, "mode": mode, "cval": 3}) for first, how in cases for mode in modes]
        f = tg.function([x], [called(T.ndimage, name, x, *a) for a in asked], mode=tg.Mode(linker=linker))
        for shape in ((5, 7), (2, 3), (1, 4)):
            values = (rng.normal(size=shape) * 20).astype(dtype)
            for (first, how), got in zip(asked, f(values), strict=True):
                want = called(scipy.ndimage, name, values, first, how)
                assert got.dtype == dtype
                whole = {"rtol": 0, "atol": 1} if dtype[0] in "iu" and name in SMOOTH else {}  # cut: by the last bit
                close = {"rtol": off, "atol": 60 * off} | whole
                np.testing.assert_allclose(got, want, err_msg=f"{dtype} {shape} {first} {how}", **close)


@pytest.mark.parametrize("name", ALONG)
def test_gradients(name, rng):
    for (first, how), mode in zip(ALONG[name], ("reflect", "constant"), strict=False):

        def filtered(x, first=first, how=how, mode=mode):
            return called(T.ndimage, name, x, first, {**how, "mode": mode})

        tg.verify_grad(filtered, [rng.normal(size=(4, 5))], rng=rng)


def test_names_of_modes_and_one_for_each_axis(rng):
    x = rng.normal(size=(4, 5))
    for other, mode in OTHERS.items():
        got = [T.ndimage.uniform_filter(x, 4, mode=m, cval=2).eval() for m in (other, mode)]
        np.testing.assert_array_equal(*got)
    each = ("wrap", "constant")
    np.testing.assert_allclose(
        T.ndimage.gaussian_filter(x, 1.0, mode=each).eval(), scipy.ndimage.gaussian_filter(x, 1.0, mode=each)
    )
    np.testing.assert_allclose(
        T.ndimage.maximum_filter(x, 3, mode=each).eval(), scipy.ndimage.maximum_filter(x, 3, mode=each)
    )


# What each filter with `axes` is told for two axes, in their order.
FOR_TWO = {
    "uniform_filter": [([1, 3], {}), ([4, 3], {"mode": ["wrap", "constant"], "origin": [1, 0], "cval": 2.0})],
    "gaussian_filter": [([0.5, 2.0], {}), (1.0, {"order": [0, 1], "mode": ["nearest", "wrap"], "radius": [1, 3]})],
    "laplace": [(None, {"mode": ["wrap", "constant"], "cval": 2.0})],
    "maximum_filter": [([1, 3], {}), ([4, 3], {"mode": ["wrap", "constant"], "origin": [1, 0], "cval": 2.0}),
                       (None, {"footprint": SQUARE != 0, "origin": [1, 0]}),
                       (None, {"footprint": np.ones((2, 5)), "mode": ["mirror", "wrap"], "origin": [0, -2]})],
    "minimum_filter": [([5, 2], {"origin": [-1, 0]}), (None, {"footprint": SQUARE != 0, "origin": [-1, 1]})],
}  # fmt: skip


@pytest.mark.parametrize("name", FOR_TWO)
def test_axes_in_the_order_of_the_user(name, rng):
    """Whole numbers, too: what is cut after one axis is given to the next one."""
    for ndim in (2, 3):
        x = rng.normal(size=(6, 5, 4)[:ndim]) * 20
        whole = x.astype("int32")
        for axes in ((1, 0), (0, -1), (-1, 0), (-1, -2), [0, 1]):
            for first, how in FOR_TWO[name]:
                got, want = [
                    called(space, name, x, first, {**how, "axes": axes}) for space in (T.ndimage, scipy.ndimage)
                ]
                np.testing.assert_allclose(got.eval(), want, atol=1e-12, err_msg=f"{axes} {first} {how}")
                got, want = [
                    called(space, name, whole, first, {**how, "axes": axes}) for space in (T.ndimage, scipy.ndimage)
                ]
                np.testing.assert_array_equal(got.eval(), want, err_msg=f"{axes} {first} {how}")
    for axes in (1, np.array([1]), T.constant(1), ()):
        first = {"laplace": None, "gaussian_filter": 1.0}.get(name, 3)
        known = np.asarray(axes).tolist() if not hasattr(axes, "eval") else 1
        want = called(scipy.ndimage, name, x, first, {"axes": known})
        np.testing.assert_allclose(called(T.ndimage, name, x, first, {"axes": axes}).eval(), want, atol=1e-12)


@pytest.mark.parametrize("name", ALONG)
def test_truth_values(name, rng):
    """Results are cut to whole numbers, as SciPy's: a mean of some that are true is not."""
    for chance in (0.2, 0.5, 0.9, 1.0):
        x = rng.random((6, 7)) < chance
        for first, how in [*ALONG[name], *FOR_TWO.get(name, [])]:
            for mode in ("reflect", "constant"):
                asked = {"cval": 0.5, **how, "mode": mode}
                got, want = [called(space, name, x, first, asked) for space in (T.ndimage, scipy.ndimage)]
                np.testing.assert_array_equal(got.eval(), want, err_msg=f"{chance} {first} {asked}")
                assert got.dtype == "bool"


def test_equal_whole_numbers_stay_as_they_are():
    for sigma in (0.4, 0.5, 0.7, 1.0, 1.3, 1.5, 2.0, 2.2, 3.1, 5.0):
        x = np.repeat(np.arange(-9, 100, 9), 40).reshape(-1, 40)
        want = scipy.ndimage.gaussian_filter1d(x, sigma)
        np.testing.assert_array_equal(T.ndimage.gaussian_filter1d(x, sigma).eval(), want)


def test_other_numbers_of_dimensions(rng):
    line, cube = rng.normal(size=9), rng.normal(size=(3, 4, 5))
    for x in (line, cube):
        for name, first in (("gaussian_filter", 1.0), ("sobel", 0), ("laplace", None), ("maximum_filter", 3)):
            got, want = called(T.ndimage, name, x, first, {}).eval(), called(scipy.ndimage, name, x, first, {})
            np.testing.assert_allclose(got, want, atol=1e-13)
    z = cube + 1j * cube[::-1]
    np.testing.assert_allclose(T.ndimage.gaussian_filter(z, 1.0).eval(), scipy.ndimage.gaussian_filter(z, 1.0))


def test_weights_that_are_computed(rng):
    """They are parameters: there are gradients by them."""
    x, w, v = rng.normal(size=(4, 5)), rng.normal(size=(3, 2)), rng.normal(size=3)
    for dtype in ("float64", "float32"):
        W = T.tensor("w", dtype="float64", shape=(3, 2))
        f = tg.function([W], [T.ndimage.convolve(x.astype(dtype), W), T.ndimage.correlate1d(x.astype(dtype), W[:, 0])])
        both, line = f(w)
        assert both.dtype == line.dtype == dtype
        np.testing.assert_allclose(both, scipy.ndimage.convolve(x, w), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(line, scipy.ndimage.correlate1d(x, w[:, 0]), rtol=1e-5, atol=1e-5)
    tg.verify_grad(lambda a, b: T.ndimage.correlate(a, T.specify_shape(b, (3, 2))), [x, w], rng=rng)
    tg.verify_grad(lambda a, b: T.ndimage.convolve1d(a, T.specify_shape(b, (3,)), 0), [x, v], rng=rng)


def test_not_a_number_stays_near():
    x = np.arange(8.0)
    x[2] = np.nan
    for name, first in (("uniform_filter1d", 3), ("maximum_filter1d", 3), ("minimum_filter1d", 3)):
        got = called(T.ndimage, name, x, first, {}).eval()
        np.testing.assert_array_equal(np.isnan(got), [False, True, True, True, False, False, False, False])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_nothing(shape):
    x = np.zeros(shape)
    for name in ALONG:
        first, how = ALONG[name][0]
        assert called(T.ndimage, name, x, first, how).eval().shape == shape


def test_bad_arguments():
    x, N = T.dmatrix("x"), T.ndimage
    bad = [
        (ValueError, "sobel: mode must be one of .*, got 'edge'", lambda: N.sobel(x, mode="edge")),
        (ValueError, "sobel takes arrays of one dimension at least", lambda: N.sobel(T.dscalar("s"))),
        (ValueError, "weights must have 1 dimensions of known lengths", lambda: N.correlate1d(x, T.dvector("w"))),
        (ValueError, "weights must have 2 dimensions", lambda: N.convolve(x, [1.0, 2.0])),
        (TypeError, "weights must be real numbers", lambda: N.correlate1d(x, [1j])),
        (
            ValueError,
            "origin must be -1 to 1 for windows of 3 elements, got 2",
            lambda: N.uniform_filter1d(x, 3, origin=2),
        ),
        (TypeError, "origin must be an integer", lambda: N.uniform_filter1d(x, 3, origin=0.5)),
        (ValueError, "size must be an integer of at least 1, got 0", lambda: N.maximum_filter1d(x, 0)),
        (ValueError, "size must be one value or 2 of them", lambda: N.uniform_filter(x, (1, 2, 3))),
        (ValueError, "sigma must be a positive number", lambda: N.gaussian_filter1d(x, 0.0)),
        (ValueError, "sigma must be a positive number", lambda: N.gaussian_filter(x, T.dscalar("s"))),
        (ValueError, "order must be an integer of at least 0", lambda: N.gaussian_filter(x, 1.0, -1)),
        (ValueError, "radius must be an integer", lambda: N.gaussian_filter1d(x, 1.0, radius=-1)),
        (ValueError, "maximum_filter: give size or footprint", lambda: N.maximum_filter(x)),
        (ValueError, "footprint must have 2 dimensions", lambda: N.minimum_filter(x, footprint=[True])),
        (ValueError, "axis 2 is out of range", lambda: N.prewitt(x, 2)),
        (ValueError, "uniform_filter: axes: axis 2 is out of range", lambda: N.uniform_filter(x, axes=(0, 2))),
        (TypeError, "laplace: axes: axis must be an integer, got 0.5", lambda: N.laplace(x, axes=0.5)),
        (ValueError, r"laplace: axes \(0, -2\) name a dimension twice", lambda: N.laplace(x, axes=(0, -2))),
        (ValueError, "maximum_filter: axes .* name a dimension twice", lambda: N.maximum_filter(x, 3, axes=[1, 1])),
        (TypeError, "footprint must be numbers", lambda: N.maximum_filter(x, footprint=x)),
    ]
    for kind, told, call in bad:
        with pytest.raises(kind, match=told):
            call()
