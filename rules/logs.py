"""Logarithms that keep their digits near one and do not leave the range of numbers: log1p, log1mexp, softplus."""

from termgraph.rules import Float, finite, nonnegative, param, positive, rule, ruleset, this
from termgraph.terms.ops.elementwise import (
    abs_, exp, exp2, expm1, gamma, gammaln, log, log1mexp, log1p, log2, sigmoid, softplus, sqr, sqrt,
)
from termgraph.terms.ops.reduce import prod, sum_

LOG2 = 0.6931471805599453


@ruleset("stabilize")
def logs(x: Float, y: Float, a: param, d: param):
    # near one
    yield rule("log1p",           log(1 + x),                        log1p(x),               assumes=["plus_zero"])
    yield rule("softplus_log",    softplus(log(x)),                  log1p(x),
                                  assumes=["domain", "reassoc"])
    yield rule("log1p_minus_log", log1p(x[positive]) - log(x),       log1p(1 / x), assumes=["finite", "reassoc"])
    yield rule("log1p_neg",       log(1 - x),                        log1p(-x),              assumes=["plus_zero"])
    yield rule("log1p_minus_one", log1p(x - 1),                      log(x))
    yield rule("log_reciprocal",  log(1 / x),                        -log(x),
                                  assumes=["domain", "finite", "plus_zero"])
    yield rule("log1p_expm1",     log1p(expm1(x)),                   x)
    yield rule("log_exp",         log(exp(x)),                       x,                      assumes=["plus_zero"])
    yield rule("log2_exp2",       log2(exp2(x)),                     x,                      assumes=["plus_zero"])
    yield rule("log_exp2",        log(exp2(x)),                      x * LOG2,               assumes=["plus_zero"])

    # 1 - exp and exp - 1
    yield rule("log1mexp",        log1p(-exp(x)),                    log1mexp(x))
    yield rule("log1mexp_expm1",  log(-expm1(x)),                    log1mexp(x),            assumes=["plus_zero"])
    yield rule("log_expm1",       log(expm1(x)),                     x + log1mexp(-x))

    # powers and products, where the argument could leave the range of numbers
    yield rule("log_pow",         log(x[positive, finite] ** y),     y * log(x), assumes=["finite", "reassoc"])
    yield rule("log_sqr",         log(sqr(x)),                       2 * log(abs_(x)))
    yield rule("log_sqrt",        log(sqrt(x)),                      0.5 * log(x))
    yield rule("log_prod",        log(prod(x[this.dtype, nonnegative], axis=a, dtype=d)), sum_(log(x), axis=a, dtype=d),
                                  assumes=["finite"])
    yield rule("log_mul_exp",     log(y * exp(x)),                   log(y) + x,      assumes=["finite", "reassoc"])
    yield rule("log_exp_div",     log(exp(x) / y),                   x - log(y),      assumes=["finite", "reassoc"])
    yield rule("log_div_exp",     log(y / exp(x)),                   log(y) - x,      assumes=["finite", "reassoc"])
    yield rule("log_abs_gamma",   log(abs_(gamma(x))),               gammaln(x),
                                  assumes=["domain", "finite", "reassoc"])
    yield rule("log_gamma",       log(gamma(x)),                     gammaln(x),                 assumes=["domain"])

    # of a sigmoid, and the softplus that they make
    yield rule("log1p_exp",       log1p(exp(x)),                     softplus(x))
    yield rule("log_sigmoid_neg", log(sigmoid(-x)),                  -softplus(x),           assumes=["plus_zero"])
    yield rule("log_sigmoid",     log(sigmoid(x)),                   -softplus(-x),          assumes=["plus_zero"])
    yield rule("log1p_sigmoid_neg", log1p(-sigmoid(-x)),             -softplus(-x))
    yield rule("log1p_sigmoid",   log1p(-sigmoid(x)),                -softplus(x))
