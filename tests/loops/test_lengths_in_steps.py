"""Lengths that a loop's steps compute: what a backward loop needs of them is no value of a step, and keeps no array."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.loops.residuals import choose_residuals
from termgraph.terms.ops.loop import loop as loop_op
from termgraph.terms.ops.shaping import shape_i
from termgraph.terms.term import mk
from termgraph.terms.traverse import children_first

LINKER = "auto"
rng = np.random.default_rng(3)
u, x, y = T.dmatrix("u"), T.dvector("x"), T.dvector("y")


def diffused(shift):
    """A field whose rows and columns flow into their neighbours, a number of times."""
    around = lambda v: T.roll(v, shift, 0) + T.roll(v, -shift, 1)  # noqa: E731
    return tg.scan(lambda v: v + 0.1 * around(v), outputs_info=u, n_steps=4)[0][-1]


def warped():
    """Dynamic time warping: a loop along a row inside a loop over rows."""

    def row(d, before):
        cells, _ = tg.scan(lambda cost, above, left: cost + T.minimum(above, left), [d, before[1:]], T.constant(9.0))
        return T.concatenate([T.constant(np.array([9.0])), cells])

    first = T.concatenate([T.zeros(1), T.full((y.shape[0],), 9.0)])
    return tg.scan(row, (x[:, None] - y[None]) ** 2, first)[0][-1, -1]


def delayed(by):
    """Delay lines, whose steps keep all but the last few elements."""
    shift = lambda v: T.concatenate([T.full((by,), -1.0), v[:-by]])  # noqa: E731
    return tg.scan(lambda row, v: T.logaddexp(v, shift(v)) * row, u, y)[0][-1].sum()


def recurrent(steps):
    """A loop of products, or of sums along rows, in each step of a loop around it; three steps are written out."""

    def around(c, _):
        both = lambda a, e: (T.tanh(u @ (a + c)) + T.logsumexp(u + e[None], axis=1),) * 2  # noqa: E731
        _, hs = tg.loop(both, x, T.outer(y, x))
        return 0.5 * c + hs.mean(), hs.sum()

    last, sums = tg.loop(around, T.constant(0.1), length=steps)
    return last + T.sin(sums).sum()


def forward_in_steps():
    """Matrices that steps change, and a loop over their columns: the way there is a loop, the way back written out."""

    def around(m, _):
        _, be = tg.loop(lambda b, e: (T.logsumexp(m + (e + b)[None], axis=1),) * 2, T.zeros_like(x), T.outer(y, x))
        return 0.5 * m + be.mean(), be.sum()

    last, sums = tg.loop(around, u, length=3)
    return last.sum() + sums.sum()


def cases():
    field = rng.normal(size=(5, 4))
    values = [rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=6)]
    return {
        "delay by one": ([u, y], delayed(1), u, [field, rng.normal(size=4)]),
        "delay by two": ([u, y], delayed(2), y, [field, rng.normal(size=4)]),
        "roll": ([u], (diffused(1) ** 2).sum(), u, [field]),
        "roll the other way, far": ([u], (diffused(-7) ** 3).sum(), u, [field]),
        "products in loops": ([u, x, y], recurrent(T.constant(7) + 0 * y.shape[0]), u, values),
        "products in three loops": ([u, x, y], recurrent(3), u, values),
        "the way there in steps": ([u, x, y], forward_in_steps(), u, values),
        "rows in rows": ([x, y], warped(), x, [rng.normal(size=4), rng.normal(size=6)]),
    }


@pytest.mark.parametrize("name", cases())
def test_gradients_are_native(name):
    inputs, cost, wrt, values = cases()[name]
    f = tg.function(inputs, [cost, tg.grad(cost, wrt)])
    assert f.maker.work.not_native is None
    with tg.config.change_flags(linker="py"):
        want = tg.function(inputs, [cost, tg.grad(cost, wrt)], mode="None")(*values)
    for got, right in zip(f(*values), want):
        np.testing.assert_allclose(got, right, rtol=1e-12)
    others = {v: T.constant(value) for v, value in zip(inputs, values)}
    tg.verify_grad(lambda v: tg.clone(cost, {**others, wrt: v}), [values[inputs.index(wrt)]], rng=rng)


def test_an_array_is_not_kept_for_its_length():
    """Each step's part of the field is as large as the field; what is needed of it is a number."""
    made, _ = tg.scan(lambda v: v[1:].repeat(2, axis=0)[: v.shape[0]] + v, outputs_info=u, n_steps=3)
    op = next(t.op for t in children_first([made.term]) if t.op.family is loop_op)
    part = next(t for t in children_first(list(op.params["body"])) if t.op.family.name == "subtensor")
    length = mk(shape_i.bind(axis=0), (part,))
    assert choose_residuals(op, [length]) == [length]
    assert choose_residuals(op, [length, part]) == choose_residuals(op, [part])


def test_terms_that_went_from_loop_to_loop_have_lines():
    """The way back is written out of a loop into loops: where a term came from leads from body to body, and ends."""
    cost = forward_in_steps()
    f = tg.function([u, x, y], tg.grad(cost, u))
    graph = children_first(list(f.stage("loops").roots))
    bodies = [t for op in {t.op for t in graph if t.op.family is loop_op} for t in children_first(op.params["body"])]
    sites = [f.maker.work.lookup(t)[1] for t in [*graph, *bodies]]
    assert any(site and site[0].co_filename == __file__ for site in sites)
