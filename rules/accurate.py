"""Other forms of the same values, each better at some operands and worse at others: for `tg.accurate`, which measures.

Read in both directions. Facts that a rule asks for are taken on trust by that search, where nothing speaks against
them: at points where they do not hold, the form is seen to be wrong. What is better everywhere is a rule of
`stabilize`.
"""

from termgraph.rulelib._goals_accurate import larger_power
from termgraph.rules import Float, Uniform, head, negative, nonnegative, nonzero, positive, rule, ruleset
from termgraph.terms.facts import circular
from termgraph.terms.ops.elementwise import (
    abs_, arccos, arcsin, arctan, arctan2, cbrt, cos, exp, expm1, hypot, log, log1p, sigmoid, sign, sin, sinh, sqr,
    sqrt, tan, tanh,
)

FORMS = ["domain", "finite", "nonzero", "overflow", "reassoc", "signed_zero"]


@ruleset("accurate")
def conjugates(x: Float, y: Float, z: Float, a: Float, b: Float):
    """Differences whose leading parts cancel, as a quotient in which they have done so."""
    yield rule("roots",           sqrt(x[nonzero]) - sqrt(y), (x - y) / (sqrt(x) + sqrt(y)), assumes=FORMS)
    yield rule("root_minus",      sqrt(x) - y[positive],      (x - sqr(y)) / (sqrt(x) + y), assumes=FORMS)
    yield rule("minus_root",      y[positive] - sqrt(x),      (sqr(y) - x) / (sqrt(x) + y), assumes=FORMS)
    yield rule("plus_root",       y[negative] + sqrt(x),      (sqr(y) - x) / (y - sqrt(x)), assumes=FORMS)
    yield rule("scaled_roots",    a[positive] * sqrt(x[nonzero]) - b[positive] * sqrt(y),
                                  (sqr(a) * x - sqr(b) * y) / (a * sqrt(x) + b * sqrt(y)), assumes=FORMS)
    yield rule("hypot_minus",     hypot(x, y) - z[positive], (sqr(x) + (y - z) * (y + z)) / (hypot(x, y) + z),
                                  assumes=FORMS)
    yield rule("minus_hypot",     z[positive] - hypot(x, y), ((z - y) * (z + y) - sqr(x)) / (hypot(x, y) + z),
                                  assumes=FORMS)
    yield rule("plus_hypot",      z[negative] + hypot(x, y), ((z - y) * (z + y) - sqr(x)) / (z - hypot(x, y)),
                                  assumes=FORMS)
    yield rule("hypots",          hypot(x[nonzero], y) - hypot(x, z), (y - z) * ((y + z) / (hypot(x, y) + hypot(x, z))),
                                  assumes=FORMS)
    yield rule("cube_roots",      cbrt(x[nonzero]) - cbrt(y),
                                  (x - y) / (sqr(cbrt(x)) + cbrt(x) * cbrt(y) + sqr(cbrt(y))), assumes=FORMS)
    yield rule("squares",         sqr(x) - sqr(y),            (x - y) * (x + y),                        assumes=FORMS)
    yield rule("square_minus_one", sqr(x) - 1,                (x - 1) * (x + 1),                        assumes=FORMS)
    yield rule("one_minus_square", 1 - sqr(x),                (1 - x) * (1 + x),                        assumes=FORMS)
    yield rule("fractions",       a / x - b / y,              (a * y - b * x) / (x * y),                assumes=FORMS)
    yield rule("sum_of_fractions", a / x + b / y,             (a * y + b * x) / (x * y),                assumes=FORMS)
    yield rule("fraction_minus",  a / x - b,                  (a - b * x) / x,                          assumes=FORMS)
    yield rule("minus_fraction",  b - a / x,                  (b * x - a) / x,                          assumes=FORMS)
    yield rule("fraction_plus",   a / x + b,                  (a + b * x) / x,                          assumes=FORMS)


