"""The rules of rules/sigmoids.py: fired, expected form, no digit lost; and where they stay quiet."""

import numpy as np
import pytest
from accuracy import check_rule, form, optimized, quiet

import termgraph.tensor as T
from termgraph.terms.evaluate import evaluate

S = T.sigmoid
TINY = {"near": 1e-25}  # a factor can lift a sigmoid that underflowed
CASES = {
    "sigmoids.sigmoid": (lambda x: 1 / (1 + T.exp(-x)), S, {}),
    "sigmoids.sigmoid_neg": (lambda x: 1 / (1 + T.exp(x)), lambda x: S(-x), {}),
    "sigmoids.sigmoid_exp": (lambda x: T.exp(x) / (1 + T.exp(x)), S, {}),
    "sigmoids.sigmoid_exp_neg": (lambda x: T.exp(-x) / (T.exp(-x) + 1), lambda x: S(-x), {}),
    "sigmoids.one_minus": (lambda x: 1 - S(x), lambda x: S(-x), {}),
    "sigmoids.one_minus_neg": (lambda x: 1 - S(-x), S, {}),
    "sigmoids.minus_one": (lambda x: S(x) - 1, lambda x: -S(-x), {}),
    "sigmoids.tanh_half": (lambda x: 1 + T.tanh(0.5 * x), lambda x: 2 * S(x), {}),
    "sigmoids.tanh_halved": (lambda x: 1 + T.tanh(x / 2), lambda x: 2 * S(x), {}),
    "sigmoids.tanh": (lambda x: 1 + T.tanh(x), lambda x: 2 * S(2 * x), {}),
    "sigmoids.tanh_half_neg": (lambda x: 1 - T.tanh(0.5 * x), lambda x: 2 * S(-x), {}),
    "sigmoids.tanh_halved_neg": (lambda x: 1 - T.tanh(x / 2), lambda x: 2 * S(-x), {}),
    "sigmoids.tanh_neg": (lambda x: 1 - T.tanh(x), lambda x: 2 * S(-2 * x), {}),
    "sigmoids.tanh_exp": (lambda x: 2 * S(x) - 1, lambda x: T.tanh(0.5 * x), {}),
    "sigmoids.exp_neg_softplus": (lambda x: T.exp(-T.softplus(-x)), S, {}),
    "sigmoids.exp_softplus": (lambda x: T.exp(-T.softplus(x)), lambda x: S(-x), {}),
    "sigmoids.exp_difference": (lambda x: T.exp(x - T.log(1 + T.exp(x))), S, {}),
    "sigmoids.scaled_exp": (lambda x, y: y * T.exp(x) / (1 + T.exp(x)), lambda x, y: y * S(x), TINY),
    "sigmoids.scaled_neg": (lambda x, y: y / (1 + T.exp(-x)), lambda x, y: y * S(x), {}),
    "sigmoids.scaled": (lambda x, y: y / (1 + T.exp(x)), lambda x, y: y * S(-x), {}),
    "sigmoids.scaled_neg_over": (lambda x, y: y / ((2 + y) * (1 + T.exp(-x))), lambda x, y: (y * S(x)) / (2 + y), TINY),
    "sigmoids.scaled_over": (lambda x, y: y / ((2 + y) * (1 + T.exp(x))), lambda x, y: (y * S(-x)) / (2 + y), TINY),
    "sigmoids.derivative": (lambda x: T.exp(x) / T.sqr(1 + T.exp(x)), lambda x: S(x) * S(-x), {}),
    "sigmoids.derivative_neg": (lambda x: T.exp(-x) / T.sqr(1 + T.exp(-x)), lambda x: S(x) * S(-x), {}),
    "sigmoids.derivative_mul": (lambda x, y: y * T.exp(x) / T.sqr(1 + T.exp(x)), lambda x, y: y * S(x) * S(-x), TINY),
    "sigmoids.derivative_over": (
        lambda x, y: T.exp(x) / T.sqr(1 + T.exp(x)) / (2 + T.sqr(y)),
        lambda x, y: S(x) * S(-x) / (2 + T.sqr(y)),
        TINY,
    ),
    "sigmoids.derivative_mul_over": (
        lambda x, y: y * T.exp(x) / T.sqr(1 + T.exp(x)) / (2 + T.abs(y)),
        lambda x, y: y * S(x) * S(-x) / (2 + T.abs(y)),
        TINY,
    ),
    "sigmoids.times_exp_neg": (lambda x: S(x) * T.exp(-x), lambda x: S(-x), {}),
    "sigmoids.times_exp": (lambda x: S(-x) * T.exp(x), S, {}),
    "sigmoids.ratio": (lambda x: S(x) / (1 - S(x)), T.exp, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rule(name):
    build, expected, options = CASES[name]
    check_rule(name, build, expected, **options)


X, Y, Z = T.dvector("x"), T.dvector("y"), T.dvector("z")
LOGISTIC = {
    "gradient": (S(X) * (1 - Y) - S(-X) * Y, S(X) - Y),
    "descent": (S(-X) * Y - S(X) * (1 - Y), Y - S(X)),
    "gradient_over": (S(X) * (1 - Y) / Z - S(-X) * Y / Z, (S(X) - Y) / Z),
    "descent_over": (S(-X) * Y / Z - S(X) * (1 - Y) / Z, (Y - S(X)) / Z),
}


@pytest.mark.parametrize("name", LOGISTIC)
def test_logistic_gradient(name, rng):
    old, expected = LOGISTIC[name]
    new, fired = optimized(old)
    assert f"logistic.{name}" in fired and form(new) == form(optimized(expected)[0])
    given = {X: np.array([-800.0, -2.0, 0.0, 3.0, 800.0]), Y: rng.uniform(size=5), Z: np.full(5, 3.0)}
    np.testing.assert_allclose(*evaluate([new, old], given), rtol=1e-12)


def test_quiet():
    x, y, i = T.dvector("x"), T.dvector("y"), T.lvector("i")
    assert quiet(1 / (1 + T.exp(x) + y), "sigmoids") and quiet(1 / (2 + T.exp(-x)), "sigmoids")
    assert quiet(1 - T.exp(x), "sigmoids") and quiet(S(x) * T.exp(x), "sigmoids") and quiet(S(i), "sigmoids")
    assert quiet(1 - T.sqr(T.tanh(x)), "sigmoids"), "the derivative of tanh stays cheap"
