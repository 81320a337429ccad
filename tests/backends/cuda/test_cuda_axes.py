"""Running sums and sorting along long rows: by blocks that walk along them, by chunks, by digits."""

import numpy as np
import pytest
from backends.cuda.cudacases import no_emulation

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
pytestmark = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")
ROWS = [(1, 2049), (3, 20000), (100, 2500), (96, 5000)]


@pytest.mark.parametrize("rows, n", ROWS)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_running_sums_of_long_rows(gpu, rng, dtype, rows, n):
    x = T.matrix("x", dtype=dtype)
    xs = (rng.standard_normal((rows, n)) * 5).astype(dtype)
    f = tg.function([x], [T.cumsum(x, 1), T.cumsum(x[:, ::-1], 1)])
    exact = xs.astype("float64") if dtype == "float32" else xs
    results = f(xs)
    assert not f.on_cpu()
    for got, want in zip(results, (exact, exact[:, ::-1])):
        np.testing.assert_allclose(got, np.cumsum(want, 1), rtol=1e-5, atol=2e-3)
    for got, again in zip(results, f(xs)):
        np.testing.assert_array_equal(got, again)  # to the last bit


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float16", "int8", "bool"])
def test_running_sums_and_products_by_dtype(gpu, rng, dtype):
    x = T.matrix("x", dtype=dtype)
    xs = (rng.standard_normal((2, 9000)) / 9 + (dtype != "float16")).astype(dtype)
    sums = tg.function([x], T.cumsum(x, 1))(xs)
    want = np.cumsum(xs.astype("float64") if dtype == "float16" else xs, 1)
    np.testing.assert_allclose(sums, want, rtol=2e-3 if dtype == "float16" else 1e-10, atol=0.02)
    if dtype in ("float64", "complex128"):
        near = 1 + xs / 1e4
        np.testing.assert_allclose(tg.function([x], T.cumprod(x, 1))(near), np.cumprod(near, 1), rtol=1e-9)


def _rough(rng, dtype, shape):
    """Equal numbers, and what floats have besides: NaN of both signs, infinities, zeros of both signs."""
    wide = rng.standard_normal(shape) * 100
    kind = np.dtype(dtype).kind
    xs = np.abs(wide).astype(dtype) if kind in "ub" else wide.astype(dtype)
    if kind not in "iub":
        for k, value in enumerate((np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0)):
            xs[:, k::97] = value
    return xs


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "bool", "int16", "uint32", "int64", "uint64"],
)
def test_long_rows_are_sorted_by_digits(gpu, rng, dtype):
    x = T.matrix("x", dtype=dtype)
    xs = _rough(rng, x.type.np_dtype, (2, 8500))
    if dtype in ("int64", "uint64"):
        xs[:, ::3] = xs[:, ::3] << 40
    f = tg.function([x], [T.sort(x, 1), T.argsort(x, 1), T.sort(x.T, 0), T.argsort(x.T, 0)])
    got = f(xs)
    assert not f.on_cpu() and "_moved" in f.source("cuda")
    exact = xs.astype("float64") if xs.dtype.kind not in "iub" else xs
    np.testing.assert_array_equal(got[0].astype(exact.dtype), np.sort(exact, 1))
    np.testing.assert_array_equal(got[1], np.argsort(exact, 1, kind="stable"))
    np.testing.assert_array_equal(got[2].astype(exact.dtype), np.sort(exact, 1).T)
    np.testing.assert_array_equal(got[3], got[1].T)


def test_zeros_of_both_signs_stay_in_sorted_rows(gpu):
    x = T.fvector("x")
    xs = np.where(np.arange(9000) % 3 == 0, -0.0, 0.0).astype("float32")
    found = tg.function([x], T.sort(x))(xs)
    assert np.signbit(found).sum() == 3000
