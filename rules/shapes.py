"""Lengths: every length is computed from operands, so that no array is made only to be measured."""

from termgraph.rulelib._goals_shapes import (
    declared_length,
    differ,
    elementwise_length,
    gathered_length,
    indexed_length,
    item,
    kept_axis,
    product_length,
    promised_length,
    static_length,
    total_length,
    whole,
)
from termgraph.rules import head, param, rule, ruleset, seg, this
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.control import check
from termgraph.terms.ops.elementwise import maximum
from termgraph.terms.ops.indexing import gather, inc_subtensor, scatter_add, scatter_set, set_subtensor, subtensor
from termgraph.terms.ops.linalg import dot
from termgraph.terms.ops.reduce import (
    all_,
    any_,
    cumprod,
    cumsum,
    log_softmax,
    logsumexp,
    max_,
    min_,
    prod,
    softmax,
    sum_,
)
from termgraph.terms.ops.shaping import (
    alloc,
    arange,
    eye,
    join,
    reshape,
    shape_i,
    specify_shape,
    unbroadcast,
)
from termgraph.terms.ops.sorting import argsort, sort


@ruleset("canonicalize")
def shapes(x, y, n, m, k, f: head, xs: seg, ns: seg, ks: seg, a: param, b: param, d: param, i: param, o: param, w: param,
           r: head[sum_, prod, max_, min_, any_, all_, logsumexp],
           g: head[cumsum, cumprod, softmax, log_softmax, sort, argsort],
           h: head[set_subtensor, inc_subtensor, scatter_set, scatter_add]):
    yield rule("static",         shape_i(x, axis=a),                             n,                           static_length(x, a, n))
    yield rule("declared",       shape_i(x, axis=a),                             n,                           declared_length(x, a, n))
    yield rule("elementwise",    shape_i(f(*xs), axis=a),                        n,                           elementwise_length(this, a, n))
    yield rule("dimshuffle",     shape_i(dimshuffle(x, order=o), axis=a),        shape_i(x, axis=b),          item(o, a, b))
    yield rule("alloc",          shape_i(alloc(x, *ns), axis=a),                 n,                           item(ns, a, n))
    yield rule("reshape",        shape_i(reshape(x, *ns), axis=a),               n,                           item(ns, a, n))
    yield rule("reduction",      shape_i(r(x), axis=a),                          shape_i(x, axis=b),          kept_axis(r, x, a, b))
    yield rule("along",          shape_i(g(x), axis=a),                          shape_i(x, axis=a))
    yield rule("join",           shape_i(join(*xs, axis=a), axis=a),             n,                           total_length(xs, a, n))
    yield rule("join_across",    shape_i(join(x, *xs, axis=a), axis=b),          shape_i(x, axis=b),          differ(a, b))
    yield rule("written",        shape_i(h(x, *xs), axis=a),                     shape_i(x, axis=a))
    yield rule("subtensor",      shape_i(subtensor(x, *ks, index=i), axis=a),    n,                           indexed_length(x, ks, i, a, n))
    yield rule("gather",         shape_i(gather(x, *ks, index=i), axis=a),       n,                           gathered_length(x, ks, i, a, n))
    yield rule("dot",            shape_i(dot(x, y), axis=a),                     n,                           product_length(x, y, a, n))
    yield rule("arange",         shape_i(arange(0, n, 1, dtype=d), axis=0),      maximum(n, 0),               whole(n))
    yield rule("arange_from",    shape_i(arange(m, n, 1, dtype=d), axis=0),      maximum(n - m, 0),           whole(n), whole(m))
    yield rule("eye_rows",       shape_i(eye(n, m, k, dtype=d), axis=0),         n)
    yield rule("eye_columns",    shape_i(eye(n, m, k, dtype=d), axis=1),         m)
    yield rule("unbroadcast",    shape_i(unbroadcast(x, axis=b), axis=a),        shape_i(x, axis=a))
    yield rule("specify_shape",  shape_i(specify_shape(x, *ns, known=w), axis=a), n,                          promised_length(x, ns, w, a, n))
    yield rule("check",          shape_i(check(x, *xs, error=b, message=d), axis=a), shape_i(x, axis=a),      assumes=["domain"])
