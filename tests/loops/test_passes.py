"""What the passes over loops make of graphs, and that values stay the same."""

import tracemalloc

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.loops.loop_term import loops_of
from termgraph.terms.traverse import subterms

x, h0, w = T.dvector("x"), T.dscalar("h0"), T.dscalar("w")
XS = np.linspace(0.1, 0.9, 5)


def compiled(inputs, outputs, *values, **options):
    """The function, its loops, and its results, which are those of the graph as it was written."""
    f = tg.function(inputs, outputs, **options)
    plain = tg.function(inputs, outputs, mode="None", **options)
    got, expected = f(*values), plain(*values)
    for a, b in zip(got if isinstance(got, list) else [got], expected if isinstance(expected, list) else [expected]):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    return f, loops_of(f.maker.work.roots)


def ops_in(t):
    return [s.op.name for s in subterms(t.op.params["body"]) if s.args]


def test_unread_results_and_carries_go():
    (a, b, c), _ = tg.scan(
        lambda i, a, c: (a + i, T.exp(i), T.tanh(c * i)), sequences=x, outputs_info=[0.0, None, 1.0]
    )  # fmt: skip
    _, (loop,) = compiled([x], a, XS)
    assert (loop.op.n_carry, loop.op.n_ys) == (1, 1) and not {"exp", "tanh"} & set(ops_in(loop))
    _, (loop,) = compiled([x], b, XS)
    assert loop.op.n_carry == 0


def test_last_step_only_keeps_memory_constant():
    k = T.lscalar("k")
    out, _ = tg.scan(lambda h: h * 0.5 + T.ones((1000,)), outputs_info=T.zeros((1000,)), n_steps=k)
    f, (loop,) = compiled([k], out[-1], 7)
    assert loop.op.n_ys == 0
    peaks = []
    for steps in (10, 1000):
        f(steps)
        tracemalloc.start()
        f(steps)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 20_000


def test_last_step_of_a_result_made_from_the_carry():
    (h, y), _ = tg.scan(lambda a, h: ((new := h + a), T.exp(new * w)), sequences=x, outputs_info=[h0, None])
    _, (loop,) = compiled([x, h0, w], y[-1], XS, 0.1, 0.2)
    assert "exp" not in ops_in(loop) and loop.op.n_ys == 0


def test_loops_of_equal_length_merge():
    a, _ = tg.scan(lambda i, h: h + i, sequences=x, outputs_info=0.0)
    b, _ = tg.scan(lambda i, h: h * i, sequences=x, outputs_info=1.0)
    _, loops = compiled([x], [a, b], XS)
    assert len(loops) == 1
    c, _ = tg.scan(lambda i: i * 2, sequences=a)  # needs the other's result
    _, loops = compiled([x], [a, c], XS)
    assert len(loops) <= 2


def test_gradient_uses_the_forward_loop_once():
    out, _ = tg.scan(lambda a, h: T.exp(T.tanh(a * w + h)), sequences=x, outputs_info=h0)
    cost = out.sum()
    _, loops = compiled([x, h0, w], [cost, *tg.grad(cost, [h0, w])], XS, 0.3, 0.4)
    assert len(loops) == 2
    stopped, _ = tg.scan(lambda a, h: (T.exp(T.tanh(a * w + h)), tg.until(h > 2)), sequences=x, outputs_info=h0)
    _, loops = compiled([x, h0, w], [stopped.sum(), *tg.grad(stopped.sum(), [h0, w])], XS, 0.3, 0.4)
    assert len(loops) == 2


