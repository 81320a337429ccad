"""A plan of memory within a limit (`memory_limit=`): some statements run later than they could, and some run again.

A statement that runs again fills the same buffers with the same values: between two lives of a buffer its room is free.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice

import numpy as np

from termgraph._records import record
from termgraph.lower.lengths.index import product
from termgraph.lower.loops.tree import Call, Compound, Kernel, Node, Quiet, Reduce, Repeat, Routine
from termgraph.lower.memory.arena import Held, arena
from termgraph.lower.memory.overwritten import Over, ends_there, joined, may_be
from termgraph.lower.memory.plan import INSIDE, LINE, Life, Rooms, lives_of, loads, writes
from termgraph.lower.memory.updates import can_fail
from termgraph.lower.push.kernel import Buf
from termgraph.lower.schedule.cost import work
from termgraph.terms.traverse import grouped

LONGEST = 24  # statements that are run again at one place
SMALL = 8  # an operand that is kept for what is computed again is that much smaller than it
MOST_OFTEN = 3  # times the statements that there are without a limit
MOST_HOSTS = 24  # results in which room for a temporary is looked for
FEW_TRIALS = 40  # places that are tried before a peak counts as the lowest


Lives = dict[Buf, list[Life]]


@record(eq=False)
class Statement:
    """A statement at the top of a tree, with the temporaries that it needs and fills. `again`: it may run twice."""

    node: Node
    number: int
    reads: tuple[Buf, ...]
    writes: tuple[Buf, ...]
    again: bool

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
        again = plain and not getattr(n, "final", False) and all(b in self.temps or b in self.inside for b in filled)
        kept = tuple([b for b in filled if b in self.temps or b in self.hosts or b in self.inside])
        return Statement(n, number, reads, kept, again)

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

    def _shared(self, pairs: Iterable[Over]) -> int:
        """The bytes that need no place of their own."""
        used: set[Buf] = set()
        total = 0
        for p in pairs:
            if used.isdisjoint(p):
                used.update(p)
                total += self.sizes[p.new]
        return total

    def held(self, order: Sequence[Statement], lives: Lives) -> tuple[np.ndarray, list[Over]]:
        """The bytes that have to be held in each statement, and what is written over something where that is most."""
        alive = self.alive(lives, len(order))
        if not self.overwrites:
            return alive, []
        pairs = self.written_over(order, lives, range(len(order)))
        held = alive.copy()
        for k, each in pairs.items():
            held[k] -= self._shared(each)
        return held, [p for k, each in pairs.items() if alive[k] > held.max() for p in each]

    def alive(self, lives: Lives, count: int) -> np.ndarray:
        """The bytes of the temporaries that are alive in each statement."""
        change = np.zeros(count + 1, np.int64)
        for b, each in lives.items():
            size = self.sizes.get(b, 0)
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


class LimitTooLow(ValueError):
    """No plan was found that holds so little: `most` bytes with results, `least` of what was found, `whole` of all."""

    def __init__(self, most: int, least: int, results: int, whole: int) -> None:
        self.most, self.least, self.results, self.whole = most, least, results, whole
        super().__init__(
            f"memory_limit is {most} bytes, and the smallest plan that was found holds {least} beside the arguments, "
            f"{results} of them results (without a limit: {whole}). Allow at least {least}, or ask for fewer results"
        )


class UnknownLength(Exception):
    """How large a buffer is depends on the call."""


# ---------------------------------------------------------------------- rooms
def rooms_by_size(st: Statements, lives: Lives, pairs: Iterable[Over] = ()) -> Rooms:
    """One room with offsets for buffers that may live several times; results lend their memory before to large ones.

    Of the results that have room for a buffer the one that is written first takes it. Of `pairs` one is written over
    the other.
    """
    over: dict[Buf, Buf] = {}
    if pairs:
        over, lives = joined(lives, pairs)
    hosts = sorted([h for h in st.hosts if h in lives], key=lambda h: (lives[h][0].first, h.name))
    begin = [lives[h][0].first for h in hosts]
    held = [Held(size_of(h) - LINE) for h in hosts]
    guests: dict[Buf, Buf] = {}
    offsets: dict[Buf, int] = {}
    sizes = {b: st.sizes[b] for b in st.sizes if b in lives and b not in over}
    for b in sorted([b for b in sizes if b not in st.inside], key=lambda b: (-sizes[b], lives[b][0], b.name)):
        after = range(bisect_right(begin, lives[b][-1].last), len(hosts))
        for k in islice((k for k in after if sizes[b] <= held[k].nbytes), MOST_HOSTS):
            at = held[k].place(sizes[b], lives[b])
            if at is not None:
                guests[b] = hosts[k]
                offsets |= {b: at} if at else {}
                del sizes[b]
                break
    own = arena(sizes, lives).offsets
    room = [x for b in sizes for x in (b, *st.inside.get(b, ()))]
    own |= {x: own[b] for b in sizes for x in st.inside.get(b, ())}
    offsets |= own
    for b, at in over.items():
        guests |= {b: guests[at]} if at in guests else {}
        room += [] if at in guests else [b]
        offsets |= {b: offsets[at]} if at in offsets else {}
    return Rooms([room] if room else [], guests, offsets, over)


def bytes_of(found: Rooms) -> int:
    """What all rooms hold."""
    return sum(max(found.offsets.get(b, 0) + size_of(b) for b in room) for room in found.rooms)


# ---------------------------------------------------------------------- the search
LOWER = 64  # another order is taken if it needs less by more than a share of that


@record(frozen=True)
class Fitted:
    """An order of statements, some of which occur twice, with rooms and their bytes."""

    order: list[Statement]
    rooms: Rooms
    nbytes: int

    @property
    def nodes(self) -> list[Node]:
        """The tree."""
        return [s.node for s in self.order]


def fitted(
    st: Statements, order: list[Statement], lives: Lives | None = None, pairs: Iterable[Over] | None = None
) -> Fitted:
    """An order with its rooms; `pairs` are written one over the other, if not said those that lower the peak.

    Joined arrays live longer, so that rooms may be larger for them: then there are none.
    """
    lives = lives or st.lives(order)
    peak = st.held(order, lives)[1] if pairs is None else []
    tried = [rooms_by_size(st, lives, each) for each in ([peak, ()] if peak else [pairs or ()])]
    rooms = min(tried, key=bytes_of)
    return Fitted(order, rooms, bytes_of(rooms))


def ordered(st: Statements, results: int) -> Fitted:
    """The statements as they are, or later where that lowers what a call holds, `results` included."""
    lives = st.lives(st.all)
    plain = fitted(st, st.all, lives, ())
    less = (plain.nbytes + results) // LOWER
    if plain.nbytes <= less:
        return plain
    order = late(st)
    if order != st.all:
        new, count = st.lives(order), len(order)
        if st.alive(new, count).max() < st.alive(lives, count).max() - less:
            later = fitted(st, order, new, ())
            if later.nbytes < plain.nbytes - less:
                plain, lives = later, new
    return with_less_held(st, plain, lives, less)


def with_less_held(st: Statements, plain: Fitted, lives: Lives, less: int) -> Fitted:
    """The same, with arrays written over others where all of the largest steps allow that."""
    alive = st.alive(lives, len(plain.order))
    most = np.flatnonzero(alive > alive.max() - less).tolist()
    if not st.overwrites or len(most) > FEW_TRIALS:
        return plain
    pairs: list[Over] = []
    for k in most:
        found = st.written_over(plain.order, lives, [k])
        if not found:
            return plain
        pairs += found[k]
    lower = fitted(st, plain.order, lives, pairs)
    return lower if lower.nbytes < plain.nbytes - less else plain


def within(st: Statements, limit: int) -> Fitted:
    """The tree in rooms of at most `limit` bytes in all, or as few as were found."""
    orders = [st.all, late(st)]
    best = min([fitted(st, o) for o in (*orders, *[early(st, o) for o in orders])], key=lambda f: f.nbytes)
    order, limit = best.order, max(limit, st.least())
    while best.nbytes > limit and len(order) < MOST_OFTEN * len(st.all):
        lower = again(st, order)
        if lower is None:
            return best
        order = lower
        best = min(best, fitted(st, order), key=lambda f: f.nbytes)
    return with_less_again(st, best, limit)


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
        if not s.again or any(len(st.fillers[b]) > 1 for b in s.writes):
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


class _Line:
    """Statements in a line, in which one is moved without looking at the others."""

    def __init__(self, order: Sequence[Statement]) -> None:
        self.places = {s: float(k) for k, s in enumerate(order)}
        self.place = self.places.__getitem__
        self.before: dict[Statement, Statement | None] = dict(zip(order, [None, *order]))
        self.behind: dict[Statement | None, Statement | None] = dict(zip([None, *order], [*order, None]))

    def move(self, s: Statement, to: Statement) -> None:
        """Right before another one, if there is a number left for the place between."""
        neighbour = self.before[to]
        low, high = -1.0 if neighbour is None else self.place(neighbour), self.place(to)
        if neighbour is s or not low < (between := (low + high) / 2) < high:
            return
        before, behind = self.before[s], self.behind[s]
        self.behind[before] = behind
        if behind is not None:
            self.before[behind] = before
        neighbour = self.before[to]
        self.behind[neighbour] = self.before[to] = s
        self.before[s], self.behind[s], self.places[s] = neighbour, to, between

    def all(self) -> list[Statement]:
        """From the first to the last."""
        return sorted(self.places, key=self.place)


def again(st: Statements, order: Sequence[Statement]) -> list[Statement] | None:
    """The order with some statements run once more, so that fewer bytes are alive where most are; None: there is none.

    Tried first is what frees most bytes for longest for the work it costs.
    """
    lives = st.lives(order)
    alive, _ = st.held(order, lives)
    peak = int(np.argmax(alive))
    offers: list[tuple[float, int, list[Statement]]] = []
    places = {s: k for k, s in enumerate(order)}
    for b, at in _idle(st, order, lives, peak):
        found = _in_time(st, lives, b, at, peak, places)
        if found is not None:
            statements, kept, at = found
            gain = st.sizes[b] - kept
            if gain > 0 and at > peak:
                offers.append((-gain * (at - peak) / (1 + sum(s.work for s in statements)), at, statements))
    top = int(alive[peak])
    offers.sort(key=lambda offer: offer[:2])
    for _, at, statements in offers[:FEW_TRIALS]:
        tried = [*order[:at], *statements, *order[at:]]
        if not st.filled_whole(tried):
            continue
        now, _ = st.held(tried, st.lives(tried))
        if (int(now.max()), int((now == now.max()).sum())) < (top, int((alive == top).sum())):
            return tried
    return None


def _idle(st: Statements, order: Sequence[Statement], lives: Lives, peak: int) -> Iterable[tuple[Buf, int]]:
    """The temporaries that are alive at the peak for later only, and where they are needed next."""
    over = {b for b, each in lives.items() if b in st.temps and any(x.first < peak < x.last for x in each)}
    over -= {*order[peak].reads, *order[peak].writes}
    for k in range(peak + 1, len(order)):
        s = order[k]
        for b in [b for b in (*s.reads, *s.writes) if b in over]:
            over.discard(b)
            if b in s.reads:
                yield b, k
        if not over:
            return


def _in_time(
    st: Statements, lives: Lives, b: Buf, at: int, peak: int, places: Mapping[Statement, int]
) -> tuple[list[Statement], int, int] | None:
    """The statements that fill a buffer anew, bytes that stay alive for them, and the place, `at` or before it."""
    for _ in range(2):
        chain = _chain(st, lives, b, at, peak)
        if chain is None:
            return None
        latest = min([at, *[places[x] for s in chain[0] for x in st.stays_before(s)]])
        if latest == at:
            return (*chain, at)
        at = latest
    return None


def _chain(st: Statements, lives: Lives, b: Buf, at: int, peak: int) -> tuple[list[Statement], int] | None:
    """The statements that fill a buffer anew before statement `at`, and bytes that stay alive at the peak for them."""
    found: dict[Statement, None] = {}
    kept, todo, seen = 0, [b], {b}
    while todo:
        for s in st.fillers[todo.pop()]:
            if s in found:
                continue
            if not s.again or len(found) == LONGEST:
                return None
            found[s] = None
            for r in s.writes:  # what is filled in several steps is filled by all of them
                if r not in seen and len(st.fillers[r]) > 1:
                    seen.add(r)
                    todo.append(r)
            for r in s.reads:
                if r in seen:
                    continue
                seen.add(r)
                if any(x.first < at <= x.last for x in lives[r]):
                    continue
                if st.sizes[r] * SMALL <= st.sizes[b]:
                    before = [x for x in lives[r] if x.first < at]
                    kept += st.sizes[r] if before and before[-1].last < peak else 0
                else:
                    todo.append(r)
    return sorted(found, key=lambda s: s.number), kept


def with_less_again(st: Statements, found: Fitted, limit: int) -> Fitted:
    """Without the repetitions that the limit does not ask for, the dearest first."""
    met: set[Statement] = set()
    repeated = []
    for s in found.order:
        (repeated.append(s) if s in met else met.add(s))
    # What fills a buffer in steps is repeated in all of them or in none.
    alone = [s for s in dict.fromkeys(repeated) if all(len(st.fillers[b]) == 1 for b in s.writes)]
    for s in sorted(alone, key=lambda s: -s.work)[:FEW_TRIALS]:
        for k in [k for k, x in enumerate(found.order) if x is s][:0:-1]:
            tried = fitted(st, [*found.order[:k], *found.order[k + 1 :]])
            if tried.nbytes <= limit:
                found = tried
    return found
