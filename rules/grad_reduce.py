"""Derivatives of reductions, running sums and products, and the softmax family.

Ties: every element equal to the maximum (or minimum) gets an equal share. Products and running products with zeros have
exact first and second derivatives.
"""

from __future__ import annotations

from termgraph.rulelib._goals_grad_reduce import (
    axes_and_dtype,
    factors_without,
    hits,
    running_factors,
    summed_from_the_end,
)
from termgraph.rules import head, param, rule, ruleset
from termgraph.rules.parts import kept
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.derivative import pullback
from termgraph.terms.ops.elementwise import exp
from termgraph.terms.ops.reduce import (
    cumprod,
    cumsum,
    log_softmax,
    logsumexp,
    max_,
    min_,
    prod,
    softmax,
    sum_,
)  # fmt: skip


# ---------------------------------------------------------------------- rules
@ruleset("grad")
def grad_reduce(x, g, o, a: param, b: param, m: head[max_, min_]):
    yield rule("sum",         pullback(sum_(x, axis=a, dtype=b), g),     (dimshuffle(g, order=kept(x, a)),))
    yield rule("prod",        pullback(prod(x, axis=a, dtype=b), g),     (dimshuffle(g, order=kept(x, a)) * o,),
                              factors_without(x, a, o))
    yield rule("largest",     pullback(m(x), g),
                              (dimshuffle(g / sum_(o, axis=a, dtype=b), order=kept(x, a)) * o,),
                              axes_and_dtype(m, x, a, b), hits(x, m(x), kept(x, a), o))
    yield rule("cumsum",      pullback(cumsum(x, axis=a), g),            (o,),
                              summed_from_the_end(g, a, o))
    yield rule("cumprod",     pullback(cumprod(x, axis=a), g),           (o,),
                              running_factors(x, g, a, o))
    yield rule("logsumexp",   pullback(logsumexp(x, axis=a), g),
                              (dimshuffle(g, order=kept(x, a))
                                  * exp(x - dimshuffle(logsumexp(x, axis=a), order=kept(x, a))),))
    yield rule("softmax",     pullback(softmax(x, axis=a), g),
                              ((g - dimshuffle(sum_(g * softmax(x, axis=a), axis=a, dtype=g.dtype), order=kept(x, a)))
                                  * softmax(x, axis=a),))
    yield rule("log_softmax", pullback(log_softmax(x, axis=a), g),
                              (g - dimshuffle(sum_(g, axis=a, dtype=g.dtype), order=kept(x, a)) * softmax(x, axis=a),))
