"""Partial results of folds of a whole array are added up by one function, however many folds there are."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 30, 63, 64, 65, 100, 5000])
def test_folds_that_stand_in_one_loop_with_a_result(n, dtype, rng):
    x, y = (T.tensor(dtype, shape=(n,)) for _ in "xy")
    z = T.exp(x) * y
    f = tg.function([x, y], [z, z.sum(), (z * x).sum(), (1 + z / 1e4).prod()])
    a, b = rng.normal(size=(2, n)).astype(dtype)
    c = np.exp(a) * b
    want = [c, c.sum(), (c * a).sum(), (1 + c / 1e4).prod()]
    for found, wanted in zip(f(a, b), want):
        np.testing.assert_allclose(
            found, wanted, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-4 * len(dtype) ** -9
        )


def test_the_tree_of_lanes_stands_in_the_text_once():
    """Columns made orthogonal one after the other."""
    a, columns = T.tensor("float64", shape=(30, 4)), []
    for k in range(4):
        v = a[:, k]
        for q in columns:
            v = v - (q @ v) * q
        columns.append(v / T.sqrt((v**2).sum()))
    q = T.stack(columns, axis=1)
    text = tg.function([a], [q.T @ a, tg.grad((q[:5] ** 3).sum(), a)]).source("c")
    assert text.count("= tg_halved_sum_f64(") > 3 and text.count("h >>= 1") == 1
