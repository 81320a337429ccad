"""Factors that gradients divide by and multiply with again: where they underflow, 0 / 0 would be left.

The gradient of log(p) is g / p; the gradient of what made p (a softmax, a sigmoid, an exponential) multiplies by p.
"""

from termgraph.rulelib._goals_stable import Zero, keepdims_order, puts_back, reduced_rank
from termgraph.rules import Float, NonConst, nonzero, param, rule, ruleset, seg
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import exp
from termgraph.terms.ops.indexing import gather, scatter_add
from termgraph.terms.ops.reduce import logsumexp, softmax, sum_


@ruleset("stabilize")
def cancellations(y: Float & NonConst, z: Float, w: Float, u: Float, o: Zero, i: param, ks: seg):
    yield rule("plus",            y * (z / y + w),                          z + y * w,                    nonzero(y), assumes=["finite", "reassoc"])
    yield rule("minus",           y * (z / y - w),                          z - y * w,                    nonzero(y), assumes=["finite", "reassoc"])
    yield rule("minus_from",      y * (w - z / y),                          y * w - z,                    nonzero(y), assumes=["finite", "reassoc"])
    yield rule("plus_over",       y * (z / (y * u) + w),                    z / u + y * w,                nonzero(y), assumes=["finite", "reassoc"])
    yield rule("minus_over",      y * (z / (y * u) - w),                    z / u - y * w,                nonzero(y), assumes=["finite", "reassoc"])
    yield rule("minus_from_over", y * (w - z / (y * u)),                    y * w - z / u,                nonzero(y), assumes=["finite", "reassoc"])
    yield rule("plus_mul",        y * (u * (z / y) + w),                    u * z + y * w,                nonzero(y), assumes=["finite", "reassoc"])
    yield rule("minus_mul",       y * (u * (z / y) - w),                    u * z - y * w,                nonzero(y), assumes=["finite", "reassoc"])
    yield rule("minus_from_mul",  y * (w - u * (z / y)),                    y * w - u * z,                nonzero(y), assumes=["finite", "reassoc"])

    # labels: one element of each row was divided by
    yield rule("labels",          y * scatter_add(o, z / gather(y, *ks, index=i), *ks, index=i),
                                  scatter_add(o, z, *ks, index=i),                                        nonzero(y), assumes=["finite", "reassoc"])
    yield rule("labels_neg",      y * scatter_add(o, -(z / gather(y, *ks, index=i)), *ks, index=i),
                                  scatter_add(o, -z, *ks, index=i),                                       nonzero(y), assumes=["finite", "reassoc"])
    yield rule("labels_minus",    y * (scatter_add(o, z / gather(y, *ks, index=i), *ks, index=i) - w),
                                  scatter_add(o, z, *ks, index=i) - y * w,                                nonzero(y), assumes=["finite", "reassoc"])
    yield rule("labels_neg_minus", y * (scatter_add(o, -(z / gather(y, *ks, index=i)), *ks, index=i) - w),
                                  scatter_add(o, -z, *ks, index=i) - y * w,                               nonzero(y), assumes=["finite", "reassoc"])
    yield rule("labels_plus",     y * (scatter_add(o, z / gather(y, *ks, index=i), *ks, index=i) + w),
                                  scatter_add(o, z, *ks, index=i) + y * w,                                nonzero(y), assumes=["finite", "reassoc"])
    yield rule("labels_neg_plus", y * (scatter_add(o, -(z / gather(y, *ks, index=i)), *ks, index=i) + w),
                                  scatter_add(o, -z, *ks, index=i) + y * w,                               nonzero(y), assumes=["finite", "reassoc"])


@ruleset("stabilize")
def softmax_gradients(x: Float, y: Float, a: param, d: param, o: param):
    yield rule("logsumexp",       exp(x) * dimshuffle(1 / sum_(exp(x), axis=a, dtype=d), order=o), softmax(x, axis=a), puts_back(o, a, x), assumes=["finite"])
    yield rule("scaled",          exp(x) * dimshuffle(y / sum_(exp(x), axis=a, dtype=d), order=o),
                                  softmax(x, axis=a) * dimshuffle(y, order=o),    puts_back(o, a, x), reduced_rank(y, x, a), assumes=["finite", "reassoc"])

    yield rule("scaled_neg",      exp(x) * dimshuffle(-(y / sum_(exp(x), axis=a, dtype=d)), order=o),
                                  -(softmax(x, axis=a) * dimshuffle(y, order=o)), puts_back(o, a, x), reduced_rank(y, x, a), assumes=["finite", "reassoc"])

    # of exp(x) / sum(exp(x)) written by hand
    yield rule("share",           (y * softmax(x, axis=a)) / exp(x),              y * exp(-dimshuffle(logsumexp(x, axis=a), order=o)), keepdims_order(x, a, o), assumes=["finite", "reassoc"])
    yield rule("share_of",        (y / exp(x)) * softmax(x, axis=a),              y * exp(-dimshuffle(logsumexp(x, axis=a), order=o)), keepdims_order(x, a, o), assumes=["finite", "reassoc"])
    yield rule("shares",          exp(x) * dimshuffle(sum_(y * exp(-dimshuffle(logsumexp(x, axis=a), order=o)), axis=a, dtype=d), order=o),
                                  softmax(x, axis=a) * dimshuffle(sum_(y, axis=a, dtype=d), order=o),           assumes=["finite", "reassoc"])
    yield rule("shares_neg",      exp(x) * dimshuffle(-sum_(y * exp(-dimshuffle(logsumexp(x, axis=a), order=o)), axis=a, dtype=d), order=o),
                                  -(softmax(x, axis=a) * dimshuffle(sum_(y, axis=a, dtype=d), order=o)),        assumes=["finite", "reassoc"])
