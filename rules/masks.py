"""Masks: elements that are picked where a mask is true need no list of places if they are only added up or overwritten.

`x[m].sum()` becomes a sum of choices, `x[m] = v` a choice: one pass over x instead of finding, counting and reading
places.
"""

from termgraph.rulelib._goals_masks import masked
from termgraph.rules import Scalar, param, rule, ruleset, seg
from termgraph.rules.parts import unmoved
from termgraph.terms.ops.elementwise import switch
from termgraph.terms.ops.indexing import gather, scatter_add, scatter_set
from termgraph.terms.ops.reduce import sum_


@ruleset("canonicalize")
def masks(x, c, v: Scalar, ks: seg, i: param, a: param, d: param):
    yield rule("set",            scatter_set(x, v[x.dtype], *ks, index=i),       switch(c, v, x), masked(x, ks, i, c),
                                 assumes=["domain"])
    yield rule("add",            scatter_add(x, v[x.dtype], *ks, index=i),       switch(c, x + v, x),
                                 masked(x, ks, i, c), assumes=["domain"])
    yield rule("sum",            sum_(gather(x, *ks, index=i), axis=a, dtype=d),
                                 sum_(switch(c, x, 0), axis=unmoved(x), dtype=d),
                                 masked(x, ks, i, c), assumes=["domain", "reassoc"])
