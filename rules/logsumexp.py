"""Logarithms of sums of exponentials, over operands (logaddexp) and along axes (logsumexp)."""

from termgraph.rules import Float, param, rule, ruleset, this
from termgraph.rules.parts import put_back
from termgraph.rules.shape_facts import constant_along
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import exp, exp2, log, log1mexp, log2, logaddexp, logaddexp2, softplus
from termgraph.terms.ops.reduce import logsumexp as logsumexp_
from termgraph.terms.ops.reduce import sum_


@ruleset("stabilize")
def logaddexps(x: Float, y: Float, z: Float):
    yield rule("two",             log(exp(x) + exp(y)),              logaddexp(x, y))
    yield rule("three",           log(exp(x) + exp(y) + exp(z)),     logaddexp(logaddexp(x, y), z))
    yield rule("base_two",        log2(exp2(x) + exp2(y)),           logaddexp2(x, y))
    yield rule("difference",      log(exp(x) - exp(y)),              x + log1mexp(y - x),
                                  assumes=["domain", "finite", "reassoc"])
    yield rule("factored",        x + softplus(y - x),               logaddexp(x, y),            assumes=["finite"])


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
