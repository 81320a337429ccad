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


def test_sums_are_added_once_to_what_is_there(rng):
    """The last lanes begin earlier where columns are left over: not where memory is added to, or read and written."""
    y, m, z, i = T.dmatrix("y"), T.dtensor3("m"), T.dmatrix("z"), T.lvector("i")
    kept = tg.shared(np.zeros((0, 0)), name="kept", shape=(None, None))
    sums, mode = T.vecmat(y, m), tg.Mode(linker="c")
    scattered = tg.function([y, m, z, i], T.inc_subtensor(z[i], sums), mode=mode)
    turned = tg.function([y, m, z], T.inc_subtensor(T.sort(z, axis=0)[::-1], sums), mode=mode)
    updated = tg.function([y, m], [], updates=[(kept, kept * 2 - sums)], mode=mode)
    for columns in range(1, NARROW + 2):
        a, b, c = rng.standard_normal((6, 4)), rng.standard_normal((6, 4, columns)), rng.standard_normal((6, columns))
        at, products = rng.integers(0, 6, 6), np.einsum("bk,bkn->bn", a, b)
        expected = c.copy()
        np.add.at(expected, at, products)
        np.testing.assert_allclose(scattered(a, b, c, at), expected, atol=1e-12)
        np.testing.assert_allclose(turned(a, b, c), np.sort(c, axis=0) + products[::-1], atol=1e-12)
        kept.set_value(c)
        updated(a, b)
        np.testing.assert_allclose(kept.get_value(), 2 * c - products, atol=1e-12)
