"""Identities of sine and cosine, and those of the hyperbolic functions that are the same but for a sign.

They lose no digits, and some win some: 1 - cos(x) near 0. `circular` says which functions belong together.
"""

from termgraph.rules import Float, Half, head, rule, ruleset
from termgraph.terms.facts import circular
from termgraph.terms.ops.elementwise import cos, sin, sqr, tan


@ruleset("stabilize")
def trigonometry(x: Float, w: Float & ~Half, s: head, c: head, t: head, n):
    yield rule("one",             sqr(c(x)) + n * sqr(s(x)),         1,
                                  circular(s, c, t, n), assumes=["finite"])
    yield rule("one_minus_cos2",  1 - sqr(c(x)),                     n * sqr(s(x)),              circular(s, c, t, n),
                                  assumes=["plus_zero"])
    yield rule("one_minus_sin2",  1 - sqr(sin(x)),                   sqr(cos(x)))
    yield rule("cos2_minus_one",  sqr(c(x)) - 1,                     n * -sqr(s(x)),             circular(s, c, t, n),
                                  assumes=["plus_zero"])
    yield rule("sin2_minus_one",  n * sqr(s(x)) - 1,                 -sqr(c(x)),                 circular(s, c, t, n))
    yield rule("one_minus_cos",   1 - c(x),                          2 * n * sqr(s(0.5 * x)),    circular(s, c, t, n),
                                  assumes=["plus_zero"])
    yield rule("cos_minus_one",   c(x) - 1,                          -2 * n * sqr(s(0.5 * x)),   circular(s, c, t, n),
                                  assumes=["plus_zero"])
    yield rule("twice_minus_two", 2 * c(x) - 2,                      n * -sqr(2 * s(0.5 * x)),   circular(s, c, t, n),
                                  assumes=["plus_zero"])
    yield rule("double_cos",      sqr(c(w)) - n * sqr(s(w)),         c(2 * w),
                                  circular(s, c, t, n), assumes=["finite"])
    yield rule("tan",             sin(x) / cos(x),                   tan(x),                     assumes=["reassoc"])
    yield rule("tan_cos",         t(x) * c(x),                       s(x),
                                  circular(s, c, t, n), assumes=["finite", "reassoc"])
    yield rule("sin_over_tan",    s(x) / t(x),                       c(x),
                                  circular(s, c, t, n), assumes=["domain", "reassoc"])
    yield rule("tan_over_sin",    t(x) / s(x),                       1 / c(x),
                                  circular(s, c, t, n), assumes=["domain", "reassoc"])
    yield rule("cos_over_sin",    cos(x) / sin(x),                   1 / tan(x),                 assumes=["reassoc"])
