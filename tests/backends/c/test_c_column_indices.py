"""Indices of columns are checked before the loops over rows, in a loop of their own: each row only reads."""

import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "c"
PY = tg.Mode(linker="py")
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
CHECK = re.compile(r"\bk\d+_low = k\d+ <")
PLACES = re.compile(r"places\d+\[")
k = T.lvector("k")


def at(rng, n, m):
    return rng.integers(-m, m, n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_in_every_dtype(dtype, rng):
    x = T.tensor("x", dtype=dtype, shape=(None, None))
    f = tg.function([x, k], [x[:, k], T.take(x, k, axis=1), T.take(x, [3, -1, 0, 0, 2], axis=1)])
    for rows, columns, n in ((6, 9, 40), (1, 4, 3), (3, 5, 0), (20, 300, 300)):
        values, places = (
            rng.integers(0, 2 if dtype == "bool" else 9, (rows, columns)).astype(dtype),
            at(rng, n, columns),
        )
        wanted = [values[:, places], values[:, places], values[:, [3, -1, 0, 0, 2]]]
        for found, numpys in zip(f(values, places), wanted, strict=True):
            assert found.dtype == numpys.dtype
            np.testing.assert_array_equal(found, numpys)


def test_a_row_only_reads():
    x = T.dmatrix("x")
    for index in (k, T.ivector("i")):
        text = tg.function([x, index], T.exp(x[:, index])).source("c")
        loops = text.split("for (int64_t i1 =")
        assert len(loops) == 2 and PLACES.search(loops[1])
        assert len(CHECK.findall(loops[0])) == 1 and not CHECK.search(loops[1])


def test_what_is_not_read_again_has_no_places():
    x, i, X = T.dvector("x"), T.tensor("i", dtype="int64", shape=(None, None)), T.dmatrix("X")
    for inputs, result in (([x, k], x[k]), ([X, k], X[k]), ([x, i], x[i]), ([X, i], T.take_along_axis(X, i, axis=1))):
        assert not PLACES.search(tg.function(inputs, result).source("c"))


@pytest.mark.parametrize("bad", [7, -8])
def test_a_bad_index_is_told_unless_there_are_no_rows(bad):
    x = T.dmatrix("x")
    f = tg.function([x, k], x[:, k] * 2)
    with pytest.raises(IndexError, match=f"{bad}.*7"):
        f(np.ones((5, 7)), np.array([0, bad, 1]))
    assert f(np.ones((0, 7)), np.array([0, bad, 1])).shape == (0, 3)


def test_choices_that_are_not_made_ask_for_nothing():
    x, c = T.dmatrix("x"), T.tensor("c", dtype="bool", shape=())
    f = tg.function([x, k, c], tg.ifelse(c, x[:, k], x[:, :3]), mode=tg.Mode(linker="auto"))
    values = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(f(values, np.array([9, 9, 9]), False), values[:, :3])
    with pytest.raises(IndexError):
        f(values, np.array([9, 9, 9]), True)


def test_three_dimensions_pairs_stores_and_sums(rng):
    x, X, j = T.tensor("x", dtype="float64", shape=(None, None, None)), T.dmatrix("X"), T.lvector("j")
    results = [
        x[:, k], x[:, :, k], x[:, k[:, None], j], T.inc_subtensor(X[:, k], 1.5), T.set_subtensor(X[:, j], 0),
        X[:, k].sum(axis=1), X[:, k].sum(axis=0), X[k][:, j],
    ]  # fmt: skip
    f, plain = tg.function([x, X, k, j], results), tg.function([x, X, k, j], results, mode=PY)
    given = rng.normal(size=(4, 6, 5)), rng.normal(size=(6, 5)), at(rng, 5, 5), at(rng, 7, 5)
    for a, b in zip(f(*given), plain(*given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_step_of_a_loop_reads_columns(rng):
    x = T.dmatrix("x")
    final, _ = tg.scan(lambda a: a[:, k] + 1, outputs_info=[x], n_steps=3)
    f, plain = tg.function([x, k], final[-1]), tg.function([x, k], final[-1], mode=PY)
    values, places = rng.normal(size=(5, 6)), at(rng, 6, 6)
    np.testing.assert_array_equal(f(values, places), plain(values, places))
