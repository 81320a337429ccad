"""Normal forms of sums and products: `P - N` and `P / N`, flat, like terms collected, constants folded."""

from termgraph.rules import collected_product, collected_sum, rule, ruleset, seg, this
from termgraph.terms.ops.elementwise import add, mul, neg

TRUST = ["reassoc", "finite", "nonzero"]


@ruleset("canonicalize")
def collect(x, y, z, xs: seg):
    yield rule("sum",            add(*xs),                   y,              collected_sum(this, y), assumes=TRUST)
    yield rule("difference",     x - z,                      y,              collected_sum(this, y), assumes=TRUST)
    yield rule("negation",       neg(x),                     y,              collected_sum(this, y), assumes=TRUST)
    yield rule("product",        mul(*xs),                   y,              collected_product(this, y), assumes=TRUST)
    yield rule("quotient",       x / z,                      y,              collected_product(this, y), assumes=TRUST)
