"""Variances: the mean of squares minus the square of the mean loses all digits where the mean is large."""

from termgraph.rulelib._goals_stable import without_deviations
from termgraph.rules import Float, Scalar, param, rule, ruleset, this
from termgraph.rules.parts import kept
from termgraph.rules.shape_facts import count_along
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import sqr
from termgraph.terms.ops.reduce import sum_


@ruleset("canonicalize")
def deviations(x: Float, y: Float, z: Float, a: param, d: param):
    # deviations from the mean add up to nothing, as gradients of normalised values find out
    yield rule("vanish",          sum_(x[this.dtype] + z, axis=a, dtype=d), sum_(y, axis=a, dtype=d),
                                  without_deviations(x + z, a, y), assumes=["finite", "reassoc"])
    yield rule("vanish_from",     sum_(x[this.dtype] - z, axis=a, dtype=d), sum_(y, axis=a, dtype=d),
                                  without_deviations(x - z, a, y), assumes=["finite", "reassoc"])


@ruleset("stabilize")
def moments(x: Float, n, m: Scalar, a: param, d: param):
    yield rule("variance",        sum_(sqr(x), axis=a, dtype=d) / n - sqr(sum_(x, axis=a, dtype=d) / m),
                                  sum_(sqr(x - dimshuffle(sum_(x, axis=a, dtype=d) / m, order=kept(x, a))),
                                      axis=a, dtype=d) / n,
                                  count_along(n, x, a), count_along(m, x, a),
                                  assumes=["finite", "reassoc"])
    yield rule("squared_deviations", sum_(sqr(x), axis=a, dtype=d) - sqr(sum_(x, axis=a, dtype=d)) / m,
                                  sum_(sqr(x - dimshuffle(sum_(x, axis=a, dtype=d) / m, order=kept(x, a))),
                                      axis=a, dtype=d),
                                  count_along(m, x, a), assumes=["finite", "reassoc"])
