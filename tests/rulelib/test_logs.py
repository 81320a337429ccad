"""The rules of rules/logs.py and rules/softplus.py: fired, expected form, no digit lost; and where they stay quiet."""

import numpy as np
import pytest
from accuracy import check_rule, quiet

import termgraph.tensor as T

LOG2 = 0.6931471805599453
CASES = {
    "logs.log1p": (lambda x: T.log(1 + x), T.log1p, {}),
    "logs.softplus_log": (lambda x: T.softplus(T.log(x)), T.log1p, {}),
    "logs.log1p_minus_log": (
        lambda x: T.log1p(x) - T.log(x),
        lambda x: T.log1p(1 / x),
        {"assume": {"positive": True}, "at": (1e-20, 0.3, 1.0, 2.5, 30.0, 1e5)},
    ),
    "logs.log1p_neg": (lambda x: T.log(1 - x), lambda x: T.log1p(-x), {}),
    "logs.log1p_minus_one": (lambda x: T.log1p(x - 1), T.log, {}),
    "logs.log_reciprocal": (lambda x: T.log(1 / x), lambda x: -T.log(x), {}),
    "logs.log_exp2": (lambda x: T.log(T.exp2(x)), lambda x: x * LOG2, {}),
    "logs.log1mexp": (lambda x: T.log1p(-T.exp(x)), T.log1mexp, {}),
    "logs.log1mexp_expm1": (lambda x: T.log(1 - T.exp(x)), T.log1mexp, {}),
    "logs.log_expm1": (lambda x: T.log(T.exp(x) - 1), lambda x: x + T.log1mexp(-x), {"near": 1.0}),
    "logs.log_sqr": (lambda x: T.log(T.sqr(x)), lambda x: 2 * T.log(T.abs(x)), {}),
    "logs.log_sqrt": (lambda x: T.log(T.sqrt(x)), lambda x: 0.5 * T.log(x), {}),
    "logs.log_mul_exp": (lambda x, y: T.log(y * T.exp(x)), lambda x, y: T.log(y) + x, {"near": 1e6}),
    "logs.log_exp_div": (lambda x, y: T.log(T.exp(x) / y), lambda x, y: x - T.log(y), {"near": 1e6}),
    "logs.log_div_exp": (lambda x, y: T.log(y / T.exp(x)), lambda x, y: T.log(y) - x, {"near": 1e6}),
    "logs.log_abs_gamma": (lambda x: T.log(T.abs(T.gamma(x))), T.gammaln, {"near": 1.0}),
    "logs.log_gamma": (lambda x: T.log(T.gamma(x)), T.gammaln, {"near": 1.0}),
    "logs.log1p_exp": (lambda x: T.log(1 + T.exp(x)), T.softplus, {}),
    "logs.log_sigmoid": (lambda x: T.log(T.sigmoid(x)), lambda x: -T.softplus(-x), {}),
    "logs.log_sigmoid_neg": (lambda x: T.log(1 - T.sigmoid(x)), lambda x: -T.softplus(x), {}),
    "logs.log1p_sigmoid": (lambda x: T.log1p(-T.sigmoid(x)), lambda x: -T.softplus(x), {}),
    "logs.log1p_sigmoid_neg": (lambda x: T.log1p(-T.sigmoid(-x)), lambda x: -T.softplus(-x), {}),
    "softplus.add_arg": (lambda x: x + T.log1p(T.exp(-x)), T.softplus, {}),
    "softplus.sub_arg": (lambda x: T.log1p(T.exp(x)) - x, lambda x: T.softplus(-x), {}),
    "softplus.difference": (lambda x: T.softplus(x) - T.softplus(-x), lambda x: x, {}),
    "softplus.difference_neg": (lambda x: T.softplus(-x) - T.softplus(x), lambda x: -x, {}),
    "softplus.split": (lambda x: T.maximum(x, 0) + T.log1p(T.exp(-T.abs(x))), T.softplus, {}),
    "softplus.split_below": (lambda x: T.log1p(T.exp(-T.abs(x))) - T.minimum(x, 0), lambda x: T.softplus(-x), {}),
    "softplus.logaddexp_zero": (lambda x: T.logaddexp(0.0, x), T.softplus, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rule(name):
    build, expected, options = CASES[name]
    check_rule(name, build, expected, **options)


def test_facts_let_powers_and_products_out():
    given = {"assume": {"positive": True}, "at": (1e-20, 0.3, 1.0, 2.5, 30.0, 1e5)}
    check_rule("logs.log_pow", lambda x, y: T.log(x**y), lambda x, y: y * T.log(x), near=1.0, **given)
    data = [np.array([[1e-20, 1e-30, 0.5], [700.0, 1e5, 2.0]])]
    check_rule(
        "logs.log_prod",
        lambda x: T.log(T.prod(x, axis=1)),
        lambda x: T.sum(T.log(x), axis=1),
        shape=True,
        at=data,
        assume={"nonnegative": True},
    )


def test_quiet():
    x, y, i = T.dvector("x"), T.dvector("y"), T.lvector("i")
    assert quiet(T.log(x**y), "logs") and quiet(T.log(x * y), "logs") and quiet(T.log(2 + x), "logs")
    assert quiet(T.log(1 + i), "logs"), "integers become floats exactly; nothing is lost"
    assert quiet(T.log(T.prod(x)), "logs") and quiet(T.log(1 + x.astype("complex128")), "logs")
    assert quiet(x + T.softplus(x), "softplus") and quiet(T.softplus(x) - y, "softplus")
    assert quiet(T.maximum(x, 1) + T.softplus(-T.abs(x)), "softplus") and quiet(T.logaddexp(x, 1.0), "softplus")
