"""Folds of truth values that end when nothing can change them, and comparisons of whole arrays: what NumPy says."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
LINKER = "auto"


@pytest.mark.parametrize("threads", [1, 2])
def test_folds_that_end_early_are_right_wherever_they_end(threads, monkeypatch):
    monkeypatch.setattr(tg.config, "threads", threads)
    v, m = T.dvector("v"), T.dmatrix("m")
    mask = T.vector("mask", dtype="bool")
    of_all = [T.any(v > 0), T.all(v <= 0), (v > 0).argmax(), (v <= 0).argmin(), T.max(v > 0), T.any(T.exp(v) > 1)]
    f = tg.function([v], of_all)
    g = tg.function([m], [T.any(m > 0), T.all(m <= 0), T.any(m > 0, axis=1), T.all(m <= 0, axis=0)])
    h = tg.function([mask], [T.any(mask), T.all(~mask), mask.argmax()])
    for n in (1, 4095, 4096, 4097, 100_000, 700_001):
        for at in {0, 1, 63, 64, 65, 4095, 4096, n // 2, n - 1, None}:
            if at is not None and not 0 <= at < n:
                continue
            x = np.full(n, -1.0)
            if at is not None:
                x[at] = 2.0
            hit = at is not None
            assert [int(r) for r in f(x)] == [hit, not hit, at or 0, at or 0, hit, hit], (n, at)
            assert [int(r) for r in h(x > 0)] == [hit, not hit, at or 0], (n, at)
            for columns in (7, 5000):
                y = x[: n // columns * columns].reshape(-1, columns)
                if y.size:
                    some, none, rows, down = g(y)
                    assert bool(some) == (y > 0).any() and bool(none) == (y <= 0).all()
                    np.testing.assert_array_equal(rows, (y > 0).any(axis=1))
                    np.testing.assert_array_equal(down, (y <= 0).all(axis=0))
    assert [int(r) for r in tg.function([v], of_all[:2])(np.zeros(0))] == [0, 1]


def test_two_folds_end_when_both_are_settled():
    v = T.dvector("v")
    f = tg.function([v], [T.any(v > 0), T.all(v < 5), (v > 0).sum()])
    x = np.zeros(50_000)
    x[0], x[40_000] = 1.0, 9.0
    assert [int(r) for r in f(x)] == [1, 0, 2]
    two = tg.function([v], [T.any(v > 0), T.all(v < 5)])
    assert [int(r) for r in two(x)] == [1, 0]
    assert [int(r) for r in two(x[:30_000])] == [1, 1]


def test_most_elements_are_not_read():
    """A settled fold of many elements reads no more than a block: memory after it may hold anything."""
    v, w = T.dvectors("v", "w")
    for made in (T.array_equal(v, w), T.allclose(v, w), T.all(T.isclose(v, w)), T.all(T.eq(v, w))):
        kernel = tg.function([v, w], made, mode=tg.Mode(linker="c")).source("c").split("static void kernel0")[1]
        assert ") break;" in kernel.split("int64_t to =")[1]
        assert "[part + 1] = " in kernel


def test_a_few_elements_are_looked_at_first():
    """Also of the first of long rows, where all of them are one fold; a fold of another kind needs its whole row."""
    v, m = T.dvector("v"), T.dmatrix("m")
    cases = [(v, T.any(v > 0), True), (m, T.all(m < m[:, ::-1]), True), (m, T.all(T.any(m > 0, axis=1)), False)]
    for x, made, first in cases:
        kernel = tg.function([x], made, mode=tg.Mode(linker="c")).source("c").split("static void kernel0")[1]
        assert ("w0 = 64" in kernel) == first


def test_an_index_out_of_bounds_is_met_although_the_result_is_known_before():
    x, i = T.dvector("x"), T.lvector("i")
    f = tg.function([x, i], T.any(x[i] > 0))
    places = np.zeros(60_000, "int64")
    assert bool(f(np.ones(3), places))
    places[-1] = 7
    with pytest.raises(IndexError):
        f(np.ones(3), places)


def test_an_index_that_one_thread_finds_is_the_error_of_all(monkeypatch):
    """Threads that end because another one has failed do not say that a signal did it."""
    monkeypatch.setattr(tg.config, "threads", 2)
    x, i = T.dtensor3("x"), T.lvector("i")
    picked = x[i] > 0
    places = np.zeros(1000, "int64")
    places[-1] = 8
    for made in (T.argmax(picked, axis=2), T.min(picked, axis=(0, 2)), T.exp(x[i])):
        f = tg.function([x, i], made, mode=tg.Mode(linker="c"))
        for _ in range(5):
            with pytest.raises(IndexError, match="index 8 is out of bounds"):
                f(np.ones((5, 600, 8)), places)


SHAPES = [(3, 4), (1, 4), (3, 1), (1, 1), (2, 4), (3, 3), (0, 4), (0, 1), (3, 0)]


@pytest.mark.parametrize("linker", ["auto", "py"])
def test_equivalent_arrays_of_any_shapes(linker):
    a, b, v = T.dmatrix("a"), T.dmatrix("b"), T.dvector("v")
    mode = tg.Mode(linker=linker)
    f = tg.function([a, b], [T.array_equiv(a, b), T.array_equal(a, b)], mode=mode)
    g = tg.function([v, b], T.array_equiv(v, b), mode=mode)
    rng = np.random.default_rng(3)
    for one in SHAPES:
        for other in SHAPES:
            for most in (1, 2):
                x, y = rng.integers(0, most, one).astype("float64"), rng.integers(0, most, other).astype("float64")
                assert bool(f(x, y)[0]) == np.array_equiv(x, y), (one, other)
                assert bool(f(x, y)[1]) == np.array_equal(x, y), (one, other)
                if one[0] == 1:
                    assert bool(g(x[0], y)) == np.array_equiv(x[0], y), (one, other)
