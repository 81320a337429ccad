"""Arguments that are not in row-major order: copied at first, then taken as they lie where that is faster."""

import ctypes
import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.run import glue
from termgraph.backends.c.run.argument_orders import ORDERS, Layout, layout_of
from termgraph.config import config
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
    """The layouts that have a program of their own."""
    known = f.__dict__["_programs"].known if "_programs" in f.__dict__ else {}
    return [list(found.taken) for found in known.values() if found is not None]


COLUMN_ORDER = Layout((1, 0), (0, 0))


@pytest.mark.parametrize(
    ("output", "pays"),
    [
        (x.sum(axis=0), True),
        (x.max(axis=1), True),
        ((x * x).sum(), True),
        (x - x.mean(axis=0), True),
        (T.dot(x.T, x[:, :7]), True),
        (T.exp(x).sum(axis=0), True),
        (T.exp(x), True),
        (T.exp(x) + x.ravel()[0], True),
        (T.nnet.softmax(x), False),
    ],
    ids=str,
)
def test_a_program_for_column_order_is_made_where_it_pays_and_once(output, pays):
    f = forget(tg.function([x], output))
    wanted = f(VALUES)
    for k in range(1, CALLS + 3):
        np.testing.assert_allclose(f(COLUMNS), wanted, rtol=1e-12, atol=1e-12)
        assert programs(f) == ([[COLUMN_ORDER]] if pays and k >= CALLS else [])
    assert copied(f)[0] == (COLUMNS.nbytes * (CALLS - 1) if pays else -1) and copied(f)[1:] == [0] * (ORDERS - 1)
    np.testing.assert_allclose(f(VALUES), wanted)
    np.testing.assert_allclose(f(COLUMNS[::2, ::-1]), f(VALUES[::2, ::-1].copy()), rtol=1e-12, atol=1e-12)
    assert copied(f)[1] == COLUMNS.nbytes // 2  # they lie in another way


def test_only_some_of_the_arguments_lie_otherwise():
    s = T.dscalar("s")
    f = forget(tg.function([x, y, tg.In(s, value=2.0, name="s")], {"a": (x * y).sum(axis=1) * s, "b": y.sum()}))
    for _ in range(CALLS + 1):
        found = f(VALUES, y=COLUMNS, s=3.0)
    assert programs(f) == [[None, COLUMN_ORDER, None]]
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


