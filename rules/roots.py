"""Square roots and lengths: squares are not made only to be undone, where they could overflow on the way."""

from termgraph.rules import Float, rule, ruleset
from termgraph.terms.ops.elementwise import (
    abs_, arccosh, arcsinh, arctanh, cosh, gt, hypot, log, log1p, minimum, sinh, softplus, sqr, sqrt, switch,
)

LOG2 = 0.6931471805599453


@ruleset("stabilize")
def roots(x: Float, y: Float):
    yield rule("sqrt_sqr",        sqrt(sqr(x)),                      abs_(x))
    yield rule("sqr_sqrt",        sqr(sqrt(x)),                      x,
                                  assumes=["domain", "plus_zero"])
    yield rule("abs_sqrt_mul",    sqrt(x) * sqrt(x),                 x,
                                  assumes=["domain", "plus_zero"])
    yield rule("hypot",           sqrt(sqr(x) + sqr(y)),             hypot(x, y),                assumes=["finite"])
    yield rule("hypot_one",       sqrt(1 + sqr(x)),                  hypot(x, 1))
    yield rule("div_sqrt",        x / sqrt(x),                       sqrt(x), assumes=["domain", "finite", "reassoc"])
    yield rule("sqrt_div",        sqrt(x) / x,                       1 / sqrt(x),
                                  assumes=["finite", "reassoc"])


@ruleset("stabilize")
def inverse_hyperbolic(x: Float):
    yield rule("arcsinh",         log(x + hypot(x, 1)),              arcsinh(x),             assumes=["plus_zero"])
    yield rule("arccosh",         log(x + sqrt(sqr(x) - 1)),         arccosh(x),           assumes=["domain", "finite"])
    yield rule("arctanh",         log((1 + x) / (1 - x)),            2 * arctanh(x),
                                  assumes=["domain", "plus_zero"])
    yield rule("arctanh_log1p",   log1p(x) - log1p(-x),              2 * arctanh(x), assumes=["reassoc"])
    yield rule("log_cosh",        log(cosh(x)),
                                  switch(gt(abs_(x), 1), abs_(x) + softplus(-2 * abs_(x)) - LOG2,
                                      log1p(2 * sqr(sinh(0.5 * minimum(abs_(x), 1))))))
