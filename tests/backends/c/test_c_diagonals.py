"""What is on a diagonal is stored after the rest of its row, without comparing places."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
LINKER = "c"
DTYPES = ["float64", "float32", "float16", "int8", "int64", "bool", "complex64"]


def kernels(f):
    return f.source("c").split("/* ---- the program ---- */")[1].split("tg_plan")[0]


@pytest.mark.parametrize("k", [-20, -3, -1, 0, 1, 4, 20])
@pytest.mark.parametrize("dtype", DTYPES)
def test_diagonals_of_vectors(dtype, k, rng):
    x = T.vector("x", dtype=dtype)
    f = tg.function([x], T.diag(x, k))
    for n in (0, 1, 2, 7, 33):
        a = (rng.normal(size=n) * 5).astype(dtype)
        np.testing.assert_array_equal(f(a), np.diag(a, k))
    assert " == " not in kernels(f)


@pytest.mark.parametrize("dtype", DTYPES)
def test_diagonals_of_matrices_that_are_written(dtype, rng):
    x, v = T.matrix("x", dtype=dtype), T.scalar("v", dtype=dtype)
    f = tg.function([x, v], [T.fill_diagonal(x, v), T.identity_like(x), T.switch(T.eye(*x.shape, dtype="bool"), v, x)])
    for shape in ((0, 0), (1, 1), (3, 5), (5, 3), (40, 40), (2, 70)):
        a, b = (rng.normal(size=shape) * 5).astype(dtype), np.asarray(3, dtype)[()]
        eye = np.eye(*shape, dtype=bool)
        for got, want in zip(f(a, b), (np.where(eye, b, a), eye.astype(dtype), np.where(eye, b, a)), strict=True):
            np.testing.assert_array_equal(got, want)


def test_elements_from_elsewhere_and_known_lengths(rng):
    x, y = T.dmatrix("x"), T.dmatrix("y")
    eye = T.eye(x.shape[0], x.shape[1], dtype="bool")
    small = T.tensor("z", dtype="float64", shape=(4, 9))
    results = [T.switch(eye, y, x), T.switch(eye, x, y[:, ::-1]), T.switch(eye, T.exp(y), x), T.switch(eye, 2.0, small)]
    f = tg.function([x, y, small], results)
    a, b = rng.normal(size=(4, 9)), rng.normal(size=(4, 9))
    e = np.eye(4, 9, dtype=bool)
    wanted = [np.where(e, b, a), np.where(e, a, b[:, ::-1]), np.where(e, np.exp(b), a), np.where(e, 2.0, a)]
    for got, want in zip(f(a, b, a), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_updates_in_place_read_what_was_there(rng):
    a = rng.normal(size=(6, 6))
    s, t = tg.shared(a.copy()), tg.shared(a.copy())
    eye = T.eye(6, dtype="bool")
    f = tg.function([], [], updates={s: T.switch(eye, t, s * 1.0), t: T.switch(eye, s[:, ::-1], t)})
    g = tg.function([], [], updates={s: T.switch(eye, s.T[::-1], 0.0)})
    f(), g()
    e = np.eye(6, dtype=bool)
    np.testing.assert_array_equal(t.get_value(), np.where(e, a[:, ::-1], a))
    np.testing.assert_array_equal(s.get_value(), np.where(e, np.where(e, a, a).T[::-1], 0.0))


@pytest.mark.parametrize("step", [1, 2, -2, 3])
def test_all_that_is_asked_besides_the_place(step, rng):
    """Every second row read backwards: that a row is within, and that it is one of these."""
    given, z = T.tensor("given", "float64", shape=(None, 3)), T.vector("z")
    rows = T.set_subtensor(T.zeros((given.shape[0], 3))[::step, 1], z)
    ys, _ = tg.scan(lambda x, h: h * 0.5 + x, sequences=rows[::-1], outputs_info=T.zeros(3))
    value = np.zeros((8, 3))
    values = value, rng.standard_normal(len(value[::step]))
    found = tg.function([given, z], ys, mode=tg.Mode(linker="c"))(*values)
    value[::step, 1] = values[1]
    h, expected = np.zeros(3), []
    for x in value[::-1]:
        h = h * 0.5 + x
        expected.append(h)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
