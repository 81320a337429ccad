"""Products of a matrix and its own transpose: half of the result is computed, the other half is its mirror."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.text.library_calls import DEEP, SYMMETRIC

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
LINKER = "auto"
TOLERANCE = {"float64": 1e-13, "float32": 1e-5, "complex128": 1e-13, "complex64": 1e-5}


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_products_with_the_own_transpose(dtype, rng):
    x = T.matrix("x", dtype=dtype)
    f = tg.function([x], [T.dot(x, x.T), T.dot(x.T, x), 3 * T.dot(x, x.T) + 1])
    for rows in (1, 16, SYMMETRIC - 1, SYMMETRIC, 81, 130):
        for columns in (1, DEEP - 1, DEEP, 40, 100):
            a = rng.normal(size=(rows, columns))
            a = (a + 1j * rng.normal(size=a.shape) if dtype[0] == "c" else a).astype(dtype)
            wide = np.zeros((rows, columns + 5), dtype)
            wide[:, 2:-3] = a
            for given in (a, wide[:, 2:-3], np.asfortranarray(a)):
                one, other, third = f(given)
                for found, right in ((one, a @ a.T), (other, a.T @ a), (third, 3 * (a @ a.T) + 1)):
                    np.testing.assert_allclose(found, right, rtol=0, atol=TOLERANCE[dtype] * 4 * abs(right).max())
                if rows >= SYMMETRIC and columns >= DEEP:
                    np.testing.assert_array_equal(one, one.T)


def test_equal_arguments_and_batches(rng):
    """The same array given twice is seen in the call; other arrays of the same numbers are not mirrored."""
    x, y = T.dmatrices("x", "y")
    f = tg.function([x, y], [T.dot(x, y.T), T.dot(x.T, y), T.dot(x, y)])
    a = rng.normal(size=(100, 100))
    for second in (a, a.copy(), -a, a[:, ::-1]):
        for found, right in zip(f(a, second), (a @ second.T, a.T @ second, a @ second), strict=True):
            np.testing.assert_allclose(found, right, atol=1e-12)
    z = T.tensor3("z", dtype="float64")
    g = tg.function([z], [T.matmul(z, T.swapaxes(z, 1, 2)), T.matmul(T.swapaxes(z, 1, 2), z)])
    b = rng.normal(size=(3, 90, 50))
    for found, right in zip(g(b), (b @ b.swapaxes(1, 2), b.swapaxes(1, 2) @ b), strict=True):
        np.testing.assert_allclose(found, right, atol=1e-12)
    np.testing.assert_array_equal(g(b)[0], g(b)[0].swapaxes(1, 2))


def test_what_a_product_is_added_to_keeps_its_numbers(rng):
    """An update `w + x x'` reads the old w, which need not be symmetric."""
    start = rng.normal(size=(90, 90))
    w, x = tg.shared(start.copy(), "w"), T.dmatrix("x")
    step = tg.function([x], updates={w: w + T.dot(x, x.T)})
    a = rng.normal(size=(90, 40))
    step(a)
    np.testing.assert_allclose(w.get_value(), start + a @ a.T, atol=1e-12)
