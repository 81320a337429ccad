"""Costly functions of a row's folds are computed for a block of rows at once; nothing else changes."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"

x, m, k = T.dvector("x"), T.dmatrix("m"), T.lvector("k")


def logsumexp(a):
    top = a.max(axis=1, keepdims=True)
    return T.log(T.exp(a - top).sum(axis=1)) + top[:, 0]


CASES = {
    "log of a sum": (T.log((m * m).sum(axis=1)), True),
    "log-sum-exp": (logsumexp(m), True),
    "tanh of a mean": (T.tanh(m.mean(axis=1)) * x, True),
    "a power of an index's row": (T.exp(-m.max(axis=1)) + m.argmin(axis=1), True),
    "float32": (T.log(T.cast(m, "float32").sum(axis=1) + 40), True),
    "a plain sum": (m.sum(axis=1) * 2, False),
    "used inside the row": (m - T.log(T.exp(m).sum(axis=1, keepdims=True)), False),
    "over columns": (T.log((m * m).sum(axis=0)), False),
    "one number": (T.log((m * m).sum()), False),
}


u, three = T.dmatrix("u"), T.dtensor3("three")
INSIDE = {
    "kernel of distances": ([u], T.exp(-((u[:, None] - u[None]) ** 2).sum(2) / 2), 1),
    "two folds": ([u], T.exp(-abs(u[:, None] - u[None]).sum(2)) * T.tanh((u[:, None] * u[None]).max(2)), 1),
    "deeper": ([three], T.log(1 + abs(three[:, :, None] - three[:, None]).sum(3)), 1),
    "no function": ([u], ((u[:, None] - u[None]) ** 2).sum(2), 0),
    "added up": ([u], T.exp(-((u[:, None] - u[None]) ** 2).sum(2)).sum(1), 0),
    "float32": ([u], T.exp(-((T.cast(u, "float32")[:, None] - u[None].astype("float32")) ** 2).sum(2)), 1),
}


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize("columns", [1, 3, 8, 9, 40])
def test_loops_inside_are_divided_where_functions_follow_their_folds(name, columns):
    inputs, output, divided = INSIDE[name]
    f = tg.function(inputs, output)
    assert ("folds0[" in f.source("c")) == bool(divided)
    given = np.random.default_rng(columns).normal(size=(2, 5, columns)[3 - inputs[0].ndim :])
    wanted = tg.function(inputs, output, mode=tg.Mode(linker="py"))(given)
    np.testing.assert_allclose(f(given), wanted, rtol=2e-5 if name == "float32" else 1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 200])
def test_values_are_those_of_numpy(name, rows):
    output, tiled = CASES[name]
    given = np.random.default_rng(rows).normal(size=(rows, 7))
    wants_rows = name == "tanh of a mean"
    inputs, values = ([m, x], [given, np.arange(float(rows))]) if wants_rows else ([m], [given])
    f = tg.function(inputs, output)
    assert ("tile0" in f.source("c")) == tiled and f.source("c").count("tg_each(c, kernel") <= 2
    if rows or not tiled:
        wanted = tg.function(inputs, output, mode=tg.Mode(linker="py"))(*values)
        np.testing.assert_allclose(f(*values), wanted, rtol=2e-5 if name == "float32" else 1e-12, atol=1e-12)
    else:
        assert f(*values).shape == (0,) or f(*values).ndim == 0


def test_a_choice_that_is_made_with_the_folds_is_carried_over():
    f = tg.function([m], T.log2(T.inc_subtensor(T.logsumexp(m, axis=1)[-3:-3], 2)))
    given = np.random.default_rng(0).normal(size=(70, 7)) + 3
    np.testing.assert_allclose(f(given), np.log2(np.log(np.exp(given).sum(axis=1))), rtol=1e-12)


def test_several_results_of_one_row_and_threads():
    rows = 5000
    values = np.random.default_rng(0).normal(size=(rows, 33))
    f = tg.function([m], [logsumexp(m), T.exp(m.sum(axis=1)), m.sum(axis=1), m * m.max(axis=1, keepdims=True)])
    top = values.max(axis=1, keepdims=True)
    log = np.log(np.exp(values - top).sum(axis=1)) + top[:, 0]
    wanted = [log, np.exp(values.sum(axis=1)), values.sum(axis=1), values * top]
    for found, right in zip(f(values), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12)


def test_an_index_out_of_bounds_in_a_row_is_still_found():
    f = tg.function([m, k], T.log(T.exp(m[k]).sum(axis=1)))  # this line
    values = np.ones((9, 4))
    np.testing.assert_allclose(f(values, np.arange(9)), 1 + np.log(4))
    with pytest.raises(IndexError, match=r"(?s)# this line.*index 9 is out of bounds"):
        f(values, np.array([0, 9]))


def test_updates_in_place_see_the_old_rows():
    w = tg.shared(np.ones((200, 5)), "w")
    f = tg.function([], T.log(w.sum(axis=1)), updates=[(w, w * T.exp(-w.sum(axis=1, keepdims=True)))])
    first, second = f(), f()
    np.testing.assert_allclose(first, np.full(200, np.log(5.0)))
    np.testing.assert_allclose(second, np.full(200, np.log(5.0) - 5.0))


def test_the_work_that_threads_are_asked_for_counts_loops_inside():
    source = tg.function([m], m.sum(axis=1)).source("c")
    (call,) = [line for line in source.splitlines() if "tg_each(c, kernel" in line]
    assert "n0_0, " in call and "*n0_1" in call.partition("n0_0, ")[2]
