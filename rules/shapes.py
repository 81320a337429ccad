"""Lengths: every length is computed from operands, so that no array is made only to be measured."""

from termgraph.rulelib._goals_shapes import declared_length, operands_length
from termgraph.rules import head, of_integers, param, rule, ruleset, seg, this
from termgraph.rules.index_parts import gathered_length, indexed_length
from termgraph.rules.length_parts import known_length, total_length
from termgraph.terms.ops.control import check
from termgraph.terms.ops.elementwise import maximum
from termgraph.terms.ops.indexing import gather, subtensor
from termgraph.terms.ops.shaping import arange, join, shape_i


@ruleset("canonicalize")
def shapes(x, n, m, f: head, xs: seg, ks: seg, a: param, b: param, d: param, i: param):
    yield rule("static",         shape_i(x, axis=a),                             known_length(x, a))
    yield rule("declared",       shape_i(x, axis=a),                             n,
                                 declared_length(x, a, n))
    yield rule("from_operand",   shape_i(f(*xs), axis=a),                        n,
                                 operands_length(this, a, n))
    yield rule("join",           shape_i(join(*xs, axis=a), axis=a),             total_length(xs, a))
    yield rule("subtensor",      shape_i(subtensor(x, *ks, index=i), axis=a),    indexed_length(x, ks, i, a))
    yield rule("gather",         shape_i(gather(x, *ks, index=i), axis=a),       gathered_length(x, ks, i, a))
    yield rule("arange",         shape_i(arange(0, n[of_integers], 1, dtype=d), axis=0), maximum(n, 0))
    yield rule("arange_from",    shape_i(arange(m[of_integers], n[of_integers], 1, dtype=d), axis=0), maximum(n - m, 0))
    yield rule("check",          shape_i(check(x, *xs, error=b, message=d), axis=a), shape_i(x, axis=a),
                                 assumes=["domain"])
