"""Whole programs that fit: least squares inside Newton's steps, their sensitivities forwards and for many examples."""

import numpy as np

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
