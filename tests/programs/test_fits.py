"""Whole programs that fit: least squares inside Newton's steps, their sensitivities forwards and for many examples."""

import numpy as np
import pytest
from ways import in_all_ways, slopes_in_all_ways

import termgraph as tg
import termgraph.tensor as T

PLACES = np.linspace(0.0, 2.0, 7)


def curve(xp, p):
    return p[0] * xp.exp(-p[1] * PLACES) + p[2]


def gauss_newton(data, start):
    """A few steps of Gauss and Newton, damped: each solves a linear problem by least squares."""

    def step(p, data):
        slopes = tg.jacobian(curve(T, p), p)
        rows = T.concatenate([slopes, T.eye(3) * 0.1])
        return p + T.linalg.lstsq(rows, T.concatenate([data - curve(T, p), T.zeros((3,))]))[0]

    found, _ = tg.scan(step, outputs_info=start, non_sequences=[data], n_steps=4)
    return found[-1]


def gauss_newton_in_numpy(data, p):
    for _ in range(4):
        fall = np.exp(-p[1] * PLACES)
        slopes = np.stack([fall, -p[0] * PLACES * fall, np.ones_like(fall)], axis=1)
        rows = np.concatenate([slopes, np.eye(3) * 0.1])
        p = p + np.linalg.lstsq(rows, np.concatenate([data - curve(np, p), np.zeros(3)]), rcond=None)[0]
    return p


def test_a_fitted_curve_and_what_it_owes_to_the_data(rng):
    data, start, change = T.dvector("data"), T.dvector("start"), T.dvector("change")
    fitted, along = tg.jvp(lambda d: gauss_newton(d, start), (data,), (change,))
    back = tg.vjp(lambda d: gauss_newton(d, start), data)[1](T.constant([1.0, 2.0, 3.0]))[0]
    many = tg.vmap(gauss_newton, in_axes=(0, None))(T.stack([data, data + change]), start)
    f = tg.function([data, start, change], [fitted, along, back, many])
    at = curve(np, np.array([2.0, 1.0, 0.5])) + 0.02 * rng.normal(size=7)
    first, step = np.array([1.5, 0.8, 0.3]), rng.normal(size=7) * 0.1
    fitted, along, back, many = f(at, first, step)
    np.testing.assert_allclose(fitted, gauss_newton_in_numpy(at, first), rtol=1e-8)
    far, near = [gauss_newton_in_numpy(at + sign * 1e-5 * step, first) for sign in (1, -1)]
    np.testing.assert_allclose(along, (far - near) / 2e-5, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(back @ step, along @ [1.0, 2.0, 3.0], rtol=1e-8)
    np.testing.assert_allclose(many, [gauss_newton_in_numpy(d, first) for d in (at, at + step)], rtol=1e-8)


def natural_spline(xp, x, y, places):
    """Through all points, with second derivatives of 0 at the ends."""
    h = xp.diff(x)
    matrix = xp.diag(2 * (h[:-1] + h[1:])) + xp.diag(h[1:-1], 1) + xp.diag(h[1:-1], -1)
    inside = xp.linalg.solve(matrix, 6 * xp.diff(xp.diff(y) / h))
    m, i = xp.concatenate([xp.zeros(1), inside, xp.zeros(1)]), xp.clip(xp.searchsorted(x, places) - 1, 0, 6)
    after, before, h = x[i + 1] - places, places - x[i], h[i]
    curved = (m[i] * after**3 + m[i + 1] * before**3) / (6 * h)
    return curved + (y[i] / h - m[i] * h / 6) * after + (y[i + 1] / h - m[i + 1] * h / 6) * before


@pytest.mark.parametrize("known", [True, False])
def test_a_natural_spline(known, rng):
    """Where lengths were known gcc left a part of the gradient out."""
    values = [np.sort(rng.uniform(-1, 1, 8)) + 0.2 * np.arange(8), rng.normal(size=8), np.linspace(-0.9, 2, 9)]
    inputs = [T.tensor(dtype="float64", shape=v.shape if known else (None,)) for v in values]
    spline = natural_spline(T, *inputs)
    in_all_ways(inputs, [spline], values, [natural_spline(np, *values)])
    slopes_in_all_ways(inputs, (spline * T.cos(T.arange(9))).sum(), values, rng, ["compiled", "nothing on trust"])
