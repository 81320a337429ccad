"""Logarithms of sums of exponentials, over operands (logaddexp) and along axes (logsumexp)."""

from termgraph.rules import Float, param, rule, ruleset, this
from termgraph.rules.parts import put_back
from termgraph.rules.shape_facts import constant_along
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import exp, exp2, log, log1mexp, log2, logaddexp, logaddexp2, sigmoid, softplus
from termgraph.terms.ops.reduce import logsumexp as logsumexp_
from termgraph.terms.ops.reduce import sum_


@ruleset("stabilize")
def logaddexps(x: Float, y: Float, z: Float, u: Float, v: Float, w: Float):
    yield rule("two",             log(exp(x) + exp(y)),              logaddexp(x, y))
    yield rule("three",           log(exp(x) + exp(y) + exp(z)),     logaddexp(logaddexp(x, y), z))
    yield rule("four",            log(exp(x) + exp(y) + exp(z) + exp(u)), logaddexp(logaddexp(x, y), logaddexp(z, u)))
    yield rule("five",            log(exp(x) + exp(y) + exp(z) + exp(u) + exp(v)),
                                  logaddexp(logaddexp(logaddexp(x, y), logaddexp(z, u)), v))
    yield rule("six",             log(exp(x) + exp(y) + exp(z) + exp(u) + exp(v) + exp(w)),
                                  logaddexp(logaddexp(logaddexp(x, y), logaddexp(z, u)), logaddexp(v, w)))
    yield rule("base_two",        log2(exp2(x) + exp2(y)),           logaddexp2(x, y))
    yield rule("difference",      log(exp(x) - exp(y)),              x + log1mexp(y - x),
                                  assumes=["domain", "finite", "reassoc"])
    yield rule("factored",        x + softplus(y - x),               logaddexp(x, y),            assumes=["finite"])


@ruleset("stabilize")
def shares(x: Float, y: Float, z: Float, u: Float, v: Float, w: Float, g: Float | 1):
    # what the gradients of these logarithms are: an exponential's share of a sum, inf / inf where that is large;
    # `of` is the form in which several gradients divide once
    yield rule("two",             (g * exp(x)) / (exp(x) + exp(y)),
                                  g * sigmoid(x - y), assumes=["finite", "reassoc"])
    yield rule("two_of",          exp(x) * (g / (exp(x) + exp(y))),
                                  g * sigmoid(x - y), assumes=["finite", "reassoc"])
    yield rule("three",           (g * exp(x)) / (exp(x) + exp(y) + exp(z)),
                                  g * exp(x - logaddexp(logaddexp(x, y), z)),
                                  assumes=["finite", "reassoc"])
    yield rule("three_of",        exp(x) * (g / (exp(x) + exp(y) + exp(z))),
                                  g * exp(x - logaddexp(logaddexp(x, y), z)),
                                  assumes=["finite", "reassoc"])
    yield rule("four",            (g * exp(x)) / (exp(x) + exp(y) + exp(z) + exp(u)),
                                  g * exp(x - logaddexp(logaddexp(x, y), logaddexp(z, u))),
                                  assumes=["finite", "reassoc"])
    yield rule("four_of",         exp(x) * (g / (exp(x) + exp(y) + exp(z) + exp(u))),
                                  g * exp(x - logaddexp(logaddexp(x, y), logaddexp(z, u))),
                                  assumes=["finite", "reassoc"])
    yield rule("five",            (g * exp(x)) / (exp(x) + exp(y) + exp(z) + exp(u) + exp(v)),
                                  g * exp(x - logaddexp(logaddexp(logaddexp(x, y), logaddexp(z, u)), v)),
                                  assumes=["finite", "reassoc"])
    yield rule("five_of",         exp(x) * (g / (exp(x) + exp(y) + exp(z) + exp(u) + exp(v))),
                                  g * exp(x - logaddexp(logaddexp(logaddexp(x, y), logaddexp(z, u)), v)),
                                  assumes=["finite", "reassoc"])
    yield rule("six",             (g * exp(x)) / (exp(x) + exp(y) + exp(z) + exp(u) + exp(v) + exp(w)),
                                  g * exp(x - logaddexp(logaddexp(logaddexp(x, y), logaddexp(z, u)), logaddexp(v, w))),
                                  assumes=["finite", "reassoc"])
    yield rule("six_of",          exp(x) * (g / (exp(x) + exp(y) + exp(z) + exp(u) + exp(v) + exp(w))),
                                  g * exp(x - logaddexp(logaddexp(logaddexp(x, y), logaddexp(z, u)), logaddexp(v, w))),
                                  assumes=["finite", "reassoc"])


@ruleset("stabilize")
def logsumexp(x: Float, y: Float, z: Float, a: param, d: param, o: param | None):
    yield rule("log_sum_exp",     log(sum_(exp(x[this.dtype]), axis=a, dtype=d)), logsumexp_(x, axis=a))
    yield rule("mean",            log(dimshuffle(sum_(exp(x[this.dtype]), axis=a, dtype=d), order=o) / y),
                                  dimshuffle(logsumexp_(x, axis=a), order=o) - log(y), assumes=["finite", "reassoc"])
    yield rule("scaled",          log(y * sum_(exp(x[this.dtype]), axis=a, dtype=d)), logsumexp_(x, axis=a) + log(y),
                                  assumes=["finite", "reassoc"])

    # a maximum (or anything else) that was subtracted by hand and added again
    yield rule("shifted",         z + logsumexp_(x - dimshuffle(z, order=put_back(x, a)), axis=a),
                                  logsumexp_(x, axis=a),
                                  constant_along(dimshuffle(z, order=put_back(x, a)), a, x), assumes=["finite"])
