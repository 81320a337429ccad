"""Goals about concatenated arrays."""

from __future__ import annotations

from typing import Any

from termgraph.rules import goal
from termgraph.rules.fit import length_of
from termgraph.rules.index_parts import indexed_length
from termgraph.terms.build import length
from termgraph.terms.op import CONST
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.shaping import join, make_vector, shape_i, specify_shape
from termgraph.terms.term import Const, mk


def fitted(xs: tuple, a: int) -> tuple:
    """The parts of a join, each with what the join demands of its lengths: where it goes, nobody else would ask."""
    return (xs[0], *[_promised(x, xs[0], a, k) for k, x in enumerate(xs[1:], 1)])


def alone(xs: tuple, a: int, k: int) -> Any:
    """Part `k` of a join, with what the join demands of its lengths and of those of the other parts.

    Lengths that are known only when another part is computed are not asked for.
    """
    x = xs[k]
    for y in xs:
        if y is not xs[k] and all(not y.args or length_of(y, d) is not None for d in range(y.type.ndim) if d != a):
            x = _promised(x, y, a, k)
    return x


def _promised(x: Any, other: Any, a: int, k: int) -> Any:
    """Part `k`, whose lengths are checked to be those of another part where these are not known to be."""
    for d in range(x.type.ndim):
        n = _length(other, d)
        if d != a and _length(x, d) is not n:
            told = f"part {k} has length {{0}} in dimension {d}, another part {{1}}"
            known = tuple([e == d for e in range(x.type.ndim)])
            x = mk(specify_shape.bind(known=known, told=told), (x, n))
    return x


def _length(x: Any, d: int) -> Any:
    """The length of a dimension as a term, traced to where it comes from, through slices of other axes too."""
    found = length_of(x, d)
    found = length(x, d) if found is None else found
    while found.op.family is shape_i and found.args[0].op.family is subtensor:
        sliced, *ks = found.args[0].args
        n = indexed_length(sliced, tuple(ks), found.args[0].op.params["index"], found.op.params["axis"])
        if n is None or n.op.family is not shape_i:
            return found if n is None else n
        traced = length_of(n.args[0], n.op.params["axis"])
        found = n if traced is None else traced
    return found


@goal("iio")
def nothing_along(t: Any, a: int) -> Any:
    """The join without its operands of length 0."""
    kept = [x for x in t.args if x.type.shape[a] != 0]
    if len(kept) == len(t.args):
        return None
    return mk(join.bind(axis=a), tuple(kept or t.args[:1])) if len(t.args) > 1 else None


@goal("iiio")
def joined_lengths(ns: tuple, ms: tuple, a: int) -> Any:
    """The lengths of two concatenated arrays, if the other lengths agree."""
    if any(n is not m for d, (n, m) in enumerate(zip(ns, ms)) if d != a):
        return None
    return (*ns[:a], mk(ew.add, (ns[a], ms[a])), *ns[a + 1 :])


@goal("ioo")
def items_of(t: Any) -> Any:
    """The numbers of which a joined vector consists, if each operand is a list of numbers."""
    if t.type.ndim != 1:
        return None
    items: list[Any] = []
    for x in t.args:
        if x.op is CONST:
            items += [Const(v) for v in x.value] if x.value.size <= 16 else [None]
        elif x.op.family is make_vector:
            if any(a.type.dtype != x.type.dtype for a in x.args):
                return None
            items += x.args
        elif x.op.family is dimshuffle and x.args[0].type.ndim == 0:
            items.append(x.args[0])
        else:
            return None
    return None if None in items else (tuple(items), t.type.dtype)


@goal("io")
def whole_again(xs: tuple) -> Any:
    """The vector whose elements, in order and all of them, are these."""
    if not xs or xs[0].op.family is not subtensor:
        return None
    x = xs[0].args[0]
    if x.type.shape != (len(xs),):
        return None
    parts = [mk(subtensor.bind(index=(k,)), (x,)) for k in range(len(xs))]
    return x if all(a is b for a, b in zip(xs, parts)) else None
