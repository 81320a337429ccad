"""The mean over workers: nothing for one worker. For several, `termgraph.dist` has cut the graph there before."""

from __future__ import annotations

from termgraph.rules import rule, ruleset
from termgraph.terms.ops.derivative import pullback, pushforward, undefined
from termgraph.terms.ops.workers import mean_over_workers


@ruleset("canonicalize")
def workers(x):
    yield rule("alone",    mean_over_workers(x),                  x)


@ruleset("grad")
def grad_workers(x, g):
    yield rule("mean",     pullback(mean_over_workers(x), g),     (undefined("mark the gradient of the cost, not the cost: dist.mean(tg.grad(cost, w))"),))
    yield rule("forward",  pushforward(mean_over_workers(x), g),  mean_over_workers(g))
