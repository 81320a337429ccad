"""The mean over workers: nothing for one worker. For several, `termgraph.dist` has cut the graph there before."""

from __future__ import annotations

from termgraph.rules import rule, ruleset
from termgraph.terms.ops.workers import mean_over_workers


@ruleset("canonicalize")
def workers(x):
    yield rule("alone",  mean_over_workers(x),  x)
