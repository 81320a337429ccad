"""softmax and log-softmax along any axes, from exponentials and sums as they are written, with or without a shift."""

from termgraph.rules import Float, Matrix, head, param, rule, ruleset, same_dtype, same_rank, same_type, seg, this
from termgraph.rules.parts import kept
from termgraph.rules.shape_facts import constant_along, leading
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import add, exp, log, sub
from termgraph.terms.ops.indexing import gather, subtensor
from termgraph.terms.ops.linalg import dot
from termgraph.terms.ops.reduce import log_softmax, logsumexp, max_, sum_
from termgraph.terms.ops.reduce import softmax as softmax_


@ruleset("stabilize")
def softmax(x: Float, y: Float, u: Float | 1, v: Float | 1, m: Float & Matrix, a: param, d: param, o: param,
            s: head[add, sub]):
    # exp(x) / sum(exp(x)); the axes are put back by a dimshuffle, or by broadcasting if they are the first ones
    yield rule("kept",            (v * exp(x)) / (u * dimshuffle(sum_(exp(x), axis=a, dtype=d), order=kept(x, a))),
                                  (v * softmax_(x, axis=a)) / u,
                                  same_dtype(this, x), assumes=["finite", "reassoc"])
    yield rule("leading",         (v * exp(x)) / (u * sum_(exp(x), axis=a, dtype=d)), (v * softmax_(x, axis=a)) / u,
                                  leading(a), same_dtype(this, x), assumes=["finite", "reassoc"])
    yield rule("piece",           exp(y) / dimshuffle(sum_(exp(x), axis=a, dtype=d), order=o),
                                  exp(y - dimshuffle(logsumexp(x, axis=a), order=o)), same_dtype(this, x),
                                  assumes=["finite", "reassoc"])
    yield rule("piece_dropped",   exp(y) / sum_(exp(x), axis=a, dtype=d), exp(y - logsumexp(x, axis=a)),
                                  same_dtype(this, x), assumes=["finite", "reassoc"])
    yield rule("expectation",     sum_(y * exp(x), axis=a, dtype=d) / sum_(exp(x), axis=a, dtype=d),
                                  sum_(y * softmax_(x, axis=a), axis=a, dtype=d), same_rank(x, y),
                                  assumes=["finite", "reassoc"])
    yield rule("attention",       dot(exp(x), m) / dimshuffle(sum_(exp(x), axis=(1,), dtype=d), order=(0, "x")),
                                  dot(softmax_(x, axis=(1,)), m), same_dtype(this, x), assumes=["finite", "reassoc"])
    yield rule("exp_log_softmax", exp(log_softmax(x, axis=a)),       softmax_(x, axis=a), assumes=["finite", "reassoc"])

    # the same number added to (or subtracted from) all elements along the axes changes nothing
    yield rule("shift_max",       softmax_(x - dimshuffle(max_(x, axis=a), order=kept(x, a)), axis=a),
                                  softmax_(x, axis=a))
    yield rule("shift_max_leading", softmax_(x - max_(x, axis=a), axis=a), softmax_(x, axis=a),
                                    leading(a), assumes=["reassoc"])
    yield rule("shift",           softmax_(s(x, y), axis=a),         softmax_(x, axis=a),
                                  constant_along(y, a, this), same_type(x, this), assumes=["finite", "reassoc"])


@ruleset("stabilize")
def log_softmaxes(x: Float, y: Float, a: param, o: param, i: param, ks: seg, s: head[add, sub]):
    yield rule("log_softmax",     log(softmax_(x, axis=a)),          log_softmax(x, axis=a))
    yield rule("kept",            x - dimshuffle(logsumexp(x, axis=a), order=kept(x, a)), log_softmax(x, axis=a),
                                  assumes=["reassoc"])
    yield rule("leading",         x - logsumexp(x, axis=a),          log_softmax(x, axis=a),
                                  leading(a), assumes=["reassoc"])
    yield rule("shift_max",       log_softmax(x - dimshuffle(max_(x, axis=a), order=kept(x, a)), axis=a),
                                  log_softmax(x, axis=a),
                                  assumes=["finite"])
    yield rule("shift_max_leading", log_softmax(x - max_(x, axis=a), axis=a), log_softmax(x, axis=a),
                                    leading(a), assumes=["finite"])
    yield rule("shift",           log_softmax(s(x, y), axis=a),      log_softmax(x, axis=a),
                                  constant_along(y, a, this), same_type(x, this), assumes=["finite"])

    # pieces of a softmax: the logarithm is taken of all of it, where it does not overflow
    yield rule("gather",          log(gather(softmax_(x, axis=a), *ks, index=i)),
                                  gather(log_softmax(x, axis=a), *ks, index=i))
    yield rule("subtensor",       log(subtensor(softmax_(x, axis=a), *ks, index=i)),
                                  subtensor(log_softmax(x, axis=a), *ks, index=i))
    yield rule("scaled",          log(y * softmax_(x, axis=a)),      log(y) + log_softmax(x, axis=a),
                                  assumes=["finite", "reassoc"])
    yield rule("divided",         log(softmax_(x, axis=a) / y),      log_softmax(x, axis=a) - log(y),
                                  assumes=["finite", "reassoc"])
