"""Reshapes: one is enough, and one that only adds or drops lengths of 1 is a dimshuffle."""

from termgraph.rules import param, rule, ruleset, seg
from termgraph.rules.length_parts import as_scalar, has_lengths, ones_only, same_total
from termgraph.rules.shape_facts import only_ones
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.shaping import alloc
from termgraph.terms.ops.shaping import reshape as reshape_

AGAIN = ["specialize"]  # tidies up after the rules of that stage as well


@ruleset("canonicalize")
def reshape(x, ns: seg, ms: seg, o: param):
    yield rule("twice",          reshape_(reshape_(x, *ms), *ns),                reshape_(x, *ns), tags=AGAIN)
    yield rule("useless",        reshape_(x, *ns),                               x,
                                 has_lengths(x, ns), tags=AGAIN)
    yield rule("only_ones",      reshape_(x, *ns),                               dimshuffle(x, order=ones_only(x, ns)))
    yield rule("of_dimshuffle",  reshape_(dimshuffle(x, order=o), *ns),          reshape_(x, *ns),
                                 only_ones(o))
    yield rule("of_alloc",       reshape_(alloc(x, *ms), *ns),                   alloc(as_scalar(x), *ns),
                                 same_total(ms, ns))
