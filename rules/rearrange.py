"""Other forms of the same values, none better than the other as such: for `db.saturate`, which takes the cheapest of
all.

They are used in both directions. Sums and products that lose digits or overflow in one of the forms are taken on trust.
"""

from termgraph.rules import Float, Inexact, Matrix, Vector, distributes, head, positive, rule, ruleset, this
from termgraph.rules.type_facts import meet_in
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import exp, log, sqrt
from termgraph.terms.ops.linalg import dot

ROUNDED = ["finite", "overflow", "reassoc"]


@ruleset("saturate")
def rearrange(x: Float, y: Float, z: Float, a: Matrix, b: Matrix, c: Matrix, u: Vector, v: Vector,
              d: Inexact & Matrix, e: Inexact & Matrix, f: Inexact & Matrix, s: Inexact & Vector, t: Inexact & Vector,
              m: head, p: head):
    yield rule("factor",        p(m(x, y), m(x, z)),                m(x, p(y, z)),
                                distributes(m, p), assumes=ROUNDED)
    yield rule("log_of_product", log(x[positive]) + log(y[positive]), log(x * y), assumes=ROUNDED)
    yield rule("log_of_quotient", log(x[positive]) - log(y[positive]), log(x / y), assumes=ROUNDED)
    yield rule("exp_of_sum",    exp(x) * exp(y),                    exp(x + y),                        assumes=ROUNDED)
    yield rule("exp_of_difference", exp(x) / exp(y),                exp(x - y),                        assumes=ROUNDED)
    yield rule("root_of_product", sqrt(x[positive]) * sqrt(y[positive]), sqrt(x * y), assumes=ROUNDED)
    yield rule("fractions",     x / z + y / z,                      (x + y) / z,                       assumes=ROUNDED)

    # the order of products of matrices, and sums of them
    yield rule("chain",         dot(dot(a, b), c),                  dot(a, dot(b, c)),
                                meet_in(a, b, this), meet_in(b, c, this), assumes=ROUNDED)
    yield rule("chain_vector",  dot(dot(a, b), v),                  dot(a, dot(b, v)),
                                meet_in(a, b, this), meet_in(b, v, this), assumes=ROUNDED)
    yield rule("vector_chain",  dot(u, dot(a, b)),                  dot(dot(u, a), b),
                                meet_in(u, a, this), meet_in(a, b, this), assumes=ROUNDED)
    yield rule("left_factor",   dot(d, e) + dot(d, f),              dot(d, e + f),                     assumes=ROUNDED)
    yield rule("right_factor",  dot(d, f) + dot(e, f),              dot(d + e, f),                     assumes=ROUNDED)
    yield rule("left_vector",   dot(d, s) + dot(d, t),              dot(d, s + t),                     assumes=ROUNDED)
    yield rule("right_vector",  dot(d, s) + dot(e, s),              dot(d + e, s),                     assumes=ROUNDED)
    yield rule("transposed",    dimshuffle(dot(a, b), order=(1, 0)),
                                dot(dimshuffle(b, order=(1, 0)), dimshuffle(a, order=(1, 0))),
                                assumes=ROUNDED)
