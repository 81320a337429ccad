"""Functions of float32 written out in C: how far they are off, and what becomes of zeros, infinities and NaNs."""

import platform

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.text import avx512, float32
from termgraph.config import config

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
WORST = {
    "exp": 1.7,
    "expm1": 1.7,
    "log1p": 1.7,
    "tanh": 2.1,
    "sigmoid": 2.6,
    "softplus": 2.7,
}  # units of the last place


def exact(name, x):
    """In double precision."""
    if name == "sigmoid":
        return np.where(x < 0, np.exp(x) / (1 + np.exp(np.minimum(x, 0))), 1 / (1 + np.exp(-x)))
    return np.logaddexp(0, x) if name == "softplus" else getattr(np, name)(x)


def of_bits(bits):
    return np.asarray(bits, "uint32").view("float32")


def special_points():
    """Zeros, the smallest numbers, infinities, NaNs, and all that is near where something overflows or vanishes."""
    near = [0.0, 1e-45, 1.1754944e-38, 1.0, 0.5, 0.34657359, 0.69314718, 9.01, 10.0, 16.6, 17.3, 18.0, 87.33, 88.02,
            88.72, 88.8, 103.28, 103.97, 104.0, 3.4028235e38, np.inf]  # fmt: skip
    bits = np.array(near, "float32").view("int32")[:, None] + np.arange(-300, 301)
    bits = np.concatenate([bits.ravel().clip(0), [0x7FC00000, 0x7F800001, 0x7FFFFFFF]])
    return of_bits(np.concatenate([bits, bits + 2**31]).astype("uint32"))


def compiled():
    x = T.fvector("x")
    functions = [tg.function([x], getattr(T, name)(x)) for name in WORST]
    for f, name in zip(functions, WORST):
        assert f"tg_own_{name}(" in f.source("c")
    return functions


def check(functions, points):
    for f, (name, most) in zip(functions, WORST.items()):
        with np.errstate(all="ignore"):
            want = exact(name, points.astype("float64"))
            near = want.astype("float32")
        got = f(points)
        plain = np.isfinite(near) & (want != 0)
        np.testing.assert_array_equal(got[~plain], near[~plain], err_msg=name)
        np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(near[want == 0]), err_msg=name)
        unit = np.ldexp(1.0, np.maximum(np.frexp(want[plain])[1], -125) - 24)
        off = np.abs(got[plain] - want[plain]) / unit
        assert off.max() < most, (name, points[plain][off.argmax()])


def test_a_million_numbers_and_every_special_one():
    sample = of_bits(np.arange(0, 2**32, 4211, dtype="uint64").astype("uint32"))
    small = np.random.default_rng(0).normal(0, 3, 200_000).astype("float32")
    check(compiled(), np.concatenate([sample, small, special_points()]))


@pytest.mark.slow
def test_thirty_million_numbers():
    functions = compiled()
    for start in range(0, 71, 20):
        check(functions, of_bits(np.arange(start, 2**32, 571, dtype="uint64").astype("uint32")))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a flag of x86 compilers")
def test_without_fused_multiply_add(monkeypatch):
    monkeypatch.setattr(config, "cflags", "-mno-fma")
    sample = of_bits(np.arange(7, 2**32, 40009, dtype="uint64").astype("uint32"))
    check(compiled(), np.concatenate([sample, special_points()]))


def test_a_value_depends_on_nothing_beside_it():
    points = np.linspace(-20, 20, 37).astype("float32")
    for f in compiled():
        together = f(points)
        apart = [f(points[k : k + 1])[0] for k in range(37)]
        np.testing.assert_array_equal(together, apart)


def test_loops_with_many_of_them_call_the_library():
    x = T.fvector("x")
    y = x
    for _ in range(float32.MANY + 1):
        y = T.tanh(y) * 1.5 + x
    f = tg.function([x], y)
    assert "tanhf(" in f.source("c") and "tg_own_" not in f.source("c")
    points = np.linspace(-1, 1, 50).astype("float32")
    np.testing.assert_allclose(f(points), tg.function([x], y, mode=tg.Mode(linker="py"))(points), rtol=1e-5)


def test_what_only_a_comment_names_is_not_in_the_text():
    """The text of tanh says by which m = expm1(...) it is computed, and calls no such function."""
    x = T.fvector("x")
    text = tg.function([x], T.tanh(x)).source("c")
    assert "tg_own_tanh" in text and "expm1(double" not in text and "_expm1(" not in text
    assert "_expm1(" in tg.function([x], T.expm1(x.astype("float64"))).source("c") or not avx512.variant("expm1")


def test_quick_compilation_has_them_too():
    x = T.fvector("x")
    f = tg.function([x], T.tanh(x) + T.exp(x), mode="FAST_COMPILE")
    points = np.linspace(-5, 5, 1000).astype("float32")
    np.testing.assert_allclose(f(points), np.tanh(points) + np.exp(points), rtol=1e-6, atol=1e-6)
    assert "tg_own_tanh(" in f.source("c")


@pytest.fixture(scope="module")
def logaddexp():
    x, y = T.fvector("x"), T.fvector("y")
    f = tg.function([x, y], T.logaddexp(x, y))
    assert "tg_own_logaddexp(" in f.source("c")
    return f


@pytest.mark.parametrize(("ends", "most"), [((-3, 3), 2.2), ((0, 1), 1.6), ((-20, 20), 1.3), ((-1e3, 1e3), 0.51)])
def test_errors_of_logaddexp(logaddexp, ends, most):
    a, b = np.random.default_rng(0).uniform(*ends, (2, 1 << 16)).astype("float32")
    got, want = logaddexp(a, b), np.logaddexp(a.astype(float), b.astype(float))
    off = np.abs(got - want) / np.ldexp(1.0, np.frexp(want)[1] - 24)
    assert off[np.abs(want) > 0.3].max() <= most  # both operands say how exact a result near 0 is


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_operands_of_logaddexp(logaddexp):
    points = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1e30, 3e38, -3e38, 1e-40, -103.5, -104.0], "float32")
    a, b = map(np.ravel, np.meshgrid(points, points))
    np.testing.assert_array_max_ulp(logaddexp(a, b), np.logaddexp(a, b), 1)
