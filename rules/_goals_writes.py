"""Goals about writing into arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules import goal
from termgraph.rules.indices import is_length, length
from termgraph.terms.build import in_dtype
from termgraph.terms.ops.elementwise import lt, switch
from termgraph.terms.ops.indexing import scatter_add
from termgraph.terms.ops.shaping import alloc, arange, shape_i
from termgraph.terms.term import Const, mk, mk2


@goal("iio")
def like(y: Any, x: Any) -> Any:
    """`y` with the dtype and the shape of `x`, into which it is written."""
    y = in_dtype(y, x.type.dtype)
    if y.type.ndim == x.type.ndim and all(is_length(length(y, d), x, d) for d in range(x.type.ndim)):
        return y if y.type is x.type else None
    return mk(alloc, (y, *[length(x, d) for d in range(x.type.ndim)]))


@goal("iiiiio")
def summed_places(o: Any, y: Any, ks: tuple, i: tuple, a: tuple) -> Any:
    """`scatter_add(o, y, *ks, index=i)` into zeros, summed along axes that vectors of places say: the rest."""
    if any(e != "a" for e in i) or len(i) != o.type.ndim or any(k.type.ndim != 1 for k in ks):
        return None
    left = [d for d in range(o.type.ndim) if d not in a]
    if len(left) != 1 or y.type.ndim > 1 or ks[left[0]].type.shape[0] == 1:
        return None
    if y.type.dtype != o.type.dtype or y.type.shape == (1,):
        return None
    rows, n = ks[left[0]], length(o, left[0])
    if _counts(rows) and rows.args[1] is n:
        return y if y.type.ndim else mk(alloc, (y, n))
    if _counts(rows) and y.type.ndim == 0:  # the first ones, as a choice that needs no array of its own
        return mk(switch, (mk2(lt, mk(rows.op, (rows.args[0], n, rows.args[2])), rows.args[1]), y, filling(o)))
    return mk(scatter_add.bind(index=("a",)), (mk(alloc, (filling(o), n)), y, rows))


def _counts(k: Any) -> bool:
    """Whether places are 0, 1, 2, ... up to a length, which is not below zero."""
    if k.op.family is not arange:
        return False
    start, stop, step = (getattr(n, "scalar", None) for n in k.args)
    return start == 0 and step == 1 and (stop is not None and stop >= 0 or k.args[1].op.family is shape_i)


def filling(o: Any) -> Any:
    """The number that an array consists of."""
    value = o.args[0] if o.op is alloc else o
    return Const(np.asarray(value.scalar, dtype=value.type.np_dtype))
