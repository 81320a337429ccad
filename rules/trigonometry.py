"""Trigonometric identities that lose no digits, and those that win some: 1 - cos(x) near 0."""

from termgraph.rules import Float, Half, rule, ruleset
from termgraph.terms.ops.elementwise import cos, sin, sqr, tan


@ruleset("stabilize")
def trigonometry(x: Float, w: Float & ~Half):
    yield rule("one",             sqr(sin(x)) + sqr(cos(x)),         1,                          assumes=["finite"])
    yield rule("one_minus_cos2",  1 - sqr(cos(x)),                   sqr(sin(x)))
    yield rule("one_minus_sin2",  1 - sqr(sin(x)),                   sqr(cos(x)))
    yield rule("cos2_minus_one",  sqr(cos(x)) - 1,                   -sqr(sin(x)))
    yield rule("sin2_minus_one",  sqr(sin(x)) - 1,                   -sqr(cos(x)))
    yield rule("one_minus_cos",   1 - cos(x),                        2 * sqr(sin(0.5 * x)))
    yield rule("cos_minus_one",   cos(x) - 1,                        -2 * sqr(sin(0.5 * x)))
    yield rule("double_cos",      sqr(cos(w)) - sqr(sin(w)),         cos(2 * w),                 assumes=["finite"])
    yield rule("tan",             sin(x) / cos(x),                   tan(x),                     assumes=["reassoc"])
    yield rule("tan_cos",         tan(x) * cos(x),                   sin(x),
                                  assumes=["finite", "reassoc"])
    yield rule("sin_over_tan",    sin(x) / tan(x),                   cos(x),                     assumes=["domain"])
    yield rule("tan_over_sin",    tan(x) / sin(x),                   1 / cos(x),
                                  assumes=["domain", "reassoc"])
    yield rule("cos_over_sin",    cos(x) / sin(x),                   1 / tan(x),                 assumes=["reassoc"])
