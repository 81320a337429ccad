"""Batches of products with small matrices: a few columns at a time have what the loop over many has."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.text.narrow_columns import NARROW

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
LINKER = "c"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_few_columns_have_what_many_have(dtype, rng):
    """But for the rounding of products, which may be joined with the sum in one of the loops only."""
    y, m = T.matrix("y", dtype=dtype), T.tensor3("m", dtype=dtype)
    f = tg.function([y, m], T.vecmat(y, m), mode=tg.Mode(linker="c"))
    assert f"< {NARROW})" in f.source("c")
    for rows in (0, 1, 3, 4, 9, 30):
        a = rng.standard_normal((70, rows)).astype(dtype)
        b = rng.standard_normal((70, rows, NARROW + 5)).astype(dtype)
        many = f(a, b)
        np.testing.assert_allclose(many, np.einsum("bk,bkn->bn", a, b), atol=1e-4)
        for columns in range(NARROW + 2):
            few = f(a, b[:, :, :columns].copy())
            np.testing.assert_allclose(few, many[:, :columns], atol=30 * float(np.finfo(dtype).eps) * 10)


def test_only_sums_of_products_are_written_twice():
    """Text is the C compiler's time."""
    x, y, m = T.dtensor3("x"), T.dmatrix("y"), T.dtensor3("m")
    known = T.tensor(dtype="float64", shape=(None, None, 8), name="known")
    for made, inputs in ((x.sum(axis=1), [x]), (T.vecmat(y, T.exp(m)), [y, m]), (T.vecmat(y, known), [y, known])):
        assert f"< {NARROW})" not in tg.function(inputs, made, mode=tg.Mode(linker="c")).source("c")
