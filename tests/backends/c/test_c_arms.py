"""Choices between computed values: what an arm reads is read before, so that gcc makes a loop of vectors of it."""

import re
import struct
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy.special

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler, libmvec
from termgraph.backends.c.build.program_library import build_library
from termgraph.backends.c.generate import generate
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.term import Arg, mk
from termgraph.terms.types import TensorType

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


ARMS = {
    "then": (lambda c, x: T.switch(c, T.log(x), -1), lambda c, x: np.where(c, np.log(x), -1)),
    "otherwise": (lambda c, x: T.switch(c, x, T.sqrt(T.exp(x))), lambda c, x: np.where(c, x, np.sqrt(np.exp(x)))),
    "both": (lambda c, x: T.switch(c, T.arccosh(x), T.tan(x)), lambda c, x: np.where(c, np.arccosh(x), np.tan(x))),
    "within": (
        lambda c, x: T.switch(c, T.switch(x > 1, x * T.log1p(x), T.arcsin(x)), T.abs(x) ** 1.5),
        lambda c, x: np.where(c, np.where(x > 1, x * np.log1p(x), np.arcsin(x)), np.abs(x) ** 1.5),
    ),
    "shared": (lambda c, x: T.switch(c, T.log(x), -1) + T.log(x), lambda c, x: np.where(c, np.log(x), -1) + np.log(x)),
    "power": (lambda c, x: T.switch(c, x**0.3, 7), lambda c, x: np.where(c, x**0.3, 7)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ARMS)
def test_functions_in_arms_get_harmless_arguments_where_the_arm_is_not_taken(name, dtype):
    build, expected = ARMS[name]
    x, c = T.matrix("x", dtype=dtype), T.bmatrix("c")
    values = np.array([0, -0.0, 0.3, 0.9, 1, 1.4, 7, 88, np.inf, -0.4, -1, -3, -np.inf, np.nan] * 3, dtype)
    chosen = np.random.default_rng(0).integers(0, 2, values.size).astype("int8")
    a, b = np.stack([values, values[::-1]]), np.stack([chosen, 1 - chosen])
    wide = a.astype("float64") if dtype == "float16" else a
    conditions = [(T.neq(c, 0), b != 0), (x > 0, a > 0), (T.neq(c[:, 0], 0)[:, None], b[:, :1] != 0)]
    for condition, truths in conditions:
        f = tg.function([c, x], build(condition, x), on_unused_input="ignore")
        assert ("tg_taken(" in f.source("c")) == (name != "shared" and dtype != "float16")
        with np.errstate(all="ignore"):
            want = expected(truths, wide).astype(dtype)
        np.testing.assert_allclose(f(b, a), want, rtol=40 * np.finfo(dtype).eps)


def test_a_condition_with_more_elements_than_the_argument_changes_nothing():
    x, c = T.dvector("x"), T.dmatrix("c")
    f = tg.function([c, x], T.switch(c > 0, T.log(x), 0))
    assert "tg_taken(" not in f.source("c")
    a, b = np.array([0.5, 2.0, 9.0]), np.random.default_rng(0).normal(size=(4, 3))
    np.testing.assert_allclose(f(b, a), np.where(b > 0, np.log(a), 0))


@pytest.mark.skipif("gcc" not in str(find_compiler()) or "log" not in libmvec(), reason="no vector functions")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (1, None), (None, 1), (None, None)])
@pytest.mark.parametrize("op", [ew.sin, ew.cos, ew.log, ew.exp2, ew.arctan])
def test_choices_with_functions_are_vector_loops(op, shape, dtype):
    """By one condition for all elements, too: the library has the vector version, and not only the one for a number."""
    x, c = Arg(0, TensorType.of(dtype, (None, None))), Arg(1, TensorType.of("bool", shape))
    condition = c if shape else mk(dimshuffle.bind(order=("x", "x")), (c,))
    program = generate([x, c], [ew.switch(condition, op(x), x)])
    built = build_library(program.source, "f", flags=program.flags, libraries=program.libraries)
    name = {"arctan": "atan"}.get(op.name, op.name) + "f" * (dtype == "float32")
    assert re.search(rb"_ZGV\w+v_" + name.encode() + rb"\b", Path(built.path).read_bytes())


def segments(path):
    """What may be done in each part of a library that is loaded: 4 read, 2 write, 1 run, added up."""
    raw = Path(path).read_bytes()
    place, (size, count) = struct.unpack_from("<Q", raw, 32)[0], struct.unpack_from("<HH", raw, 54)
    heads = [struct.unpack_from("<II", raw, place + i * size) for i in range(count)]
    return [flags for kind, flags in heads if kind == 1]


@pytest.mark.skipif("gcc" not in str(find_compiler()), reason="other linkers lay libraries out in their own way")
def test_constants_of_masked_loads_are_in_pages_that_are_there():
    """A load for no element from a page that was never touched takes the processor 600 cycles, each time."""
    x = Arg(0, TensorType.of("float64", (None,)))
    program = generate([x], [ew.xlogy(x, x)])
    found = segments(build_library(program.source, "f", flags=program.flags, libraries=program.libraries).path)
    assert 5 in found and 4 not in found  # constants are where what runs is, not in pages of their own


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_times_zero(dtype):
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    values = np.array([0, -0.0, 1, 0.3, -0.5, -1, -2, np.inf, -np.inf, np.nan, 1e-45, 7], dtype)
    a, b = (v.ravel() for v in np.meshgrid(values, values))
    got, want = tg.function([x, y], T.xlogy(x, y))(a, b), scipy.special.xlogy(a, b)
    np.testing.assert_allclose(got, want, rtol=8 * np.finfo(dtype).eps)
