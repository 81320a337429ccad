"""The statements at the top of a tree as those see them who order them: which temporaries each needs and fills, and the
bytes that are held in each. May import this package.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from termgraph._records import record
from termgraph.lower.lengths.index import product, values
from termgraph.lower.loops.tree import (
    Accumulate,
    Branch,
    Call,
    Choice,
    Columns,
    Compound,
    Kernel,
    Let,
    Loop,
    Node,
    Quiet,
    Reduce,
    Repeat,
    Routine,
    Write,
    walk,
)
from termgraph.lower.memory.overwritten import Over, ends_there, may_be
from termgraph.lower.memory.plan import INSIDE, Life, lives_of, loads, writes
from termgraph.lower.memory.updates import can_fail
from termgraph.lower.push.kernel import Buf, kids
from termgraph.lower.schedule.cost import work


class Lives(dict[Buf, list[Life]]):
    """When each place is taken. What is filled again lies elsewhere then, in a place with a name of its own."""

    def __init__(self, taken: Mapping[Buf, list[Life]], each: Mapping[Buf, list[Life]], later: dict[Buf, list[Buf]]):
        super().__init__(taken)
        self.each, self.later = each, later  # by array: all its lives, and the places of those that are not its first

    def place(self, b: Buf, at: int) -> Buf:
        """Where an array lies in a statement."""
        if b not in self.later:
            return b
        life = bisect_right(self.each[b], at, key=lambda x: x.first) - 1
        return self.later[b][life - 1] if life else b


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
        self.bound = {b for s in self.all if not _finds_arrays(s.node) for b in (*s.reads, *s.writes)}
        self.numbers = {t for s in self.all for t in _numbers(s.node)}
        self.named: dict[tuple[Buf, int], Buf] = {}  # places of lives that are not the first
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

    def uses_numbers(self, s: Statement) -> bool:
        """Whether a statement uses a number that another one makes."""
        return bool(self.numbers) and not self.numbers.isdisjoint(_used(s.node))

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
        """When each buffer is alive, by its places."""
        each = lives_of(order, lambda s: s.writes, lambda s: s.reads)
        if len(order) == len(self.all):
            return Lives(each, each, {})
        later = {
            b: [self._elsewhere(b, k) for k in range(1, len(lives))]
            for b, lives in each.items()
            if len(lives) > 1 and b not in self.bound and b in self.sizes
        }
        taken = {b: lives[:1] if b in later else lives for b, lives in each.items()}
        taken |= {place: [life] for b, places in later.items() for place, life in zip(places, each[b][1:])}
        for b in [b for b in later if b in self.inside]:
            for x, *places in zip(self.inside[b], *[self.inside[place] for place in later[b]]):
                later[x] = places
        return Lives(taken, each, later)

    def _elsewhere(self, b: Buf, life: int) -> Buf:
        """The place of a life that is not the first."""
        if (b, life) not in self.named:
            place, *inside = [place_of(x, life) for x in (b, *self.inside.get(b, ()))]
            self.named[b, life] = place
            self.sizes[place] = self.sizes[b]
            if b in self.inside:
                self.inside[place] = inside
        return self.named[b, life]

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
            for each in self.over(order[k]):
                pair = Over(lives.place(each.old, k), lives.place(each.new, k))
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


def place_of(b: Buf, life: int) -> Buf:
    """The name of the place in which an array lies when it has been filled again."""
    return Buf(f"{b.name}.{life}", b.dtype, b.shape, b.kind, b.strides)


def _numbers(node: Node) -> Sequence[object]:
    """The numbers that a statement makes for later ones."""
    if isinstance(node, Kernel):
        return node.node.folds if isinstance(node.node, Reduce) else ()
    return (node.term,) if isinstance(node, (Let, Branch)) else ()


def _used(node: Node) -> Iterator[object]:
    """What the statements inside one are computed from."""
    for n in walk([node]):
        if isinstance(n, Let):
            yield from n.term.args or kids(n.term)
        elif isinstance(n, Write):
            yield from (n.value, *values(n.offset))
        elif isinstance(n, Accumulate):
            yield from n.fold.args
        elif isinstance(n, Branch):
            yield from n.term.args
        elif isinstance(n, Call):
            yield from [n.options["alpha"]] if "alpha" in n.options else ()
        elif isinstance(n, Choice):
            yield n.condition
        elif isinstance(n, (Loop, Reduce, Columns)):
            yield from values(n.var.extent)
        if isinstance(n, (Call, Compound)):
            yield from (t for _, at, *_ in (n.operands if isinstance(n, Call) else n.operands()) for t in values(at))


def _finds_arrays(node: Node) -> bool:
    """Whether a statement needs nothing but arrays, and so can be told where they lie when it runs."""
    if isinstance(node, Kernel):
        return not isinstance(node.node, Reduce)
    if isinstance(node, Call):
        return "alpha" not in node.options and not any(at.values for _, at, _ in node.operands)
    if isinstance(node, Routine):
        places = [at for x in (*node.reads, *node.results) for at in (x.base, *x.batch, *x.core)]
        return not any(at.values for at in (*node.batch, *node.sizes.values(), *places))
    return isinstance(node, Repeat) and not any(at.values for _, at in node.operands())


def size_of(b: Buf) -> int:
    """Bytes of a buffer; UnknownLength if its lengths are not known."""
    count = product(b.shape).const
    if count is None:
        raise UnknownLength(b)
    return count * np.dtype(b.dtype).itemsize


class UnknownLength(Exception):
    """How large a buffer is depends on the call."""
