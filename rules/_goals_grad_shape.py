"""Goals of the derivatives of ops that move elements: where elements came from, and what overwrote them."""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rules import goal
from termgraph.rules.parts import lengths
from termgraph.tensor.lifting import handle
from termgraph.terms.build import filled_like, length
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.elementwise import add, cast, eq
from termgraph.terms.ops.indexing import (
    gather,
    scatter_set,
    subtensor,
)  # fmt: skip
from termgraph.terms.ops.shaping import (
    alloc_diag,
    reshape,
)  # fmt: skip
from termgraph.terms.ops.sorting import argsort, unique_all
from termgraph.terms.term import Const, mk, mk1, mk2


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
