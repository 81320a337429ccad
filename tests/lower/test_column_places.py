"""Where the largest lies down columns: several columns at a time, with NumPy's choice among equals and NaN."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.lower.loops.tree import Columns, walk

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"
DTYPES = ("float64", "float32", "float16", "int64", "int32", "int8", "uint64", "uint8", "bool")


def drawn(rng, dtype, shape):
    """Few different values, so that the first of several largest counts; with NaN, infinities, zeros of both signs."""
    if dtype.startswith("float"):
        values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5])
        return rng.choice(values, size=shape, p=[0.2, 0.2, 0.2, 0.2, 0.05, 0.05, 0.02, 0.08]).astype(dtype)
    return rng.integers(0, 3, size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("known", [True, False])
def test_places_down_columns_are_numpys(dtype, known, rng):
    for shape in ((1, 40), (5, 1), (7, 8), (30, 17), (3, 1030), (200, 64)):
        x = T.tensor("x", dtype, shape=shape if known else (None, None))
        value = drawn(rng, dtype, shape)
        f = tg.function([x], [T.argmax(x, axis=0), T.argmin(x, axis=0), T.max(x, axis=0)])
        for found, wanted in zip(f(value), (value.argmax(0), value.argmin(0), value.max(0))):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(4, 6, 33), (3, 20, 5)])
@pytest.mark.parametrize("axis", [0, 1])
def test_places_of_computed_elements_along_outer_axes(shape, axis, rng):
    x, y = T.tensor("x", "float64", shape=shape), T.tensor("y", "float64", shape=shape[2:])
    value, other = rng.normal(size=shape), rng.normal(size=shape[2:])
    f = tg.function([x, y], [T.argmax(x + y, axis=axis), T.argmin(T.sin(x) * y, axis=axis)])
    found = f(value, other)
    np.testing.assert_array_equal(found[0], (value + other).argmax(axis))
    np.testing.assert_array_equal(found[1], (np.sin(value) * other).argmin(axis))


@pytest.mark.parametrize("columns", [3, 8, 40, None])
def test_few_columns_are_looked_through_one_by_one(columns):
    x = T.tensor("x", "float64", shape=(50, columns))
    f = tg.function([x], T.argmax(x, axis=0))
    nodes = list(walk(f.stage("loop tree").nodes))
    assert any(isinstance(n, Columns) for n in nodes) == (columns != 3)
