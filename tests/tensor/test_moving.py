"""T.ndimage.shift, zoom, affine_transform and rotate: SciPy's results in every mode, and gradients by what moves."""

import warnings

import numpy as np
import pytest
import scipy.ndimage

import termgraph as tg
import termgraph.tensor as T
from termgraph.tensor.places import MODES

SQUARE = np.array([[0.9, -0.4], [0.35, 1.1]])
WITH_OFFSET = np.hstack([SQUARE, [[0.2], [1.1]]])
CASES = {
    "shift": [((0.5,), {}), ((-2.25,), {}), (([1.1, -0.7],), {}), ((12.4,), {})],
    "zoom": [((f,), {"grid_mode": g}) for f in (0.5, 2.3, 1.0, [0.4, 3.1], 1.5) for g in (False, True)],
    "affine_transform": [((SQUARE, [0.3, 1.2]), {}), ((SQUARE, 0.7, (4, 3)), {}), ((WITH_OFFSET,), {}),
                         ((np.vstack([WITH_OFFSET, [0, 0, 1]]),), {}), (([0.7, 1.3], [0.3, 1.2]), {})],
    "rotate": [((a,), {"reshape": r}) for a in (0, 30, 90, 180, -90, 45.5, 270, 405) for r in (True, False)],
}  # fmt: skip
DTYPES = {"float64": 1e-12, "float32": 1e-4, "complex128": 1e-12}


def called(space, name, x, args, how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy recommends other modes
        return getattr(space, name)(x, *args, **how)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_every_mode_is_that_of_scipy(name, order, rng):
    """Of known lengths and of unknown ones; how long a result is may be computed."""
    for known in (True, False):
        values = rng.normal(size=(5, 7))
        x = T.tensor("x", dtype="float64", shape=values.shape if known else (None, None))
        asked = [
            (args, {**how, "order": order, "mode": mode, "cval": 2.0}) for args, how in CASES[name] for mode in MODES
        ]
        f = tg.function([x], [called(T.ndimage, name, x, *a) for a in asked], mode=tg.Mode(linker="py"))
        for (args, how), got in zip(asked, f(values), strict=True):
            want = called(scipy.ndimage, name, values, args, how)
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-11, err_msg=f"{args} {how}")


@pytest.mark.parametrize("name", CASES)
def test_dtypes_in_c(name, rng):
    for dtype, tol in DTYPES.items():
        values = (rng.normal(size=(5, 7)) * 20).astype(dtype) * (1 - 2j if dtype[0] == "c" else 1)
        x = T.tensor("x", dtype=dtype, shape=(None, None))
        asked = [(args, {**how, "order": 1, "mode": "nearest"}) for args, how in CASES[name]]
        f = tg.function([x], [called(T.ndimage, name, x, *a) for a in asked], mode=tg.Mode(linker="auto"))
        for (args, how), got in zip(asked, f(values), strict=True):
            assert got.dtype == dtype
            want = called(scipy.ndimage, name, values.real, args, how)
            if dtype[0] == "c":  # SciPy's zoom forgets grid_mode there
                want = want + 1j * called(scipy.ndimage, name, values.imag, args, how)
            np.testing.assert_allclose(got, want, rtol=tol, atol=40 * tol, err_msg=f"{dtype} {args} {how}")


def test_truth_values_and_whole_numbers_stay_such():
    x = np.array([[0, 10, 21], [40, 50, 64]])
    np.testing.assert_array_equal(T.ndimage.shift(x, 1, order=1).eval(), scipy.ndimage.shift(x, 1, order=1))
    got = T.ndimage.rotate(x > 20, 90, order=0).eval()
    assert got.dtype == "bool" and got.tolist() == np.rot90(x > 20).tolist()