def test_products_leave_the_loops():
    X, H, W, U, V = T.tensor3("X"), *T.dmatrices("H", "W", "U", "V")
    (hs, ys), _ = tg.scan(
        lambda a, h: ((new := T.tanh(T.dot(a, W) + T.dot(h, U))), T.dot(new, V)), sequences=X, outputs_info=[H, None]
    )  # fmt: skip
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s) for s in ((4, 2, 3), (2, 5), (3, 5), (5, 5), (5, 2))]
    inputs = [X, H, W, U, V]
    _, (loop,) = compiled(inputs, [hs, ys], *values)
    assert ops_in(loop).count("dot") == 1
    cost = (ys**2).sum()
    f, loops = compiled(inputs, [cost, *tg.grad(cost, inputs)], *values)
    assert [ops_in(t).count("dot") for t in loops] == [1, 1]
    assert f.profile.rules["scan.products_before"] and f.profile.rules["scan.products_after"]


def test_vectors_too():
    v, W, U = T.dvector("v"), *T.dmatrices("W", "U")
    X = T.dmatrix("X")
    hs, _ = tg.scan(lambda a, h: T.tanh(T.dot(W, a) + T.dot(h, U)), sequences=X, outputs_info=v)
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s) for s in ((4, 3), (5,), (5, 3), (5, 5))]
    cost = (hs**2).sum()
    _, loops = compiled([X, v, W, U], [cost, *tg.grad(cost, [X, v, W, U])], *values)
    assert [ops_in(t).count("dot") for t in loops] == [1, 1]


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_short_loops(steps):
    v = T.tensor("v", dtype="float64", shape=(5,))
    (a, b), _ = tg.scan(lambda i, h: (h * i, i + 1), sequences=v, outputs_info=[h0, None], n_steps=steps)
    _, loops = compiled([v, h0], [a, b], XS, 2.0)
    assert bool(loops) == (steps == 0)


def test_invariants_leave_nested_loops_altogether():
    m = T.dmatrix("m")
    out, _ = tg.scan(
        lambda row: tg.scan(lambda a, h: h + a * T.exp(w).sum(), sequences=row, outputs_info=0.0)[0][-1], sequences=m
    )
    _, (loop,) = compiled([m, w], out, np.ones((2, 3)), 0.5)
    assert "exp" not in ops_in(loop)


def test_a_print_inside_stays_inside(capsys):
    out, _ = tg.scan(lambda a: a + tg.printing.Print("w")(w), sequences=x)
    tg.function([x, w], out)(XS, 1.0)
    assert capsys.readouterr().out.count("w ") == 5


def test_fast_compile_and_excluding():
    a, _ = tg.scan(lambda i, h: h + i, sequences=x, outputs_info=0.0)
    b, _ = tg.scan(lambda i, h: h * i, sequences=x, outputs_info=1.0)
    assert len(loops_of(tg.function([x], [a, b], mode="FAST_COMPILE").maker.work.roots)) == 1
    mode = tg.get_mode("FAST_RUN").excluding("scan.merge")
    assert len(loops_of(tg.function([x], [a, b], mode=mode).maker.work.roots)) == 2


def test_gates_of_a_lstm_share_one_product():
    X, W, U = T.tensor3("X"), *T.dmatrices("W", "U")

    def step(a, h, c):
        z = T.dot(a, W) + T.dot(h, U)
        i, f, g, o = (z[:, k * 3 : (k + 1) * 3] for k in range(4))
        c = T.nnet.sigmoid(f) * c + T.nnet.sigmoid(i) * T.tanh(g)
        return T.nnet.sigmoid(o) * T.tanh(c), c

    H, C = T.dmatrices("H", "C")
    (hs, _), _ = tg.scan(step, sequences=X, outputs_info=[H, C])
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s) for s in ((4, 2, 5), (5, 12), (3, 12), (2, 3), (2, 3))]
    inputs = [X, W, U, H, C]
    cost = (hs**2).sum()
    _, loops = compiled(inputs, [cost, *tg.grad(cost, inputs)], *values)
    assert [ops_in(t).count("dot") for t in loops] == [1, 1]


