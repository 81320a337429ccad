"""What is computed of a row's folds (its logarithm, say) for many rows at once, so that it becomes a vector loop.

An outermost loop over rows is run in blocks: first the folds of all rows of a block, then what follows from them, with
the values that cross kept in slots. A loop inside another is divided into two, with these values kept in rows.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from termgraph._records import record, replace
from termgraph.lower.lengths.index import Poly, largest, poly, values
from termgraph.lower.loops.tree import Branch, Kernel, Let, Loop, Node, Reduce, Row, RowTiles, Write
from termgraph.lower.push.kernel import HEAVY, INDEX, Buf, kids, own_cost

WIDTH = 64  # rows of a block


def tile_rows(nodes: Sequence[Node]) -> list[Node]:
    """The statements, with rows in blocks where functions as costly as exp are computed of their folds."""
    return [_tiled(n) if isinstance(n, Kernel) else n for n in nodes]


def _tiled(kernel: Kernel) -> Kernel:
    loop = kernel.node
    if not (kernel.parallel and isinstance(loop, Loop)):
        return kernel
    halves = _halves(loop, "tile", poly(WIDTH), count())
    if halves is None:
        inside = _with_loops_divided(loop.body, count())
        if _same(inside, loop.body):
            return kernel
        return replace(kernel, node=replace(loop, body=inside))
    return replace(kernel, node=RowTiles(loop.var, WIDTH, [halves.first, halves.second], halves.slots))


def _with_loops_divided(body: Sequence[Node], number: Iterator[int]) -> list[Node]:
    """The statements of a loop; loops among them whose folds are followed by costly functions are two."""
    out: list[Node] = []
    for n in body:
        if not isinstance(n, Loop) or n.simd:
            out.append(n)
            continue
        halves = _halves(n, "folds", n.var.extent, number)
        if halves is None:
            inside = _with_loops_divided(n.body, number)
            out.append(n if _same(inside, n.body) else replace(n, body=inside))
        else:
            out += [Row(b, largest(n.var.extent)) for b in halves.slots]
            out += [Loop(n.var, halves.first), Loop(n.var, halves.second, simd=True)]
    return out


def _same(body: Sequence[Node], other: Sequence[Node]) -> bool:
    """Whether statements are left as they were: what is known of them stays so."""
    return len(body) == len(other) and all(map(operator.is_, body, other))


@record
class _Halves:
    """The statements of a loop up to its last fold, and those that follow, with what crosses in `slots`."""

    first: list[Node]
    second: list[Node]
    slots: list[Buf]


def _halves(loop: Loop, name: str, length: Poly, number: Iterator[int]) -> _Halves | None:
    """A loop in two, if that makes a vector loop of costly functions."""
    head, tail = _divided(loop.body)
    if loop.simd or loop.serial or not any(isinstance(n, Reduce) for n in head) or not _pays(tail):
        return None
    at, crossing = poly(loop.var), _crossing(head, tail)
    kind = "tile" if name == "tile" else "row"
    slots = [Buf(f"{name}{next(number)}", t.type.dtype, (length,), kind) for t in crossing]
    first = [*head, *[Write(b, at, t) for b, t in zip(slots, crossing)]]
    second = [*[Let(t, (b, at)) for b, t in zip(slots, crossing)], *tail]
    return _Halves(first, second, slots)


def _divided(body: list[Node]) -> tuple[list[Node], list[Node]]:
    """The statements up to the last loop inside, and the plain ones after it."""
    last = max((k for k, n in enumerate(body) if not isinstance(n, (Let, Write))), default=-1)
    return body[: last + 1], body[last + 1 :]


def _pays(tail: Sequence[Node]) -> bool:
    """Whether the rest has something costly, and nothing that one row may not do after the next one's folds."""
    lets = [n for n in tail if isinstance(n, Let)]
    plain = all(n.stored is None and n.term.op.family is not INDEX for n in lets)
    stores = all(n.mode == "set" for n in tail if isinstance(n, Write))
    return plain and stores and any(own_cost(n.term) >= HEAVY for n in lets)


def _crossing(head: Sequence[Node], tail: Sequence[Node]) -> list[Any]:
    """The values that the first statements compute and the rest uses."""
    made = {t for n in head for t in ([n.term] if isinstance(n, (Branch, Let)) else getattr(n, "folds", ()))}
    again = {n.term for n in tail if isinstance(n, Let)}
    return [t for t in dict.fromkeys(_used(tail)) if t in made and t not in again]


def _used(tail: Sequence[Node]) -> Iterator[Any]:
    for n in tail:
        if isinstance(n, Let):
            yield from kids(n.term)
        elif isinstance(n, Write):
            yield from (n.value, *values(n.offset))
