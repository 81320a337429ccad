"""Reading parts of arrays: an index goes through what was computed, so that only what is read is computed."""

from termgraph.rulelib._goals_index import index_before_reduction, index_of_join, indexed_operands
from termgraph.rulelib._goals_shapes import elemwise
from termgraph.rules import Integer, Vector, head, param, rule, ruleset, seg
from termgraph.rules.index_parts import (
    at, before_order, composed, disjoint, fills, item_at, items_at, lengths_at, of_columns, of_rows, of_scalars,
    of_value, order_after, plain,
)
from termgraph.rules.length_parts import has_length
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import cast
from termgraph.terms.ops.indexing import gather, inc_subtensor, set_subtensor, subtensor
from termgraph.terms.ops.linalg import dot
from termgraph.terms.ops.reduce import all_, any_, logsumexp, max_, min_, prod, sum_
from termgraph.terms.ops.shaping import alloc, arange, join, make_vector

AGAIN = ["specialize"]  # tidies up after the rules of that stage as well


@ruleset("canonicalize")
def indexing(x, y, u, v, w: Vector, n, f: head, r: head[sum_, prod, max_, min_, any_, all_, logsumexp],
             xs: seg, ys: seg, ks: seg, ms: seg, ns: seg, a: param, d: param, i: param, j: param, o: param,
             k: Integer, b: head[set_subtensor, inc_subtensor]):
    # one spelling for every index, nothing for the whole array
    yield rule("whole",          subtensor(x, index=()),                         x, tags=AGAIN)
    yield rule("plain",          subtensor(x, *ks, index=i),                     at(x, plain(x, ks, i)))
    yield rule("scalars",        gather(x, *ks, index=i),
                                 subtensor(x, *ks, index=of_scalars(i, ks)))

    # an index of an index
    yield rule("twice",          subtensor(subtensor(x, *ks, index=i), *ms, index=j),
                                 at(x, composed(x, ks, i, ms, j)), tags=AGAIN)
    yield rule("gather_twice",   gather(gather(x, u, index=("a",)), v, index=("a",)),
                                 gather(x, gather(u, v, index=("a",)), index=("a",)))
    yield rule("gather_at",      subtensor(gather(x, w, index=("a",)), k, index=("?",)),
                                 subtensor(x, subtensor(w, k, index=("?",)), index=("?",)))
    yield rule("gather_range",   gather(x, arange(0, n, 1, dtype=d), index=("a",)), x, has_length(x, n, 0))

    # through what was computed
    yield rule("elementwise",    subtensor(f(*xs), *ks, index=i),                f(*ys),
                                 elemwise(f), indexed_operands(f, xs, ks, i, ys))
    yield rule("dimshuffle",     subtensor(dimshuffle(x, order=o), *ks, index=i),
                                 dimshuffle(at(x, before_order(x, o, ks, i)),
                                     order=order_after(o, before_order(x, o, ks, i), ks, i)))
    yield rule("reduction",      subtensor(r(x), *ks, index=i),                  y,
                                 index_before_reduction(r, x, ks, i, y), assumes=["reassoc"])
    yield rule("dot",            subtensor(dot(x, y), *ks, index=i),
                                 dot(at(x, of_rows(x, y, ks, i)), at(y, of_columns(x, y, ks, i))),
                                 assumes=["finite", "reassoc"])
    yield rule("alloc",          subtensor(alloc(x, *ns), *ks, index=i),
                                 alloc(at(x, of_value(x, ns, ks, i)), *lengths_at(ns, ks, i)))
    yield rule("join",           subtensor(join(*xs, axis=a), *ks, index=i),     y,
                                 index_of_join(xs, a, ks, i, y))
    yield rule("item",           subtensor(make_vector(*xs, dtype=d), index=i),  cast(item_at(xs, i), dtype=d))
    yield rule("items",          subtensor(make_vector(*xs, dtype=d), index=i),  make_vector(*items_at(xs, i), dtype=d))

    # reading what was written
    yield rule("of_set",         subtensor(set_subtensor(x, y, *ks, index=i), *ks, index=i), y,
                                 fills(x, y, i))
    yield rule("of_inc",         subtensor(inc_subtensor(x, y, *ks, index=i), *ks, index=i),
                                 subtensor(x, *ks, index=i) + y)
    yield rule("beside",         subtensor(b(x, y, index=i), index=j), subtensor(x, index=j),
                                 disjoint(x, i, j))
