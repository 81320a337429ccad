"""Derivatives of ops that move elements: axes, shapes, broadcasts, joining, diagonals, indexing, sorting.

The pullback of a move puts the cotangent back where the elements came from; lengths and indices get None.
"""

from __future__ import annotations

from termgraph.rulelib._formulas_grad_shape import (
    at_first_places, at_partitioned_places, at_sorted_places, extreme_shares, factor_shares, in_triangle, items,
    last_written, on_diagonal, pieces, steps, unsorted,
)
from termgraph.rules import head, param, rule, ruleset, seg
from termgraph.rules.parts import lengths, nothing_for, undone, zeros_like
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.derivative import pullback, tup
from termgraph.terms.ops.elementwise import switch
from termgraph.terms.ops.indexing import (
    gather, inc_subtensor, scatter_add, scatter_max, scatter_min, scatter_mul, scatter_set, set_subtensor, subtensor,
)
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.ops.shaping import (
    alloc, alloc_diag, arange, diagonal, join, make_vector, reshape, specify_shape, unbroadcast,
)
from termgraph.terms.ops.sorting import (
    bincount, order_statistics, partition, sort, unique, unique_all, unique_counts, unique_inverse,
)
from termgraph.terms.ops.triangles import pack_triangle, unpack_triangle


@ruleset("grad")
def grad_shape(x, y, z, g, n, a: param, b: param, xs: seg, ns: seg):
    yield rule("dimshuffle",    pullback(dimshuffle(x, order=a), g),        (dimshuffle(g, order=undone(x, a)),))
    yield rule("reshape",       pullback(reshape(x, *ns), g),
                                tup(reshape(g, *lengths(x)), *nothing_for(ns)))
    yield rule("alloc",         pullback(alloc(x, *ns), g),                 tup(g, *nothing_for(ns)))
    yield rule("specify_shape", pullback(specify_shape(x, *ns, known=a, told=b), g), tup(g, *nothing_for(ns)))
    yield rule("unbroadcast",   pullback(unbroadcast(x, axis=a), g),        (g,))
    yield rule("make_vector",   pullback(make_vector(*xs, dtype=a), g),     tup(*items(xs, g)))
    yield rule("join",          pullback(join(*xs, axis=a), g),             tup(*pieces(xs, a, g)))
    yield rule("diagonal",      pullback(diagonal(x, offset=a), g),         (on_diagonal(x, g, a),))
    yield rule("alloc_diag",    pullback(alloc_diag(x, offset=a), g),       (diagonal(g, offset=a),))
    yield rule("pack_triangle", pullback(pack_triangle(x, lower=a, strict=b), g),
                                (in_triangle(x, g, a, b),))
    yield rule("unpack_triangle", pullback(unpack_triangle(x, n, lower=a, strict=b), g),
                                (pack_triangle(g, lower=a, strict=b), None))
    yield rule("arange",        pullback(arange(x, y, z, dtype=a), g),
                                (sum_(g, axis=(0,), dtype=a), None, sum_(g * steps(g), axis=(0,), dtype=a)))


@ruleset("grad")
def grad_index(x, y, g, c, u, a: param, b: param, ns: seg, p: head[unique_counts, unique_inverse],
               e: head[scatter_max, scatter_min]):
    yield rule("subtensor",     pullback(subtensor(x, *ns, index=a), g),
                                tup(inc_subtensor(zeros_like(x), g, *ns, index=a), *nothing_for(ns)))
    yield rule("inc_subtensor", pullback(inc_subtensor(x, y, *ns, index=a), g),
                                tup(g, subtensor(g, *ns, index=a), *nothing_for(ns)))
    yield rule("set_subtensor", pullback(set_subtensor(x, y, *ns, index=a), g),
                                tup(set_subtensor(g, 0, *ns, index=a), subtensor(g, *ns, index=a), *nothing_for(ns)))
    yield rule("gather",        pullback(gather(x, *ns, index=a), g),
                                tup(scatter_add(zeros_like(x), g, *ns, index=a), *nothing_for(ns)))
    yield rule("scatter_add",   pullback(scatter_add(x, y, *ns, index=a), g),
                                tup(g, gather(g, *ns, index=a), *nothing_for(ns)))
    yield rule("scatter_extreme", pullback(e(x, y, *ns, index=a), g),
                                tup(*extreme_shares(x, y, e(x, y, *ns, index=a), g, ns, a), *nothing_for(ns)))
    yield rule("scatter_mul",   pullback(scatter_mul(x, y, *ns, index=a), g),
                                tup(*factor_shares(x, y, g, ns, a), *nothing_for(ns)))
    yield rule("scatter_set",   pullback(scatter_set(x, y, *ns, index=a), g),
                                tup(scatter_set(g, 0, *ns, index=a),
                                    switch(last_written(x, y, ns, a), gather(g, *ns, index=a), 0), *nothing_for(ns)))
    yield rule("sort",          pullback(sort(x, axis=a), g),                   (unsorted(x, g, a),))
    yield rule("order_statistics", pullback(order_statistics(x, y), g),         (at_sorted_places(x, y, g), None))
    yield rule("partition",     pullback(partition(x, y), g),                (at_partitioned_places(x, y, g), None))
    yield rule("unique",        pullback(unique(x, axis=a, equal_nan=b), g), (at_first_places(x, g, a, b),))
    yield rule("unique_all",    pullback(unique_all(x, axis=a, equal_nan=b), g, y, c, u),
                                (at_first_places(x, g, a, b),))
    yield rule("unique_pair",   pullback(p(x, axis=a, equal_nan=b), g, c),   (at_first_places(x, g, a, b),))
    yield rule("bincount",      pullback(bincount(x, c, y), g),
                                (None, None, gather(g, x, index=("a",))))
