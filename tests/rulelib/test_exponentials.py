"""The rules of rules/exponentials.py: fired, expected form, no digit lost; and where they stay quiet."""

import pytest
from accuracy import check_rule, quiet

import termgraph.tensor as T

SMALL = (0.0, -0.0, 1e-20, -1e-20, 1e-3, 0.3, -0.3, 1.0, -1.0, 7.0, -7.0, 30.0, -30.0)
ROUND = {"ulps": 1e3, "at": SMALL}
CASES = {
    "exponentials.expm1": (lambda x: T.exp(x) - 1, T.expm1, {}),
    "exponentials.one_minus_exp": (lambda x: 1 - T.exp(x), lambda x: -T.expm1(x), {}),
    "exponentials.expm1_plus_one": (lambda x: T.expm1(x) + 1, T.exp, {}),
    "exponentials.exp_log1p": (lambda x: T.exp(T.log1p(x)), lambda x: 1 + x, {}),
    "exponentials.expm1_log": (lambda x: T.expm1(T.log(x)), lambda x: x - 1, {}),
    "exponentials.reciprocal": (lambda x: 1 / T.exp(x), lambda x: T.exp(-x), {}),
    "exponentials.mul": (lambda x, y: T.exp(x) * T.exp(y), lambda x, y: T.exp(x + y), ROUND),
    "exponentials.div": (lambda x, y: T.exp(x) / T.exp(y), lambda x, y: T.exp(x - y), ROUND),
    "exponentials.pow": (lambda x, y: T.exp(x) ** y, lambda x, y: T.exp(x * y), ROUND),
    "exponentials.sqr": (lambda x: T.sqr(T.exp(x)), lambda x: T.exp(2 * x), {}),
    "exponentials.sqrt": (lambda x: T.sqrt(T.exp(x)), lambda x: T.exp(0.5 * x), {}),
    "exponentials.mul two": (lambda x, y: T.exp2(x) * T.exp2(y), lambda x, y: T.exp2(x + y), ROUND),
    "exponentials.exp_log1mexp": (lambda x: T.exp(T.log1mexp(x)), lambda x: -T.expm1(x), {}),
    "exponentials.exp_softplus": (lambda x: T.exp(T.softplus(x)), lambda x: 1 + T.exp(x), {}),
    "exponentials.exp_logaddexp": (
        lambda x, y: T.exp(T.logaddexp(x, y)),
        lambda x, y: T.exp(x) + T.exp(y),
        {"ulps": 1e3},
    ),
    "hyperbolic.half of sinh": (lambda x: (T.exp(x) - T.exp(-x)) / 2, T.sinh, {}),
    "hyperbolic.half of cosh": (lambda x: (T.exp(x) + T.exp(-x)) / 2, T.cosh, {}),
    "hyperbolic.sinh": (lambda x: T.exp(x) - T.exp(-x), lambda x: 2 * T.sinh(x), {}),
    "hyperbolic.cosh": (lambda x: T.exp(x) + T.exp(-x), lambda x: 2 * T.cosh(x), {}),
    "hyperbolic.tanh": (lambda x: T.sinh(x) / T.cosh(x), T.tanh, {}),
    "hyperbolic.tanh_of_twice": (lambda x: (T.exp(x) - T.exp(-x)) / (T.exp(x) + T.exp(-x)), T.tanh, {}),
    "hyperbolic.tanh_expm1": (lambda x: (T.exp(2 * x) - 1) / (T.exp(2 * x) + 1), T.tanh, {}),
    "hyperbolic.tanh_expm1_half": (lambda x: (T.exp(x) - 1) / (T.exp(x) + 1), lambda x: T.tanh(0.5 * x), {}),
    "hyperbolic.tanh_expm1_any": (
        lambda x, y: y * (T.exp(x) - 1) / (T.exp(x) + 1),
        lambda x, y: y * T.tanh(0.5 * x),
        {},
    ),
    "hyperbolic.exp": (lambda x: T.sinh(x) + T.cosh(x), T.exp, {}),
    "hyperbolic.exp_neg": (lambda x: T.cosh(x) - T.sinh(x), lambda x: T.exp(-x), {}),
    "hyperbolic.exp_minus_cosh": (lambda x: T.exp(x) - T.cosh(x), T.sinh, {}),
    "hyperbolic.exp_minus_sinh": (lambda x: T.exp(x) - T.sinh(x), T.cosh, {}),
    "hyperbolic.cosh_minus_exp": (lambda x: T.cosh(x) - T.exp(x), lambda x: -T.sinh(x), {}),
    "hyperbolic.sinh_minus_exp": (lambda x: T.sinh(x) - T.exp(x), lambda x: -T.cosh(x), {}),
    "hyperbolic.sinh_minus_cosh": (lambda x: T.sinh(x) - T.cosh(x), lambda x: -T.exp(-x), {}),
    "hyperbolic.cosh_minus_exp_neg": (lambda x: T.cosh(x) - T.exp(-x), T.sinh, {}),
    "hyperbolic.exp_neg_minus_cosh": (lambda x: T.exp(-x) - T.cosh(x), lambda x: -T.sinh(x), {}),
    "hyperbolic.sinh_plus_exp_neg": (lambda x: T.sinh(x) + T.exp(-x), T.cosh, {}),
    "trigonometry.sin_over_tan of sinh": (lambda x: T.sinh(x) / T.tanh(x), T.cosh, {}),
    "trigonometry.tan_cos of cosh": (lambda x: T.tanh(x) * T.cosh(x), T.sinh, {}),
    "exponentials.expm1_softplus": (lambda x: T.expm1(T.softplus(x)), T.exp, {}),
    "exponentials.expm1_minus_softplus": (lambda x: T.expm1(-T.softplus(x)), lambda x: -T.sigmoid(x), {}),
    "exponentials.exp_minus_expm1": (lambda x: T.exp(x) - T.expm1(x), lambda x: T.ones_like(x), {}),
    "exponentials.exp_minus_log1p": (lambda x: T.exp(-T.log1p(x)), lambda x: 1 / (1 + x), {}),
    "trigonometry.one of cosh": (lambda x: T.sqr(T.cosh(x)) - T.sqr(T.sinh(x)), lambda x: T.ones_like(x), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rule(name):
    build, expected, options = CASES[name]
    check_rule(name.split()[0], build, expected, **options)


def test_quiet():
    x, y = T.dvector("x"), T.dvector("y")
    assert quiet(T.exp(x) - y, "exponentials") and quiet(T.exp(x) - 2, "exponentials")
    assert quiet(T.exp(x) + T.exp(-y), "hyperbolic") and quiet(T.sinh(x) / T.cosh(y), "hyperbolic")
    assert quiet(T.expm1(x) / (1 + T.exp(y)), "hyperbolic")
