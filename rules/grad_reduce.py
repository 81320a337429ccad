"""Derivatives of reductions, running sums and products, and the softmax family.

Ties: every element equal to the maximum (or minimum) gets an equal share; of a running one the first gets all. Products
and running products with zeros have exact first and second derivatives.
"""

from __future__ import annotations

from termgraph.rulelib._formulas_grad_reduce import (
    factors_without, hits, running_factors, summed_at_records, summed_from_the_end,
)
from termgraph.rules import head, param, rule, ruleset
from termgraph.rules.parts import kept
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.derivative import pullback
from termgraph.terms.ops.elementwise import exp
from termgraph.terms.ops.reduce import (
    cummax, cummin, cumprod, cumsum, log_softmax, logsumexp, max_, max_or_lowest, min_, min_or_highest, prod, softmax,
    sum_,
)


@ruleset("grad")
def grad_reduce(x, g, a: param, b: param, m: head[max_, min_, max_or_lowest, min_or_highest],
                r: head[cummax, cummin]):
    yield rule("sum",         pullback(sum_(x, axis=a, dtype=b), g),     (dimshuffle(g, order=kept(x, a)),))
    yield rule("prod",        pullback(prod(x, axis=a, dtype=b), g),
                              (dimshuffle(g, order=kept(x, a)) * factors_without(x, a),))
    yield rule("largest",     pullback(m(x, axis=a), g),
                              (dimshuffle(g / sum_(hits(x, m(x, axis=a), kept(x, a)), axis=a, dtype=x.dtype),
                                  order=kept(x, a))
                                  * hits(x, m(x, axis=a), kept(x, a)),))
    yield rule("cumsum",      pullback(cumsum(x, axis=a), g),            (summed_from_the_end(g, a),))
    yield rule("cumprod",     pullback(cumprod(x, axis=a), g),           (running_factors(x, g, a),))
    yield rule("records",     pullback(r(x, axis=a), g),                 (summed_at_records(r(x, axis=a), g, a),))
    yield rule("logsumexp",   pullback(logsumexp(x, axis=a), g),
                              (dimshuffle(g, order=kept(x, a))
                                  * exp(x - dimshuffle(logsumexp(x, axis=a), order=kept(x, a))),))
    yield rule("softmax",     pullback(softmax(x, axis=a), g),
                              ((g - dimshuffle(sum_(g * softmax(x, axis=a), axis=a, dtype=g.dtype), order=kept(x, a)))
                                  * softmax(x, axis=a),))
    yield rule("log_softmax", pullback(log_softmax(x, axis=a), g),
                              (g - dimshuffle(sum_(g, axis=a, dtype=g.dtype), order=kept(x, a)) * softmax(x, axis=a),))
