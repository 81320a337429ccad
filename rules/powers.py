"""Powers with constant exponents. A square is `sqr(x)`, however it was written; a reciprocal is `1 / x`."""

from termgraph.rulelib._goals_powers import in_front
from termgraph.rules import Float, Inexact, Real, finite, nonzero, rule, ruleset, this
from termgraph.rules.constant_guards import Count, Even, Odd, Whole, exceeds
from termgraph.terms.ops.elementwise import abs_, hypot, reciprocal, sqr, sqrt

ROUNDS = ["reassoc"]


@ruleset("canonicalize")
def powers(x, u: Real, v: Inexact, w: Float, j: Count, k: Count, m: Whole, n: Whole, e: Even, o: Odd):
    yield rule("square",         x * x,                      sqr(x),                    in_front(x, this))
    yield rule("pow_two",        x[this.dtype] ** 2,         sqr(x), assumes=ROUNDS)
    yield rule("pow_minus_one",  v[this.dtype] ** -1,        1 / v, assumes=ROUNDS)
    yield rule("reciprocal",     reciprocal(v),              1 / v,                     assumes=ROUNDS)
    yield rule("one_pow",        1 ** w,                     1)

    # powers of one base
    yield rule("pow_pow",        (v ** m) ** n,              v ** (m * n), assumes=[*ROUNDS, "finite"])
    yield rule("sqr_pow",        sqr(v ** n),                v ** (n * 2), assumes=[*ROUNDS, "finite"])
    yield rule("pow_sqr",        sqr(v) ** n,                v ** (n * 2), assumes=[*ROUNDS, "finite"])
    yield rule("mul_pow",        v * v ** k,                 v ** (k + 1), assumes=[*ROUNDS, "finite"])
    yield rule("pow_mul_pow",    v ** j * v ** k,            v ** (j + k), assumes=[*ROUNDS, "finite"])
    yield rule("sqr_mul_pow",    sqr(v) * v ** k,            v ** (k + 2), assumes=[*ROUNDS, "finite"])
    yield rule("pow_div",        v[nonzero] ** k / v,        v ** (k - 1), assumes=[*ROUNDS, "finite"])
    yield rule("pow_div_pow",    v[nonzero] ** j / v ** k,   v ** (j - k), exceeds(j, k), assumes=[*ROUNDS, "finite"])
    yield rule("sqr_div",        sqr(v[nonzero]) / v,        v, assumes=[*ROUNDS, "finite"])
    yield rule("div_sqr",        v[nonzero] / sqr(v),        1 / v, assumes=[*ROUNDS, "finite"])

    # signs
    yield rule("even",           (-v) ** e,                  v ** e, assumes=["reassoc"])
    yield rule("odd",            (-v) ** o,                  -(v ** o), assumes=["reassoc"])
    yield rule("sqr_abs",        sqr(abs_(u)),               sqr(u))
    yield rule("even_abs",       abs_(w) ** e,               w ** e, assumes=["reassoc"])
    yield rule("abs_sqr",        abs_(sqr(w)),               sqr(w))
    yield rule("hypot_zero",     hypot(w, 0),                abs_(w))


@ruleset("specialize")
def half_powers(v: Inexact):
    yield rule("sqrt",           v[this.dtype, finite] ** 0.5, sqrt(v), assumes=["reassoc"])
