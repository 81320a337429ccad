"""Rows of a few bytes, written out: the values of each dtype and number of elements, also of what is left over."""

from __future__ import annotations

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
C = tg.Mode(linker="c")


def compiled(inputs, output):
    f = tg.function(inputs, output, mode=C)
    return f, f.source("c")


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 16, 17])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "float32", "int64", "float64"])
def test_elements_of_a_row_and_of_a_column(dtype, count):
    x = T.vector("x", dtype=dtype)
    rng = np.random.default_rng(count)
    each = rng.integers(0, 2 if dtype == "bool" else 100, count).astype(dtype)
    f, text = compiled([x], T.maximum(x[:, None], T.constant(each)) if dtype != "bool" else x[:, None] & each)
    fits = count in (2, 3, 4, 8, 16) and count * np.dtype(dtype).itemsize <= 16
    assert (f"const int64_t i1 = {count - 1};" in text) == fits
    for n in (0, 1, 2, 3, 31, 64, 1029):
        a = rng.integers(0, 2 if dtype == "bool" else 100, n).astype(dtype)
        for given in (a, a[::-1], np.repeat(a, 2)[::2]):
            wanted = np.maximum(given[:, None], each) if dtype != "bool" else given[:, None] & each
            np.testing.assert_array_equal(f(given), wanted)


def test_masks_of_pixels():
    """Rows of three bytes that are read as well."""
    x, keep = T.tensor("x", dtype="uint8", shape=(None, None, 3)), T.matrix("keep", dtype="bool")
    f, text = compiled([x, keep], T.where(keep[:, :, None], x, 0))
    assert "const int64_t i2 = 2;" in text
    rng = np.random.default_rng(0)
    for shape in ((0, 4), (5, 0), (1, 1), (7, 33)):
        a, b = rng.integers(0, 256, (*shape, 3)).astype("uint8"), rng.integers(0, 2, shape).astype("bool")
        np.testing.assert_array_equal(f(a, b), np.where(b[:, :, None], a, 0))


def test_rows_apart_stay_loops():
    """Elements that do not follow each other, and functions that take long."""
    x = T.fvector("x")
    each = T.constant(np.float32([1, 2]))
    _, costly = compiled([x], T.exp(x[:, None] * each))
    _, turned = compiled([x], (x[:, None] * each)[:, ::-1] + 1)
    assert "const int64_t i1 = 1;" not in costly
    f = tg.function([x], (x[:, None] * each)[:, ::-1] + 1, mode=C)
    np.testing.assert_array_equal(f(np.float32([3, 4, 5])), np.float32([[7, 4], [9, 5], [11, 6]]))


@pytest.mark.parametrize("order", ["big", "little"])
def test_bits(order):
    x = T.vector("x", dtype="uint8")
    f, _ = compiled([x], T.unpackbits(x, bitorder=order))
    for n in (0, 1, 7, 300):
        a = np.random.default_rng(n).integers(0, 256, n).astype("uint8")
        np.testing.assert_array_equal(f(a), np.unpackbits(a, bitorder=order))
