"""Partitions: rows cut at some places, as they lay on both sides; beside NumPy's partition and the op's meaning."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.ops import sorting as ops

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")

rng = np.random.default_rng(12)


def rows(n):
    """Rows that are alike, of which the place is looked for where it was in the row before, and others that are not."""
    normal = rng.normal(size=(12, n))
    kinds = [
        normal, np.sort(normal, 1), np.zeros((2, n)), rng.integers(0, 3, (4, n)), normal * np.exp(9 * normal[:, :1]),
        np.where(rng.random((6, n)) < 0.3, np.nan, normal[:6]), np.full((2, n), np.nan),
        rng.choice([np.inf, -np.inf, 0.0, -0.0, np.nan], (5, n)), normal + 7, np.where(normal < 2, 1.0, normal),
    ]  # fmt: skip
    return np.concatenate(kinds).astype("float64")


def same(found, expected):
    """Bit by bit, for zeros of both signs."""
    found, expected = np.ascontiguousarray(found), np.ascontiguousarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found.view("u1"), expected.view("u1"))


@pytest.mark.parametrize("n", (1, 2, 5, 33, 64, 65, 200, 257, 3000))
def test_rows_of_every_order(n):
    x, p = T.dmatrix("x"), T.lvector("p")
    f = tg.function([x, p], [ops.partition(x, p), ops.argpartition(x, p)])
    v = rows(n)
    for some in ([0], [n - 1], [n // 2], [n // 3, n // 2, n // 2], range(0, n, 3), []):
        places = np.asarray(some, "int64")
        for given in (v, np.asfortranarray(v), v[::-1, ::-1]):
            values, order = f(given, places)
            same(order, ops.argpartition.meaning(given, places))
            same(values, ops.partition.meaning(given, places))
            np.testing.assert_array_equal(values[:, places], np.sort(given, axis=1)[:, places])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "uint64", "int64", "float16", "float32"])
def test_every_dtype(dtype):
    x, p = T.tensor("x", dtype=dtype, shape=(None, None)), T.lvector("p")
    f = tg.function([x, p], [ops.partition(x, p), ops.argpartition(x, p)])
    for n in (5, 70, 1000):
        v = rng.integers(-100, 100, (9, n)).astype(dtype)
        for some in ([n // 7], [n - 2], [0, n // 2]):
            places = np.asarray(some, "int64")
            values, order = f(v, places)
            same(order, ops.argpartition.meaning(v, places))
            same(values, ops.partition.meaning(v, places))


def test_places_of_each_row():
    x, p = T.dmatrix("x"), T.lmatrix("p")
    f = tg.function([x, p], [ops.partition(x, p), ops.argpartition(x, p)])
    for n in (20, 400):
        v, places = rng.normal(size=(6, n)), rng.integers(0, n, (6, 2))
        places[[1, 4], 1] = places[[1, 4], 0]  # one place twice
        values, order = f(v, places)
        same(order, ops.argpartition.meaning(v, places))
        same(values, ops.partition.meaning(v, places))
        one = T.tensor("one", dtype="float64", shape=(1, None))
        same(tg.function([one, p], ops.argpartition(one, p))(v[:1], places), ops.argpartition.meaning(v[:1], places))


def test_row_that_is_unlike_the_one_before():
    """The range of the row before says nothing then; with several such rows in turn it is no longer asked."""
    x = T.dmatrix("x")
    f = tg.function([x], T.partition(x, 70, axis=1))
    v = rng.normal(size=(40, 300)) + 100 * rng.integers(-9, 9, (40, 1)) * (np.arange(40)[:, None] % 3 == 0)
    same(f(v), ops.partition.meaning(v, np.array([70])))


def test_complex():
    x = T.zmatrix("x")
    parts = [T.partition(x, [3, 8], axis=0), T.argpartition(x, [3, 8], axis=0)]
    f = tg.function([x], parts, mode=tg.Mode(linker="auto"))  # no routine: between C programs
    v = rng.integers(0, 3, (20, 4)) + 1j * rng.integers(0, 3, (20, 4))
    values, order = f(v)
    same(order.T, ops.argpartition.meaning(np.ascontiguousarray(v.T), np.array([3, 8])))
    np.testing.assert_array_equal(values[[3, 8]], np.sort(v, axis=0)[[3, 8]])


def test_place_out_of_bounds():
    x, k = T.dvector("x"), T.lscalar("k")
    for y in (T.partition(x, k), T.argpartition(x, k)):
        f = tg.function([x, k], y)
        assert f([3.0, 1.0, 2.0], -1)[2] == (3.0 if y.dtype == "float64" else 0)
        for wrong in (3, -4):
            with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0 with size 3"):
                f([3.0, 1.0, 2.0], wrong)
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 0"):
        tg.function([x], T.partition(x, 5))([])
