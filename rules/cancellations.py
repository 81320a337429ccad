"""Factors that gradients divide by and multiply with again: where they underflow, 0 / 0 would be left.

The gradient of log(p) is g / p; the gradient of what made p (a softmax, a sigmoid, an exponential) multiplies by p.
"""

from termgraph.rulelib._goals_stable import undivided
from termgraph.rules import Float, NonConst, head, nonzero, param, rule, ruleset, same_rank, seg
from termgraph.rules.constant_guards import Zero
from termgraph.rules.parts import kept
from termgraph.rules.shape_facts import reduced_rank
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import add, exp, sub
from termgraph.terms.ops.indexing import gather, scatter_add
from termgraph.terms.ops.reduce import logsumexp, softmax, sum_


@ruleset("stabilize")
def cancellations(y: Float & NonConst, z: Float, w: Float, u: Float | 1, v: Float | 1, t: Float | 0, o: Zero,
                  a: head[add, sub], i: param, ks: seg):
    yield rule("sum",             y[nonzero] * a(u * (z / (y * v)), w),     a(u * z / v, y * w),
                                  assumes=["finite", "reassoc"])
    yield rule("minus_from",      y[nonzero] * (w - u * (z / (y * v))),     y * w - u * z / v,
                                  assumes=["finite", "reassoc"])

    # labels: one element of each row was divided by
    yield rule("labels",          y[nonzero] * a(scatter_add(o, z, *ks, index=i), t),
                                  a(scatter_add(o, w, *ks, index=i), y * t), same_rank(y, o),
                                  undivided(z, gather(y, *ks, index=i), w), assumes=["finite", "reassoc"])


@ruleset("stabilize")
def softmax_gradients(x: Float, y: Float, z: Float, w: Float, a: param, d: param, s: head[add, sub]):
    yield rule("logsumexp",       exp(x) * dimshuffle(1 / sum_(exp(x), axis=a, dtype=d), order=kept(x, a)),
                                  softmax(x, axis=a),
                                  assumes=["finite"])
    yield rule("scaled",          exp(x) * dimshuffle(y / sum_(exp(x), axis=a, dtype=d), order=kept(x, a)),
                                  softmax(x, axis=a) * dimshuffle(y, order=kept(x, a)),
                                  reduced_rank(y, x, a), assumes=["finite", "reassoc"])

    yield rule("scaled_neg",      exp(x) * dimshuffle(-(y / sum_(exp(x), axis=a, dtype=d)), order=kept(x, a)),
                                  -(softmax(x, axis=a) * dimshuffle(y, order=kept(x, a))),
                                  reduced_rank(y, x, a), assumes=["finite", "reassoc"])

    # of exp(x) / sum(exp(x)) written by hand
    yield rule("share",           (y * softmax(x, axis=a)) / exp(x),
                                  y * exp(-dimshuffle(logsumexp(x, axis=a), order=kept(x, a))),
                                  assumes=["finite", "reassoc"])
    yield rule("share_of",        (y / exp(x)) * softmax(x, axis=a),
                                  y * exp(-dimshuffle(logsumexp(x, axis=a), order=kept(x, a))),
                                  assumes=["finite", "reassoc"])
    yield rule("shares",          exp(x) * dimshuffle(sum_(y * exp(-dimshuffle(logsumexp(x, axis=a), order=kept(x, a))),
                                      axis=a, dtype=d), order=kept(x, a)),
                                  softmax(x, axis=a) * dimshuffle(sum_(y, axis=a, dtype=d), order=kept(x, a)),
                                  same_rank(y, x), assumes=["finite", "reassoc"])
    yield rule("shares_neg",      exp(x)
                                      * dimshuffle(-sum_(y * exp(-dimshuffle(logsumexp(x, axis=a), order=kept(x, a))),
                                      axis=a, dtype=d), order=kept(x, a)),
                                  -(softmax(x, axis=a) * dimshuffle(sum_(y, axis=a, dtype=d), order=kept(x, a))),
                                  same_rank(y, x), assumes=["finite", "reassoc"])

    # the two parts of such a gradient: what reaches each share, and what reaches all of them through their sum
    yield rule("apart",           exp(x) * s(z / dimshuffle(sum_(exp(x), axis=a, dtype=d), order=kept(x, a)), w),
                                  s(z * softmax(x, axis=a), exp(x) * w),
                                  assumes=["finite", "reassoc"])
    yield rule("through_sum",     sum_((z / dimshuffle(sum_(exp(x), axis=a, dtype=d), order=kept(x, a)))
                                      * softmax(x, axis=a), axis=a, dtype=d),
                                  sum_(z * softmax(x, axis=a), axis=a, dtype=d) / sum_(exp(x), axis=a, dtype=d),
                                  assumes=["finite", "reassoc"])