@ruleset("accurate")
def differences_of_functions(x: Float, y: Float, z: Float, s: head, c: head, t: head, n):
    """The difference of a function at two places, from the difference of these."""
    yield rule("exp",             exp(x) - exp(y),            exp(y) * expm1(x - y),                    assumes=FORMS)
    yield rule("expm1",           expm1(x) - expm1(y),        exp(y) * expm1(x - y),                    assumes=FORMS)
    yield rule("exp_minus",       exp(x) - y,                 expm1(x) - (y - 1),                       assumes=FORMS)
    yield rule("minus_exp",       y - exp(x),                 (y - 1) - expm1(x),                       assumes=FORMS)
    yield rule("expm1_minus",     expm1(x) - expm1(-x),       2 * sinh(x),                              assumes=FORMS)
    yield rule("expm1_plus",      expm1(x) + expm1(-x),       sqr(2 * sinh(0.5 * x)),                   assumes=FORMS)
    yield rule("log",             log(x) - log(y),            log(x / y),                               assumes=FORMS)
    yield rule("log_near",        log(x) - log(y),            log1p((x - y) / y),                       assumes=FORMS)
    yield rule("log1p",           log1p(x) - log1p(y),        log1p((x - y) / (1 + y)),                 assumes=FORMS)
    yield rule("log_ratio",       log(x / y),                 log1p((x - y) / y),                       assumes=FORMS)
    yield rule("log_one",         log(x),                     log1p(x - 1),                             assumes=FORMS)
    yield rule("log_root",        log(sqr(x) + y),            log1p(sqr(x) + (y - 1)),                  assumes=FORMS)
    yield rule("log_scaled",      log(x[positive] + y),       log(x) + log1p(y / x), assumes=FORMS)
    yield rule("log_hypot",       log(hypot(x, y)),           0.5 * log1p((x - 1) * (x + 1) + sqr(y)),  assumes=FORMS)
    yield rule("sin",             s(x) - s(y),                2 * s((x - y) / 2) * c((x + y) / 2),
                                  circular(s, c, t, n), assumes=FORMS)
    yield rule("cos",             c(x) - c(y),                -2 * n * s((x - y) / 2) * s((x + y) / 2),
                                  circular(s, c, t, n), assumes=FORMS)
    yield rule("tan",             tan(x) - tan(y),            sin(x - y) / (cos(x) * cos(y)),           assumes=FORMS)
    yield rule("arctan",          arctan(x) - arctan(y),      arctan2(x - y, 1 + x * y),                assumes=FORMS)
    yield rule("arccos",          arccos(1 - x),              2 * arcsin(sqrt(x / 2)),                  assumes=FORMS)
    yield rule("tanh",            tanh(x) - tanh(y),          -2 * sign(x - y) * expm1(-2 * abs_(x - y))
               * exp(abs_(x - y) - abs_(x) - abs_(y)) * sigmoid(2 * abs_(x)) * sigmoid(2 * abs_(y)), assumes=FORMS)
    yield rule("sum_sin",         sin(x + y) - sin(x),        2 * cos(x + y / 2) * sin(y / 2),          assumes=FORMS)
    yield rule("sum_cos",         cos(x + y) - cos(x),        -2 * sin(x + y / 2) * sin(y / 2),         assumes=FORMS)
    yield rule("angle_sin",       sin(x + y),                 sin(x) * cos(y) + cos(x) * sin(y),        assumes=FORMS)
    yield rule("half_tan",        (1 - cos(x)) / sin(x),      tan(x / 2),                               assumes=FORMS)
    yield rule("half_tan_square", sqr(sin(x)) / sin(y),       sin(x) * (sin(x) / sin(y)),               assumes=FORMS)
    yield rule("half_angle",      sqr(sin(0.5 * x)) / sin(x), 0.5 * tan(0.5 * x),                       assumes=FORMS)


