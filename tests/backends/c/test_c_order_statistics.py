"""Order statistics: the elements of rows in order, found by a sample and a pass over the row; beside NumPy's sort."""

import warnings

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.ops.sorting import order_statistics

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")

rng = np.random.default_rng(11)
LENGTHS = (1, 2, 63, 64, 65, 257, 300, 5000, 40000)


def picked(x, places):
    return order_statistics(x, places)


def rows(n):
    """Rows of many kinds of order: what a sample is likely to tell, and what it is not."""
    normal = rng.normal(size=n)
    step = np.arange(n, dtype=float)
    kinds = [
        normal, np.sort(normal), np.sort(normal)[::-1], np.zeros(n), rng.integers(0, 2, n), rng.integers(0, 9, n),
        np.where(rng.random(n) < 0.9, 1.0, normal), np.exp(20 * normal), step % 7, np.abs(step - n // 2),
        np.where(step < n // 2, step, step * 1e9), rng.choice([np.inf, -np.inf, 0.0, -0.0], n),
    ]  # fmt: skip
    return np.array(kinds, "float64")


@pytest.mark.parametrize("n", LENGTHS)
def test_rows_of_every_order(n):
    x, p = T.dmatrix("x"), T.lvector("p")
    f = tg.function([x, p], picked(x, p))
    v = rows(n)
    ordered = np.sort(v, axis=1)
    for some in ([0], [n - 1], [(n - 1) // 2, n // 2], rng.integers(0, n, 5), rng.integers(0, n, 40), []):
        places = np.asarray(some, "int64")
        np.testing.assert_array_equal(f(v, places), ordered[:, places])
        np.testing.assert_array_equal(f(np.asfortranarray(v), places), ordered[:, places])
        np.testing.assert_array_equal(f(v[::-1, ::-1], places), ordered[::-1][:, places])


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int32", "uint64", "int64", "float16", "float32", "bfloat16"]
)
def test_every_dtype(dtype):
    x, p = T.tensor("x", dtype=dtype, shape=(None, None)), T.lvector("p")
    f = tg.function([x, p], picked(x, p))
    for n in (5, 33, 70, 3000):
        v = rng.integers(-100, 100, (3, n)).astype(np.dtype(x.dtype) if dtype != "bfloat16" else "float32")
        v = tg.function([], T.cast(T.constant(v), dtype))()
        places = rng.integers(0, n, 4)
        np.testing.assert_array_equal(f(v, places).astype("float64"), np.sort(v.astype("float64"), 1)[:, places])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_bytes_are_counted(dtype):
    """Places of rows of bytes, all of which there are, a few, or one; side by side or not."""
    x, p = T.tensor("x", dtype=dtype, shape=(None, None)), T.lvector("p")
    f = tg.function([x, p], [picked(x, p), picked(x[:, ::-2], p // 2), T.median(x, axis=0), T.percentile(x * 1, 30)])
    for n in (33, 255, 256, 301, 4000):
        some = rng.integers(0, 256, (3, n)).astype("uint8")
        for v in (some, some & 3, some | 0x7F, some * 0, ~(some * 0)):
            v = v > 127 if dtype == "bool" else v.view(dtype)
            places = np.array([0, n // 2, n - 1, *rng.integers(0, n, 20)])
            found = f(v, places)
            np.testing.assert_array_equal(found[0], np.sort(v, 1)[:, places])
            np.testing.assert_array_equal(found[1], np.sort(v[:, ::-2], 1)[:, places // 2])
            np.testing.assert_array_equal(found[2], np.median(v, axis=0))
            if dtype != "bool":
                np.testing.assert_allclose(found[3], np.percentile(v, 30))


@pytest.mark.parametrize("n", [3, 65, 400, 9000])
def test_nan_comes_last(n):
    x, p = T.dmatrix("x"), T.lvector("p")
    f = tg.function([x, p], picked(x, p))
    v = rows(n)
    for share in (0.01, 0.5, 1.0):
        w = np.where(rng.random(v.shape) < share, np.copysign(np.nan, rng.normal(size=v.shape)), v)
        places = np.array([0, n // 3, n // 2, n - 2, n - 1])
        np.testing.assert_array_equal(f(w, places), np.sort(w, 1)[:, places])


def test_places_of_each_row():
    x, p = T.dtensor3("x"), T.ltensor3("p")
    f = tg.function(
        [x, p], [picked(x, p), picked(x[0], p), picked(T.addbroadcast(x[:1], 0), T.addbroadcast(p[:, :1], 1))]
    )
    for n in (40, 700):
        v, places = rng.normal(size=(2, 3, n)), rng.integers(0, n, (2, 3, 4))
        both = np.take_along_axis(np.sort(v), places, -1)
        one = np.take_along_axis(np.broadcast_to(np.sort(v[0]), (2, 3, n)), places, -1)
        spread = [np.broadcast_to(a, (2, 3, a.shape[-1])) for a in (np.sort(v[:1]), places[:, :1])]
        for got, want in zip(f(v, places), (both, one, np.take_along_axis(*spread, -1))):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_a_place_out_of_bounds_is_named(mode):
    x, p = T.dmatrix("x"), T.lvector("p")
    f = tg.function([x, p], picked(x, p), mode=mode)
    for n, place in ((5, 5), (5, -1), (300, 300), (0, 0)):
        with pytest.raises(IndexError, match=f"index {place} is out of bounds for axis 1 with size {n}"):
            f(np.zeros((2, n)), [place])
    assert f(np.zeros((0, 3)), [1]).shape == (0, 1)


def test_several_threads_find_the_same():
    x = T.dmatrix("x")
    f = tg.function([x], [T.median(x, axis=1), T.quantile(x, [0.2, 0.9], axis=1)])
    v = rng.normal(size=(400, 3000))
    before = tg.config.threads
    found = []
    try:
        for tg.config.threads in (1, 2):
            found.append(f(v))
    finally:
        tg.config.threads = before
    for one, two in zip(*found):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(found[0][0], np.median(v, axis=1))


def test_derivatives_are_those_of_sorted_rows():
    x, t = T.dmatrix("x"), T.dmatrix("t")
    places = T.constant(np.array([4, 40, 41, 79]))
    each = T.constant(rng.integers(0, 80, (3, 2)))
    pairs = [(picked(x, places), T.sort(x, -1)[:, places])]
    pairs.append((picked(x, each), T.take_along_axis(T.sort(x, -1), each, -1)))
    v, w = rng.normal(size=(3, 80)), rng.normal(size=(3, 80))
    for ys in pairs:
        grads = [tg.grad((y**2 * T.arange(1.0, y.shape[1] + 1)).sum(), x) for y in ys]
        got, want, *moved = tg.function([x, t], [*grads, *[tg.Rop(y, x, t) for y in ys]])(v, w)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(*moved)


@pytest.mark.parametrize("n", [0, 1, 2, 9, 33, 400])
def test_medians_of_rows_of_unknown_length(n):
    x = T.dmatrix("x")
    f = tg.function([x], [T.median(x, axis=1), T.median(x), T.nanmedian(x, axis=1), T.nanmedian(x)])
    v = rng.normal(size=(4, n))
    v[1:2, : n // 2] = np.nan
    v[2:3] = np.nan
    with warnings.catch_warnings(action="ignore"):
        wanted = [np.median(v, axis=1), np.median(v), np.nanmedian(v, axis=1), np.nanmedian(v)]
    for got, want in zip(f(v), wanted):
        np.testing.assert_array_equal(got, want)
