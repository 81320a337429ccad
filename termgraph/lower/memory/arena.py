"""Offsets of buffers in one block of memory: those that are alive together lie apart, others may overlap.

The largest choose first, each the smallest gap that it fits into, so that the block is hardly larger than what is ever
alive at once. Rooms of which each holds one buffer at a time waste what the smaller ones of their guests leave free.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from termgraph._records import NamedTuple
from termgraph.lower.memory.plan import LINE, Life
from termgraph.lower.push.kernel import Buf

ALIGNED = 256  # bytes: what libraries of a GPU take for granted, a number of lines of a processor's cache


class Arena(NamedTuple):
    """Where each buffer begins, and the bytes of all."""

    offsets: dict[Buf, int]
    nbytes: int


def arena(sizes: Mapping[Buf, int], lives: Mapping[Buf, Sequence[Life]], tries: int = 0) -> Arena:
    """A place for each buffer: the smaller of two blocks, for which the largest choose first, or the largest and
    longest alive.

    So often another order is tried, while the block is larger than what is alive: those that end highest choose first.
    """
    names = [b for b in sizes if b in lives]
    alive = {b: sum(x.last + 1 - x.first for x in lives[b]) for b in names}
    orders = [
        sorted(names, key=lambda b: (-sizes[b], lives[b][0], b.name)),
        sorted(names, key=lambda b: (-sizes[b] * alive[b], lives[b][0], b.name)),
    ]
    best = min([_placed(order, sizes, lives) for order in orders], key=lambda a: a.nbytes)
    least = _alive(names, sizes, lives) if tries else 0
    for order in orders if tries else ():
        found = _placed(order, sizes, lives)
        for _ in range(tries):
            if best.nbytes <= least:
                return best
            high = {b for b in order if found.offsets[b] + _rounded(sizes[b]) == found.nbytes}
            order = [*[b for b in order if b in high], *[b for b in order if b not in high]]
            found = _placed(order, sizes, lives)
            best = min(best, found, key=lambda a: a.nbytes)
    return best


def _rounded(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _alive(names: Sequence[Buf], sizes: Mapping[Buf, int], lives: Mapping[Buf, Sequence[Life]]) -> int:
    """The most bytes that are alive at once: no block is smaller."""
    change: dict[int, int] = {}
    for b in names:
        for life in lives[b]:
            change[life.first] = change.get(life.first, 0) + _rounded(sizes[b])
            change[life.last + 1] = change.get(life.last + 1, 0) - _rounded(sizes[b])
    return max(accumulate(change[k] for k in sorted(change)), default=0)


def _placed(order: Sequence[Buf], sizes: Mapping[Buf, int], lives: Mapping[Buf, Sequence[Life]]) -> Arena:
    taken = _Taken(sum(len(lives[b]) for b in order))
    offsets = {b: taken.place(_rounded(sizes[b]), lives[b]) for b in order}
    return Arena(offsets, taken.top)


class Held:
    """What lies in a block of known size, and when: a few buffers, sorted by where they begin."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.inside: list[tuple[int, int, Sequence[Life]]] = []  # begin and end of each, and its lives

    def place(self, size: int, lives: Sequence[Life]) -> int | None:
        """The first gap that is free in all these lives, and taken from now on; None if there is none."""
        at = 0
        for begin, end, others in self.inside:
            if at + size <= begin:
                break
            if end > at and any(x.first <= y.last and y.first <= x.last for x in lives for y in others):
                at = end
        if at + size > self.nbytes:
            return None
        insort(self.inside, (at, at - (-size // LINE) * LINE, lives), key=lambda x: x[:2])
        return at


class _Taken:
    """What lies where and when: a row for each life of each buffer, sorted by where the buffer begins."""

    def __init__(self, most: int) -> None:
        self.rows = np.empty((4, most), np.int64)  # begin and end of the place, first and last statement
        self.count = 0
        self.top = 0

    def place(self, size: int, lives: Sequence[Life]) -> int:
        """The smallest gap that is free in all these lives, or the first one behind everything."""
        begin, end, first, last = self.rows[:, : self.count]
        meets = np.zeros(self.count, bool)
        for life in lives:
            meets |= (first <= life.last) & (last >= life.first)
        below = np.maximum.accumulate(np.concatenate([[0], end[meets]]))  # where the gaps before each of these begin
        gaps = begin[meets] - below[:-1]
        fits = np.flatnonzero(gaps >= size)
        at = int(below[fits[np.argmin(gaps[fits])]] if fits.size else below[-1])
        for life in lives:
            self._insert((at, at + size, life.first, life.last))
        self.top = max(self.top, at + size)
        return at

    def _insert(self, row: tuple[int, int, int, int]) -> None:
        k = int(np.searchsorted(self.rows[0, : self.count], row[0]))
        self.rows[:, k + 1 : self.count + 1] = self.rows[:, k : self.count].copy()
        self.rows[:, k] = row
        self.count += 1
