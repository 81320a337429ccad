"""softmax and log-softmax along any axes, from exponentials and sums as they are written, with or without a shift."""

from termgraph.rules import Float, Matrix, head, param, rule, ruleset, same_rank, same_type, seg, this
from termgraph.rules.parts import put_back
from termgraph.rules.shape_facts import constant_along
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import add, exp, log, sub
from termgraph.terms.ops.indexing import gather, subtensor
from termgraph.terms.ops.linalg import dot
from termgraph.terms.ops.reduce import log_softmax, logsumexp, max_, sum_
from termgraph.terms.ops.reduce import softmax as softmax_


@ruleset("stabilize")
def softmax(x: Float, y: Float, u: Float | 1, v: Float | 1, m: Float & Matrix, a: param, d: param, o: param | None,
            s: head[add, sub]):
    # exp(x) / sum(exp(x)); the axes are put back by a dimshuffle, or by broadcasting if they are the first ones
    yield rule("quotient",        (v * exp(x[this.dtype]))
                                  / (u * dimshuffle(sum_(exp(x), axis=a, dtype=d), order=put_back(x, a))),
                                  (v * softmax_(x, axis=a)) / u, assumes=["finite", "reassoc"])
    yield rule("piece",           exp(y) / dimshuffle(sum_(exp(x[this.dtype]), axis=a, dtype=d), order=o),
                                  exp(y - dimshuffle(logsumexp(x, axis=a), order=o)), assumes=["finite", "reassoc"])
    yield rule("expectation",     sum_(y * exp(x), axis=a, dtype=d) / sum_(exp(x), axis=a, dtype=d),
                                  sum_(y * softmax_(x, axis=a), axis=a, dtype=d), same_rank(x, y),
                                  assumes=["finite", "reassoc"])
    yield rule("attention",       dot(exp(x[this.dtype]), m)
                                  / dimshuffle(sum_(exp(x), axis=(1,), dtype=d), order=(0, "x")),
                                  dot(softmax_(x, axis=(1,)), m), assumes=["finite", "reassoc"])
    yield rule("exp_log_softmax", exp(log_softmax(x, axis=a)),       softmax_(x, axis=a), assumes=["finite", "reassoc"])

    # the same number added to (or subtracted from) all elements along the axes changes nothing
    yield rule("shift_max",       softmax_(x - dimshuffle(max_(x, axis=a), order=put_back(x, a)), axis=a),
                                  softmax_(x, axis=a))
    yield rule("shift",           softmax_(s(x, y), axis=a),         softmax_(x, axis=a),
                                  constant_along(y, a, this), same_type(x, this), assumes=["finite", "reassoc"])


@ruleset("stabilize")
def log_softmaxes(x: Float, y: Float, a: param, i: param, ks: seg, s: head[add, sub],
                  p: head[gather, subtensor]):
    yield rule("log_softmax",     log(softmax_(x, axis=a)),          log_softmax(x, axis=a))
    yield rule("difference",      x - dimshuffle(logsumexp(x, axis=a), order=put_back(x, a)), log_softmax(x, axis=a),
                                  assumes=["reassoc"])
    yield rule("shift_max",       log_softmax(x - dimshuffle(max_(x, axis=a), order=put_back(x, a)), axis=a),
                                  log_softmax(x, axis=a),
                                  assumes=["finite"])
    yield rule("shift",           log_softmax(s(x, y), axis=a),      log_softmax(x, axis=a),
                                  constant_along(y, a, this), same_type(x, this), assumes=["finite"])

    # pieces of a softmax: the logarithm is taken of all of it, where it does not overflow
    yield rule("piece",           log(p(softmax_(x, axis=a), *ks, index=i)), p(log_softmax(x, axis=a), *ks, index=i))
    yield rule("scaled",          log(y * softmax_(x, axis=a)),      log(y) + log_softmax(x, axis=a),
                                  assumes=["finite", "reassoc"])
    yield rule("divided",         log(softmax_(x, axis=a) / y),      log_softmax(x, axis=a) - log(y),
                                  assumes=["finite", "reassoc"])
