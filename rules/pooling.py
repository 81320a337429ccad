"""Pooling: what may come out of maxima, and how pooling is computed.

Small windows are written out in the loop that reads them, which takes further operations in. Routines for planes of
images, in C and on a GPU, compute the rest.
"""

from __future__ import annotations

from termgraph.rulelib._formulas_pooling import whole_windows
from termgraph.rulelib._goals_pooling import after_the_maximum, few_in_windows
from termgraph.rules import head, needed_once, rule, ruleset, seg
from termgraph.terms.ops.elementwise import add, maximum, minimum, mul
from termgraph.terms.ops.pooling import pool


@ruleset("canonicalize")
def pooling(y, xs: seg, f: head[pool], g: head[add, mul, maximum, minimum]):
    # a bias, a relu: done once for each window, not for each element
    yield rule("after_maximum",  f(g(*xs)[needed_once]), y, after_the_maximum(f, g, xs, y),
                                 assumes=["finite", "signed_zero"])


@ruleset("specialize", "fast_run", "fast_compile")
def pool_text(x, f: head[pool]):
    yield rule("few",            f(x),        whole_windows(f, x), few_in_windows(f, x), assumes=["reassoc"])
