"""What is computed of a row's folds (its logarithm, say) for many rows at once, so that it becomes a vector loop.

A loop over rows is run in blocks: first the folds of all rows of a block, then what follows from them, with the values
that cross kept in slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from termgraph.lower.lengths.index import poly, values
from termgraph.lower.loops.tree import Branch, Kernel, Let, Loop, Node, Reduce, RowTiles, Write
from termgraph.lower.push.kernel import HEAVY, INDEX, Buf, kids, own_cost

WIDTH = 64  # rows of a block


def tile_rows(nodes: Sequence[Node]) -> list[Node]:
    """The statements, with rows in blocks where functions as costly as exp are computed of their folds."""
    return [_tiled(n) if isinstance(n, Kernel) else n for n in nodes]


def _tiled(kernel: Kernel) -> Kernel:
    loop = kernel.node
    if not (kernel.parallel and isinstance(loop, Loop) and not loop.simd and not loop.serial):
        return kernel
    head, tail = _divided(loop.body)
    if not any(isinstance(n, Reduce) for n in head) or not _pays(tail):
        return kernel
    at = poly(loop.var)
    crossing = _crossing(head, tail)
    slots = [Buf(f"tile{k}", t.type.dtype, (poly(WIDTH),), "tile") for k, t in enumerate(crossing)]
    first = [*head, *[Write(b, at, t) for b, t in zip(slots, crossing)]]
    second = [*[Let(t, (b, at)) for b, t in zip(slots, crossing)], *tail]
    return Kernel(RowTiles(loop.var, WIDTH, [first, second], slots), kernel.parallel, kernel.final)


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


__all__ = ["tile_rows"]
