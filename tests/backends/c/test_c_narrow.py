"""Loops of narrow numbers in C: sums of a block in fewer bits, shifts, bits that are counted, signs of 16 bits."""

import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.dtypes import numpy_dtype

C, PY = tg.Mode(linker="c"), tg.Mode(linker="py")
LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
NARROW = ["bool", "int8", "uint8", "int16", "uint16"]
PARTIAL = re.compile(r"\b(\w+) a\d+ = 0;")


def extremes(dtype):
    """The largest numbers that there are, and the least ones: many blocks of each."""
    if dtype == "bool":
        return [np.ones((3, 20001), bool), np.arange(3 * 20001).reshape(3, -1) % 3 == 0]
    bounds = np.iinfo(dtype)
    return [np.full((3, 20001), v, dtype) for v in (bounds.min, bounds.max)]


@pytest.mark.parametrize("dtype", NARROW)
def test_sums_and_counts(dtype):
    x = T.tensor("x", dtype=dtype, shape=(None, None))
    f = tg.function([x], [T.sum(x), T.count_nonzero(x), T.sum(x, axis=1), T.count_nonzero(x, axis=1), T.mean(x > 0)])
    for values in extremes(dtype):
        wanted = [values.sum(), np.count_nonzero(values), values.sum(axis=1), np.count_nonzero(values, axis=1)]
        for a, b in zip(f(values), [*wanted, (values > 0).mean()], strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [*NARROW, "int32", "float32"])
def test_what_is_true_is_counted_in_as_few_bits_as_what_is_compared(dtype):
    x = T.tensor("x", dtype=dtype, shape=(None, None))
    compared = x if dtype == "bool" else x > 0
    for result in (T.count_nonzero(x), T.count_nonzero(x, axis=1), T.sum(compared), T.mean(compared)):
        found = PARTIAL.findall(tg.function([x], result).source("c"))
        assert ("int32_t" if dtype.endswith("32") else "uint16_t") in found, found


def test_sums_of_narrow_numbers_are_made_in_32_bits_and_others_as_ever():
    for dtype, partial in (("int8", "int32_t"), ("uint16", "int32_t"), ("int32", None), ("float32", None)):
        x = T.tensor("x", dtype=dtype, shape=(None, None))
        found = PARTIAL.findall(tg.function([x], T.sum(x)).source("c"))
        assert found == [partial] * (partial is not None)
    x, y = T.tensor("x", dtype="int8", shape=(None,)), T.tensor("y", dtype="int32", shape=(None,))
    both = tg.function([x, y], [T.sum(x), T.sum(y)])
    a, b = np.full(30000, -128, "int8"), np.arange(30000, dtype="int32")
    assert [v.item() for v in both(a, b)] == [a.sum(dtype="int64"), b.sum(dtype="int64")]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_shifts_and_counted_bits(dtype, rng):
    bits, bounds = np.iinfo(dtype).bits, np.iinfo(dtype)
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    results = [T.left_shift(x, y), T.right_shift(x, y), T.bitwise_count(x)]
    f, plain = tg.function([x, y], results), tg.function([x, y], results, mode=PY)
    numbers = rng.integers(bounds.min, bounds.max, 200, dtype, endpoint=True)
    numbers = np.append(numbers, np.array([bounds.min, bounds.max, 0, 1], dtype))
    by = np.arange(bits + 3)
    by = np.append(by.astype(dtype), np.array([bounds.max, -1 if bounds.min else bounds.max], dtype))
    given = [a.ravel() for a in np.broadcast_arrays(numbers[:, None], by)]
    numpys = [np.left_shift(*given), np.right_shift(*given), np.bitwise_count(given[0])]
    for a, b, c in zip(f(*given), plain(*given), numpys, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_signs_of_all_numbers_of_16_bits(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    numbers = np.arange(2**16, dtype="uint16").view(numpy_dtype(dtype))
    x = T.vector("x", dtype=dtype)
    f, g = tg.function([x], T.sign(x)), tg.function([x], T.sign(-T.sign(x)))
    found, wanted = f(numbers), np.sign(numbers.astype("float32")).astype(numbers.dtype)
    real = ~np.isnan(numbers)
    np.testing.assert_array_equal(found[real].view("uint16"), wanted[real].view("uint16"))
    np.testing.assert_array_equal(found[~real].view("uint16"), numbers[~real].view("uint16"))
    np.testing.assert_array_equal(g(numbers)[real], -wanted[real])
    assert "tg_sign_bits(" in f.source("c") and "tg_to_half" not in f.source("c")


def test_truths_that_are_divided_are_no_whole_numbers():
    x, y = T.dvector("x"), T.dvector("y")
    quotients = T.cast(T.minimum(T.cast(x > 0, "float64") / T.cast(y > 0, "float64"), 3.0), "int8")
    f, plain = (tg.function([x, y], quotients.sum(), mode=mode) for mode in (C, PY))
    given = np.ones(1000), -np.ones(1000)
    with np.errstate(divide="ignore"):
        assert f(*given) == plain(*given) == 3000
