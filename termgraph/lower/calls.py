"""Ops along one axis that some backends have kernels of their own for: running sums and products, sorting.

Where a backend names them (`lower(calls=...)`) they are library calls; elsewhere running sums are loops, and sorting is
not lowered. May import this package only.
"""

from __future__ import annotations

from typing import Any

from termgraph.lower.index import Poly, product
from termgraph.lower.kernel import LOAD, Buf, values
from termgraph.lower.policy import Storage, call_rule, nest
from termgraph.lower.tree import Call


@call_rule("cumsum", "cumprod", "sort", "argsort")
def _along(s: Storage, t: Any, buf: Buf) -> None:
    """The operand seen as (before, along, after) the axis, C-contiguous."""
    (x,), axis = t.args, t.op.params["axis"]
    found = _contiguous(s, x, buf)
    if found is None:
        if x in s.cuts:
            raise AssertionError(f"a stored operand that is not contiguous: {x!r:.200}")
        s.wanted.append(x)
        return
    shape = s.lengths[x]
    sizes = (product(shape[:axis]), shape[axis], product(shape[axis + 1 :]))
    options = {"batch": [], "beta": 0, "dtype": t.type.dtype}
    s.stores.append(Call(t.op.family.name, buf, [(*found, ())], sizes, options=options))


def _contiguous(s: Storage, x: Any, like: Buf) -> tuple[Buf, Poly] | None:
    """Where x is, if its elements lie one after the other as those of a buffer of its shape do."""
    index, vars_ = nest(s.lengths[x])
    value = s.push.at(x, index)
    if value.op.family is not LOAD or value.type.dtype != x.type.dtype:
        return None
    offset = value.op.params["offset"]
    base = offset.without(vars_)
    whole = base + like.offset(index)
    return (value.op.params["buf"], base) if whole is offset and not values(offset) else None