@pytest.mark.parametrize("length", [3, 5, 30])
@pytest.mark.parametrize("read", [lambda y: y[-3:], lambda y: y[-2] + y[-1], lambda y: y[-3:-1].sum(0)])
def test_last_few_steps_are_made_by_a_second_loop(length, read):
    out = tg.scan(lambda a, h: h * w + a, sequences=x, outputs_info=h0)[0]
    f, loops = compiled([x, h0, w], [read(out)], np.linspace(0, 1, length), 0.1, 0.2)
    assert sorted(t.op.n_ys for t in loops) == [0, 1]


def test_last_few_of_fewer_steps():
    out = tg.scan(lambda a, h: h * w + a, sequences=x, outputs_info=h0)[0]
    f = tg.function([x, h0, w], out[-3:])
    assert f([1.0], 0.1, 0.2).shape == (1,) and f([], 0.1, 0.2).shape == (0,)
    with pytest.raises(IndexError):
        tg.function([x, h0, w], out[-2])([1.0], 0.1, 0.2)


def test_last_step_of_a_known_number():
    out = tg.scan(lambda h: h * w, outputs_info=h0, n_steps=1000)[0]
    for row in (-1, 999):
        _, (loop,) = compiled([h0, w], out[row], 0.5, 0.999)
        assert loop.op.n_ys == 0


def test_costly_functions_of_a_sequence_are_done_before():
    out = tg.scan(lambda a, h: h * 0.5 + T.exp(a) * w, sequences=x, outputs_info=h0)[0]
    _, (loop,) = compiled([x, h0, w], out, XS, 0.1, 0.2)
    assert "exp" not in ops_in(loop)


def test_elementwise_results_are_made_after():
    m = T.dmatrix("m")

    def step(row, h, m):
        h = T.tanh(T.dot(h, m) + row)
        return h, T.nnet.softmax(T.dot(h, m) * 2 + w)

    h, y = tg.scan(step, sequences=x[:, None] * T.ones((3,)), outputs_info=[T.zeros((3,)), None], non_sequences=m)[0]
    _, (loop,) = compiled([x, m, w], [h, y], XS, np.eye(3) + 0.1, 0.3)
    assert ops_in(loop).count("dot") == 1 and not {"softmax", "exp"} & set(ops_in(loop))
    _, (loop,) = compiled([x, m, w], [y], XS, np.eye(3) + 0.1, 0.3)
    assert ops_in(loop).count("dot") == 1 and not {"softmax", "exp"} & set(ops_in(loop))


def test_a_loop_around_loops_is_not_written_out():
    """Each step would have a copy of the loop inside: its text, and the time to compile it."""
    x, rows = T.dvector("x"), T.tensor("rows", dtype="float64", shape=(4, 3))

    def outer(row, q):
        return tg.scan(lambda v: T.tanh(v) + row, outputs_info=q, n_steps=30)[0][-1]

    f = tg.function([x, rows], tg.scan(outer, sequences=rows, outputs_info=x)[0][-1])
    assert len(loops_of(f.maker.work.roots)) == 1


def test_sums_of_outer_products_of_columns():
    """The gradient by a matrix of a `solve`: its factors are columns of matrices that were made vectors again."""
    b, r = T.dvector("b"), T.dscalar("r")
    second = np.eye(4, k=1) + np.eye(4, k=-1) - 2 * np.eye(4)
    u, _ = tg.scan(lambda u: T.linalg.solve(np.eye(4) - r * second, T.sin(u)), outputs_info=b, n_steps=5)
    compiled([b, r], tg.grad((u[-1] ** 2).sum(), [b, r]), np.arange(4.0), 0.3)
    known = T.tensor(dtype="float64", shape=(4,), name="known")
    u, _ = tg.scan(lambda u: T.linalg.solve(np.eye(4) - r * second, T.sin(u)), outputs_info=known, n_steps=5)
    compiled([known, r], tg.grad((u[-1] ** 2).sum(), [known, r]), np.arange(4.0), 0.3)
