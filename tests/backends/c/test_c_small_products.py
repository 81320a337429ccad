"""Batches of small products, which no library is called for: beside NumPy's, for all lengths and ways to lie."""

import platform

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.text.library_calls import LETTER
from termgraph.config import config

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
TURN = (0, 2, 1)
BOUND = {"float32": 4e-6, "float64": 4e-15}
FLAGS = ["", "-mno-avx512f", "-mno-avx"] if platform.machine() == "x86_64" else [""]


def products(dtype):
    x, y = T.tensor3("x", dtype=dtype), T.tensor3("y", dtype=dtype)
    made = [x @ y, x @ y.transpose(TURN), x.transpose(TURN) @ y, x.transpose(TURN) @ y.transpose(TURN)]
    return [tg.function([x, y], z, mode=tg.Mode(linker="c")) for z in made]


def operands(rng, dtype, m, n, k, count=3):
    a, b = rng.standard_normal((count, m, k)), rng.standard_normal((count, k, n))
    a, b = a.astype(dtype), b.astype(dtype)
    x, y = a.transpose(TURN).copy(), b.transpose(TURN).copy()
    return a, b, [(a, b), (a, y), (x, b), (x, y)]


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_products(rng, dtype, flags):
    with config.change_flags(cflags=f"{config.cflags} {flags}"):
        functions = products(dtype)
    assert all(f"tg_gemm_small_{LETTER[dtype]}(" in f.source("c") for f in functions)
    sides = [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17]
    lengths = [(s, s, s) for s in sides] + [tuple(rng.choice(sides, 3)) for _ in range(40)]
    for m, n, k in [*lengths, (0, 2, 3), (2, 0, 3), (2, 3, 0), (1, 70, 2), (70, 1, 3), (2, 2, 70), (60, 3, 3)]:
        a, b, given = operands(rng, dtype, m, n, k)
        wanted, size = a @ b, np.abs(a) @ np.abs(b)
        for f, (x, y) in zip(functions, given):
            assert (np.abs(f(x, y) - wanted) <= BOUND[dtype] * size).all(), (m, n, k)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_views_and_numbers_that_are_not_finite(rng, dtype):
    plain, *_ = functions = products(dtype)
    a, b, given = operands(rng, dtype, 5, 6, 4)
    for f, (x, y) in zip(functions, given):
        wide = np.zeros((3, *[2 * n for n in x.shape[1:]]), dtype)
        wide[:, ::2, ::2] = x
        np.testing.assert_array_equal(f(wide[:, ::2, ::2], y[::-1][::-1]), f(x, y))
        rows = np.zeros((3, x.shape[1], x.shape[2] + 3), dtype)
        rows[:, :, : x.shape[2]] = x
        np.testing.assert_array_equal(f(rows[:, :, : x.shape[2]], y), f(x, y))
    a[0, 0, 0], a[1, 2, 1], b[2, 3, 5] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    np.testing.assert_array_equal(np.isfinite(plain(a, b)), np.isfinite(wanted))
    np.testing.assert_array_equal(plain(a, b)[np.isinf(wanted)], wanted[np.isinf(wanted)])


def test_an_item_depends_on_nothing_beside_it(rng):
    for f, (x, y) in zip(products("float64"), operands(rng, "float64", 7, 9, 6, 5)[2]):
        whole = f(x, y)
        for k in range(5):
            np.testing.assert_array_equal(f(x[k : k + 1], y[k : k + 1])[0], whole[k])


def test_gradients_and_large_lengths(rng):
    x, y = T.dtensor3("x"), T.dtensor3("y")
    results = tg.grad(T.tanh(x @ y).sum(), [x, y])
    f, plain = [tg.function([x, y], results, mode=mode) for mode in ("FAST_RUN", tg.Mode(linker="py"))]
    for m, n, k in ((8, 8, 8), (3, 5, 4), (40, 40, 40)):
        a, b, _ = operands(rng, "float64", m, n, k)
        for got, wanted in zip(f(a, b), plain(a, b)):
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-13)
    known = T.tensor("z", dtype="float64", shape=(None, 200, 200))
    assert "tg_gemm_small_" not in tg.function([known], known @ known, mode=tg.Mode(linker="c")).source("c")
