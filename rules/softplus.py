"""softplus(x) = log(1 + exp(x)) under its other names, and what differences of it come to."""

from termgraph.rules import Float, rule, ruleset
from termgraph.terms.ops.elementwise import abs_, logaddexp, maximum, minimum
from termgraph.terms.ops.elementwise import softplus as softplus_


@ruleset("stabilize")
def softplus(x: Float):
    yield rule("add_arg",         x + softplus_(-x),                  softplus_(x))
    yield rule("sub_arg",         softplus_(x) - x,                   softplus_(-x))
    yield rule("difference",      softplus_(x) - softplus_(-x),       x,                     assumes=["plus_zero"])
    yield rule("difference_neg",  softplus_(-x) - softplus_(x),       -x,                    assumes=["plus_zero"])
    yield rule("split",           maximum(x, 0) + softplus_(-abs_(x)), softplus_(x))
    yield rule("split_below",     softplus_(-abs_(x)) - minimum(x, 0), softplus_(-x))
    yield rule("logaddexp_zero",  logaddexp(x, 0),                    softplus_(x))
