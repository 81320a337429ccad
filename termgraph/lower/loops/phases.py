"""When the statements of one depth run:
in phases, as early as they can, or with later ones that read the same arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from termgraph.lower.loops.tree import Call, Compound
from termgraph.lower.push.kernel import LOAD, Buf, scalars
from termgraph.lower.storage.policy import Store


def writers_of(statements: Iterable[Any]) -> dict[Buf, list[Any]]:
    """The statements that write to each buffer."""
    writers: dict[Buf, list[Any]] = {}
    for x in statements:
        for b in x.bufs if isinstance(x, Compound) else (x.buf,) if isinstance(x, (Store, Call)) else ():
            writers.setdefault(b, []).append(x)
    return writers


def phases(before: Mapping[Any, Sequence[Any]]) -> dict[Any, int]:
    """When each may run: one phase after the last of those before it."""
    phase: dict[Any, int] = {}
    stack = list(reversed(list(before)))
    while stack:
        x = stack[-1]
        if x in phase:
            stack.pop()
            continue
        todo = [y for y in before[x] if y not in phase]
        if todo:
            stack.extend(todo)
            continue
        phase[x] = max([phase[y] + 1 for y in before[x]], default=0)
        stack.pop()
    return phase


def join_later_readers(statements: Sequence[Any], before: Mapping[Any, Sequence[Any]], phase: dict[Any, int]) -> None:
    """Let a store that nothing waits for run with a later one over the same variable that reads the same array.

    Two sums over the columns of a matrix then read it once, also if one of them needs the means of the rows.
    """
    awaited = {y for found in before.values() for y in found}
    read = {x: _read(x) for x in statements if _is_plain(x) and x not in awaited}
    readers: dict[Any, list[Any]] = {}
    for x, mine in read.items():
        for b in mine:
            readers.setdefault((b, x.vars[0]), []).append(x)
    for x, mine in read.items():
        later = [phase[y] for b in mine for y in readers[b, x.vars[0]] if phase[y] > phase[x]]
        if later:
            phase[x] = min(later)


def _is_plain(x: object) -> bool:
    return isinstance(x, Store) and bool(x.vars) and x.mode == "set" and not x.ordered and not x.rank


def _read(x: Store) -> set[Buf]:
    """The arrays of which a store reads more than one element."""
    return {t.op.params["buf"] for t in scalars([x.value]) if t.op.family is LOAD and t.op.params["offset"].fv}