def test_few_layouts_get_programs():
    t = T.tensor3("t", dtype="float64")
    f = forget(tg.function([t], t.sum(axis=(0, 2))))
    values = np.random.default_rng(1).normal(size=(64, 128, 129))
    views = [values[::-1], values[:, ::-1], values[:, :, ::-1], values[::-1, :, ::-1]]
    for order in list(itertools.permutations(range(3)))[1:]:
        views.append(np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order)))
        assert layout_of(views[-1], t.type) == Layout(order, (0, 0, 0))
    assert len(views) == ORDERS + 1
    for given in views:
        wanted = given.sum(axis=(0, 2))
        for _ in range((1 << 27) // given.nbytes + 2):
            np.testing.assert_allclose(f(given), wanted)
    assert 1 <= len(programs(f)) <= ORDERS and len(f.__dict__["_programs"].known) == ORDERS
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
    assert programs(f) == [[COLUMN_ORDER]]
    np.testing.assert_allclose(found, VALUES.sum(axis=0) * 3, atol=1e-9)


def test_what_counts_as_a_layout():
    m = x.type
    for given, order, kinds in (
        (COLUMNS, (1, 0), (0, 0)),
        (VALUES[::2], (0, 1), (4, 0)),
        (VALUES[:, ::2], (0, 1), (0, 3)),
        (VALUES[:, :9], (0, 1), (4, 0)),
        (VALUES[:, ::-1], (0, 1), (0, 2)),
        (VALUES[::-1], (0, 1), (2, 0)),
        (VALUES[::-2], (0, 1), (5, 0)),
        (VALUES[:, ::3], (0, 1), (0, 4)),
        (COLUMNS[::2, ::-1], (1, 0), (2, 3)),
        (np.broadcast_to(VALUES[0], SHAPE), (0, 1), (1, 0)),
        (np.broadcast_to(VALUES[:, :1], SHAPE), (0, 1), (4, 1)),
        (np.broadcast_to(1.0, SHAPE), (0, 1), (1, 1)),
    ):
        assert layout_of(given, m) == Layout(order, kinds)
    odd = np.zeros(8 * 81 + 1, "u1")[1:].view("f8").reshape(9, 9).T
    for other in (COLUMNS.astype("f4"), [[1.0]], COLUMNS[:0], odd, np.ones((5, 1)).T, np.ones((1, 5)).T, VALUES):
        assert layout_of(other, m) is None


VIEWS = {
    "[::2]": VALUES[::2],
    "[:, ::2]": VALUES[:, ::2],
    "[:, ::-1]": VALUES[:, ::-1],
    "[::-1]": VALUES[::-1],
    "[::-3, 5:900]": VALUES[::-3, 5:900],
    ".T": VALUES.T,
    ".T[::2, ::-1]": VALUES.T[::2, ::-1],
    "row": np.broadcast_to(VALUES[3], SHAPE),
    "column": np.broadcast_to(VALUES[:, 3:4], SHAPE),
    "overlapping": np.lib.stride_tricks.sliding_window_view(VALUES.ravel()[:1500], 700),
}


@pytest.mark.parametrize("name", VIEWS)
def test_every_layout_gives_what_a_copy_gives(name):
    view, total = VIEWS[name], tg.shared(0.0, "total")
    outputs = [2 * x + 1, T.exp(x).sum(axis=0), x / x.sum(axis=1, keepdims=True), x.max(), T.dot(x, x[:7].T)]
    f = tg.function([x], outputs, updates=[(total, total + x[0, 0])])
    wanted, got = f(view.copy()), f._with_layout(view)
    for a, b in zip(wanted, got):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(total.get_value(), 2 * view[0, 0])


def test_results_of_transposed_arguments_are_transposed_if_they_are_made_element_by_element():
    f = tg.function([x, y], {"a": 2 * x + y, "b": x.sum(axis=0)})
    found = f._with_layout(COLUMNS, COLUMNS)
    assert found["a"].flags.f_contiguous and not found["a"].flags.c_contiguous
    np.testing.assert_array_equal(found["a"], 3 * VALUES)
    np.testing.assert_allclose(found["b"], VALUES.sum(axis=0))
    mixed = f._with_layout(COLUMNS, VALUES)
    assert mixed["a"].flags.c_contiguous
    np.testing.assert_array_equal(mixed["a"], 3 * VALUES)


ORDERS_OF_RESULTS = {  # what is computed of a cube c and matrices x, y, and its axes from the slowest to the fastest
    "c.T": (2, 1, 0),
    "c.transpose(2, 0, 1) * 2": (1, 2, 0),
    "T.moveaxis(c, 0, 1) + T.exp(T.swapaxes(c, 0, 1))": (1, 0, 2),
    "T.exp(x.T[1:, ::2])": (1, 0),
    "x.T + y.T": (1, 0),
    "x.T * T.arange(1032)[:, None]": (1, 0),
    "T.dot(x, y.T).T": (1, 0),
    "x.T.T": (0, 1),
    "x.T[:, None] * 2 + c[0, 0, 0]": (2, 0, 1),
    "x + y[::-1]": (0, 1),
    "T.dot(x, y.T) + T.dot(y, x.T).T": (0, 1),  # they do not agree
    "T.cumsum(x.T, axis=0)": (0, 1),
}


@pytest.mark.parametrize("module", [glue.load_glue, glue.load_fallback], ids=["native", "ctypes"])
def test_results_of_transposes_are_transposed_as_in_numpy(module, monkeypatch):
    monkeypatch.setattr(glue, "_provider", module())
    c, cube = T.dtensor3("c"), np.random.default_rng(1).normal(size=(3, 4, 5))
    outputs = {text: eval(text, {"T": T, "x": x, "y": y, "c": c}) for text in ORDERS_OF_RESULTS}
    found = tg.function([x, y, c], outputs)(VALUES, 2 * VALUES, cube)
    wanted = tg.function([x, y, c], outputs, mode=tg.Mode(linker="py"))(VALUES, 2 * VALUES, cube)
    for text, order in ORDERS_OF_RESULTS.items():
        a = found[text]
        np.testing.assert_allclose(a, wanted[text], rtol=1e-10, atol=1e-10, err_msg=text)
        assert a.transpose(order).flags.c_contiguous and a.flags.writeable, text
        assert a.flags.c_contiguous == (order == tuple(range(a.ndim))), text
    few = tg.function([c], c.T + 1)(np.ones((2, 0, 3)))
    assert few.shape == (3, 0, 2)


def test_transposed_values_that_others_need_are_computed_once():
    state = tg.shared(np.zeros((4, 3)), "state")
    z = T.exp(x.T) + T.arange(4)[:, None]
    f = tg.function([x], [z, T.dot(z, x)], updates=[(state, z)])
    values = np.ones((3, 4))
    wanted = np.exp(values.T) + np.arange(4)[:, None]
    for got, expected in zip([*f(values), state.get_value()], [wanted, wanted @ values, wanted]):
        np.testing.assert_allclose(got, expected)
    assert state.get_value(borrow=True).flags.c_contiguous
    assert str(f.stage("schedule")).count("let exp(") == 1


def test_every_second_element_of_a_vector_and_the_parts_of_complex_numbers():
    v = T.dvector("v")
    f = tg.function([v], [T.tanh(v), v.sum(), v[::-1].cumsum()])
    for given in (np.arange(90000.0)[::2], np.arange(90000.0)[::-7], (np.arange(9000) * (1 + 2j)).imag, VALUES[:, 3]):
        for a, b in zip(f(given.copy()), f._with_layout(given)):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert len(programs(f)) == 3


def test_rows_of_a_wider_matrix_go_to_blas_as_they_are():
    f = tg.function([x, y], T.dot(x, y))
    np.testing.assert_allclose(f._with_layout(VALUES[:, :50], VALUES.T[:50, ::2]), VALUES[:, :50] @ VALUES.T[:50, ::2])
    ((left, right),) = programs(f)
    assert left.kinds == (4, 0) and right.kinds == (4, 0) and right.turned
    code = f.__dict__["_programs"].make([left, right])[0]
    assert "tg_gemm_d" in code.source and not code.lowered.statements.temps


def test_a_dropped_axis_whose_length_is_not_known():
    """The values of `x[None]` lose an axis that is 1 only when the function runs: compiling was a ValueError."""
    x, y, z = T.dmatrix("x"), T.dtensor3("y"), T.dtensor4("z")
    a, b = np.arange(12.0).reshape(3, 4), -np.arange(12.0).reshape(1, 3, 4)
    for linker in ("c", "py"):
        mode = tg.Mode(linker=linker)
        np.testing.assert_array_equal(tg.function([x, y], T.set_subtensor(x[None], y), mode=mode)(a, b), b[0])
        np.testing.assert_array_equal(tg.function([x, y], T.inc_subtensor(x[None], y), mode=mode)(a, b), a + b[0])
        into = tg.function([y, z], T.set_subtensor(y[None, :, 1], z[:, :, 0]), mode=mode)
        expected = b.copy()
        expected[:, 1] = 7.0
        np.testing.assert_array_equal(into(b, np.full((1, 1, 2, 4), 7.0)), expected)
        with pytest.raises(ValueError):
            tg.function([x, y], T.set_subtensor(x[None], y), mode=mode)(a, np.concatenate([b, b]))
