"""A plan of memory within a limit (`memory_limit=`): some statements run later than they could, and some run again.

A statement that runs again fills the same buffers with the same values: between two lives of a buffer its room is free.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

import numpy as np

from termgraph._records import record
from termgraph.lower.loops.tree import Node
from termgraph.lower.memory.arena import Held, arena
from termgraph.lower.memory.orders import early, late, one_by_one, results_last
from termgraph.lower.memory.overwritten import Over, joined
from termgraph.lower.memory.plan import LINE, Life, Rooms
from termgraph.lower.memory.statements import Lives, Statement, Statements, UnknownLength, size_of
from termgraph.lower.push.kernel import Buf

__all__ = ["Statements", "UnknownLength", "ordered", "within"]  # what lowering asks for

LONGEST = 24  # statements that are run again at one place
SMALL = 8  # an operand that is kept for what is computed again is that much smaller than it
MOST_OFTEN = 3  # times the statements that there are without a limit
MOST_HOSTS = 24  # results in which room for a temporary is looked for
PLACINGS = 12  # orders in which arrays choose their places
NEAR = 4  # a plan that is over the limit by less than a share of that is worth another search
STARTS = 3  # orders from which a plan within a limit is looked for
FEW_TRIALS = 40  # places that are tried before a peak counts as the lowest


class LimitTooLow(ValueError):
    """No plan was found that holds so little: `most` bytes with results, `least` of what was found, `whole` of all."""

    def __init__(self, most: int, least: int, results: int, whole: int) -> None:
        self.most, self.least, self.results, self.whole = most, least, results, whole
        super().__init__(
            f"memory_limit is {most} bytes, and the smallest plan that was found holds {least} beside the arguments, "
            f"{results} of them results (without a limit: {whole}). Allow at least {least}, or ask for fewer results"
        )


# ---------------------------------------------------------------------- rooms
def rooms_by_size(st: Statements, lives: Lives, pairs: Iterable[Over] = (), tries: int = 0) -> Rooms:
    """One room with offsets for buffers that may live several times; results lend their memory before to large ones.

    Of the results that have room for a buffer the one that is written first takes it. Of `pairs` one is written over
    the other.
    """
    over: dict[Buf, Buf] = {}
    taken: Mapping[Buf, Sequence[Life]] = lives
    if pairs:
        over, taken = joined(lives, pairs)
    sizes = {b: st.sizes[b] for b in st.sizes if b in taken and b not in over}
    guests, offsets = lent(st, taken, sizes)
    sizes = {b: size for b, size in sizes.items() if b not in guests}
    own = arena(sizes, taken, tries).offsets
    room = [x for b in sizes for x in (b, *st.inside.get(b, ()))]
    own |= {x: own[b] for b in sizes for x in st.inside.get(b, ())}
    offsets |= own
    for b, at in over.items():
        guests |= {b: guests[at]} if at in guests else {}
        room += [] if at in guests else [b]
        offsets |= {b: offsets[at]} if at in offsets else {}
    return Rooms([room] if room else [], guests, offsets, over, lives.later)


def lent(
    st: Statements, taken: Mapping[Buf, Sequence[Life]], sizes: Mapping[Buf, int]
) -> tuple[dict[Buf, Buf], dict[Buf, int]]:
    """Arrays that lie in results which are written later, with these results, and where in them if not at the begin."""
    hosts = sorted([h for h in st.hosts if h in taken], key=lambda h: (taken[h][0].first, h.name))
    begin = [taken[h][0].first for h in hosts]
    held = [Held(size_of(h) - LINE) for h in hosts]
    guests: dict[Buf, Buf] = {}
    offsets: dict[Buf, int] = {}
    for b in sorted([b for b in sizes if b not in st.inside], key=lambda b: (-sizes[b], taken[b][0], b.name)):
        after = range(bisect_right(begin, taken[b][-1].last), len(hosts))
        for k in islice((k for k in after if sizes[b] <= held[k].nbytes), MOST_HOSTS):
            at = held[k].place(sizes[b], taken[b])
            if at is not None:
                guests[b] = hosts[k]
                offsets |= {b: at} if at else {}
                break
    return guests, offsets


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
    st: Statements,
    order: list[Statement],
    lives: Lives | None = None,
    pairs: Iterable[Over] | None = None,
    tries: int = 0,
) -> Fitted:
    """An order with its rooms; `pairs` are written one over the other, if not said those that lower the peak.

    Joined arrays live longer, so that rooms may be larger for them: then there are none.
    """
    lives = lives or st.lives(order)
    rooms = rooms_by_size(st, lives, pairs or (), tries)
    if pairs is None:
        peak, every = st.held(order, lives, rooms.guests)[1:]
        for each in dict.fromkeys([tuple(peak), tuple(every)]):
            rooms = min(rooms_by_size(st, lives, each, tries), rooms, key=bytes_of) if each else rooms
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
    orders = [st.all, late(st), one_by_one(st)]
    orders += [early(st, o) for o in orders]
    orders += [o for o in [results_last(st, o) for o in orders] if o is not None]
    limit = max(limit, st.least() - sum(map(size_of, st.hosts)))
    starts = sorted([fitted(st, o) for o in orders], key=lambda f: _in_all(st, f))
    best = min(starts, key=lambda f: f.nbytes)
    for lending in (True, False) if st.hosts else (False,):
        for start in starts[:STARTS]:
            found = [_with_some_again(st, start, limit, lending, alone=True)]
            if found[0].nbytes <= limit + limit // NEAR:
                found.append(_with_some_again(st, start, limit, lending, alone=False))
            fit = [with_less_again(st, f, limit) for f in found if f.nbytes <= limit]
            if fit:
                return min(fit, key=lambda f: sum(s.work for s in f.order))
            best = min(best, *found, key=lambda f: f.nbytes)
    return best


def _in_all(st: Statements, found: Fitted) -> int:
    """What is held in all statements together: the less, the less has to be freed for a limit, whichever it is."""
    return int(st.held(found.order, st.lives(found.order), found.rooms.guests)[0].sum())


def _with_some_again(st: Statements, start: Fitted, limit: int, lending: bool, alone: bool) -> Fitted:
    """An order with statements run once more until the limit is kept, or none is left that lowers the peak.

    `alone`: what is gained by a repetition is the array that is asked for, not also what is filled beside it.
    """
    best, order = start, start.order
    while best.nbytes > limit and len(order) < MOST_OFTEN * len(st.all):
        lower = again(st, order, _guests(st, st.lives(order)) if lending else (), alone)
        if lower is None:
            break
        order = lower
        if _may_fit(st, order, limit):
            best = min(best, _placed(st, order, limit), key=lambda f: f.nbytes)
    return best if best.nbytes <= limit else min(best, _placed(st, order, limit), key=lambda f: f.nbytes)


def _guests(st: Statements, lives: Lives) -> Collection[Buf]:
    """The arrays that lie in results."""
    return lent(st, lives, {b: st.sizes[b] for b in st.sizes if b in lives})[0] if st.hosts else ()


def _may_fit(st: Statements, order: list[Statement], limit: int) -> bool:
    """Whether what is alive in an order is no more than the limit: only then is it worth while to find places."""
    lives = st.lives(order)
    return bool(st.held(order, lives, _guests(st, lives))[0].max() <= limit)


def _placed(st: Statements, order: list[Statement], limit: int) -> Fitted:
    found = fitted(st, order)
    return found if found.nbytes <= limit else min(found, fitted(st, order, tries=PLACINGS), key=lambda f: f.nbytes)


def again(
    st: Statements, order: Sequence[Statement], guests: Collection[Buf] = (), alone: bool = True
) -> list[Statement] | None:
    """The order with some statements run once more, so that fewer bytes are alive where most are; None: there is none.

    Tried first is what frees most bytes for longest for the work it costs. `guests` lie in results.
    """
    lives = st.lives(order)
    alive = st.held(order, lives, guests)[0]
    peak = int(np.argmax(alive))
    offers: list[tuple[float, int, list[Statement]]] = []
    places = {s: k for k, s in enumerate(order)}
    idle = {b: at for b, at in _idle(st, order, lives, peak) if lives.place(b, peak) not in guests}
    for b, at in idle.items():
        found = _in_time(st, lives, b, at, peak, places)
        if found is not None:
            statements, kept, at = found
            freed = [b] if alone else [r for s in statements for r in s.writes if idle.get(r, 0) >= at]
            gain = sum(map(st.sizes.__getitem__, freed)) - kept
            if gain > 0 and at > peak:
                offers.append((-gain * (at - peak) / (1 + sum(s.work for s in statements)), at, statements))
    top = int(alive[peak])
    offers.sort(key=lambda offer: offer[:2])
    for _, at, statements in offers[:FEW_TRIALS]:
        tried = [*order[:at], *statements, *order[at:]]
        if not st.filled_whole(tried):
            continue
        now = st.held(tried, st.lives(tried), guests)[0]
        if (int(now.max()), int((now == now.max()).sum())) < (top, int((alive == top).sum())):
            return tried
    return None


def _idle(st: Statements, order: Sequence[Statement], lives: Lives, peak: int) -> Iterable[tuple[Buf, int]]:
    """The temporaries that are alive at the peak for later only, and where they are needed next."""
    over = {b for b, each in lives.each.items() if b in st.temps and any(x.first < peak < x.last for x in each)}
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
                if any(x.first < at <= x.last for x in lives.each[r]):
                    continue
                if st.sizes[r] * SMALL <= st.sizes[b]:
                    before = [x for x in lives.each[r] if x.first < at]
                    kept += st.sizes[r] if before and before[-1].last < peak else 0
                else:
                    todo.append(r)
    return sorted(found, key=lambda s: s.number), kept


def with_less_again(st: Statements, found: Fitted, limit: int) -> Fitted:
    """Without the repetitions that the limit does not ask for, first those that save little memory for their work."""
    order, gone = found.order, list[int]()
    for k in _dear(st, order):
        if _may_fit(st, _without(order, [*gone, k]), limit):
            gone.append(k)
    few, many = 0, len(gone) + 1  # what is alive fits in all, but there may be no places
    while many - few > 1:
        tried = fitted(st, _without(order, gone[: (few + many) // 2]))
        if tried.nbytes <= limit:
            found, few = tried, (few + many) // 2
        else:
            many = (few + many) // 2
    order, others = found.order, list[int]()
    trials = FEW_TRIALS
    for k in _dear(st, order):
        less = _without(order, [*others, k])
        if trials and _may_fit(st, less, limit):
            trials -= 1
            tried = fitted(st, less)
            if tried.nbytes <= limit:
                found = tried
                others.append(k)
    return found


def _without(order: Sequence[Statement], places: Collection[int]) -> list[Statement]:
    """An order without what stands at some places."""
    return [s for k, s in enumerate(order) if k not in places]


def _dear(st: Statements, order: Sequence[Statement]) -> list[int]:
    """Where statements run again, first what is much work for the bytes it saves and how long.

    What fills a buffer in steps is repeated in all of them or in none.
    """
    used: dict[Buf, int] = {}
    met: set[Statement] = set()
    found: list[tuple[float, int]] = []
    for k, s in enumerate(order):
        if s in met and all(len(st.fillers[b]) == 1 for b in s.writes):
            saved = sum(st.sizes[b] * (k - used[b]) for b in s.writes)
            found.append((-s.work / (1 + saved), k))
        met.add(s)
        used |= dict.fromkeys((*s.reads, *s.writes), k)
    return [k for _, k in sorted(found)]
