"""Folds of whole numbers, truth values and masks, of any length: what NumPy says."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
LINKER = "auto"


@pytest.mark.parametrize("n", [0, 1, 7, 8191, 8192, 8193, 20000])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int8", "uint8", "bool", "float16"])
def test_counts_and_truth_values_of_any_length(n, dtype):
    rng = np.random.default_rng(n)
    values = (rng.normal(size=n) * 3).astype(dtype)
    x, m = T.vector("x", dtype=dtype), T.vector("m", dtype="bool")
    mask = rng.random(n) < 0.5
    outputs = [(x > 0).sum(), T.any(x > 2), T.all(x <= 2), T.any(x), T.all(m | (x >= 0)), (x * m).sum(), m.sum()]
    f = tg.function([x, m], outputs)
    given = [(values > 0).sum(), (values > 2).any(), (values <= 2).all(), values.any(), (mask | (values >= 0)).all()]
    given += [(values * mask).sum(dtype=f(values, mask)[5].dtype), mask.sum()]
    for found, right in zip(f(values, mask), given, strict=True):
        assert found.dtype == right.dtype or dtype == "float16"
        np.testing.assert_allclose(found.astype("f8"), right.astype("f8"), rtol=1e-2 if dtype == "float16" else 1e-5)
    where = n // 2
    if n > 2 and dtype != "bool":
        only = np.zeros(n, dtype)
        only[where] = 5
        assert bool(f(only, mask)[1]) and not bool(f(only, mask)[2])
