"""Exponentials that keep their digits near zero, hyperbolic functions, and products of exponentials in one."""

from termgraph.rules import Float, head, rule, ruleset, this
from termgraph.terms.ops.elementwise import (
    cosh, exp, exp2, expm1, log, log1mexp, log1p, logaddexp, sigmoid, sinh, softplus, sqr, sqrt, tanh,
)


@ruleset("stabilize")
def exponentials(x: Float, y: Float, e: head[exp, exp2]):
    # near zero
    yield rule("expm1",           exp(x) - 1,                        expm1(x),               assumes=["plus_zero"])
    yield rule("one_minus_exp",   1 - exp(x),                        -expm1(x),              assumes=["plus_zero"])
    yield rule("expm1_plus_one",  expm1(x[this.dtype]) + 1,          exp(x))
    yield rule("expm1_log1p",     expm1(log1p(x)),                   x,                          assumes=["domain"])
    yield rule("exp_log1p",       exp(log1p(x)),                     1 + x,                      assumes=["domain"])
    yield rule("expm1_log",       expm1(log(x)),                     x - 1,
                                  assumes=["domain", "reassoc"])

    # one exponential instead of several, which could overflow on the way
    yield rule("reciprocal",      1 / exp(x),                        exp(-x), assumes=["reassoc"])
    yield rule("mul",             e(x) * e(y),                       e(x + y),   assumes=["finite", "reassoc"])
    yield rule("div",             exp(x) / exp(y),                   exp(x - y), assumes=["finite", "reassoc"])
    yield rule("pow",             exp(x) ** y,                       exp(x * y),
                                  assumes=["finite", "reassoc"])
    yield rule("sqr",             sqr(exp(x)),                       exp(2 * x))
    yield rule("sqrt",            sqrt(exp(x)),                      exp(0.5 * x))

    # of the stable logarithms
    yield rule("exp_log1mexp",    exp(log1mexp(x)),                  -expm1(x), assumes=["domain", "signed_zero"])
    yield rule("exp_softplus",    exp(softplus(x)),                  1 + exp(x))
    yield rule("exp_logaddexp",   exp(logaddexp(x, y)),              exp(x) + exp(y), assumes=["finite", "reassoc"])
    yield rule("expm1_softplus",  expm1(softplus(x)),                exp(x),
                                  assumes=["finite", "reassoc"])
    yield rule("expm1_minus_softplus", expm1(-softplus(x)),          -sigmoid(x),                assumes=["reassoc"])
    yield rule("exp_minus_expm1", exp(x) - expm1(x),                 1,
                                  assumes=["finite", "reassoc"])
    yield rule("exp_minus_log1p", exp(-log1p(x)),                    1 / (1 + x),
                                  assumes=["domain", "finite", "reassoc"])


@ruleset("stabilize")
def hyperbolic(x: Float, y: Float, f: head[sinh, cosh]):
    # those that sines and cosines have as well, but for a sign, are in `trigonometry`
    yield rule("sinh",            exp(x) - exp(-x),                  2 * sinh(x),            assumes=["plus_zero"])
    yield rule("half",            (2 * f(x)) / 2,                    f(x))
    yield rule("cosh",            exp(x) + exp(-x),                  2 * cosh(x),                 assumes=["reassoc"])
    yield rule("tanh",            sinh(x) / cosh(x),                 tanh(x))
    yield rule("tanh_of_twice",   (2 * sinh(x)) / (2 * cosh(x)),     tanh(x))
    yield rule("tanh_expm1",      expm1(2 * x) / (1 + exp(2 * x)),   tanh(x))
    yield rule("tanh_expm1_half", expm1(x) / (1 + exp(x)),           tanh(0.5 * x))
    yield rule("tanh_expm1_any",  (y * expm1(x)) / (1 + exp(x)),     y * tanh(0.5 * x),
                                  assumes=["finite", "reassoc"])
    yield rule("exp",             sinh(x) + cosh(x),                 exp(x))
    yield rule("exp_neg",         cosh(x) - sinh(x),                 exp(-x))
    yield rule("exp_minus_cosh",  exp(x) - cosh(x),                  sinh(x),                assumes=["plus_zero"])
    yield rule("exp_minus_sinh",  exp(x) - sinh(x),                  cosh(x))
    yield rule("cosh_minus_exp",  cosh(x) - exp(x),                  -sinh(x),               assumes=["plus_zero"])
    yield rule("sinh_minus_exp",  sinh(x) - exp(x),                  -cosh(x))
    yield rule("sinh_minus_cosh", sinh(x) - cosh(x),                 -exp(-x),                   assumes=["finite"])
    yield rule("cosh_minus_exp_neg", cosh(x) - exp(-x),              sinh(x),                assumes=["plus_zero"])
    yield rule("exp_neg_minus_cosh", exp(-x) - cosh(x),              -sinh(x),               assumes=["plus_zero"])
    yield rule("sinh_plus_exp_neg", sinh(x) + exp(-x),               cosh(x),                    assumes=["reassoc"])
    yield rule("cosh_over_sinh",  cosh(x) / sinh(x),                 1 / tanh(x))
    yield rule("one_plus_sinh2",  1 + sqr(sinh(x)),                  sqr(cosh(x)),                assumes=["reassoc"])
