"""Goals about concatenated arrays."""

from __future__ import annotations

from typing import Any

from termgraph.rules import goal
from termgraph.terms.op import CONST
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.shaping import join, make_vector
from termgraph.terms.term import Const, mk


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
