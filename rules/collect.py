"""Normal forms of sums and products: `P - N` and `P / N`, flat, like terms collected, constants folded."""

from termgraph.rules import collected_product, collected_sum, rounds, rule, ruleset, seg, this, wraps
from termgraph.terms.ops.elementwise import add, mul, neg

TRUST = ["reassoc", "finite", "nonzero"]


@ruleset("canonicalize")
def collect(x, y, z, xs: seg):
    yield rule("sum",                add(*xs)[rounds],       y, collected_sum(this, y), assumes=TRUST)
    yield rule("difference",         (x - z)[rounds],        y, collected_sum(this, y), assumes=TRUST)
    yield rule("negation",           neg(x)[rounds],         y, collected_sum(this, y), assumes=TRUST)
    yield rule("product",            mul(*xs)[rounds],       y, collected_product(this, y), assumes=TRUST)
    yield rule("quotient",           (x / z)[rounds],        y, collected_product(this, y), assumes=TRUST)

    # whole numbers wrap around, whatever the order: nothing is taken on trust
    yield rule("integer_sum",        add(*xs)[wraps],        y, collected_sum(this, y))
    yield rule("integer_difference", (x - z)[wraps],         y, collected_sum(this, y))
    yield rule("integer_negation",   neg(x)[wraps],          y, collected_sum(this, y))
    yield rule("integer_product",    mul(*xs)[wraps],        y, collected_product(this, y))
