"""A loop over several nests as a loop for each: what C runs together for the cache, a GPU runs apart, by more threads.

A loop of eight rows around two loops of many would be the work of eight teams; apart, each nest is as many threads as
it has elements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from termgraph._records import replace
from termgraph.backends.cuda.text.chains import is_straight
from termgraph.backends.references import index_references, references
from termgraph.lower.loops.tree import Branch, Columns, Kernel, Let, Loop, Node, Reduce, Row, walk
from termgraph.lower.memory.plan import loads, writes
from termgraph.lower.push.kernel import Buf

SCALARS = (Let, Branch)  # what each kernel that needs it computes for itself


def distributed(n: Kernel, nest: list[Any], aliased: Collection[Buf]) -> list[Kernel]:
    """The kernels of the nests inside of an outermost loop; itself if there is one, or they need each other's values.

    `nest` are the loops that stand alone in each other, the last of which has the statements.
    """
    body = nest[-1].body if nest and isinstance(nest[-1], Loop) else []
    groups = _groups(body)
    if not n.at_once or len(groups) < 2 or any(isinstance(m, Row) for m in body):
        return [n]
    scalars = [m for m in body if isinstance(m, SCALARS)]
    written = set(writes(n))
    written |= set(aliased) if written & set(aliased) else set()
    parts = []
    for group in groups:
        needed = _scalars_of(group, scalars)
        if needed is None or any(b in written for m in needed for b, _ in loads(m)):
            return [n]
        whole: Any = [m for m in body if m in needed or m in group]
        for loop in reversed(nest):
            own = [] if loop is nest[-1] else [m for m in loop.body if isinstance(m, Let)]
            whole = [replace(loop, body=[*own, *whole])]
        parts.append(replace(n, node=whole[0]))
    return parts


def _groups(body: Sequence[Node]) -> list[list[Node]]:
    """Nests by themselves, and what stands between them together."""
    groups: list[list[Node]] = []
    open_ = False
    for m in body:
        if isinstance(m, SCALARS):
            continue
        deep = _is_nest(m)
        if open_ and not deep:
            groups[-1].append(m)
        else:
            groups.append([m])
        open_ = not deep
    return groups


def _is_nest(m: Node) -> bool:
    return isinstance(m, Columns) or isinstance(m, Loop) and not m.serial and not is_straight(m.body)


def _scalars_of(group: Sequence[Node], scalars: Sequence[Let | Branch]) -> list[Let | Branch] | None:
    """The values computed outside that a group needs; None if one of them is a fold's of another group."""
    inside = {f for m in walk(list(group)) if isinstance(m, Reduce) for f in m.folds}
    by_term = {m.term: m for m in scalars}
    needed: dict[Let | Branch, None] = {}
    todo = list(_used(group))
    while todo:
        t = todo.pop()
        if t in by_term and by_term[t] not in needed:
            needed[by_term[t]] = None
            todo += _used([by_term[t]])
        elif t.op.name == "fold" and t not in inside:
            return None
    return list(needed)


def _used(nodes: Sequence[Node]) -> Iterator[Any]:
    for m in walk(list(nodes)):
        yield from references(m)
        yield from index_references(m)
