"""Loops on the device that stop early, make a number of steps that is computed, choose, or fail."""

import numpy as np
import pytest
from backends.cuda.cudacases import no_emulation

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
pytestmark = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")


def same(inputs, outputs, *calls):
    """The same values as on the CPU, all of it on the device."""
    f, g = tg.function(inputs, outputs), tg.function(inputs, outputs, mode=tg.Mode(linker="py"))
    assert f.on_cpu() == []
    for values in calls:
        for a, b in zip(f(*values), g(*values), strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-9)


def test_a_loop_stops_early(gpu):
    """After some steps, after several blocks, in the last step, not at all, and without a step."""
    x, limit = T.dmatrix("x"), T.dscalar("limit")
    (twice, total), _ = tg.scan(
        lambda r, s: ([r * 2, s + r.sum()], tg.until(s > limit)), sequences=[x], outputs_info=[None, T.constant(0.0)]
    )
    xs = np.ones((200, 2))
    outputs = [twice, total, total[-1], twice.sum(0)]
    same([x, limit], outputs, (xs, 5.0), (xs, 250.0), (xs, 396.0), (xs, 1e9), (xs[:1], -1.0))
    same([x, limit], outputs[:2], (xs[:0], 1.0))


def test_only_the_last_value_of_a_loop_that_stops_early(gpu):
    x = T.dvector("x")
    value, _ = tg.scan(lambda v: (T.tanh(v) * 1.01, tg.until(v.max() < 0.6)), outputs_info=[x], n_steps=300)
    same([x], [value[-1] + 1], (np.ones(4),), (np.zeros(4),))


def test_the_number_of_steps_is_computed(gpu):
    x, n = T.dvector("x"), T.lscalar("n")
    value, _ = tg.scan(lambda v, x: v * 0.5 + x, outputs_info=[x], non_sequences=[x], n_steps=n)
    same([x, n], [value, value[-1]], (np.ones(3), 4), (np.ones(3), 1))
    cost = (value[-1] ** 2).sum()
    g, h = tg.function([x, n], tg.grad(cost, x)), tg.function([x, n], tg.grad(cost, x), mode=tg.Mode(linker="py"))
    np.testing.assert_allclose(g(np.arange(3.0), 4), h(np.arange(3.0), 4))


def test_gradients_through_a_loop_that_stops_early(gpu):
    x = T.dvector("x")
    value, _ = tg.scan(lambda v: (v * v, tg.until(v.sum() > 10)), outputs_info=[x], n_steps=40)
    f = tg.function([x], [value[-1], tg.grad(value[-1].sum(), x)])
    g = tg.function([x], [value[-1], tg.grad(value[-1].sum(), x)], mode=tg.Mode(linker="py"))
    for values in ([1.5, 1.1], [2.0, 0.5]):
        for a, b in zip(f(values), g(values)):
            np.testing.assert_allclose(a, b, rtol=1e-9)


def test_a_failure_tells_its_step(gpu):
    x, i = T.dvector("x"), T.lvector("i")
    f = tg.function([x, i], tg.scan(lambda k, s: s + x[k], sequences=[i], outputs_info=[T.constant(0.0)])[0])
    with pytest.raises(IndexError, match=r"(?s)test_cuda_loops.py.*x\[k\].*7 is out of bounds.*in step 2 of a loop"):
        f(np.ones(3), [0, 1, 7, 9])
    np.testing.assert_array_equal(f(np.ones(3), [0, 1, 2]), [1, 2, 3])
    m = T.lmatrix("m")

    def row(r, s):
        return s + tg.scan(lambda k: x[k], sequences=[r])[0].sum()

    g = tg.function([x, m], tg.scan(row, sequences=[m], outputs_info=[T.constant(0.0)])[0])
    assert g.on_cpu() == []
    with pytest.raises(IndexError, match=r"(?s)-9 is out of bounds.*in step 2 of a loop.*in step 1 of a loop"):
        g(np.ones(3), [[0, 0, 0, 0], [0, 1, -9, 1], [8, 8, 8, 8]])


def test_what_fails_after_the_end_does_not_count(gpu):
    x, i = T.dvector("x"), T.lvector("i")
    run = lambda k, s: (s + x[k], tg.until(s > 100))  # noqa: E731
    f = tg.function([x, i], tg.scan(run, sequences=[i], outputs_info=[T.constant(0.0)])[0])
    np.testing.assert_array_equal(f([200.0, 1.0], [0, 1, 7, 7]), [200, 201])
    with pytest.raises(IndexError, match=r"(?s)7 is out of bounds.*in step 90 of a loop"):
        f([0.0, 1.0], [0] * 90 + [7])
    count = lambda n, x: (n + 1, tg.until(x[n] < 0))  # noqa: E731
    last, _ = tg.scan(count, outputs_info=[T.constant(0)], non_sequences=[x], n_steps=99)
    assert tg.function([x], last[-1])([1.0, 1.0, -1.0]) == 3


def test_choices_inside_loops(gpu):
    """One inside another, with products and indices: what is not chosen computes nothing and cannot fail."""
    x, w = T.dmatrix("x"), T.dmatrix("w")

    def step(r, s, w):
        inner = tg.ifelse(r[0] > 0, T.dot(s, w) * 2, w[T.cast(r * 100, "int64")])
        first, second = tg.ifelse(r[2] > 0, [s * 2, T.exp(s)], [T.dot(w, s), s.T])
        return tg.ifelse(r.sum() > 0, inner, T.tanh(s)) + first.sum() - second

    out = tg.scan(step, sequences=[x], outputs_info=[w], non_sequences=[w])[0]
    rng = np.random.default_rng(0)
    xs, ws = rng.standard_normal((6, 3)), rng.standard_normal((3, 3)) * 0.3
    xs[:, 0] = abs(xs[:, 0])
    same([x, w], [out], (xs, ws), (-abs(xs), ws))
    f = tg.function([x, w], out)
    with pytest.raises(IndexError, match=r"(?s)-100 is out of bounds.*in step 3 of a loop"):
        f(np.where(np.arange(6)[:, None] == 3, [-1, 5, 5], xs), ws)


def test_a_loop_beside_other_work(gpu):
    """What does not need it is not held up by it, and what needs it comes after it."""
    x = T.dvector("x")
    value, _ = tg.scan(lambda v: (v * 2, tg.until(v.sum() > 100)), outputs_info=[T.exp(x)], n_steps=50)
    w = tg.shared(np.zeros(3), name="w")
    outputs = [value[-1] * x, T.log(x).sum(), value.shape[0]]
    f = tg.function([x], outputs, updates=[(w, w + value[-1])])
    g = tg.function([x], [*outputs, value[-1]], mode=tg.Mode(linker="py"))
    xs = np.array([1.0, 2.0, 3.0])
    for a, b in zip([*f(xs), w.get_value()], g(xs)):
        np.testing.assert_allclose(a, b, rtol=1e-12)
