"""Complex numbers in order, as NumPy has it, in C and on a GPU: by real parts, equal ones by imaginary parts."""

import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

NAMES = ["less", "greater", "less_equal", "greater_equal", "equal", "not_equal"]
PARTS = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("linker", ["c", "py"])
def test_all_pairs_of_special_numbers(linker, dtype):
    if linker == "c" and find_compiler() is None:
        pytest.skip("no C compiler")
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    results = [getattr(T, name)(x, y) for name in NAMES] + [x > 0, y <= 1.0, T.less(2, x)]
    f = tg.function([x, y], results, mode=tg.Mode(linker=linker))
    points = np.array([complex(*p) for p in itertools.product(PARTS, PARTS)], dtype)
    a, b = np.repeat(points, len(points)), np.tile(points, len(points))
    wanted = [getattr(np, name)(a, b) for name in NAMES] + [a > 0, b <= 1.0, np.less(2, a)]
    for found, numpys in zip(f(a, b), wanted, strict=True):
        np.testing.assert_array_equal(found, numpys)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_signs_of_special_numbers(dtype):
    x = T.vector("x", dtype=dtype)
    f, plain = (tg.function([x], T.sign(x), mode=tg.Mode(linker=linker)) for linker in ("c", "py"))
    points = np.array([complex(*p) for p in itertools.product([*PARTS, 3e-30, 1e20], repeat=2)], dtype)
    np.testing.assert_allclose(f(points), plain(points), rtol=1e-6 if dtype == "complex64" else 1e-14)
