"""When the statements of one depth run: in phases, as early as they can, or with later ones that read the same arrays.

Whether the iterations of one statement need an order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from termgraph.lower.lengths.index import Var, poly
from termgraph.lower.loops.tree import Call, Compound
from termgraph.lower.push.kernel import LOAD, Buf, scalars
from termgraph.lower.storage.policy import Store
from termgraph.terms.traverse import grouped, work_out


def writers_of(statements: Iterable[Any]) -> dict[Buf, list[Any]]:
    """The statements that write to each buffer."""
    writers: dict[Buf, list[Any]] = {}
    for x in statements:
        for b in x.bufs if isinstance(x, Compound) else (x.buf,) if isinstance(x, (Store, Call)) else ():
            writers.setdefault(b, []).append(x)
    return writers


def phases(before: Mapping[Any, Sequence[Any]]) -> dict[Any, float]:
    """When each may run: one phase after the last of those before it."""
    phase: dict[Any, float] = {}
    for x in before:
        work_out(phase, x, before.__getitem__, lambda x: max([phase[y] + 1 for y in before[x]], default=0))
    return phase


def join_later_readers(statements: Sequence[Any], before: Mapping[Any, Sequence[Any]], phase: dict[Any, float]) -> None:
    """Let a store that nothing waits for run with a later one over the same variable that reads the same array.

    Two sums over the columns of a matrix then read it once, also if one of them needs the means of the rows.
    """
    awaited = {y for found in before.values() for y in found}
    read = {x: _read(x) for x in statements if _is_plain(x) and x not in awaited}
    runs: dict[Any, Counter[float]] = {}  # phases of those that read an array: few, while readers may be many
    for x, mine in read.items():
        for b in mine:
            runs.setdefault((b, x.vars[0]), Counter())[phase[x]] += 1
    for x, mine in read.items():
        now = phase[x]
        here = [runs[b, x.vars[0]] for b in mine]
        later = min([p for found in here for p, n in found.items() if n and p > now], default=now)
        if later > now:
            phase[x] = later
            for found in here:
                found[now] -= 1
                found[later] += 1


def reads_kept(statements: Sequence[Any]) -> set[Buf]:
    """The buffers that are made of kept arrays, and those of them: the backward pass, as far as that matters."""
    found = {x.buf for x in statements if isinstance(x, Store) and x.kept}
    if not found:
        return found
    made: dict[Buf, list[Buf]] = {}  # of each buffer what is made of it
    for x in statements:
        written = x.bufs if isinstance(x, Compound) else (x.buf,)
        for b in _operands(x):
            made.setdefault(b, []).extend(written)
    waiting = list(found)
    while waiting:
        new = [b for b in made.get(waiting.pop(), ()) if b not in found]
        found.update(new)
        waiting += new
    return found


def _operands(x: Any) -> set[Buf]:
    """All buffers that a statement reads elements of."""
    if isinstance(x, Store):
        return {t.op.params["buf"] for t in scalars([x.value]) if t.op.family is LOAD}
    return {b for b, *_ in (x.operands() if isinstance(x, Compound) else x.operands)}


def wait_for_readers(statements: Sequence[Any], before: Mapping[Any, Sequence[Any]], phase: dict[Any, float]) -> None:
    """Let what is made of kept arrays alone run when it is needed: it could run long before, and fill memory.

    It runs between two phases: a loop of the forward pass stays as it is, with its order of sums.
    """
    kept = {x.buf for x in statements if isinstance(x, Store) and x.kept}
    if not kept:
        return
    order = sorted(before, key=phase.__getitem__)
    begun: set[Any] = set()  # what reads kept arrays, or waits for something that does
    waiting = []
    for x in order:
        later = any(y in begun for y in before[x])
        reads = isinstance(x, Store) and any(y.buf in kept for y in before[x] if isinstance(y, Store))
        if later or reads:
            begun.add(x)
        if reads and not later and _is_plain(x):
            waiting.append(x)
    readers = grouped((x, y) for y, found in before.items() for x in found)
    for x in reversed(waiting):
        if x in readers:
            phase[x] = max(phase[x], min(phase[y] for y in readers[x]) - 0.5)


def divided(stores: Sequence[Any], by: str, needs: Callable[[Any], Iterable[Any]]) -> list[list[Any]]:
    """Stores of one loop in several: by what they read, or each part of a result apart."""
    return _by_reads(stores, needs) if by == "reads" else _by_parts(stores)


def _by_reads(stores: Sequence[Any], needs: Callable[[Any], Iterable[Any]]) -> list[list[Any]]:
    """Stores apart that read no temporary in common: each may run when it is needed, and again."""
    parts: list[tuple[set[Buf], list[Any]]] = []
    for x in stores:
        read = {b for b in needs(x) if isinstance(b, Buf) and b.kind == "temp"}
        alike = [p for p in parts if not p[0].isdisjoint(read)]
        parts = [p for p in parts if p[0].isdisjoint(read)]
        parts.append((read.union(*[p[0] for p in alike]), [*[y for p in alike for y in p[1]], x]))
    return [found for _, found in parts]


def _by_parts(stores: Sequence[Any]) -> list[list[Any]]:
    """Stores apart that write parts of one result: what each is made of can go when it is written."""
    found: list[list[Any]] = []
    count: Counter[Buf] = Counter()
    for x in stores:
        if count[x.buf] == len(found):
            found.append([])
        found[count[x.buf]].append(x)
        count[x.buf] += x.buf.kind != "temp"
    return found


def _is_plain(x: object) -> bool:
    return isinstance(x, Store) and bool(x.vars) and x.mode == "set" and not x.ordered and not x.rank


def _read(x: Store) -> set[Buf]:
    """The arrays of which a store reads more than one element."""
    return {t.op.params["buf"] for t in scalars([x.value]) if t.op.family is LOAD and t.op.params["offset"].fv}


# ---------------------------------------------------------------------- iterations of one statement
def runs_in_order(x: object, var: Var | None) -> bool:
    """Whether a step along the variable needs the one before."""
    return isinstance(x, Store) and var in x.ordered and not _is_injective(x, var)


def _is_injective(x: Store, var: Var) -> bool:
    """Whether different iterations surely write to different places (an inner loop along a scattered row)."""
    step = x.offset.coefficient(var)
    own = bool(step.terms) and not step.fv and x.offset.without([var]) + step * poly(var) is x.offset
    own = own and (not x.meets or var in x.apart)
    return own and not _reads_itself(x) and not any(var in a.fv for a in x.offset.atoms() if a is not var)


def _reads_itself(x: Store) -> bool:
    return any(t.op.family is LOAD and t.op.params["buf"] is x.buf for t in scalars([x.value]))


def collides(x: object, var: Var | None) -> bool:
    """Whether iterations of the outermost loop could write to the same place."""
    return isinstance(x, Store) and x.meets and (var not in x.apart or _reads_itself(x))
