"""Sums of many short rows: rows that are added up together give the bits of one row after the other."""

import platform

import numpy as np
import pytest

import termgraph as tg
from termgraph import tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "auto"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
FLAGS = ["", "-mno-avx512f", "-mno-avx"] if platform.machine() == "x86_64" else [""]


def tree(rows, start, add):
    """Rows of at most eight numbers, folded in the order that is always the same."""
    room = np.full((len(rows), 8), start, rows.dtype)
    room[:, : rows.shape[1]] = rows
    for half in (4, 2, 1):
        room = add(room[:, :half], room[:, half : 2 * half])
    return room[:, 0]


def matrix(rng, dtype, n, m):
    x = rng.standard_normal((n, m)).astype(dtype)
    x[rng.random((n, m)) < 0.02] = rng.choice([np.nan, np.inf, -0.0])
    return x


@pytest.mark.parametrize("cflags", FLAGS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_are_added_up_in_the_order_that_is_always_the_same(rng, dtype, cflags):
    x, v = T.matrix("x", dtype=dtype), T.vector("v", dtype=dtype)
    with tg.config.change_flags(cflags=cflags):
        f = tg.function([x, v], [x.sum(axis=1), (x - v).sum(axis=1), x[:, ::-1].prod(axis=1), (x.T - v[0]).sum(axis=0)])
    assert "tg_fold_rows_sum_" in f.source("c") and "tg_fold_rows_prod_" in f.source("c")
    for n in (0, 1, 3, 4, 7, 8, 9, 30, 133):
        for m in range(1, 9):
            a, b = matrix(rng, dtype, n, m), matrix(rng, dtype, 1, m)[0]
            total, apart, product, _ = f(a, b)
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(total, tree(a, 0, np.add))
                np.testing.assert_array_equal(apart, tree(a - b, 0, np.add))
                np.testing.assert_array_equal(product, tree(a[:, ::-1], 1, np.multiply))


@pytest.mark.parametrize("cflags", FLAGS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_row_among_others_is_what_it_is_alone(rng, dtype, cflags):
    x, v, c = T.matrix("x", dtype=dtype), T.vector("v", dtype=dtype), T.vector("c", dtype=dtype)
    results = [
        x.mean(axis=1) - 1, (x - v).sum(axis=1) * c, T.vecdot(x, x), x[:, ::2].sum(axis=1) + x.prod(axis=1),
        T.sqrt((x * x).sum(axis=1)) + c, (x[:, ::-1] * x).sum(axis=1),
    ]  # fmt: skip
    with tg.config.change_flags(cflags=cflags):
        f = tg.function([x, v, c], results)
    for n, m in ((9, 1), (33, 2), (13, 3), (8, 5), (10, 7), (21, 8), (9, 9), (5, 20)):
        a, b, d = matrix(rng, dtype, n, m), matrix(rng, dtype, 1, m)[0], matrix(rng, dtype, 1, n)[0]
        together = f(a, b, d)
        for i in range(n):
            for whole, one in zip(together, f(a[i : i + 1], b, d[i : i + 1]), strict=True):
                np.testing.assert_array_equal(whole[i], one[0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_batches_of_products_with_vectors(rng, dtype):
    z, y = T.tensor3("z", dtype=dtype), T.matrix("y", dtype=dtype)
    f = tg.function([z, y], [T.matvec(z, y), (z * z).sum(axis=2).T])
    for b, n, m in ((0, 3, 3), (3, 8, 8), (7, 5, 8), (2, 9, 3), (4, 1, 6), (3, 6, 0), (2, 33, 12)):
        a, w = rng.integers(-5, 5, (b, n, m)).astype(dtype), rng.integers(-5, 5, (b, m)).astype(dtype)
        products, squares = f(a, w)
        np.testing.assert_array_equal(products, np.einsum("bnm,bm->bn", a, w))
        np.testing.assert_array_equal(squares, (a * a).sum(axis=2).T)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nothing_is_read_behind_rows_that_do_not_fill_their_vectors(dtype):
    """The last row ends where the array does, before numbers that would be seen."""
    x = T.matrix("x", dtype=dtype)
    f = tg.function([x], x.sum(axis=1))
    for m in range(9):
        room = np.full(12 * m + 16, np.nan, dtype)
        room[: 12 * m] = 1
        np.testing.assert_array_equal(f(room[: 12 * m].reshape(12, m)), np.full(12, m))
        strided = np.full((12, m + 1), np.nan, dtype)
        strided[:, :m] = 2
        np.testing.assert_array_equal(f(strided[:, :m]), np.full(12, 2 * m))


def test_a_call_over_many_short_rows_is_interrupted():
    """Each step is asked for as often as each sixteenth row was."""
    x = T.dmatrix("x")
    assert "/ 4 & 15) && TG_STOP" in tg.function([x], x.sum(axis=1)).source("c")
