"""Random step functions with indexing, joins, reductions and products in them: compiled in every mode, beside NumPy.

The same step runs twice: on arrays in a Python loop, and on variables in `scan`.
"""

import random

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
ROWS, COLUMNS = 3, 4

# What a step may do with matrices of one shape; `lib` is numpy or termgraph.tensor.
MOVES = [
    lambda lib, a, b, t: lib.tanh(a + b),
    lambda lib, a, b, t: a * b - 0.5 * a,
    lambda lib, a, b, t: lib.dot(a, b.T)[:, 0][:, None] * 0.1 + a,
    lambda lib, a, b, t: lib.maximum(a, b - a.mean(axis=0)),
    lambda lib, a, b, t: a - b.max(axis=1, keepdims=True),
    lambda lib, a, b, t: lib.concatenate([a[1:], b[:1]], axis=0),
    lambda lib, a, b, t: lib.stack([a, b], axis=0).sum(axis=0) / (1 + b * b),
    lambda lib, a, b, t: lib.roll(a, 1, axis=1) + b[::-1],
    lambda lib, a, b, t: lib.where(a > b, a, b * 0.5),
    lambda lib, a, b, t: a[:, ::-1] * lib.cumsum(lib.tanh(b), axis=1),
    lambda lib, a, b, t: a + b[t % ROWS],
    lambda lib, a, b, t: a + b[: 1 + t % ROWS].sum(axis=0),
    lambda lib, a, b, t: a + lib.sort(b, axis=1)[:, ::-1],
    lambda lib, a, b, t: lib.exp(-abs(a)) + lib.sqrt(b * b + 1).reshape((COLUMNS, ROWS)).T,
    lambda lib, a, b, t: a * lib.log(1 + lib.exp(b)).max(axis=0),
]


class Step:
    """A random straight-line program over a row, two states and a constant."""

    def __init__(self, seed):
        rnd = random.Random(seed)
        self.states, self.count = rnd.choice([1, 2]), rnd.randint(2, 6)
        self.moves = [(rnd.choice(MOVES), rnd.random(), rnd.random()) for _ in range(self.count)]
        self.backwards = rnd.random() < 0.3

    def __call__(self, lib, t, row, states, constant):
        values = [row, constant, *states]
        for move, first, second in self.moves:
            a, b = values[int(first * len(values))], values[-1 - int(second * len(values))]
            values.append(move(lib, a, b, t))
        new = [lib.tanh(s + v) for s, v in zip(states, reversed(values))]
        return new, values[-1]

    def on_arrays(self, rows, states, constant):
        stacked = []
        order = range(len(rows))
        for t in reversed(order) if self.backwards else order:
            states, y = self(np, t, rows[t], states, constant)
            stacked.append([*states, y])
        return [np.stack(s) for s in zip(*stacked)]


def check(seed, modes):
    step = Step(seed)
    rows, c = T.dtensor3("rows"), T.dmatrix("c")
    starts = [T.dmatrix(f"start{k}") for k in range(step.states)]

    def body(t, row, *rest):
        new, y = step(T, t, row, list(rest[:-1]), rest[-1])
        return [*new, y]

    outs, _ = tg.scan(
        body, [T.arange(rows.shape[0]), rows], [*starts, None], c, go_backwards=step.backwards, return_list=True
    )
    cost = sum((o * o).mean() for o in outs)
    inputs = [rows, c, *starts]
    rng = np.random.default_rng(seed)
    values = [rng.normal(size=(4, ROWS, COLUMNS)), *rng.normal(size=(1 + step.states, ROWS, COLUMNS))]
    along = [rng.normal(size=v.shape) for v in values]

    def cost_at(h):
        r, k, *s = [v + h * d for v, d in zip(values, along)]
        return sum((o * o).mean() for o in step.on_arrays(r, s, k))

    slope = (cost_at(1e-6) - cost_at(-1e-6)) / 2e-6
    want = step.on_arrays(values[0], values[2:], values[1])
    gradient = tg.grad(cost, inputs, disconnected_inputs="ignore")
    for mode in modes:
        got = tg.function(inputs, [*outs, *gradient], mode=mode, on_unused_input="ignore")(*values)
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)
        found = sum((g * d).sum() for g, d in zip(got[len(outs) :], along))
        assert abs(found - slope) < 1e-5 * (1 + abs(slope)), (mode, found, slope)


@pytest.mark.parametrize("seed", range(6))
def test_random_steps(seed):
    check(seed, ["FAST_RUN"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_steps(seed):
    check(seed, ["None", "FAST_COMPILE", "FAST_RUN"])