def test_three_dimensions_and_nothing(rng):
    x = rng.normal(size=(3, 4, 5))
    for axes in ((0, -1), (2, 1), (1, 0)):
        got, want = [s.rotate(x, 20, axes=axes, order=1) for s in (T.ndimage, scipy.ndimage)]
        np.testing.assert_allclose(got.eval(), want, atol=1e-12)
    np.testing.assert_allclose(
        T.ndimage.shift(x, [1, 0.5, -1], order=1).eval(), scipy.ndimage.shift(x, [1, 0.5, -1], order=1)
    )
    assert T.ndimage.shift(np.ones(1), 0.25, order=1, mode="wrap").eval() == 1
    x = T.dmatrix("x")
    for grid_mode in (False, True):
        assert T.ndimage.zoom(np.ones((4, 4)), 0.1, order=1, grid_mode=grid_mode).eval().shape == (0, 0)
        unknown = T.ndimage.zoom(x, 0.1, order=1, grid_mode=grid_mode)
        assert unknown.eval({x: np.ones((4, 6))}).shape == (0, 1)


def test_gradients_by_what_moves(rng):
    x = rng.normal(size=(4, 5))
    nd, how = T.ndimage, {"order": 1, "mode": "reflect"}
    tg.verify_grad(lambda x, s: nd.shift(x, s, **how), [x, np.array([0.3, -1.2])], rng=rng)
    tg.verify_grad(
        lambda x, m, b: nd.affine_transform(x, m, b, **how), [x, SQUARE + 0.01, np.array([0.31, 1.23])], rng=rng
    )
    tg.verify_grad(lambda x, a: nd.rotate(x, a, reshape=False, **how), [x, 33.0], rng=rng)
    tg.verify_grad(lambda x: nd.zoom(x, 1.7, **how), [x], rng=rng)


def test_angles_and_factors_that_are_variables(rng):
    x, a, z = T.dmatrix("x"), T.dscalar("a"), T.dscalar("z")
    v = rng.normal(size=(5, 7))
    f = tg.function([x, a, z], [T.ndimage.rotate(x, a, order=1), T.ndimage.zoom(x, z, order=1)])
    for angle, factor in ((30.0, 1.5), (-100.0, 0.5)):
        for got, want in zip(
            f(v, angle, factor), (scipy.ndimage.rotate(v, angle, order=1), scipy.ndimage.zoom(v, factor, order=1))
        ):
            np.testing.assert_allclose(got, want, atol=1e-11)


def test_what_is_refused():
    x, nd = T.dmatrix("x"), T.ndimage
    for call, error, words in [
        (lambda: nd.shift(x, 1, order=3), ValueError, "order must be 0 .nearest. or 1 .linear., got 3; splines"),
        (lambda: nd.shift(x, 1), TypeError, "order"),
        (
            lambda: nd.shift(x, [1, 2, 3], order=1),
            ValueError,
            "shift must be a number, or one for each of 2 dimensions",
        ),
        (lambda: nd.shift(x, T.dvector("v"), order=1), ValueError, "length of shift must be known"),
        (lambda: nd.shift(x, [1j, 0], order=1), TypeError, "must be real"),
        (lambda: nd.zoom(1.0, 2, order=1), ValueError, "one dimension at least"),
        (lambda: nd.affine_transform(x, np.ones((3, 2)), order=1), ValueError, "matrix must be 2 by 2, its diagonal"),
        (lambda: nd.affine_transform(x, T.dmatrix("m"), order=1), ValueError, "T.specify_shape"),
        (lambda: nd.affine_transform(x, SQUARE * 1j, order=1), TypeError, "matrix must be of real numbers"),
        (lambda: nd.affine_transform(x, SQUARE, output_shape=(3,), order=1), ValueError, "output_shape has 1"),
        (lambda: nd.rotate(T.dvector("v"), 1, order=1), ValueError, "two axes are needed"),
        (lambda: nd.rotate(x, 1, (0, 0), order=1), ValueError, "two different ones"),
        (lambda: nd.rotate(x, 1, (0, 1, 2), order=1), ValueError, "axes must be two"),
        (lambda: nd.rotate(x, T.dvector("v"), order=1), ValueError, "angle must be one real number"),
    ]:
        with pytest.raises(error, match=words):
            call()
