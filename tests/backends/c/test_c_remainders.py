"""Remainders and whole quotients of floats in C: NumPy's bits, though they are not computed by fmod."""

import numpy as np
import pytest

import termgraph as tg
from termgraph import tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "auto"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
SPECIAL = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-310, -5e-324, 3, 0.1, 0.7, 1e300, 1e16, 2.0**53, 2.0**50 + 1]


def pairs(rng, dtype):
    """Special numbers with each other; quotients of all sizes, whole ones, and ones that are nearly whole."""
    n = 20000
    divisors = rng.standard_normal(n)
    a = [np.repeat(SPECIAL, len(SPECIAL)), rng.standard_normal(n) * 10.0 ** rng.integers(-20, 20, n)]
    b = [np.tile(SPECIAL, len(SPECIAL)), rng.standard_normal(n) * 10.0 ** rng.integers(-20, 20, n)]
    a += [divisors * rng.integers(-(10**6), 10**6, n), rng.integers(-500, 500, n) * 0.1, rng.integers(-99, 99, n)]
    b += [divisors, rng.choice([0.1, -0.1, 0.3], n), rng.integers(-9, 9, n)]
    with np.errstate(over="ignore"):
        return np.concatenate(a).astype(dtype), np.concatenate(b).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("mode", ["FAST_RUN", "STRICT"])
def test_remainders_and_quotients_are_numpys(rng, dtype, mode):
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    a, b = pairs(rng, dtype)
    with np.errstate(all="ignore"):
        expected = [np.mod(a, b), np.floor_divide(a, b), np.fmod(a, b)]
    for got, wanted in zip(tg.function([x, y], [x % y, x // y, T.fmod(x, y)], mode=mode)(a, b), expected):
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(wanted[~np.isnan(wanted)]))
