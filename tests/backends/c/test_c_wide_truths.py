"""Truth values from memory that choose between numbers of 64 bits are compared as such, others as bytes."""

import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
DTYPES = ["int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
WIDE = re.compile(r"\(\(int64_t\)in0\[[^\]]*\] != z\d+\)")
m = T.tensor("m", dtype="bool", shape=(None, None))


def arguments(dtype):
    return [T.tensor(name, dtype=dtype, shape=(None, None)) for name in "xy"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_choices_by_any_byte_are_numpys(dtype, rng):
    x, y = arguments(dtype)
    results = lambda m, M, x, y: [  # noqa: E731
        m.where(M, x, y), m.where(~M, x, y), m.where(M[0], x, y), x * M, m.where(M, x, 0).sum(axis=0), M.astype(dtype),
    ]  # fmt: skip
    f = tg.function([m, x, y], results(T, m, x, y))
    bytes_ = rng.integers(0, 3, (7, 301)).astype("uint8")
    a, b = rng.integers(0, 9, (2, 7, 301)).astype(dtype)
    wanted = results(np, bytes_ != 0, a, b)
    for found, numpys in zip(f(bytes_.view(bool), a, b), wanted, strict=True):
        assert found.dtype == numpys.dtype
        np.testing.assert_array_equal(found, numpys)


@pytest.mark.parametrize("dtype", DTYPES)
def test_which_choices_are_wide(dtype):
    x, y = arguments(dtype)
    wide = dtype in ("int64", "uint64", "float64")
    for result in (T.where(m, x, y), x * m, T.where(m & (x > 0), x, y), T.where(m, x, 0).max(axis=0))[: 3 + wide]:
        assert bool(WIDE.search(tg.function([m, x, y], result, on_unused_input="ignore").source("c"))) == wide


def test_truth_values_that_are_stored_or_folded_stay_bytes():
    x, _ = arguments("float64")
    for result in (m & (x > 0), T.count_nonzero(m), T.any(m & (x > 0), axis=0)):
        assert not WIDE.search(tg.function([m, x], result, on_unused_input="ignore").source("c"))
