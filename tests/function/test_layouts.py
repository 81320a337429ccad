"""Arguments that are not in row-major order: copied at first, then taken as they lie where that is faster."""

import ctypes
import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c import glue
from termgraph.backends.c.compilers import find_compiler
from termgraph.config import config
from termgraph.function.layouts import ORDERS, order_of
from termgraph.function.native import library_of

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"
SHAPE = (1024, 1032)
CALLS = (1 << 27) // (SHAPE[0] * SHAPE[1] * 8) + 2  # one more than copies are made
VALUES = np.random.default_rng(0).normal(size=SHAPE)
COLUMNS = np.asfortranarray(VALUES)

x, y = T.dmatrix("x"), T.dmatrix("y")


def copied(f):
    """Bytes copied so far, by order; negative: always copied."""
    seen = (ctypes.c_int64 * (2 * ORDERS)).from_address(library_of(f.maker).address("tg_orders"))
    return [int(n) for n in seen[ORDERS:]]


def forget(f):
    """Another test may have used the same library."""
    seen = (ctypes.c_int64 * (2 * ORDERS)).from_address(library_of(f.maker).address("tg_orders"))
    seen[:] = [0] * (2 * ORDERS)
    return f


def programs(f):
    """The orders that have a program of their own."""
    return [taken for found in f.__dict__.get("_in_order", {}).values() if found is not None for taken in [found[1]]]


@pytest.mark.parametrize(
    ("output", "pays"),
    [
        (x.sum(axis=0), True),
        (x.max(axis=1), True),
        ((x * x).sum(), True),
        (x - x.mean(axis=0), True),
        (T.dot(x.T, x[:, :7]), True),
        (T.exp(x).sum(axis=0), True),
        (T.exp(x), False),
        (T.nnet.softmax(x), False),
    ],
    ids=str,
)
def test_a_program_for_column_order_is_made_where_it_pays_and_once(output, pays):
    f = forget(tg.function([x], output))
    wanted = f(VALUES)
    for k in range(1, CALLS + 3):
        np.testing.assert_allclose(f(COLUMNS), wanted, rtol=1e-12, atol=1e-12)
        assert programs(f) == ([[(1, 0)]] if pays and k >= CALLS else [])
    assert copied(f)[0] == (COLUMNS.nbytes * (CALLS - 1) if pays else -1) and copied(f)[1:] == [0] * (ORDERS - 1)
    np.testing.assert_allclose(f(VALUES), wanted)
    np.testing.assert_allclose(f(COLUMNS[::2, ::-1]), f(VALUES[::2, ::-1].copy()), rtol=1e-12, atol=1e-12)
    assert copied(f)[1] == 0  # slices lie in no order: they are copied, and nobody asks


def test_only_some_of_the_arguments_lie_otherwise():
    s = T.dscalar("s")
    f = forget(tg.function([x, y, tg.In(s, value=2.0, name="s")], {"a": (x * y).sum(axis=1) * s, "b": y.sum()}))
    for _ in range(CALLS + 1):
        found = f(VALUES, y=COLUMNS, s=3.0)
    assert programs(f) == [[None, (1, 0), None]]
    np.testing.assert_allclose(found["a"], 3 * (VALUES * VALUES).sum(axis=1))
    np.testing.assert_allclose(found["b"], VALUES.sum())
    again = f(VALUES, COLUMNS)  # a default: answered with copies
    np.testing.assert_allclose(again["b"], VALUES.sum())
    np.testing.assert_allclose(f(VALUES, COLUMNS, 1.0, output_subset=["b"])["b"], VALUES.sum())


def test_updates_happen_once_and_failures_change_nothing():
    total, i = tg.shared(np.zeros(SHAPE[1]), "total"), T.lscalar("i")
    f = forget(tg.function([x, i], x.sum(axis=0)[i], updates=[(total, total + x.sum(axis=0))]))
    for _ in range(CALLS + 2):
        f(COLUMNS, 3)
    assert len(programs(f)) == 1
    np.testing.assert_allclose(total.get_value(), (CALLS + 2) * VALUES.sum(axis=0), rtol=1e-9, atol=1e-9)
    before = total.get_value()
    for _ in range(2):
        with pytest.raises(IndexError, match=rf"(?s)test_layouts.py.*index {SHAPE[1]} is out of bounds"):
            f(COLUMNS, SHAPE[1])
    np.testing.assert_array_equal(total.get_value(), before)


def test_few_orders_get_programs():
    t = T.tensor3("t", dtype="float64")
    f = forget(tg.function([t], t.sum(axis=(0, 2))))
    size = (64, 128, 129)
    values = np.random.default_rng(1).normal(size=size)
    wanted = values.sum(axis=(0, 2))
    for order in list(itertools.permutations(range(3)))[1:]:
        back = np.argsort(order)
        given = np.ascontiguousarray(values.transpose(order)).transpose(back)
        assert order_of(given, t.type) == order
        for _ in range((1 << 27) // given.nbytes + 2):
            np.testing.assert_allclose(f(given), wanted)
    assert 1 <= len(programs(f)) <= ORDERS and len(f.__dict__["_in_order"]) == ORDERS
    assert all(n != 0 for n in copied(f))


def test_small_arrays_and_the_flag_leave_things_as_they_are():
    f = forget(tg.function([x], x.sum(axis=0) + 1))
    for _ in range(200):
        f(np.asfortranarray(VALUES[:20, :20]))
    assert copied(f) == [0] * ORDERS and not programs(f)
    with config.change_flags(relayout=False):
        g = tg.function([x], x.sum(axis=0) + 1)
    for _ in range(CALLS + 1):
        g(COLUMNS)
    assert not programs(g) and "tg_orders" not in g.source("c")


def test_the_same_through_ctypes(monkeypatch):
    monkeypatch.setattr(glue, "_provider", glue.load_fallback())
    f = forget(tg.function([x], x.sum(axis=0) * 3))
    for _ in range(CALLS + 1):
        found = f(COLUMNS)
    assert programs(f) == [[(1, 0)]]
    np.testing.assert_allclose(found, VALUES.sum(axis=0) * 3, atol=1e-9)


def test_what_counts_as_an_order():
    m = x.type
    assert order_of(COLUMNS, m) == (1, 0) and order_of(VALUES, m) is None
    for other in (
        COLUMNS[::2],
        COLUMNS[:, ::-1],
        np.broadcast_to(1.0, (9, 9)),
        COLUMNS.astype("f4"),
        [[1.0]],
        COLUMNS[:0],
    ):
        assert order_of(other, m) is None
    assert order_of(np.ones((5, 1)).T, m) is None and order_of(np.ones((1, 5)).T, m) is None
