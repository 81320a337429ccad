"""T.ndimage: places in arrays of any rank, in every mode of SciPy's, and gradients by arrays and places."""

import numpy as np
import pytest
import scipy.ndimage

import termgraph as tg
import termgraph.tensor as T
from termgraph.tensor.places import MODES

NUMBERS = {"float64": 1e-12, "float32": 1e-4, "int32": 0, "uint8": 0, "complex128": 1e-12}


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("linker", ["FAST_RUN", "py"])
@pytest.mark.parametrize("shape", [(5,), (1, 3), (3, 2, 4)])
def test_every_mode_is_that_of_scipy(order, linker, shape, rng):
    at = rng.uniform(-15, 15, (len(shape), 60))
    at[:, :30] = np.round(at[:, :30] * 2) / 2  # on elements, and halfway between
    at[:, 30:50] = rng.uniform(-1, 4, (len(shape), 20))
    places = T.dmatrix("places")
    for dtype, off in NUMBERS.items() if linker == "FAST_RUN" else [("float64", 1e-12), ("int32", 0)]:
        at = at + 0.03 if order and np.dtype(dtype).kind in "iu" else at  # halves are rounded by their last bits
        values = rng.normal(size=shape) * 20
        values = (abs(values) if dtype == "uint8" else values + 1j if dtype == "complex128" else values).astype(dtype)
        x = T.tensor("x", dtype=dtype, shape=(None,) * len(shape))
        outs = [T.ndimage.map_coordinates(x, places, order, mode, 3) for mode in MODES]
        mode = linker if linker == "FAST_RUN" else tg.Mode(linker=linker)
        for name, got in zip(MODES, tg.function([x, places], outs, mode=mode)(values, at), strict=True):
            want = scipy.ndimage.map_coordinates(values, at, order=order, mode=name, cval=3)
            assert got.dtype == dtype
            np.testing.assert_allclose(got, want, rtol=off, atol=40 * off, err_msg=f"{dtype} {name}")


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_places(mode, rng):
    at = rng.uniform(-2, 5, (2, 3, 2)).round(1) + 0.03
    tg.verify_grad(
        lambda x, c: T.ndimage.map_coordinates(x, [c[0], c[1]], 1, mode), [rng.normal(size=(3, 4)), at], rng=rng
    )


def test_places_that_are_special(rng):
    half = rng.normal(size=(3, 4)).astype("float16")
    at = [[0.5, 1.5], [1.5, 2.5]]
    got = T.ndimage.map_coordinates(half, at, order=1).eval()
    want = scipy.ndimage.map_coordinates(half.astype("float32"), at, order=1).astype("float16")
    assert got.dtype == "float16"
    np.testing.assert_allclose(got, want, rtol=2e-3)
    x = np.arange(4.0)
    for mode in MODES:
        assert T.ndimage.map_coordinates(x, [np.zeros((0, 2))], 1, mode).eval().shape == (0, 2)
        assert T.ndimage.map_coordinates(x, [2], 1, mode).eval() == 2
    assert T.ndimage.map_coordinates(x, [[np.nan, np.inf, -np.inf]], 1, cval=7).eval().tolist() == [7, 7, 7]
    assert T.ndimage.map_coordinates(x, [[np.inf, -np.inf]], 1, "nearest").eval().tolist() == [3, 0]
    assert np.isnan(T.ndimage.map_coordinates(x, [[np.nan]], 1, "nearest").eval())
    assert T.ndimage.map_coordinates(x > 1, [[0.4, 1.6]], 0).eval().tolist() == [False, True]


def test_what_is_refused():
    x = T.dmatrix("x")
    for make, text in (
        (lambda: T.ndimage.map_coordinates(x, [[0.0], [0.0]], 3), "order must be 0 .nearest. or 1 .linear., got 3"),
        (lambda: T.ndimage.map_coordinates(x, [[0.0]], 1), "x has 2 dimensions, but there are places along 1"),
        (lambda: T.ndimage.map_coordinates(x, np.zeros((3, 2)), 1), "x has 2 dimensions, coordinates are"),
        (lambda: T.ndimage.map_coordinates(x, [[0], [0]], 1, "edge"), "mode must be one of reflect, "),
        (lambda: T.ndimage.map_coordinates(x, [[0j], [0]], 1), "places must be real numbers"),
        (lambda: T.ndimage.map_coordinates(x > 0, [[0], [0]], 1), "take order=0"),
    ):
        with pytest.raises((ValueError, TypeError), match=text):
            make()


@pytest.mark.parametrize("linker", ["FAST_RUN", "py"])
@pytest.mark.parametrize("order", [0, 1])
def test_rows_that_are_not_the_dimensions(order, linker):
    x, c = T.dmatrices("x", "c")
    mode = linker if linker == "FAST_RUN" else tg.Mode(linker=linker)
    f = tg.function([x, c], T.ndimage.map_coordinates(x, c, order), mode=mode)
    assert f(np.eye(3), np.zeros((2, 4))).tolist() == [1, 1, 1, 1]
    for rows in (0, 1, 3):
        for columns in (0, 4):
            with pytest.raises(AssertionError, match="map_coordinates: x has 2 dimensions, coordinates have another"):
                f(np.eye(3), np.zeros((rows, columns)))


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", [m for m in MODES if m not in ("nearest", "grid-constant")])
def test_places_of_nan_are_cval_and_have_no_gradient(mode, order):
    x, c = T.dvector("x"), T.dmatrix("c")
    y = T.ndimage.map_coordinates(x, c, order, mode, cval=7)
    got, by_x, by_c = tg.function([x, c], [y, *tg.grad(y.sum(), [x, c])])(np.arange(4.0), np.array([[np.nan, 1.25]]))
    assert got.tolist() == [7, 1.25 if order else 1]
    assert by_x.tolist() == ([0, 0.75, 0.25, 0] if order else [0, 1, 0, 0])
    assert by_c.tolist() == [[0, order]]
