"""Whole programs that look for the best place again and again: values of plans, shortest ways, nearest points."""

import numpy as np
import pytest
from ways import WAYS, in_all_ways, slopes_in_all_ways

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "auto"


def plan(x, a, where, log, steps):
    """Savings: values of places after some steps, and where to go from each."""
    v, best = 0 * x, None
    for _ in range(steps):
        rest = x[:, None] ** a + 0.9 * x[:, None] - x
        u = where(rest > 0, log(where(rest > 0, rest, 1.0)), -1e10) + 0.95 * v
        v, best = u.max(1), u.argmax(1)
    return v, best


def planned(x, a, steps):
    def step(v, _):
        rest = x[:, None] ** a + 0.9 * x[:, None] - x
        u = T.where(rest > 0, T.log(T.where(rest > 0, rest, 1.0)), -1e10) + 0.95 * v
        return u.max(1), u.argmax(1)

    v, best = tg.loop(step, T.zeros(x.shape[0]), length=steps)
    return v, best[-1]


@pytest.mark.parametrize("known", [True, False])
def test_values_of_a_plan_and_what_they_owe_to_its_places(known, rng):
    values = [np.linspace(0.5, 3, 12), np.array(0.33)]
    x, a = T.tensor("x", dtype="float64", shape=(12,) if known else (None,)), T.dscalar("a")
    for steps in (2, 6):
        v, best = planned(x, a, steps)
        in_all_ways([x, a], [v, best], values, plan(*values, np.where, np.log, steps))
        ways = [w for w in WAYS if find_compiler() or w != "compiled"]
        slopes_in_all_ways([x, a], (T.cos(T.arange(12) * 0.7) * v).sum(), values, rng, ways)


@pytest.mark.parametrize("known", [True, False])
def test_points_and_their_nearest(known, rng):
    points, centres = (T.tensor(n, dtype="float64", shape=(9, 2) if known else (None, None)) for n in "pc")
    far = T.sqrt(((points[:, None] - centres[None]) ** 2).sum(-1) + 0.1) * 0.7 + 0.3 * points[:, 0][:, None]
    near = T.sort(far, axis=1)
    cost = far.min(0).sum() + ((near[:, 1] - near[:, 0]) / near[:, 1]).sum() + far.flatten()[far.argmax()]
    values = [rng.normal(size=(9, 2)), rng.normal(size=(9, 2))]
    d = np.sqrt(((values[0][:, None] - values[1]) ** 2).sum(-1) + 0.1) * 0.7 + 0.3 * values[0][:, :1]
    s = np.sort(d, axis=1)
    wanted = d.min(0).sum() + ((s[:, 1] - s[:, 0]) / s[:, 1]).sum() + d.max()
    in_all_ways([points, centres], [cost, (far <= far.min(0)).sum()], values, [wanted, 9])
    slopes_in_all_ways([points, centres], cost, values, rng)
