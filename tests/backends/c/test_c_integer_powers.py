"""Powers of integers: compiled where exponents cannot be negative, else left to NumPy, which refuses these."""

import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

BASES = ("bool", "int8", "uint8", "int32", "int64")
NATURALS = ("bool", "uint8", "uint16", "uint32")
C, PY = tg.Mode(linker="c"), tg.Mode(linker="py")


def numbers(dtype, shape, most):
    found = np.random.default_rng(0).integers(0 if dtype[0] in "bu" else -most, 2 if dtype == "bool" else most, shape)
    return found.astype(dtype)


@pytest.mark.parametrize("base, exponent", list(itertools.product(BASES, NATURALS)))
def test_natural_exponents_are_compiled(base, exponent):
    x, y = T.tensor("x", dtype=base, shape=(None, None)), T.tensor("y", dtype=exponent, shape=(None, None))
    for n in (0, 1, 9, 200):
        a, b = numbers(base, (3, n), 5), numbers(exponent, (3, n), 7)
        for f in [tg.function([x, y], x**y, mode=mode) for mode in (C, PY)]:
            for p, q in ((a, b), (a[:, ::-1], b[::-1])):
                got = f(p, q)
                assert got.dtype == (p**q).dtype
                np.testing.assert_array_equal(got, p**q)


def test_exponents_that_may_be_negative_are_left_to_numpy():
    x, y, z = T.tensor("x", dtype="int64", shape=(None,)), T.lvector("y"), T.tensor("z", dtype="uint64", shape=(None,))
    for given, exponent in ((y, y), (z, T.cast(z, "int64"))):
        with pytest.raises(NotImplementedError, match="no C code"):
            tg.function([x, given], x**exponent, mode=C)
    f = tg.function([x, y], x**y)
    assert f([2, 3], [3, 2]).tolist() == [8, 9]
    with pytest.raises(ValueError, match="negative"):
        f([2], [-1])
