"""Arrays of one repeated value: they are made as late and as small as possible, and not at all where broadcasting
does it.
"""

from termgraph.rulelib._goals_shapes import elemwise, reordered_alloc, spread_last, unspread, without_leading_ones
from termgraph.rules import head, param, rule, ruleset, seg
from termgraph.rules.length_parts import has_lengths, spreads_further
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.shaping import alloc as alloc_

AGAIN = ["specialize"]  # tidies up after the rules of that stage as well


@ruleset("canonicalize")
def alloc(x, y, f: head, xs: seg, ys: seg, ns: seg, ms: seg, o: param):
    yield rule("useless",        alloc_(x, *ns),                                 x,
                                 has_lengths(x, ns), tags=AGAIN)
    yield rule("twice",          alloc_(alloc_(x, *ms), *ns),                    alloc_(x, *ns),
                                 spreads_further(x, ms, ns))
    yield rule("leading",        alloc_(x, *ns),                                 alloc_(y, *ns),
                                 without_leading_ones(x, y))

    yield rule("broadcast",      f(*xs),                                         f(*ys),
                                 elemwise(f), unspread(f, xs, ys))
    yield rule("outwards",       f(*xs),                                         alloc_(f(*ys), *ns),
                                 elemwise(f), spread_last(f, xs, ys, ns))
    yield rule("dimshuffle",     dimshuffle(alloc_(x, *ns), order=o),            alloc_(y, *ms),
                                 reordered_alloc(x, ns, o, y, ms))
