"""Normal forms of sums and products: `P - N` and `P / N`, flat, like terms collected, constants folded."""

from termgraph.rules import collected_product, collected_sum, rounds, rule, ruleset, seg, this, wraps
from termgraph.terms.ops.elementwise import add, mul, neg

TRUST = ["reassoc", "finite", "nonzero"]


@ruleset("canonicalize")
def collect(x, y, z, xs: seg):
    yield rule("sum",                add(*xs),               y,
                                     rounds(this), collected_sum(this, y), assumes=TRUST)
    yield rule("difference",         x - z,                  y,
                                     rounds(this), collected_sum(this, y), assumes=TRUST)
    yield rule("negation",           neg(x),                 y,
                                     rounds(this), collected_sum(this, y), assumes=TRUST)
    yield rule("product",            mul(*xs),               y,
                                     rounds(this), collected_product(this, y), assumes=TRUST)
    yield rule("quotient",           x / z,                  y,
                                     rounds(this), collected_product(this, y), assumes=TRUST)

    # whole numbers wrap around, whatever the order: nothing is taken on trust
    yield rule("integer_sum",        add(*xs),               y,              wraps(this), collected_sum(this, y))
    yield rule("integer_difference", x - z,                  y,              wraps(this), collected_sum(this, y))
    yield rule("integer_negation",   neg(x),                 y,              wraps(this), collected_sum(this, y))
    yield rule("integer_product",    mul(*xs),               y,              wraps(this), collected_product(this, y))
