"""Sums over short rows with truth values: vectors of elements, masks of as many lanes, the same results as NumPy's."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 23, 31, 32, 33, 40, 63, 64, 65, 130)


def text_of(f):
    return str(f.stage("print"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_along_rows(dtype, rng):
    x, m = T.matrix("x", dtype=dtype), T.matrix("m", dtype="bool")
    s, b = T.scalar("s", dtype=dtype), T.bscalar("b")
    some = {
        "comparisons": lambda x, m, s, b, T: T.where(m & (x > s), x, 0).sum(axis=1),
        "opposites": lambda x, m, s, b, T: T.where(~m & ~(x + s > 0), 2 * x - 1, x).sum(axis=1),
        "numbers": lambda x, m, s, b, T: T.where((b > 0) & m | (x < 0), s, 0).sum(axis=1),
        "products": lambda x, m, s, b, T: T.where(m, x, 1).prod(axis=1),
    }
    for name, build in some.items():
        f = tg.function([x, m, s, b], build(x, m, s, b, T), mode=tg.Mode(linker="c"), on_unused_input="ignore")
        assert "tg_truth_" in text_of(f), name
        for k in LENGTHS:
            for flag in (0, 1):
                given = (
                    rng.normal(size=(3, k)).astype(dtype),
                    rng.random((3, k)) < 0.5,
                    np.asarray(0.25, dtype),
                    np.int8(flag),
                )
                want = build(*given, np)
                np.testing.assert_allclose(
                    f(*given),
                    want,
                    rtol=2e-5 if dtype == "float32" else 1e-12,
                    atol=1e-5 if dtype == "float32" else 1e-13,
                )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nan_behind_a_mask_counts_for_nothing(dtype):
    x, m = T.matrix("x", dtype=dtype), T.matrix("m", dtype="bool")
    f = tg.function([x, m], T.where(m, x, 0).sum(axis=1), mode=tg.Mode(linker="c", strict=True))
    for k in (5, 10, 20, 40):
        a, keep = np.ones((2, k), dtype), np.ones((2, k), bool)
        a[:, ::3], keep[:, ::3] = np.nan, False
        a[1, 1::3], keep[1, 1::3] = np.inf, False
        np.testing.assert_array_equal(f(a, keep), keep.sum(axis=1).astype(dtype))
        np.testing.assert_array_equal(f(a[:, ::-1], keep[:, ::-1]), keep.sum(axis=1).astype(dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_all_rows_of_a_block_read_them(dtype, rng):
    x, y, m = T.matrix("x", dtype=dtype), T.matrix("y", dtype=dtype), T.matrix("m", dtype="bool")
    pairs = T.maximum(1 - y[:, :, None] + x[:, None, :], 0)
    f = tg.function([x, y, m], T.where(m[:, None, :], pairs, 0).sum(axis=1), mode=tg.Mode(linker="c"))
    g = tg.function([x, y, m], tg.grad(T.where(m[:, None, :], pairs, 0).sum(), [x, y]), mode=tg.Mode(linker="c"))
    for n, k in ((0, 5), (3, 0), (4, 3), (3, 10), (2, 40)):
        a, b = rng.normal(size=(6, k)).astype(dtype), rng.normal(size=(6, n)).astype(dtype)
        keep = rng.random((6, k)) < 0.5
        over = np.maximum(1 - b[:, :, None] + a[:, None, :], 0) * keep[:, None, :]
        np.testing.assert_allclose(f(a, b, keep), over.sum(axis=1), rtol=1e-4, atol=1e-5)
        down, across = g(a, b, keep)
        np.testing.assert_allclose(down, (over > 0).sum(axis=1), rtol=1e-5)
        np.testing.assert_allclose(across, -(over > 0).sum(axis=2), rtol=1e-5)


def test_an_element_that_a_choice_keeps_from_being_read_is_not_read(rng):
    """Of a join of truth values each part is read where it is, also where rows are none."""
    x, m, k = T.dmatrix("x"), T.matrix("m", dtype="bool"), T.matrix("k", dtype="bool")
    both = T.concatenate([m, k], axis=1)
    f = tg.function([x, m, k], T.where(both[:, None, :], x[:, :, None] + 1, 0).sum(axis=1), mode=tg.Mode(linker="c"))
    for shape in ((3, 4), (3, 0), (0, 2)):
        a, p, q = rng.normal(size=shape), rng.random((shape[0], 3)) < 0.5, rng.random((shape[0], 9)) < 0.5
        want = np.where(np.concatenate([p, q], axis=1)[:, None, :], a[:, :, None] + 1, 0).sum(axis=1)
        np.testing.assert_allclose(f(a, p, q), want)


def test_a_number_that_is_computed_already_keeps_no_sum_from_columns(rng):
    """What that number had needed is not needed here."""
    x, y, i = T.dmatrix("x"), T.dmatrix("y"), T.lmatrix("i")
    pairs = T.maximum(1 - T.take_along_axis(y, i, 1)[:, :, None] + x[:, None, :], 0)
    f = tg.function([x, y, i], [pairs.sum(axis=1), (pairs * pairs.sum()).sum(axis=1)], mode=tg.Mode(linker="c"))
    g = tg.function([x, y, i], tg.grad((pairs.sum() ** 2) / 2, x), mode=tg.Mode(linker="c"))
    assert "_lane[64]" not in text_of(g) and "_lane[1024]" in text_of(g)
    for n, k in ((3, 10), (1, 4), (5, 0)):
        a, b, at = rng.normal(size=(6, k)), rng.normal(size=(6, 7)), rng.integers(0, 7, (6, n))
        over = np.maximum(1 - np.take_along_axis(b, at, 1)[:, :, None] + a[:, None, :], 0)
        for found, want in zip(f(a, b, at), (over.sum(axis=1), (over * over.sum()).sum(axis=1))):
            np.testing.assert_allclose(found, want)
        np.testing.assert_allclose(g(a, b, at), (over > 0).sum(axis=1) * over.sum())
