"""The memory plan of a loop tree: temporaries that never live at the same time share room.

Made after scheduling, read off the tree; no term is rewritten for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TypeVar

import numpy as np

from termgraph._records import NamedTuple, record
from termgraph.lower.lengths.index import Poly, product
from termgraph.lower.loops.tree import Call, Compound, Kernel, Let, Node, Routine, Write, walk
from termgraph.lower.push.kernel import LOAD, Buf

LINE = 64  # bytes of the processor's cache: results begin anywhere, temporaries in them at the next line
INSIDE = ("row", "tile")  # kinds of buffers that live inside one loop


class Traffic(NamedTuple):
    """What a statement reads and writes."""

    loads: list[tuple[Buf, Poly]]  # elements
    writes: list[Buf]


def loads(node: Node) -> list[tuple[Buf, Poly]]:
    """All elements that a statement reads: buffers with offsets. Not to be changed."""
    return _traffic(node).loads


def writes(node: Node) -> list[Buf]:
    """All buffers that a statement writes. Not to be changed."""
    return _traffic(node).writes


def changed(kernel: Kernel) -> None:
    """Say that a statement reads or writes something else from now on."""
    for known in ("_traffic", "_steps", "_alike"):
        kernel.__dict__.pop(known, None)


def _traffic(node: Node) -> Traffic:
    """Kernels are asked by one stage after the other: they keep their answer."""
    if node.__class__ is not Kernel:
        return _looked_up(node)
    known: Traffic | None = node.__dict__.get("_traffic")
    if known is None:
        known = node.__dict__["_traffic"] = _looked_up(node)
    return known


def _looked_up(node: Node) -> Traffic:
    if isinstance(node, Call):
        return Traffic([(b, offset) for b, offset, _ in node.operands], [node.buf])
    if isinstance(node, Routine) and not node.then:
        return Traffic(node.operands(), [*node.bufs, *[r[0] for r in node.rooms]])
    read: list[tuple[Buf, Poly]] = []
    written: list[Buf] = []
    inside: list[Buf] = []
    for n in walk([node]):
        if isinstance(n, Let):
            if n.stored is not None:
                read.append(n.stored)
            elif n.term.op.family is LOAD:
                read.append((n.term.op.params["buf"], n.term.op.params["offset"]))
        elif isinstance(n, Write):
            written.append(n.buf)
        elif isinstance(n, Call):
            written.append(n.buf)
            read.extend((b, offset) for b, offset, _ in n.operands)
        elif isinstance(n, Compound):
            read.extend(n.operands())
            inside += [*n.bufs, *[r[0] for r in n.rooms]]
    return Traffic(read, written + inside)


S = TypeVar("S")


class Life(NamedTuple):
    """From the statement that fills a buffer to the last one that reads what is in it."""

    first: int
    last: int


def lives_of(
    order: Sequence[S], filled: Callable[[S], Iterable[Buf]], used: Callable[[S], Iterable[Buf]]
) -> dict[Buf, list[Life]]:
    """When each buffer is alive: once more whenever the statement that fills it first runs again."""
    found: dict[Buf, list[list[int]]] = {}
    filler: dict[Buf, S] = {}
    for k, s in enumerate(order):
        for b in filled(s):
            if filler.setdefault(b, s) is s and (b not in found or found[b][-1][0] != k):
                found.setdefault(b, []).append([k, k])
            found[b][-1][1] = k
        for b in used(s):
            found.setdefault(b, [[k, k]])[-1][1] = k
    return {b: [Life(*life) for life in lives] for b, lives in found.items()}


def elsewhere(
    nodes: Sequence[Node], later: Mapping[Buf, Sequence[Buf]], finished: Mapping[Buf, Buf]
) -> dict[int, dict[Buf, Buf]]:
    """By the number of a statement, which of its arrays lie elsewhere than when they were filled first, and where.

    What is `finished` lies where the other array does, which the same statement fills.
    """
    found: dict[int, dict[Buf, Buf]] = {}
    if not later:
        return found
    lives = lives_of(nodes, writes, lambda n: [b for b, _ in loads(n)])
    for k, n in enumerate(nodes):
        of = {b: b for b in (*writes(n), *[b for b, _ in loads(n)])}
        for room in n.rooms if isinstance(n, Compound) else ():
            of |= dict.fromkeys(room, room[0])  # what a loop needs inside lies where its largest does
        for b in list(of):
            at = finished.get(b, b)
            if at in later:
                life = bisect_right(lives[of[at]], k, key=lambda x: x.first) - 1
                if life:
                    found.setdefault(k, {})[b] = later[at][life - 1]
    return found


class Uses:
    """Which statements of a tree read and write each buffer; every one is walked once."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.readers: dict[Buf, list[Node]] = {}
        self.writers: dict[Buf, list[Node]] = {}  # as often as the statement writes it
        self.users: dict[Buf, dict[Node, None]] = {}  # both
        for n in nodes:
            self.add(n)

    def add(self, node: Node) -> None:
        """One statement more."""
        for b in writes(node):
            self.writers.setdefault(b, []).append(node)
            self.users.setdefault(b, {})[node] = None
        for b in dict.fromkeys(b for b, _ in loads(node)):
            self.readers.setdefault(b, []).append(node)
            self.users.setdefault(b, {})[node] = None

    def others(self, buf: Buf, node: Node) -> list[Node]:
        """The statements beside one that read or write a buffer."""
        return [n for n in self.users.get(buf, ()) if n is not node]


