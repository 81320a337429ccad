"""The statements at the top of a tree as those see them who order them: which temporaries each needs and fills, and the
bytes that are held in each. May import this package.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from termgraph._records import record
from termgraph.lower.lengths.index import product
from termgraph.lower.loops.tree import Call, Compound, Kernel, Node, Quiet, Reduce, Repeat, Routine
from termgraph.lower.memory.overwritten import Over, ends_there, may_be
from termgraph.lower.memory.plan import INSIDE, Life, lives_of, loads, writes
from termgraph.lower.memory.updates import can_fail
from termgraph.lower.push.kernel import Buf
from termgraph.lower.schedule.cost import work

Lives = dict[Buf, list[Life]]


@record(eq=False)
class Statement:
    """A statement at the top of a tree, with the temporaries that it needs and fills.

    `again`: it may run twice. `plain`: it may run later; both as long as what it reads is there.
    """

    node: Node
    number: int
    reads: tuple[Buf, ...]
    writes: tuple[Buf, ...]
    again: bool
    plain: bool = True

    @cached_property
    def work(self) -> int:
        """What it costs, as far as that is known."""
        return work([self.node]).const or 0


class Statements:
    """The statements of a tree, who fills each buffer, and how large the temporaries are."""

    overwrites = False

    def __init__(
        self,
        nodes: Sequence[Node],
        temps: Collection[Buf],
        hosts: Collection[Buf],
        replaced: Mapping[Buf, Buf] | None = None,
        overwrites: bool = False,
    ) -> None:
        """`replaced` are old values of variables with the new ones that are written over them.

        `overwrites`: a temporary may be written over another one that is read there for the last time.
        """
        self.overwrites, self._over = overwrites, dict[Statement, list[Over]]()
        self.temps, self.hosts = set(temps), set(hosts)
        self.inside = {r[0]: r[1:] for n in nodes if isinstance(n, Compound) for r in n.rooms}
        self.all = [self._made(n, k) for k, n in enumerate(nodes)]
        self.fillers: dict[Buf, list[Statement]] = {}
        for s in self.all:
            for b in s.writes:
                self.fillers.setdefault(b, []).append(s)
        self.sizes = {b: max(map(size_of, (b, *self.inside.get(b, ())))) for b in (*self.temps, *self.inside)}
        finals = [s for s in self.all if getattr(s.node, "final", False)]
        quiet = next((s for s in self.all if isinstance(s.node, Quiet)), None)
        self.until_quiet = quiet is not None
        self.border = quiet or next(iter(finals), None)
        over = {new: s for s in finals for new in writes(s.node)}
        self.spoiled = {old: over[new] for old, new in (replaced or {}).items() if new in over}

    def stays_before(self, s: Statement) -> list[Statement]:
        """What a statement must not run after: what is written over its operands, or that nothing may fail any more."""
        found = [self.spoiled[b] for b, _ in loads(s.node) if b in self.spoiled] if self.spoiled else []
        border = self.border
        bound = border is not None and s.number < border.number and not (self.until_quiet and not can_fail(s.node))
        return [*found, border] if bound and border is not None else found

    def filled_whole(self, order: Sequence[Statement]) -> bool:
        """Whether what is filled in several steps is each time filled by all of them, one after the other: a step that
        ran twice could add something twice.
        """
        found: dict[Buf, list[Statement]] = {b: [] for b, each in self.fillers.items() if len(each) > 1}
        for s in order if found else ():
            for b in s.writes:
                if b in found:
                    found[b].append(s)
        return all(each == self.fillers[b] * (len(each) // len(self.fillers[b])) for b, each in found.items())

    def _made(self, n: Node, number: int) -> Statement:
        own = {*n.bufs, *[r[0] for r in n.rooms]} if isinstance(n, Repeat) else None  # not what lies in rows of these
        written = [b for b in writes(n) if b.kind not in INSIDE and (own is None or b in own)]
        filled = tuple(dict.fromkeys(written))
        reads = tuple(dict.fromkeys([b for b, _ in loads(n) if b in self.temps]))
        plain = isinstance(n, (Call, Routine, Repeat)) or (isinstance(n, Kernel) and not isinstance(n.node, Reduce))
        plain = plain and not getattr(n, "final", False)
        again = plain and all(b in self.temps or b in self.inside for b in filled)
        kept = tuple([b for b in filled if b in self.temps or b in self.hosts or b in self.inside])
        return Statement(n, number, reads, kept, again, plain)

    def lives(self, order: Sequence[Statement]) -> Lives:
        """When each buffer is alive."""
        return lives_of(order, lambda s: s.writes, lambda s: s.reads)

    def least(self) -> int:
        """The bytes of the statement that needs most: no order has fewer."""
        return max(
            sum(self.sizes.get(b, 0) for b in {*s.reads, *s.writes}) - self._shared(self.over(s)) for s in self.all
        )

    def over(self, s: Statement) -> list[Over]:
        """What a statement may write over what it reads, if that is a temporary that nobody needs any more."""
        if not self.overwrites:
            return []
        if s not in self._over:
            new = [b for b in s.writes if b in self.temps and len(self.fillers[b]) == 1]
            self._over[s] = may_be(s.node, s.reads, new, self.sizes) if new else []
        return self._over[s]

    def written_over(self, order: Sequence[Statement], lives: Lives, at: Iterable[int]) -> dict[int, list[Over]]:
        """What some of the statements in an order write over what ends there."""
        found: dict[int, list[Over]] = {}
        for k in at:
            used: set[Buf] = set()
            for pair in self.over(order[k]):
                if used.isdisjoint(pair) and ends_there(pair, lives, k):
                    used.update(pair)
                    found.setdefault(k, []).append(pair)
        return found

    def _shared(self, pairs: Iterable[Over], guests: Collection[Buf] = ()) -> int:
        """The bytes that need no place of their own."""
        used: set[Buf] = set()
        total = 0
        for p in pairs:
            if used.isdisjoint(p) and p.new not in guests:
                used.update(p)
                total += self.sizes[p.new]
        return total

    def held(
        self, order: Sequence[Statement], lives: Lives, guests: Collection[Buf] = ()
    ) -> tuple[np.ndarray, list[Over], list[Over]]:
        """The bytes that have to be held in each statement, what is written over something where that is most, and all
        that is.

        `guests` lie in results, and need none.
        """
        alive = self.alive(lives, len(order), guests)
        if not self.overwrites:
            return alive, [], []
        pairs = self.written_over(order, lives, range(len(order)))
        held = alive.copy()
        for k, each in pairs.items():
            held[k] -= self._shared(each, guests)
        peak = [p for k, each in pairs.items() if alive[k] > held.max() for p in each]
        return held, peak, [p for each in pairs.values() for p in each]

    def alive(self, lives: Lives, count: int, guests: Collection[Buf] = ()) -> np.ndarray:
        """The bytes of the temporaries that are alive in each statement."""
        change = np.zeros(count + 1, np.int64)
        for b, each in lives.items():
            size = 0 if b in guests else self.sizes.get(b, 0)
            for life in each:
                change[life.first] += size
                change[life.last + 1] -= size
        return np.cumsum(change[:-1])


def size_of(b: Buf) -> int:
    """Bytes of a buffer; UnknownLength if its lengths are not known."""
    count = product(b.shape).const
    if count is None:
        raise UnknownLength(b)
    return count * np.dtype(b.dtype).itemsize


class UnknownLength(Exception):
    """How large a buffer is depends on the call."""
