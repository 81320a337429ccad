"""Choices between computed values: what an arm reads is read before, so that gcc makes a loop of vectors of it."""

import re

import mpmath
import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

LINKER = "c"


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64"])
def test_arms_load_nothing(dtype):
    x, y, c = (T.vector(n, dtype=dtype) for n in "xyc")
    f = tg.function([x, y, c], T.switch(T.abs(x) <= 2, x * y + c, T.switch(T.neq(x, 1), y, x)))
    arms = re.findall(r"\?[^;]*;", f.source("c"))
    assert any("v" in arm for arm in arms) and not any("in1[" in arm or "in2[" in arm for arm in arms)
    a, b, d = (np.random.default_rng(k).integers(-4, 4, 33).astype(dtype) for k in range(3))
    np.testing.assert_allclose(f(a, b, d), np.where(np.abs(a) <= 2, a * b + d, np.where(a != 1, b, a)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_hypot_at_the_ends_of_its_range(dtype):
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    z = T.vector("z", dtype="complex64" if dtype == "float32" else "complex128")
    info = np.finfo(dtype)
    ends = [
        0,
        -0.0,
        1,
        np.inf,
        -np.inf,
        np.nan,
        info.max,
        info.tiny,
        info.smallest_subnormal,
        info.max / 2,
        1e18,
        1e-18,
    ]
    a, b = (v.ravel() for v in np.meshgrid(np.array(ends, dtype), np.array(ends, dtype)))
    with np.errstate(all="ignore"):
        expected = np.hypot(a, b)
    np.testing.assert_allclose(tg.function([x, y], T.hypot(x, y))(a, b), expected, rtol=2 * info.eps)
    pairs = np.empty(len(a), z.dtype)
    pairs.real, pairs.imag = a, b
    np.testing.assert_allclose(tg.function([z], T.abs(z))(pairs), expected, rtol=2 * info.eps)


def test_hypot_is_right_within_an_ulp():
    rng = np.random.default_rng(3)
    x, y = T.dvector("x"), T.dvector("y")
    f = tg.function([x, y], T.hypot(x, y))
    for scale in (1.0, 1e-160, 1e160, 1e-310):
        a, b = (rng.normal(size=400) * scale for _ in range(2))
        with mpmath.workprec(200):
            for p, q, r in zip(a, b, f(a, b)):
                right = mpmath.sqrt(mpmath.mpf(float(p)) ** 2 + mpmath.mpf(float(q)) ** 2)
                assert abs(mpmath.mpf(float(r)) - right) <= mpmath.mpf(float(np.spacing(r)))
