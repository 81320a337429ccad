"""Running sums and products of rows, by squares of vectors: NumPy's bits, for every width and what is left over."""

import platform

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
FLAGS = ["", "-mno-avx512f", "-mno-avx512f -mno-avx2"] if platform.machine() == "x86_64" else [""]
SHAPES = [(16, 16), (33, 47), (8, 100), (5, 16), (16, 5), (1, 40), (40, 1), (0, 20), (20, 0), (17, 64)]


def numbers(rng, dtype, shape):
    if dtype[0] != "f":
        return rng.integers(0, 200, shape).astype(dtype)
    values = rng.normal(size=shape).astype(dtype)
    values[rng.random(shape) < 0.05] = -0.0
    values[rng.random(shape) < 0.002] = np.inf
    values[rng.random(shape) < 0.002] = np.nan
    values[:, :2] = -0.0
    return values


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32", "uint64"])
def test_bits_are_numpys(dtype, flags, rng):
    x, z = T.matrix("x", dtype=dtype), T.tensor3("z", dtype=dtype)
    with tg.config.change_flags(cflags=flags):
        f = tg.function(
            [x, z],
            [f(a, axis=1) for a in (x, x[:, ::-1], z) for f in (T.cumsum, T.cumprod)],
            mode=tg.Mode(linker="c", strict=True),
        )
        for shape in SHAPES:
            a = numbers(rng, dtype, shape)
            b = np.stack([a, a[::-1]], axis=2)
            with np.errstate(all="ignore"):
                wanted = [g(v, axis=1) for v in (a, a[:, ::-1], b) for g in (np.cumsum, np.cumprod)]
            for got, w in zip(f(a, b), wanted, strict=True):
                np.testing.assert_array_equal(got, w)
                np.testing.assert_array_equal(np.signbit(got[~np.isnan(w)]), np.signbit(w[~np.isnan(w)]))


def test_products_that_become_subnormal_keep_their_digits(rng):
    x = T.fmatrix("x")
    a = rng.uniform(0.3, 0.7, (32, 150)).astype("float32")
    np.testing.assert_array_equal(
        tg.function([x], T.cumprod(x, axis=1), mode=tg.Mode(linker="c"))(a), np.cumprod(a, axis=1)
    )


def test_squares_are_for_rows_whose_elements_are_neighbours():
    x = T.fmatrix("x")
    text = tg.function([x], T.cumsum(x, axis=1), mode=tg.Mode(linker="c")).source("c")
    assert "tg_cumsum_square_f32(x + i" in text
