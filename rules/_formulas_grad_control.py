"""Formulas of the derivatives of lazy choice: what branches get."""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rules import seg
from termgraph.rules.formulas import formula
from termgraph.terms.ops.control import ifelse


@formula(gives=seg)
def through_choice(c, xs, gs):
    """The cotangents go to the branch that was taken, zeros to the other."""
    n = len(gs)
    thens = [ifelse(c, g, T.zeros_like(x), n=1) for x, g in zip(xs[:n], gs)]
    elses = [ifelse(c, T.zeros_like(x), g, n=1) for x, g in zip(xs[n:], gs)]
    return [*thens, *elses]