@ruleset("accurate")
def powers_apart(x: Float, y: Float, z: Float, k: Uniform, m):
    """Powers as exponentials of logarithms, and differences of powers."""
    yield rule("pow",             x[positive] ** y,           exp(y * log(x)), assumes=FORMS)
    yield rule("pow_minus_one",   x[positive] ** y - 1,       expm1(y * log(x)), assumes=FORMS)
    yield rule("one_minus_pow",   1 - x[positive] ** y,       -expm1(y * log(x)), assumes=FORMS)
    yield rule("pow_near_one",    (1 + x)[positive] ** y - 1, expm1(y * log1p(x)), assumes=FORMS)
    yield rule("one_minus_near",  1 - (1 - x)[positive] ** y, -expm1(y * log1p(-x)), assumes=FORMS)
    yield rule("growth",          (1 + x)[positive] ** y,     exp(y * log1p(x)), assumes=FORMS)
    yield rule("decay",           (1 - x)[positive] ** y,     exp(y * log1p(-x)), assumes=FORMS)
    yield rule("differences",     x ** k - y ** k,
               (x - y) * m, larger_power(x, y, k, m), assumes=FORMS)
    yield rule("same_exponent",   x[positive] ** z - y[positive] ** z, y ** z * expm1(z * log(x / y)), assumes=FORMS)


@ruleset("accurate")
def ranges(x: Float, y: Float, z: Float, w: Float):
    """The order of products and quotients, roots of products, lengths: what overflows on the way, and what does not."""
    yield rule("over",            (x * y) / z,                x * (y / z),                              assumes=FORMS)
    yield rule("cancel",          (x * y) / (x * z),          y / z,                                    assumes=FORMS)
    yield rule("cancel_all",      x / (x * y),                1 / y,                                    assumes=FORMS)
    yield rule("over_both",       (x * y) / (z * w),          (x / z) * (y / w),                        assumes=FORMS)
    yield rule("over_product",    x / (y * z),                (x / y) / z,                              assumes=FORMS)
    yield rule("over_square",     x / sqr(y),                 (x / y) / y,                              assumes=FORMS)
    yield rule("square_over",     sqr(x) / y,                 x * (x / y),                              assumes=FORMS)
    yield rule("squares_over",    sqr(x) / sqr(y),            sqr(x / y),                               assumes=FORMS)
    yield rule("root_of_ratio",   sqrt(x[nonnegative] / y[positive]), sqrt(x) / sqrt(y), assumes=FORMS)
    yield rule("root_of_squares", sqrt(sqr(x) - sqr(y)),      sqrt(abs_(x) - abs_(y)) * sqrt(abs_(x) + abs_(y)),
               positive(abs_(x) - abs_(y)), assumes=FORMS)
    yield rule("root_less",       sqrt(sqr(x) - y[nonnegative]), sqrt(abs_(x) - sqrt(y)) * sqrt(abs_(x) + sqrt(y)),
                                  positive(abs_(x) - sqrt(y)), assumes=FORMS)
    yield rule("root_less_one",   sqrt(sqr(x) - 1),           sqrt(x - 1) * sqrt(x + 1), positive(x - 1), assumes=FORMS)
    yield rule("root_less_scaled", sqrt(sqr(x[nonzero]) - y), abs_(x) * sqrt(1 - (y / x) / x), assumes=FORMS)
    yield rule("root_more_scaled", sqrt(sqr(x[nonzero]) + y), abs_(x) * sqrt(1 + (y / x) / x), assumes=FORMS)
    yield rule("root_more",       sqrt(sqr(x) + y[nonnegative]), hypot(x, sqrt(y)), assumes=FORMS)
    yield rule("hypot_scaled",    sqrt(x[nonnegative] * sqr(y)), sqrt(x) * abs_(y), assumes=FORMS)
    yield rule("root_of_product", sqrt(x[nonnegative] * y[nonnegative]), sqrt(x) * sqrt(y), assumes=FORMS)
    yield rule("over_squares",    z / (sqr(x) + sqr(y)),      (z / hypot(x, y)) / hypot(x, y),          assumes=FORMS)
    yield rule("one_over_ratio",  x / (x + y),                1 / (1 + y / x),                          assumes=FORMS)
    yield rule("ratio_of_sums",   (x + y) / z,                x / z + y / z,                            assumes=FORMS)
    yield rule("ratio_of_differences", (x - y) / z,           x / z - y / z,                            assumes=FORMS)
    yield rule("square_of_sum",   sqr(x + y),                 sqr(x) + 2 * x * y + sqr(y),              assumes=FORMS)
    yield rule("square_of_difference", sqr(x - y),            sqr(x) - 2 * x * y + sqr(y),              assumes=FORMS)
    yield rule("exp_over",        x[positive] * exp(y),       exp(y + log(x)), assumes=FORMS)
