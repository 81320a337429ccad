"""Whether loops that read an array in the order in which it lies are worth more than copying it first.

May import this package only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from termgraph.lower.cost import per_iteration
from termgraph.lower.index import ONE, ZERO
from termgraph.lower.kernel import LOAD, Buf
from termgraph.lower.tree import Columns, Let, Loop, Node, Reduce, Sweep, Tiles

LIGHT = 12  # work of an iteration up to which reading with a stride costs no more than a copy: about 1 ns per element


def read_well(nodes: Sequence[Node], bufs: Collection[Buf]) -> set[Buf]:
    """Those of the arrays that the innermost loops read side by side, but for one light loop at most.

    Loops that read with a stride are not made of vector instructions: with exp or the like inside, a copy is cheaper.
    """
    strided: dict[Buf, int] = dict.fromkeys(bufs, 0)
    for load, loop in _loads(nodes):
        buf, offset = load.op.params["buf"], load.op.params["offset"]
        if buf in strided and loop is not None and offset.coefficient(loop.var) not in (ZERO, ONE):
            work = per_iteration(loop).const
            strided[buf] += 1 if work is not None and work <= LIGHT else 2
    return {b for b, n in strided.items() if n < 2}


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


__all__ = ["read_well"]
