"""Neighbours of neighbours: chains of stencils, of halves and of written parts cost no more than their links."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.lower.lowering import lower
from termgraph.lower.push.kernel import PICK, scalars
from termgraph.terms.term import Arg
from termgraph.terms.traverse import children_first, substitute

LINKER = "c"


def laplacian(u):
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]


def sliced(u):
    return u[1:-1, 1:-1] + 0.1 * laplacian(u)


def rolled(u):
    roll = T.roll if isinstance(u, tg.Variable) else np.roll
    return u + 0.1 * (roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u)


def written(u):
    if isinstance(u, tg.Variable):
        return T.set_subtensor(u[1:-1, 1:-1], sliced(u))
    u = u.copy()
    u[1:-1, 1:-1] = sliced(u)
    return u


def halves(u):
    tanh = T.tanh if isinstance(u, tg.Variable) else np.tanh
    return tanh((u[::2] + u[1::2]) / 2)


def chain(step, u, count):
    for _ in range(count):
        u = step(u)
    return u


def work(step, ndim, count, gradient):
    """Nodes of the rewritten graph, and visits of lowering, for each step of a chain."""
    x = T.tensor("x", dtype="float64", shape=(None,) * ndim)
    y = (chain(step, x, count) ** 2).sum()
    out = tg.rewrite([tg.grad(y, x) if gradient else y], "+canonicalize")
    roots = substitute([o.term for o in out], {x.term: Arg(0, x.term.type)})
    return len(children_first(roots)) / count, lower(roots).statements.pushes / count


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("step", [sliced, rolled, written, halves])
def test_work_grows_with_the_number_of_steps(step, gradient):
    few, many = (work(step, 1 if step is halves else 2, count, gradient) for count in (3, 6))
    assert many[0] <= 1.3 * few[0], (few, many)
    assert many[1] <= 1.8 * few[1], (few, many)


def test_an_element_of_one_of_two_places_is_one_load():
    """Not a choice between two loads: of those gcc makes masked ones, slow where what is masked is no memory at all."""
    x = T.dmatrix("x")
    roots = substitute([tg.rewrite(T.exp(rolled(x)), "+canonicalize").term], {x.term: Arg(0, x.term.type)})
    made = lower(roots).statements
    kinds = {t.type.kind for store in made.stores for t in scalars([store.value]) if t.op.family is PICK}
    assert kinds == {"i"}


@pytest.mark.parametrize("count, shared", [(1500, False), (60, True)])
def test_arms_are_of_any_depth_and_compared_once(count, shared):
    """What is rolled is not stored: a choice between two places of a long chain, or of one with shared links."""
    x, values = T.dvector("x"), np.random.default_rng(4).random(9)

    def chained(v, maximum):
        for k in range(count):
            v = v * 0.9 + (v - 0.5) * 0.01 * k if shared else maximum(v * 1.001, k * 1e-3 - 1)
        return v

    got = tg.function([x], T.roll(chained(x, T.maximum), 1) + x)(values)
    np.testing.assert_allclose(got, np.roll(chained(values, np.maximum), 1) + values, rtol=1e-9)


@pytest.mark.parametrize("step", [sliced, rolled, written, halves])
def test_values_and_gradients(step):
    values = np.random.default_rng(1).random(64 if step is halves else (12, 11))
    x = T.tensor("x", dtype="float64", shape=(None,) * values.ndim)
    y = chain(step, x, 4)
    f = tg.function([x], [y, tg.grad((y**2).sum(), x)])
    out, slope = f(values)
    np.testing.assert_allclose(out, chain(step, values, 4), rtol=1e-12)
    away = np.random.default_rng(2).random(values.shape) * 1e-6
    rise = (chain(step, values + away, 4) ** 2).sum() - (chain(step, values - away, 4) ** 2).sum()
    np.testing.assert_allclose((slope * away).sum() * 2, rise, rtol=1e-6)


@pytest.mark.parametrize("n, start, step", [(0, 0, 2), (1, 1, 2), (5, 1, 2), (6, 3, 4), (7, 9, 3), (8, 2, 2)])
def test_lengths_of_strided_slices(n, start, step):
    x = T.dvector()
    assert tg.function([x], x[start::step] * 2)(np.ones(n)).shape == np.ones(n)[start::step].shape
    assert tg.function([x], x[start::-step] * 2)(np.ones(n)).shape == np.ones(n)[start::-step].shape


def test_lengths_of_turned_rows_do_not_grow():
    """A wavelet by lifting, lengths unknown: text grows with the levels, not with what lengths are made of."""
    x = T.dmatrix("x")
    texts = []
    for levels in (1, 3):
        s, out = x, []
        for _ in range(levels):
            even, odd = s[:, ::2], s[:, 1::2]
            out.append(odd - (even + T.roll(even, -1, axis=1)) / 2)
            s = even + (out[-1] + T.roll(out[-1], 1, axis=1)) / 4
        back = s
        for d in reversed(out):
            even = back - (d + T.roll(d, 1, axis=1)) / 4
            odd = d + (even + T.roll(even, -1, axis=1)) / 2
            back = T.stack([even, odd], axis=-1).reshape((x.shape[0], -1))
        f = tg.function([x], [s, back])
        v = np.arange(3 * 64.0).reshape(3, 64) ** 1.5
        np.testing.assert_allclose(f(v)[1], v, atol=1e-9)
        texts.append(len(f.source("c")))
    assert texts[1] < 4 * texts[0]
