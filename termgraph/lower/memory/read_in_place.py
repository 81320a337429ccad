"""Whether loops that read an array in the order in which it lies are worth more than copying it first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from termgraph.lower.lengths.index import has_division
from termgraph.lower.loops.tree import Columns, Let, Loop, Node, Reduce, Sweep, Tiles
from termgraph.lower.memory.strides import FAR, distance
from termgraph.lower.push.kernel import LOAD, Buf
from termgraph.lower.schedule.cost import per_iteration

MANY = 2
LIGHT = 12  # work of an iteration up to which reading with a stride costs no more than a copy: about 1 ns per element


def read_well(nodes: Sequence[Node], bufs: Collection[Buf]) -> set[Buf]:
    """Those of the arrays that are worth reading where they lie.

    The innermost loops read them side by side, or as near to it as they lie, but for one light loop at most: loops that
    read across the rows are slow, and with exp or the like inside, a copy is cheaper.
    """
    across: dict[Buf, int] = dict.fromkeys(bufs, 0)
    for load, loop in _loads(nodes):
        buf, offset = load.op.params["buf"], load.op.params["offset"]
        if buf not in across or loop is None:
            continue
        if has_division(offset):
            across[buf] += MANY
        elif loop.var in offset.fv and distance(offset.coefficient(loop.var), buf.strides) >= FAR:
            work = per_iteration(loop).const
            across[buf] += 1 if work is not None and work <= LIGHT else MANY
    return {b for b, n in across.items() if n < MANY}


def _loads(nodes: Sequence[Node]) -> Iterator[tuple[Any, Any]]:
    """Every element that is read, with the innermost loop around it; lanes are innermost in loops over columns."""
    stack: list[tuple[Node, Any]] = [(n, None) for n in nodes]
    while stack:
        n, loop = stack.pop()
        if isinstance(n, Let):
            if n.term.op.family is LOAD:
                yield n.term, loop
            continue
        if isinstance(n, (Loop, Reduce, Columns, Tiles)):
            loop = n
        elif isinstance(n, Sweep) and n.outer:
            stack.extend((inner, None) for inner in n.outer)
        for body in n.children():
            if not (isinstance(n, Sweep) and body is n.outer):
                stack.extend((inner, loop) for inner in body)
