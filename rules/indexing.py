"""Reading parts of arrays: an index goes through what was computed, so that only what is read is computed."""

from termgraph.rulelib._goals_index import (
    disjoint,
    fills,
    from_scalars,
    index_before_order,
    index_before_reduction,
    index_of_alloc,
    index_of_join,
    index_of_list,
    index_of_product,
    indexed_operands,
    merged_index,
    plain_index,
)
from termgraph.rulelib._goals_shapes import covers, elemwise
from termgraph.rules import Integer, Vector, head, param, rule, ruleset, seg
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.indexing import gather, inc_subtensor, set_subtensor, subtensor
from termgraph.terms.ops.linalg import dot
from termgraph.terms.ops.reduce import all_, any_, logsumexp, max_, min_, prod, sum_
from termgraph.terms.ops.shaping import alloc, arange, join, make_vector

AGAIN = ["specialize"]  # tidies up after the rules of that stage as well


@ruleset("canonicalize")
def indexing(x, y, u, v, w: Vector, n, f: head, r: head[sum_, prod, max_, min_, any_, all_, logsumexp],
             xs: seg, ys: seg, ks: seg, ms: seg, ns: seg, a: param, d: param, i: param, j: param, h: param, o: param,
             k: Integer):
    # one spelling for every index, nothing for the whole array
    yield rule("whole",          subtensor(x, index=()),                         x, tags=AGAIN)
    yield rule("plain",          subtensor(x, *ks, index=i),                     subtensor(x, *ms, index=j),
                                 plain_index(x, ks, i, ms, j))
    yield rule("scalars",        gather(x, *ks, index=i),                        subtensor(x, *ms, index=j),
                                 from_scalars(i, ks, j, ms))

    # an index of an index
    yield rule("twice",          subtensor(subtensor(x, *ks, index=i), *ms, index=j), subtensor(x, *ns, index=h),
                                 merged_index(x, ks, i, ms, j, ns, h), tags=AGAIN)
    yield rule("gather_twice",   gather(gather(x, u, index=("a",)), v, index=("a",)),
                                 gather(x, gather(u, v, index=("a",)), index=("a",)))
    yield rule("gather_at",      subtensor(gather(x, w, index=("a",)), k, index=("?",)),
                                 subtensor(x, subtensor(w, k, index=("?",)), index=("?",)))
    yield rule("gather_range",   gather(x, arange(0, n, 1, dtype=d), index=("a",)), x, covers(x, n))

    # through what was computed
    yield rule("elementwise",    subtensor(f(*xs), *ks, index=i),                f(*ys),
                                 elemwise(f), indexed_operands(f, xs, ks, i, ys))
    yield rule("dimshuffle",     subtensor(dimshuffle(x, order=o), *ks, index=i), y,
                                 index_before_order(x, o, ks, i, y))
    yield rule("reduction",      subtensor(r(x), *ks, index=i),                  y,
                                 index_before_reduction(r, x, ks, i, y), assumes=["reassoc"])
    yield rule("dot",            subtensor(dot(x, y), *ks, index=i),             dot(u, v),
                                 index_of_product(x, y, ks, i, u, v), assumes=["finite", "reassoc"])
    yield rule("alloc",          subtensor(alloc(x, *ns), *ks, index=i),         y,
                                 index_of_alloc(x, ns, ks, i, y))
    yield rule("join",           subtensor(join(*xs, axis=a), *ks, index=i),     y,
                                 index_of_join(xs, a, ks, i, y))
    yield rule("make_vector",    subtensor(make_vector(*xs, dtype=d), index=i),  y,
                                 index_of_list(xs, i, d, y))

    # reading what was written
    yield rule("of_set",         subtensor(set_subtensor(x, y, *ks, index=i), *ks, index=i), y,
                                 fills(x, y, i))
    yield rule("of_inc",         subtensor(inc_subtensor(x, y, *ks, index=i), *ks, index=i),
                                 subtensor(x, *ks, index=i) + y)
    yield rule("beside_set",     subtensor(set_subtensor(x, y, index=i), index=j), subtensor(x, index=j),
                                 disjoint(x, i, j))
    yield rule("beside_inc",     subtensor(inc_subtensor(x, y, index=i), index=j), subtensor(x, index=j),
                                 disjoint(x, i, j))
