"""`sin` and `cos` of float32 in vectors of our own: right within their errors wherever the numbers are."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build import compilers
from termgraph.backends.c.text import sines
from termgraph.backends.c.text.prelude import needed

compiler = compilers.find_compiler()
pytestmark = pytest.mark.skipif(
    compiler is None
    or "clang" in compiler.identity
    or not {"sin", "cos"} <= compilers.libmvec()
    or not sines.variant("sinf"),
    reason="there are no vectors of 32 bytes, or no gcc and glibc",
)
NUMPY = {"sin": np.sin, "cos": np.cos}


@pytest.fixture(scope="module", params=[(False, ""), (True, ""), (False, "-mno-avx512f")])
def functions(request):
    strict, cflags = request.param  # products and sums joined, and apart
    x, mode = T.fvector("x"), tg.Mode(linker="c", strict=strict)
    with tg.config.change_flags(cflags=cflags):
        return {name: tg.function([x], getattr(T, name)(x), mode=mode) for name in NUMPY}


def whole(x):
    """Numbers that fill vectors: what is left over is libmvec's."""
    return x[: len(x) // 64 * 64].astype("float32")


def off(got, want):
    return np.abs(got - want) / np.ldexp(1.0, np.maximum(np.frexp(want)[1], -125) - 24)


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("end", [0.01, 1, 10, 1e4, 2**17])
def test_errors(functions, name, end):
    x = whole(np.random.default_rng(0).uniform(-end, end, 1 << 18))
    units = off(functions[name](x), NUMPY[name](x.astype(float)))
    assert units.max() <= 1.85 and units.mean() <= 0.42


@pytest.mark.parametrize("name", NUMPY)
def test_far_away(functions, name):
    """Beyond 2^17, up to the largest number, results are rounded once: also next to multiples of pi."""
    x = np.arange(0x48000001, 0x7F800000, 1511, dtype="uint32").view("float32")
    near = np.array([16367173 * 2.0**k for k in range(72, 75)] + [2.0**17, 131072.02])
    x = whole(np.concatenate([x, -x[::3], np.resize(near, 64)]))
    far = np.abs(x) > 2**17
    units = off(functions[name](x), NUMPY[name](x.astype(float)))[far]
    assert units.max() <= 0.57 and np.count_nonzero(units > 0.501) <= 64  # where a thread's share ends: libm's


@pytest.mark.parametrize("name", NUMPY)
def test_numbers_beside_far_ones(functions, name):
    """What a number gives does not depend on its neighbours."""
    x = whole(np.random.default_rng(0).normal(size=4096) * 50)
    mixed = x.copy()
    mixed[::3], mixed[1::7] = 1e30, np.inf
    same = np.isfinite(mixed) & (mixed != np.float32(1e30))
    with np.errstate(invalid="ignore"):
        assert np.array_equal(functions[name](mixed)[same], functions[name](x)[same])


def test_special_operands(functions):
    tiny = np.finfo("float32").tiny
    x = np.array([0, -0.0, tiny, -tiny, tiny / 8, -1e-45, 1e-20, np.nan, np.inf, -np.inf], "float32")
    with np.errstate(invalid="ignore"):
        for n in (1, 4, 8, 10, 160):
            v = np.resize(x, n)
            sin, cos = functions["sin"](v), functions["cos"](v)
            np.testing.assert_array_equal(sin, np.sin(v.astype(float)).astype("float32"))
            np.testing.assert_array_equal(np.signbit(sin[v == 0]), np.signbit(v[v == 0]))
            np.testing.assert_array_equal(cos, np.cos(v.astype(float)).astype("float32"))


def test_no_result_is_beyond_one(functions):
    """libmvec's are, by a last place, for some: an inverse sine of them is NaN."""
    quarters = (np.arange(40_000) * (np.pi / 2)).astype("float32")
    x = whole((quarters.view("int32")[:, None] + np.arange(-40, 41, dtype="int32")).ravel().view("float32")[64 * 41 :])
    for name in NUMPY:
        assert np.abs(functions[name](x)).max() == 1


def test_programs_hold_what_they_use():
    assert "TG_SINE_NAME(sinf)(" in needed("sinf") and "TG_SINE_NAME(cosf)(" not in needed("sinf")
    assert "TG_SINE" not in needed("sin") and "TG_SINE" not in needed("expf")


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_the_bits_do_not_tell_where_an_element_stands(name, rng):
    """What is left of a loop behind whole vectors goes in shorter ones; the last few are libm's, one by one."""
    x = T.fvector("x")
    f = tg.function([x], getattr(T, name)(x), mode=tg.Mode(linker="c"))
    given = rng.normal(size=16 * 500).astype("float32") * 10
    whole = f(given)
    for start in range(0, len(given) - 24, 8):
        np.testing.assert_array_equal(f(given[start : start + 24]), whole[start : start + 24])
