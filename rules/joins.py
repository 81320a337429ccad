"""Concatenated arrays: one operand, nested joins, parts of one array put together again, lists of numbers."""

from termgraph.rulelib._goals_joins import items_of, joined_lengths, nothing_along, whole_again
from termgraph.rules import Scalar, param, rule, ruleset, seg, this
from termgraph.rules.index_parts import joined_index
from termgraph.rules.type_facts import has_dtype
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import cast
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.shaping import alloc, join, make_vector


@ruleset("canonicalize")
def joins(x, y, s: Scalar, xs: seg, ys: seg, zs: seg, ns: seg, ms: seg, ks: seg, a: param, d: param, i: param,
          j: param):
    yield rule("one",            join(x, axis=a),                                x)
    yield rule("nested",         join(*xs, join(*ys, axis=a), *zs, axis=a),      join(*xs, *ys, *zs, axis=a))
    yield rule("nothing",        join(x, *xs, axis=a),                           y,
                                 nothing_along(this, a, y))
    yield rule("of_copies",      join(*xs, alloc(s, *ns), alloc(s, *ms), *ys, axis=a),
                                 join(*xs, alloc(s, *ks), *ys, axis=a),
                                 joined_lengths(ns, ms, a, ks))
    yield rule("of_slices",      join(*xs, subtensor(x, index=i), subtensor(x, index=j), *ys, axis=a),
                                 join(*xs, subtensor(x, index=joined_index(i, j, a)), *ys, axis=a))
    yield rule("of_numbers",     join(*xs, axis=0),                              make_vector(*ys, dtype=d),
                                 items_of(this, ys, d))

    yield rule("of_items",       make_vector(*xs, dtype=d),                      x,
                                 whole_again(xs, x), has_dtype(x, d))
    yield rule("of_one_item",    make_vector(x, dtype=d),
                                 dimshuffle(cast(x, dtype=d), order=("x",)))
