"""Whole programs that draw or move, with the draws given: particles, Hamiltonian moves, fluids, splines."""

import numpy as np
import scipy.interpolate
import scipy.special
from ways import in_all_ways, slopes_in_all_ways

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
SOME = ["compiled", "checked"]


def looped(xp, step, carry, xs, length=None):
    """`tg.loop`, or the same in NumPy: rows of a tuple of arrays, results stacked."""
    if xp is T:
        return tg.loop(step, carry, xs, length=length)
    rows = zip(*xs) if isinstance(xs, tuple) else range(length) if xs is None else xs
    ys = []
    for row in rows:
        carry, y = step(carry, row)
        ys.append(y)
    return carry, None if ys[0] is None else np.stack(ys)


def test_particles_that_are_drawn_again(rng):
    """Each step weighs the particles and keeps the heavy ones, at even distances along the sums of weights."""

    def program(xp, ys, noise, starts, phi, width):
        def step(carry, row):
            x, chance = carry
            y, e, u = row
            x = phi * x + width * e
            weight = xp.exp(-((y - x) ** 2) / 2)
            sums = xp.cumsum(weight / weight.sum())
            again = xp.minimum(xp.searchsorted(sums, (xp.arange(20) + u) / 20), 19)
            return (x[again], chance + xp.log(weight.mean())), again

        return looped(xp, step, (xp.zeros(20), 0.0), (ys, noise, starts))

    inputs = [T.dvector("ys"), T.dmatrix("noise"), T.dvector("starts"), T.dscalar("phi"), T.dscalar("width")]
    values = [rng.normal(size=7), rng.normal(size=(7, 20)), rng.uniform(size=7), 0.9, 0.7]
    ((_, chance), again), ((_, known), places) = program(T, *inputs), program(np, *values)
    in_all_ways(inputs, [chance, again], values, [known, places])
    slopes_in_all_ways(inputs, chance, values, rng, SOME)
    assert tg.function(inputs, [chance, again]).maker.work.not_native is None


def test_hamiltonian_moves(rng):
    """Steps along a gradient, taken or not: a loop with a gradient in a loop, and the gradient of all of it."""
    data, seen, start, pushes = T.dmatrix("data"), T.dvector("seen"), T.dvector("start"), T.dmatrix("pushes")
    draws = T.dvector("draws")

    def program(xp, data, seen, start, pushes, draws, slope, softplus):
        def energy(q):
            return (softplus(data @ q) - seen * (data @ q)).sum() + q @ q / 2

        def leap(state, _):
            q, p = state
            p = p - 0.05 * slope(energy, q)
            q = q + 0.1 * p
            return (q, p - 0.05 * slope(energy, q)), None

        def move(q, row):
            p, u = row
            (there, end), _ = looped(xp, leap, (q, p), None, 4)
            gain = energy(q) + p @ p / 2 - energy(there) - end @ end / 2
            q = xp.where(xp.log(u) < gain, there, q)
            return q, q

        return looped(xp, move, start, (pushes, draws))[1]

    values = [rng.normal(size=(9, 3)), rng.integers(0, 2, 9) * 1.0, *[rng.normal(size=s) for s in (3, (5, 3))]]
    values.append(rng.uniform(0.2, 1, size=5))
    by_hand = lambda _, q: values[0].T @ (scipy.special.expit(values[0] @ q) - values[1]) + q  # noqa: E731
    inputs = [data, seen, start, pushes, draws]
    moved = program(T, *inputs, lambda energy, q: tg.grad(energy(q), q), T.softplus)
    in_all_ways(inputs, [moved], values, [program(np, *values, by_hand, lambda z: np.logaddexp(0, z))])
    slopes_in_all_ways(inputs, (moved**2).sum(), values, rng, ["compiled"])


def test_a_fluid_that_carries_itself(rng):
    """Each cell looks where it came from, between cells; a loop inside evens the pressure out."""
    n = 6

    def program(xp, u, v):
        down, across = xp.arange(n)[:, None] * xp.ones((1, n)), xp.arange(n)[None] * xp.ones((n, 1))

        def carried(f, x, y):
            i, j = xp.floor(x), xp.floor(y)
            a, b = x - i, y - j
            i, j = i.astype("int64") % n, j.astype("int64") % n
            k, m = (i + 1) % n, (j + 1) % n
            return (1 - a) * ((1 - b) * f[i, j] + b * f[i, m]) + a * ((1 - b) * f[k, j] + b * f[k, m])

        def evened(p, _, source):
            return (sum(xp.roll(p, by, axis) for by in (1, -1) for axis in (0, 1)) - source) / 4, None

        def step(state, _):
            u, v = (carried(f, down - 0.3 * state[0], across - 0.3 * state[1]) for f in state)
            source = (xp.roll(u, -1, 0) - xp.roll(u, 1, 0) + xp.roll(v, -1, 1) - xp.roll(v, 1, 1)) / 2
            p, _ = looped(xp, lambda p, row: evened(p, row, source), xp.zeros((n, n)), None, 5)
            u, v = (f - (xp.roll(p, -1, k) - xp.roll(p, 1, k)) / 2 for k, f in enumerate((u, v)))
            return (u, v), (u**2 + v**2).sum()

        return looped(xp, step, (u, v), None, 3)

    values = [rng.normal(size=(n, n)), rng.normal(size=(n, n))]
    inputs = [T.dmatrix("u"), T.dmatrix("v")]
    ((u, v), size), (last, sizes) = program(T, *inputs), program(np, *values)
    in_all_ways(inputs, [u, v, size], values, [*last, sizes])
    slopes_in_all_ways(inputs, size[-1], values, rng, ["compiled"])


def test_a_spline_by_elimination(rng):
    """Bends from a system with three diagonals, forwards and backwards; numbers between knots and beyond them."""
    x, y, at = T.dvector("x"), T.dvector("y"), T.dvector("at")
    h, none = T.diff(x), T.zeros(1)
    low = T.concatenate([none, h[1:-1]])

    def eliminated(carry, row):
        a, b, c, d = row
        left = b - a * carry[0]
        new = c / left, (d - a * carry[1]) / left
        return new, new

    rows = low, 2 * (h[:-1] + h[1:]), T.concatenate([h[1:-1], none]), 6 * T.diff(T.diff(y) / h)
    _, (up, right) = tg.loop(eliminated, (0.0, 0.0), rows)
    _, bends = tg.loop(lambda m, row: (row[1] - row[0] * m,) * 2, 0.0, (up[::-1], right[::-1]))
    m = T.concatenate([none, bends[::-1], none])
    k = T.clip(T.searchsorted(x, at) - 1, 0, x.shape[0] - 2)
    a, b = at - x[k], x[k + 1] - at
    curve = (m[k] * b**3 + m[k + 1] * a**3) / (6 * h[k])
    curve += (y[k] / h[k] - m[k] * h[k] / 6) * b + (y[k + 1] / h[k] - m[k + 1] * h[k] / 6) * a
    values = [np.arange(9) + rng.uniform(0, 0.5, 9), rng.normal(size=9), rng.uniform(-0.5, 9.5, 12)]
    wanted = scipy.interpolate.CubicSpline(*values[:2], bc_type="natural")(values[2])
    in_all_ways([x, y, at], [curve], values, [wanted])
    slopes_in_all_ways([x, y, at], (curve**2).sum(), values, rng, SOME)
