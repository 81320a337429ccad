"""Lengths: every length is computed from operands, so that no array is made only to be measured."""

from termgraph.rulelib._goals_shapes import (
    declared_length,
    gathered_length,
    indexed_length,
    operands_length,
    static_length,
    total_length,
)
from termgraph.rules import head, of_integers, param, rule, ruleset, seg, this
from termgraph.terms.ops.control import check
from termgraph.terms.ops.elementwise import maximum
from termgraph.terms.ops.indexing import gather, subtensor
from termgraph.terms.ops.shaping import (
    arange,
    join,
    shape_i,
)


@ruleset("canonicalize")
def shapes(x, n, m, f: head, xs: seg, ks: seg, a: param, b: param, d: param, i: param):
    yield rule("static",         shape_i(x, axis=a),                             n,
                                 static_length(x, a, n))
    yield rule("declared",       shape_i(x, axis=a),                             n,
                                 declared_length(x, a, n))
    yield rule("from_operand",   shape_i(f(*xs), axis=a),                        n,
                                 operands_length(this, a, n))
    yield rule("join",           shape_i(join(*xs, axis=a), axis=a),             n,
                                 total_length(xs, a, n))
    yield rule("subtensor",      shape_i(subtensor(x, *ks, index=i), axis=a),    n,
                                 indexed_length(x, ks, i, a, n))
    yield rule("gather",         shape_i(gather(x, *ks, index=i), axis=a),       n,
                                 gathered_length(x, ks, i, a, n))
    yield rule("arange",         shape_i(arange(0, n, 1, dtype=d), axis=0),      maximum(n, 0),
                                 of_integers(n))
    yield rule("arange_from",    shape_i(arange(m, n, 1, dtype=d), axis=0),      maximum(n - m, 0),
                                 of_integers(n), of_integers(m))
    yield rule("check",          shape_i(check(x, *xs, error=b, message=d), axis=a), shape_i(x, axis=a),
                                 assumes=["domain"])
