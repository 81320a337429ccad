"""Powers with small exponents as products and roots, and divisions by powers of two as products, shifts and masks."""

from termgraph.rulelib._goals_powers import product_power
from termgraph.rules import Float, Inexact, Integer, finite, rule, ruleset, same_dtype, this
from termgraph.rules.number_parts import mask_of, opposite, reciprocal_of, shift_of
from termgraph.terms.ops.elementwise import bitwise_and, exp, exp2, floor_div, mod, right_shift, sqr, sqrt

E = 2.718281828459045


@ruleset("specialize")
def small_powers(x, y: Inexact, z: Float, k, m):
    # nothing is computed in the dtype of a narrower base, where it may wrap around and where floats are less precise
    yield rule("three",          x ** 3,                     x * sqr(x),
                                 same_dtype(x, this), assumes=["reassoc"])
    yield rule("four",           x ** 4,                     sqr(sqr(x)),
                                 same_dtype(x, this), assumes=["reassoc"])
    yield rule("five",           x ** 5,                     x * sqr(sqr(x)),
                                 same_dtype(x, this), assumes=["reassoc"])
    yield rule("six",            x ** 6,                     sqr(x * sqr(x)),
                                 same_dtype(x, this), assumes=["reassoc"])
    yield rule("eight",          x ** 8,                     sqr(sqr(sqr(x))),
                                 same_dtype(x, this), assumes=["reassoc"])
    yield rule("whole",          x ** k,                     m,
                                 product_power(this, x, k, m), assumes=["finite", "overflow", "reassoc"])
    yield rule("three_halves",   z ** 1.5,                   z * sqrt(z),
                                 same_dtype(z, this), finite(z), assumes=["reassoc"])
    yield rule("five_halves",    z ** 2.5,                   sqr(z) * sqrt(z),
                                 same_dtype(z, this), finite(z), assumes=["reassoc"])
    yield rule("minus_half",     y ** -0.5,                  1 / sqrt(y),
                                 same_dtype(y, this), finite(y), assumes=["finite", "reassoc"])
    yield rule("negative",       y ** k,                     1 / y ** opposite(k),
                                 finite(y), assumes=["reassoc"])

    # exponentials in disguise
    yield rule("base_two",       2 ** z,                     exp2(z),
                                 same_dtype(z, this), assumes=["reassoc"])
    yield rule("base_e",         E ** z,                     exp(z),
                                 same_dtype(z, this), assumes=["reassoc"])


@ruleset("specialize")
def divisions(x: Integer, z: Float, k):
    yield rule("exact",          z / k,                      z * reciprocal_of(k))
    yield rule("floor_div",      floor_div(x, k),            right_shift(x, shift_of(k, x)))
    yield rule("mod",            mod(x, k),                  bitwise_and(x, mask_of(k, x)))
