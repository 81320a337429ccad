"""Orders of statements in which less is alive: what is computed late, what ends more than it makes early.

May import this package.
"""

from __future__ import annotations

from collections.abc import Sequence

from termgraph.lower.loops.tree import Repeat
from termgraph.lower.memory.plan import loads, writes
from termgraph.lower.memory.statements import Statement, Statements, size_of
from termgraph.lower.push.kernel import Buf
from termgraph.terms.traverse import grouped


def late(st: Statements) -> list[Statement]:
    """The statements, those moved to the first one that needs them whose results are larger than what they end."""
    line = _Line(st.all)
    readers = grouped((b, s) for s in st.all for b in s.reads)
    for s in reversed(st.all):
        if not s.again or any(len(st.fillers[b]) > 1 for b in s.writes):
            continue
        users = [x for b in s.writes for x in readers.get(b, ()) if x is not s]
        if users:
            to = min([*users, *st.stays_before(s)], key=line.place)
            ended = sum(st.sizes[b] for b in s.reads if max(readers[b], key=line.place) is s)
            if sum(st.sizes[b] for b in s.writes) > ended:
                line.move(s, to)
    return line.all()


def early(st: Statements, order: Sequence[Statement]) -> list[Statement]:
    """An order, with those moved up to what they need whose results are smaller than what they end."""
    line = _Line(order)
    readers: dict[Buf, list[Statement]] = {}
    filled: dict[Buf, list[Statement]] = {}  # results, too: what reads them comes after them
    for s in order:
        for b in s.reads:
            readers.setdefault(b, []).append(s)
        for b in writes(s.node):
            filled.setdefault(b, []).append(s)
    for s in order:
        if not s.again or any(len(st.fillers[b]) > 1 for b in s.writes) or st.uses_numbers(s):
            continue
        ended = [b for b in s.reads if max(readers[b], key=line.place) is s]
        if sum(st.sizes[b] for b in ended) > sum(st.sizes[b] for b in s.writes):
            needed = [x for b, _ in loads(s.node) for x in filled.get(b, ()) if x is not s]
            needed += [x for b in ended for x in readers[b] if x is not s]
            border = st.border
            if border is not None and line.place(border) < line.place(s):
                needed.append(border)
            after = line.behind[max(needed, key=line.place)]
            if after is not None and after is not s:
                line.move(s, after)
    return line.all()


def one_by_one(st: Statements) -> list[Statement]:
    """The statements by what is wanted: all that a result needs stands before what only later ones need.

    What is added to a sum runs as soon as it can, with what only it needs if that is little.
    """
    needs = _needs(st)
    bound = grouped((x, s) for s in st.all for x in st.stays_before(s) if x is not s)
    before = {s: [*found, *bound.get(s, ())] for s, found in needs.items()}
    after = grouped((x, s) for s, found in before.items() for x in found)
    steps = {s for each in st.fillers.values() if len(each) > 1 for s in each}
    order: dict[Statement, None] = {}
    seen: set[Statement] = set()

    def soon(s: Statement) -> bool:
        """Whether all that is missing is less work than the statement itself."""
        left, todo = s.work, [s]
        while todo:
            for x in [x for x in before[todo.pop()] if x not in order]:
                left -= x.work
                if x in seen or left < 0 or isinstance(x.node, Repeat):
                    return False
                todo.append(x)
        return True

    ends = [] if st.until_quiet else [s for s in st.all if getattr(s.node, "final", False)]
    wanted = [x for s in ends for x in needs[s] if x not in ends]
    roots = [*wanted, *[s for s in st.all if s not in after]]
    stack: list[Statement | None] = [*reversed(roots)]
    while stack:
        x = stack.pop()
        if x is None:
            done = stack.pop()
            assert done is not None
            order[done] = None
            stack += [r for r in reversed(after.get(done, ())) if r in steps and r not in seen and soon(r)]
        elif x not in seen:
            seen.add(x)
            stack += (x, None, *reversed(before[x]))
    return list(order)


def _needs(st: Statements) -> dict[Statement, list[Statement]]:
    """What each statement needs to have run before. Those that are more than arrays stay in their order."""
    filled: dict[Buf, list[Statement]] = {}
    read: dict[Buf, list[Statement]] = {}
    last: list[Statement] = []  # of those that stay in their order
    found: dict[Statement, list[Statement]] = {}
    for s in st.all:
        loaded, written = dict.fromkeys(b for b, _ in loads(s.node)), dict.fromkeys(writes(s.node))
        mine = [x for b in loaded for x in filled.get(b, ())]
        mine += [x for b in written for x in (*filled.get(b, ()), *read.get(b, ()))]
        kept = last if not s.plain or st.uses_numbers(s) else []
        found[s] = [*kept, *sorted({*mine} - {s, *kept}, key=lambda x: x.number)]
        last = last if s.plain else [s]
        for b in loaded:
            read.setdefault(b, []).append(s)
        for b in written:
            filled.setdefault(b, []).append(s)
    return found


def results_last(st: Statements, order: Sequence[Statement]) -> list[Statement] | None:
    """An order, with results written last that are larger than what is kept for them: until then they lend their room.

    None if there are none.
    """
    line, kept = _Line(order), set[Buf]()
    read = {b for s in st.all for b, _ in loads(s.node) if b in st.hosts}
    moved = False
    for s in reversed(order):
        if (
            not s.plain
            or not s.writes
            or any(b not in st.hosts or b in read or len(st.fillers[b]) > 1 for b in s.writes)
        ):
            continue
        if sum(map(size_of, s.writes)) > sum(st.sizes[b] for b in s.reads if b not in kept):
            to = min(st.stays_before(s), key=line.place, default=None)
            if to is None or line.place(to) > line.place(s):
                line.move(s, to)
                moved = True
                kept.update(s.reads)
    return line.all() if moved else None


class _Line:
    """Statements in a line, in which one is moved without looking at the others."""

    def __init__(self, order: Sequence[Statement]) -> None:
        self.places = {s: float(k) for k, s in enumerate(order)}
        self.place = self.places.__getitem__
        self.before: dict[Statement | None, Statement | None] = dict(zip([*order, None], [None, *order]))
        self.behind: dict[Statement | None, Statement | None] = dict(zip([None, *order], [*order, None]))

    def move(self, s: Statement, to: Statement | None) -> None:
        """Right before another one, if there is a number left for the place between; None: behind all."""
        neighbour = self.before[to]
        low = -1.0 if neighbour is None else self.place(neighbour)
        high = low + 2 if to is None else self.place(to)
        if neighbour is s or not low < (between := (low + high) / 2) < high:
            return
        before, behind = self.before[s], self.behind[s]
        self.behind[before], self.before[behind] = behind, before
        neighbour = self.before[to]
        self.behind[neighbour] = self.before[to] = s
        self.before[s], self.behind[s], self.places[s] = neighbour, to, between

    def all(self) -> list[Statement]:
        """From the first to the last."""
        return sorted(self.places, key=self.place)