@record(frozen=True)
class Rooms:
    """Where temporaries lie: those of one list in one room, `guests` in a result that is written later.

    They begin where the room or the result does, and are never alive together; or at their offset, apart from others
    that are alive with them.
    """

    rooms: list[list[Buf]]
    guests: dict[Buf, Buf] = field(default_factory=dict)  # and the result
    offsets: dict[Buf, int] = field(default_factory=dict)  # in bytes
    over: dict[Buf, Buf] = field(default_factory=dict)  # arrays written over another one, and what lies there first
    later: dict[Buf, list[Buf]] = field(default_factory=dict)  # what is filled again lies where these do, one by one


def share_room(nodes: Sequence[Node], temps: Iterable[Buf]) -> list[list[Buf]]:
    """Temporaries by the room they get: those in one list are never alive together."""
    return rooms_of(nodes, temps).rooms


def rooms_of(nodes: Sequence[Node], temps: Iterable[Buf], hosts: Iterable[Buf] = ()) -> Rooms:
    """Where temporaries lie; those for which there is no room yet also in `hosts`, results with memory of their own.

    What a loop or a choice needs inside is alive while it runs, in rooms that are shared inside in the same way.
    """
    inside = {room[0]: room[1:] for n in nodes if isinstance(n, Compound) for room in n.rooms}
    first: dict[Buf, int] = {}
    last: dict[Buf, int] = {}
    for k, n in enumerate(nodes):
        for b in [*writes(n), *[b for b, _ in loads(n)]]:
            first.setdefault(b, k)
            last[b] = k
    rooms: list[list[Buf]] = []
    guests = _Guests(first, last, hosts)
    used = [b for b in temps if b in first]  # what is empty may be neither written nor read
    for b in sorted([*used, *inside], key=lambda b: (first[b], b.name)):
        fits = [r for r in rooms if last[r[-1]] < first[b]]
        same = [r for r in fits if any(o.shape == b.shape and o.dtype == b.dtype for o in r)]
        if fits:
            (same or fits)[0].append(b)
        elif b in inside or not guests.take(b):
            rooms.append([b])
    return Rooms([[*room, *[b for head in room for b in inside.get(head, ())]] for room in rooms], guests.hosts)


class _Guests:
    """Temporaries in the memory of results, before these are written: of known sizes, one at a time.

    Results are kept in the order in which they are written: those written too early are left out by a look-up.
    """

    def __init__(self, first: Mapping[Buf, int], last: Mapping[Buf, int], hosts: Iterable[Buf]) -> None:
        self.first, self.last = first, last
        sizes = {h: size for h in hosts if h in first and (size := _size(h)) is not None}
        self.free = sorted(sizes, key=lambda h: (first[h], h.name))
        self.written = [first[h] for h in self.free]
        self.sizes = sizes
        self.left = dict.fromkeys(self.free, -1)  # when the last guest of each has left
        self.hosts: dict[Buf, Buf] = {}

    def take(self, b: Buf) -> bool:
        """Find a result for a temporary: of those that are large enough the one that is written first."""
        size, begin, end = _size(b), self.first[b], self.last[b]
        if size is None:
            return False
        for k in range(bisect_right(self.written, end), len(self.free)):
            host = self.free[k]
            if self.left[host] < begin and size <= self.sizes[host] - LINE:
                self.left[host], self.hosts[b] = end, host
                return True
        return False


def _size(b: Buf) -> int | None:
    count = product(b.shape).const
    return None if count is None else count * np.dtype(b.dtype).itemsize
