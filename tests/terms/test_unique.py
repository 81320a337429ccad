"""`unique` by sorting and by tables beside NumPy's, of all numbers."""

import numpy as np
import pytest

import termgraph.tensor as T

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64"]


def numbers(dtype, n, far):
    rng = np.random.default_rng(n)
    x = (rng.normal(size=n) * 40).astype("int64" if dtype == "uint64" else dtype).astype(dtype)
    if np.dtype(dtype).kind == "f" and n > 3:
        x[rng.integers(0, n, n // 3)], x[0], x[1], x[2] = np.nan, np.inf, -0.0, 0.0
    if np.dtype(dtype).kind in "iu" and far and n:
        x[0], x[-1] = np.iinfo(dtype).min, np.iinfo(dtype).max
    return x


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("n", [0, 1, 7, 300])
@pytest.mark.parametrize("dtype", DTYPES)
def test_it_says_what_numpy_says(dtype, n, far):
    x = numbers(dtype, n, far)
    for equal_nan in (True, False):
        value = T.unique(x, equal_nan=equal_nan).eval()
        assert value.dtype == x.dtype
        np.testing.assert_array_equal(value, np.unique(x, equal_nan=equal_nan))
    all_of_it = T.unique(x.reshape(-1, 1), True, True, True)
    for found, right in zip([v.eval() for v in all_of_it], np.unique(x.reshape(-1, 1), True, True, True), strict=True):
        np.testing.assert_array_equal(found, right.reshape(found.shape))
        assert found.dtype == right.dtype
