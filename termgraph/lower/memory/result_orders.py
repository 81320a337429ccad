"""How the axes of results lie in memory: as in NumPy, as those of the arrays they are made of, element by element.

A transpose of an argument is then a plain copy, and handed out with its axes as the caller counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TensorType

Order = tuple[int, ...]


def natural(roots: Sequence[AnyTerm], count: int) -> list[Order | None]:
    """For each of the first roots the axes from the slowest to the fastest; None where that is how they are counted.

    What is computed and needed by other terms or updates as well is stored row by row.
    """
    every = children_first(roots)
    used = {a for t in every for a in t.args} | set(roots[count:])
    known: dict[Any, Order] = {}
    for t in every:
        known[t] = _of(t, known)
    alone = [t.op.family is dimshuffle or t not in used for t in roots[:count]]
    return [_whole(t, known[t]) if free else None for t, free in zip(roots, alone)]


def _of(t: AnyTerm, known: dict[Any, Order]) -> Order:
    """The order of those axes of a term whose length is not known to be 1."""
    if not isinstance(t.type, TensorType):
        return ()
    plain = tuple([d for d, n in enumerate(t.type.shape) if n != 1])
    if not t.args or len(plain) < 2:
        return plain
    below = known[t.args[0]]
    if t.op.family is dimshuffle:
        order = t.op.params["order"]
        return tuple([order.index(d) for d in below if d in order])  # a dropped axis is 1 at run time
    if t.op.family.name == "subtensor":
        return below if set(below) == set(plain) and t.args[0].type.ndim == t.type.ndim else plain
    if t.op.kind != "elementwise":
        return plain
    orders = {known[a] for a in t.args if set(known[a]) == set(plain)}  # what is stretched along an axis says nothing
    return orders.pop() if len(orders) == 1 else plain


def _whole(t: AnyTerm, order: Order) -> Order | None:
    """The order with all axes, those of length 1 behind the ones they follow."""
    if order == tuple(sorted(order)):
        return None
    out = list(order)
    for d in range(t.type.ndim):
        if d not in out:
            out.insert(out.index(d - 1) + 1 if d else 0, d)
    return tuple(out)


def turned(roots: Sequence[Any], orders: Sequence[Order | None]) -> list[Any]:
    """The roots with their axes in these orders."""
    return [t if order is None else dimshuffle.bind(order=order)(t) for t, order in zip(roots, orders)]
