"""Gradients through lazy choices: a side that is not taken adds nothing, whatever it would compute."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.grad.reverse import Backward

MODES = ["FAST_RUN", "STRICT", "FAST_COMPILE", tg.Mode("py"), tg.Mode(optimizer="None")]
modes = pytest.mark.parametrize("mode", MODES, ids=["fast", "strict", "quick", "vm", "plain"])


@modes
def test_a_side_that_is_not_taken_adds_nothing(mode):
    x = T.dscalar("x")
    for side, slope in ((T.log(x) * x, np.log(2.0) + 1), (T.sqrt(x), 0.5 / np.sqrt(2.0)), (x**1.5, 1.5 * np.sqrt(2.0))):
        f = tg.function([x], T.grad(tg.ifelse(x > 0, side, 3.0), x), mode=mode)
        g = tg.function([x], T.grad(tg.ifelse(T.le(x, 0), -x, side), x), mode=mode)
        assert f(0.0) == f(-1.0) == 0.0 and g(0.0) == g(-1.0) == -1.0
        np.testing.assert_allclose([f(2.0), g(2.0)], slope)
    second = tg.function([x], tg.hessian(tg.ifelse(x > 0, T.log(x), x * x), x), mode=mode)
    assert second(0.0) == 2.0 and second(2.0) == -0.25


@modes
def test_an_element_that_is_not_there_is_not_read_for_the_gradient(mode):
    i, v = T.lscalar("i"), T.dvector("v")
    f = tg.function([v, i], T.grad(tg.ifelse(i < v.shape[0], v[i] ** 2, v.sum()), v), mode=mode)
    assert f(np.full(3, 5.0), 1).tolist() == [0, 10, 0] and f(np.ones(3), 5).tolist() == [1, 1, 1]
    with pytest.raises(IndexError, match="index -4 is out of bounds"):
        f(np.ones(3), -4)


@modes
def test_sides_of_different_lengths_each_give_zeros_of_the_other(mode):
    c, x, y = T.lscalar("c"), T.dvector("x"), T.dvector("y")
    chosen = tg.ifelse(c > 0, T.exp(x), T.sin(y).sum() * T.ones(1) + x[:1])
    f = tg.function([c, x, y], T.grad(chosen.sum(), [x, y]), mode=mode)
    left, right = f(1, [0.0, 0.0], [0.0, 0.0, 0.0])
    assert left.tolist() == [1, 1] and right.tolist() == [0, 0, 0]
    left, right = f(0, [0.0, 0.0], [0.0, 0.0, 0.0])
    assert left.tolist() == [1, 0] and right.tolist() == [1, 1, 1]


def program(x, c, d):
    """Choices in choices, in the steps of a loop, of several values; parts that one side, both, or all need."""
    h = T.tanh(x * 1.3)
    a = tg.ifelse(c > 0, T.exp(h).sum() * h, h[::-1] * x)
    b = tg.ifelse(d > 0, tg.ifelse(c > 0, a * h, T.sin(a)), T.outer(a, h).sum(0))
    u, v = tg.ifelse(c > d, [a, b], [b * h, a + h])
    steps, _ = tg.scan(lambda e, acc: tg.ifelse(e > 0, acc * e, acc + e), sequences=b, outputs_info=u.sum())
    return steps[-1] + (u * v).sum() + tg.ifelse(c > 0, T.log(x * x + 0.5).sum(), 0.0)


@modes
def test_gradients_are_those_of_differences(mode):
    x, c, d = T.dvector("x"), T.lscalar("c"), T.lscalar("d")
    y = program(x, c, d)
    f, g, h = (tg.function([x, c, d], t, mode=mode) for t in (y, T.grad(y, x), tg.hessian(y, x)))
    at, small = np.random.default_rng(0).normal(size=4), 1e-6
    for signs in ((0, 0), (0, 1), (1, 0), (1, 1)):
        for function, slope in ((f, g), (g, h)):
            near = [[function(at + s * e, *signs) for e in small * np.eye(4)] for s in (1, -1)]
            np.testing.assert_allclose(slope(at, *signs), np.subtract(*near) / (2 * small), rtol=1e-6, atol=1e-7)


def test_only_the_side_that_is_taken_is_differentiated():
    seen = []

    x = T.dvector("x")
    shown = T.Print("slope", global_fn=lambda op, value: seen.append(op.message))(T.cos(x))
    own = tg.ifelse(x[0] > 0, (shown * x).sum(), x.sum())
    f = tg.function([x], T.grad(own, x), mode=tg.Mode("py"))
    f([-1.0, 2.0])
    assert not seen
    f([1.0, 2.0])
    assert seen


def ladder(x, c, n):
    for k in range(n):
        x = tg.ifelse(c[k] > 0, T.sin(x) * x + T.exp(-x), T.zeros_like(x))
    return x.sum()


def test_choices_within_choices():
    """Gates are put around a cotangent where it ends, not at each operation: what is made grows with the steps."""
    x, c = T.dvector("x"), T.dvector("c")
    y = ladder(x, c, 6)
    f, g = (tg.function([x, c], t) for t in (y, T.grad(y, x)))
    at, small, signs = np.array([0.3, -0.2]), 1e-6, np.ones(6)
    near = [[f(at + s * e, signs) for e in small * np.eye(2)] for s in (1, -1)]
    np.testing.assert_allclose(g(at, signs), np.subtract(*near) / (2 * small), rtol=1e-6)
    for k in range(6):
        assert g(at, np.where(np.arange(6) == k, -1.0, 1.0)).tolist() == [0, 0]

    def made(n):
        loss = ladder(x, c, n)
        return len(Backward({loss.term: T.constant(1.0).term}, [x.term]).run().sources)

    assert made(80) < 2.2 * made(40)


def test_whole_numbers_beside_what_is_differentiated_need_no_rule():
    """Orders, places and rounded numbers that a choice gives, too, have no gradient: none was asked for theirs."""
    x, c = T.dvector("x"), T.bscalar("c")
    value = np.array([3.0, 1.0, 2.0])

    def chosen(x):
        return tg.ifelse(c, [x**2, T.argsort(x), x.astype("int64")], [x * 3, T.argsort(-x), (-x).astype("int64")])

    values, order, whole = chosen(x)
    slope = tg.grad((values[order] * T.arange(3)).sum() + (values * whole).sum(), x)
    assert slope.eval({x: value, c: 1}).tolist() == [30.0, 2.0, 12.0]
    steps, _ = tg.scan(lambda r: list(chosen(r)), sequences=T.stack([x, x * 2]), return_list=True)
    assert tg.grad(steps[0].sum(), x).eval({x: value, c: 1}).tolist() == [30.0, 10.0, 20.0]
