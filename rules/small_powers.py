"""Powers with small exponents as products and roots, and divisions by powers of two as products, shifts and masks."""

from termgraph.rulelib._goals_powers import product_power
from termgraph.rules import Float, Inexact, Integer, finite, rule, ruleset, this
from termgraph.rules.number_parts import mask_of, opposite, reciprocal_of, shift_of
from termgraph.terms.ops.elementwise import bitwise_and, exp, exp2, floor_div, mod, right_shift, sqr, sqrt

E = 2.718281828459045


@ruleset("specialize")
def small_powers(x, y: Inexact, z: Float, k, m):
    # nothing is computed in the dtype of a narrower base, where it may wrap around and where floats are less precise
    yield rule("three",          x[this.dtype] ** 3,         x * sqr(x), assumes=["reassoc"])
    yield rule("four",           x[this.dtype] ** 4,         sqr(sqr(x)), assumes=["reassoc"])
    yield rule("five",           x[this.dtype] ** 5,         x * sqr(sqr(x)), assumes=["reassoc"])
    yield rule("six",            x[this.dtype] ** 6,         sqr(x * sqr(x)), assumes=["reassoc"])
    yield rule("eight",          x[this.dtype] ** 8,         sqr(sqr(sqr(x))), assumes=["reassoc"])
    yield rule("whole",          x ** k,                     m,
                                 product_power(this, x, k, m), assumes=["finite", "overflow", "reassoc"])
    yield rule("three_halves",   z[this.dtype, finite] ** 1.5, z * sqrt(z), assumes=["reassoc"])
    yield rule("five_halves",    z[this.dtype, finite] ** 2.5, sqr(z) * sqrt(z), assumes=["reassoc"])
    yield rule("minus_half",     y[this.dtype, finite] ** -0.5, 1 / sqrt(y), assumes=["finite", "reassoc"])
    yield rule("negative",       y[finite] ** k,             1 / y ** opposite(k), assumes=["reassoc"])

    # exponentials in disguise
    yield rule("base_two",       2 ** z[this.dtype],         exp2(z), assumes=["reassoc"])
    yield rule("base_e",         E ** z[this.dtype],         exp(z), assumes=["reassoc"])


@ruleset("specialize")
def divisions(x: Integer, z: Float, k):
    yield rule("exact",          z / k,                      z * reciprocal_of(k))
    yield rule("floor_div",      floor_div(x, k),            right_shift(x, shift_of(k, x)))
    yield rule("mod",            mod(x, k),                  bitwise_and(x, mask_of(k, x)))
