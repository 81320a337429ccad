"""What loops cost beside their elements: lengths, and what is the same for all rows, are computed once; no index is
divided where loops can do without."""

import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

C = tg.Mode(linker="c")
compiler = find_compiler()
pytestmark = pytest.mark.skipif(compiler is None, reason="no C compiler")


def kernels(f):
    """The text of a function's loops."""
    text = f.source("c")
    return text[text.index("static void kernel0") : text.index("TG_EXPORT int tg_plan")]


def square(n):
    return np.arange(float(n * n)).reshape(n, n)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_lengths_are_computed_in_front_of_the_loops(name):
    x = T.dmatrix("x")
    f = tg.function([x], getattr(T.fft, name)(x), mode=C)
    assert not re.search(r"for \([^;]*; [^;]*\(", kernels(f)), "the compiler makes no vectors of such a loop"
    for n in (0, 1, 2, 5, 6):
        np.testing.assert_array_equal(f(square(n)), getattr(np.fft, name)(square(n)))


@pytest.mark.parametrize("case", ["bits", "transposed"])
def test_a_vector_made_of_a_matrix_is_written_by_its_loops(case):
    if case == "bits":
        x, values = T.tensor("x", dtype="uint8", shape=(None,)), np.arange(256, dtype="uint8")
        f, wanted = tg.function([x], T.unpackbits(x), mode=C), np.unpackbits(values)
    else:
        x, values = T.dmatrix("x"), np.arange(12.0).reshape(3, 4)
        f, wanted = tg.function([x], T.exp(x.T).ravel(), mode=C), np.exp(values.T).ravel()
    assert not re.search(r"[/%] \(", kernels(f))
    np.testing.assert_allclose(f(values), wanted, rtol=1e-15)
    assert f(values[:0]).shape == (0,)


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_diagonals_are_written_without_a_branch(k):
    x = T.dvector("x")
    f = tg.function([x], T.diag(x, k), mode=C)
    assert "if (v" not in kernels(f)
    for n in (0, 1, 5):
        v = np.arange(float(n)) * np.nan if n == 1 else np.arange(float(n)) + 1
        np.testing.assert_array_equal(f(v), np.diag(v, k))


def test_the_largest_and_its_place_are_looked_for_apart():
    """Numbers are compared as vectors where a loop looks for places only."""
    x = T.dmatrix("x")
    f = tg.function([x], T.max_and_argmax(x, axis=1), mode=C)
    assert "tg_argmax_f64(" in kernels(f)
    values = np.random.default_rng(0).standard_normal((5, 70))
    values[1, 3] = values[2, 0] = np.nan
    largest, place = f(values)
    np.testing.assert_array_equal(largest, values.max(1))
    np.testing.assert_array_equal(place, values.argmax(1))


def test_roots_and_quotients_of_a_row_are_not_computed_for_every_row():
    x, scale = T.dmatrix("x"), T.dvector("scale")
    f = tg.function([x, scale], (x - T.mean(x, axis=0)) / T.sqrt(T.var(x, axis=0) + 1e-5) * scale, mode=C)
    last = kernels(f).rpartition("static void kernel")[2]
    assert "sqrt" not in last and last.count(" / ") <= 1
    values, scales = np.random.default_rng(0).standard_normal((7, 5)), np.arange(5.0)
    wanted = (values - values.mean(0)) / np.sqrt(values.var(0) + 1e-5) * scales
    np.testing.assert_allclose(f(values, scales), wanted, rtol=1e-13)
    assert f(values[:, :0], scales[:0]).shape == (7, 0)


def test_what_is_copied_to_all_rows_is_computed_once():
    """Also where the statement that copies it is nothing but that: a row over rows of another array, or added there."""
    x, v, w, u = T.dmatrix("x"), *T.dvectors("v", "w", "u")
    rows, v_, w_, u_ = np.ones((5, 3)), *np.random.default_rng(0).uniform(1, 2, (3, 3))
    for write, wanted in ((T.set_subtensor, 0), (T.inc_subtensor, 1)):
        f = tg.function([x, v, w, u], write(x[1:], v / w / u), mode=C)
        over = kernels(f).rpartition("static void kernel")[2]
        assert " / " not in over
        got = f(rows, v_, w_, u_)
        np.testing.assert_allclose(got[1:], np.broadcast_to(wanted + v_ / w_ / u_, (4, 3)), rtol=1e-15)
        np.testing.assert_array_equal(got[0], 1)
        assert f(rows[:1], v_, w_, u_).shape == (1, 3)


def test_windows_spread_back_are_computed_once_for_each_row_of_them(rng):
    """The gradient of averages of uneven windows: which windows a column is in does not depend on the row."""
    x = T.tensor4("x", dtype="float64")
    f = tg.function([x], T.grad((T.nnet.adaptive_avg_pool2d(x, 3) ** 2).sum(), x), mode=C)
    for kernel in f.source("c").partition("TG_EXPORT int tg_plan")[0].split("void kernel")[1:]:
        if "out0[" in kernel:
            assert " / " not in kernel and "if (v" not in kernel
    images = rng.normal(size=(2, 3, 7, 8))
    plain = tg.function([x], T.grad((T.nnet.adaptive_avg_pool2d(x, 3) ** 2).sum(), x), mode=tg.Mode(linker="vm"))
    np.testing.assert_allclose(f(images), plain(images), rtol=1e-13)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "uint8"])
def test_whole_numbers_are_divided_as_numpy_does(dtype):
    """Short ones by a shorter instruction; the ends of the types, zeros and what lies about 2**32 by the long one."""
    info = np.iinfo(dtype)
    edges = [
        info.min,
        info.min + 1,
        0,
        1,
        2,
        7,
        info.max - 1,
        info.max,
        -1,
        -2,
        -7,
        2**32 - 1,
        2**32,
        2**32 + 5,
        -(2**32),
    ]
    some = np.array([v for v in edges if info.min <= v <= info.max], dtype)
    drawn = np.random.default_rng(0).integers(info.min, info.max, 500, dtype=dtype)
    a, b = (m.ravel() for m in np.meshgrid(np.concatenate([some, drawn]), some))
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    f = tg.function([x, y], [x // y, x % y, T.fmod(x, y)], mode=C)
    with np.errstate(all="ignore"):
        for got, wanted in zip(f(a, b), (a // b, a % b, np.fmod(a, b)), strict=True):
            np.testing.assert_array_equal(got, wanted)
