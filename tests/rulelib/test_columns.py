"""Products of a matrix and a vector that is written as a column or a row."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128", "bool"])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_columns_and_rows_are_vectors_in_products(dtype, n):
    """A product of matrices with one column takes four times as long as one with a vector."""
    r = np.random.default_rng(2)
    a, b = (r.integers(0, 2, size=shape).astype(dtype) for shape in ((7, n), (n,)))
    x, v = T.matrix("x", dtype=dtype), T.vector("v", dtype=dtype)
    column, row = T.dot(x, v[:, None]), T.dot(v[None], x.T)
    for f in (tg.function([x, v], [column, row, column[:, 0]], mode=tg.Mode(linker=k)) for k in ("py", "auto")):
        for got, right in zip(f(a, b), (a @ b[:, None], b[None] @ a.T, a @ b)):
            np.testing.assert_allclose(got, right)
            assert got.dtype == right.dtype and got.shape == right.shape
    fired = {r.rule for r in tg.function([x, v], [column, row]).trace}
    assert {"dots.column", "dots.row"} <= fired


def test_an_outer_product_stays_one():
    u, v = T.vector("u"), T.vector("v")
    f = tg.function([u, v], T.dot(u[:, None], v[None]))
    np.testing.assert_array_equal(f([1.0, 2.0], [3.0, 4.0]), [[3, 4], [6, 8]])


def test_gradients_of_a_column():
    x, v = T.matrix("x"), T.vector("v")
    cost = T.sqr(T.dot(x, v[:, None])).sum()
    f = tg.function([x, v], tg.grad(cost, [x, v]))
    a, b = np.arange(6.0).reshape(3, 2), np.array([1.0, -2.0])
    got = f(a, b)
    np.testing.assert_allclose(got[0], 2 * np.outer(a @ b, b))
    np.testing.assert_allclose(got[1], 2 * a.T @ (a @ b))
