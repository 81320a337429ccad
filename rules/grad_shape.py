"""Derivatives of ops that move elements: axes, shapes, broadcasts, joining, diagonals, indexing, sorting.

The pullback of a move puts the cotangent back where the elements came from; lengths and indices get None.
"""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rules import goal, param, rule, ruleset, seg
from termgraph.rules.parts import lengths, nothing_for, undone, zeros_like
from termgraph.tensor.lifting import handle
from termgraph.terms.build import filled_like, length
from termgraph.terms.ops.basic import dimshuffle, nth
from termgraph.terms.ops.derivative import pullback, tup
from termgraph.terms.ops.elementwise import add, cast, eq, switch
from termgraph.terms.ops.indexing import (
    gather,
    inc_subtensor,
    scatter_add,
    scatter_set,
    set_subtensor,
    subtensor,
)  # fmt: skip
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.ops.shaping import (
    alloc,
    alloc_diag,
    arange,
    diagonal,
    join,
    make_vector,
    reshape,
    specify_shape,
    unbroadcast,
)  # fmt: skip
from termgraph.terms.ops.sorting import argsort, bincount, sort, unique, unique_all
from termgraph.terms.term import Const, mk, mk1, mk2


# ---------------------------------------------------------------------- goals
@goal("iio")
def items(xs, g):
    """The items of g, one for each of xs."""
    return tuple(mk1(subtensor.bind(index=(i,)), g) for i in range(len(xs)))


@goal("iiio")
def pieces(xs, axis, g):
    """The parts of g that came from each of the joined arrays."""
    start, out = Const(0), []
    for x in xs:
        stop = _sum(start, length(x, axis))
        whole = (("s", None, None, None),) * axis
        if hasattr(start, "value") and hasattr(stop, "value"):
            op = subtensor.bind(index=(*whole, ("s", int(start.value), int(stop.value), None)))
            out.append(mk1(op, g))
        else:
            out.append(mk(subtensor.bind(index=(*whole, ("s", "?", "?", None))), (g, start, stop)))
        start = stop
    return tuple(out)


def _sum(a, b):
    if hasattr(a, "value") and hasattr(b, "value"):
        return Const(int(a.value) + int(b.value))
    return b if hasattr(a, "value") and a.value == 0 else mk2(add, a, b)


@goal("iiio")
def on_diagonal(x, g, offset):
    """Zeros in the shape of x with g on a diagonal."""
    g = handle(g)
    n, row, column = g.shape[-1], max(-offset, 0), max(offset, 0)
    whole = handle(alloc_diag.bind(offset=offset)(g.term))
    whole = whole[..., :n, :] if offset >= 0 else whole[..., :, :n]
    if x.type.shape[-2:] == whole.type.shape[-2:] and None not in x.type.shape[-2:]:
        return whole.term
    along = T.arange(n)  # as many places as there are, not a square of zeros; a diagonal outside of x is empty
    return T.inc_subtensor(handle(filled_like(x, 0))[..., along + row, along + column], g).term


@goal("iiiio")
def last_written(x, y, places, index):
    """Where a value of y is what `scatter_set` left in x: of several written to one place the last one counts."""
    shown = mk(gather.bind(index=index), (x, *places))
    n = shown.type.ndim
    number = handle(shown).size
    ids = mk(reshape, (T.arange(number).term, *lengths(shown)))
    zeros_ = T.zeros_like(handle(x), dtype="int64").term
    winner = mk(scatter_set.bind(index=index), (zeros_, ids, *places))
    assert ids.type.ndim == n
    return mk2(eq, mk(gather.bind(index=index), (winner, *places)), ids)


@goal("iiio")
def unsorted(x, g, axis):
    """g with its elements moved from their sorted places to where they were in x."""
    back = mk1(argsort.bind(axis=axis), mk1(argsort.bind(axis=axis), x))
    return T.take_along_axis(g, back, axis=axis)


@goal("iiio")
def at_first_places(x, g, axis):
    """g where in x each distinct element or slice is first, zeros elsewhere."""
    place, nothing = handle(mk1(nth.bind(i=1), mk1(unique_all.bind(axis=axis), x))), T.zeros_like(handle(x))
    if axis is None:
        return T.set_subtensor(T.ravel(nothing)[place], g).reshape(handle(x).shape).term
    return T.set_subtensor(nothing[(slice(None),) * axis + (place,)], g).term


@goal("io")
def steps(g):
    """0, 1, 2, ... as far as g goes, in its dtype."""
    return mk1(cast.bind(dtype=g.type.dtype), T.arange(handle(length(g, 0))).term)


# ---------------------------------------------------------------------- rules
@ruleset("grad")
def grad_shape(x, y, z, g, o, a: param, b: param, xs: seg, ns: seg, gs: seg, ms: seg, hs: seg):
    yield rule("dimshuffle",    pullback(dimshuffle(x, order=a), g),        (dimshuffle(g, order=undone(x, a)),))
    yield rule("reshape",       pullback(reshape(x, *ns), g),
                                tup(reshape(g, *lengths(x)), *nothing_for(ns)))
    yield rule("alloc",         pullback(alloc(x, *ns), g),                 tup(g, *nothing_for(ns)))
    yield rule("specify_shape", pullback(specify_shape(x, *ns, known=a, told=b), g), tup(g, *nothing_for(ns)))
    yield rule("unbroadcast",   pullback(unbroadcast(x, axis=a), g),        (g,))
    yield rule("make_vector",   pullback(make_vector(*xs, dtype=a), g),     tup(*gs),
                                items(xs, g, gs))
    yield rule("join",          pullback(join(*xs, axis=a), g),             tup(*gs),
                                pieces(xs, a, g, gs))
    yield rule("diagonal",      pullback(diagonal(x, offset=a), g),         (o,),
                                on_diagonal(x, g, a, o))
    yield rule("alloc_diag",    pullback(alloc_diag(x, offset=a), g),       (diagonal(g, offset=a),))
    yield rule("arange",        pullback(arange(x, y, z, dtype=a), g),
                                (sum_(g, axis=(0,), dtype=a), None, sum_(g * o, axis=(0,), dtype=a)),
                                steps(g, o))


@ruleset("grad")
def grad_index(x, y, g, o, c, u, a: param, ns: seg, hs: seg):
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
    yield rule("scatter_set",   pullback(scatter_set(x, y, *ns, index=a), g),
                                tup(scatter_set(g, 0, *ns, index=a), switch(c, gather(g, *ns, index=a), 0),
                                    *nothing_for(ns)),
                                last_written(x, y, ns, a, c))
    yield rule("sort",          pullback(sort(x, axis=a), g),                   (o,),
                                unsorted(x, g, a, o))
    yield rule("unique",        pullback(unique(x, axis=a), g),                 (o,),
                                at_first_places(x, g, a, o))
    yield rule("unique_all",    pullback(unique_all(x, axis=a), g, y, c, u),    (o,),
                                at_first_places(x, g, a, o))
    yield rule("bincount",      pullback(bincount(x, c, y), g),
                                (None, None, gather(g, x, index=("a",))))
