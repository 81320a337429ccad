"""The centre that asynchronous workers meet: two copies in shared memory, a version, and a book of who reads what.

A change writes the copy that is not in force, its book included, and then puts it in force by writing one word. So a
worker that dies in a change has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from termgraph.dist.layout import Layout, aligned
from termgraph.dist.memory import Shared

CLOSED, VERSION, HOLDER = 0, 1, 2
HEAD = 3
DRIVER = -1  # the driver's number among those who change the centre


class Book:
    """Which batches are taken, done and given back. At most as many ranges are open as there are members."""

    CURSOR, TOTAL, DONE, COUNT = range(4)

    def __init__(self, words: np.ndarray, members: int) -> None:  # members: or open ranges of an earlier run, if more
        self.words = words
        self.taken = words[4 : 4 + 2 * members].reshape(members, 2)
        self.returned = words[4 + 2 * members : 4 + 4 * members].reshape(members, 2)

    @staticmethod
    def size(members: int) -> int:
        """Words of a book."""
        return 4 + 4 * members

    @property
    def finished(self) -> bool:
        """Whether every batch is part of the centre."""
        return bool(self.words[self.DONE] >= self.words[self.TOTAL])

    @property
    def available(self) -> bool:
        """Whether there is something to take."""
        return bool(self.words[self.COUNT] or self.words[self.CURSOR] < self.words[self.TOTAL])

    def take(self, member: int, size: int) -> range:
        """The next batches for a member: what a lost one gave back comes first."""
        if self.words[self.COUNT]:
            self.words[self.COUNT] -= 1
            start, end = (int(n) for n in self.returned[self.words[self.COUNT]])
        else:
            start = int(self.words[self.CURSOR])
            end = min(start + size, int(self.words[self.TOTAL]))
            self.words[self.CURSOR] = end
        self.taken[member] = start, end
        return range(start, end)

    def release(self, member: int) -> None:
        """What a member has taken is part of the centre now."""
        start, end = self.taken[member]
        self.words[self.DONE] += end - start
        self.taken[member] = 0

    def give_back(self, member: int) -> range:
        """What a lost member had taken is to be taken by others."""
        start, end = (int(n) for n in self.taken[member])
        if end > start:
            self.returned[self.words[self.COUNT]] = start, end
            self.words[self.COUNT] += 1
            self.taken[member] = 0
        return range(start, end)


class Copy:
    """One of the two copies of the centre."""

    def __init__(self, buffer: np.ndarray, layout: Layout, members: int) -> None:
        words = aligned(8 * Book.size(members))
        self.book = Book(buffer[: 8 * Book.size(members)].view(np.int64), members)
        self.bytes = buffer[words:]
        self.arrays = layout.arrays(self.bytes)


class Centre:
    """The centre, as a worker or the driver sees it."""

    pause = 0.005  # seconds between looks at a book that is not one's own
    can_be_lost = False  # while the driver is not

    def __init__(
        self, memory: Shared, layout: Layout, members: int, timeout: float = 300.0,
        late: Callable[[int], None] = lambda holder: None,
    ) -> None:  # fmt: skip
        self.memory, self.timeout, self.late = memory, timeout, late
        self._head = memory.words(0, HEAD)
        size = self._copy_size(layout, members)
        starts = [aligned(8 * HEAD) + k * size for k in (0, 1)]
        self._copies = [Copy(memory.buffer[start : start + size], layout, members) for start in starts]

    @staticmethod
    def _copy_size(layout: Layout, members: int) -> int:
        return aligned(8 * Book.size(members)) + layout.nbytes

    @classmethod
    def size(cls, layout: Layout, members: int) -> int:
        """Bytes of the memory of a centre."""
        return aligned(8 * HEAD) + 2 * cls._copy_size(layout, members)

    @property
    def fds(self) -> tuple[int, ...]:
        """The descriptors with which another process finds this centre."""
        return (self.memory.fd,)

    @property
    def now(self) -> Copy:
        """The copy in force."""
        return self._copies[int(self._head[VERSION]) % 2]

    @property
    def closed(self) -> bool:
        """Whether the driver has ended this centre."""
        return bool(self._head[CLOSED])

    def close(self) -> None:
        """End the training at the next exchange of each worker."""
        self._head[CLOSED] = 1

    def admit(self, who: int) -> int:
        """A member joins. The kernel knows who holds the lock, and frees it; so lives need no numbers."""
        return 0

    def dismiss(self, who: int) -> None:
        """A member is gone, and its lock with it."""

    def refresh(self) -> None:
        """Look at the centre as it is now: in shared memory one always does."""

    def lost(self) -> list[int]:
        """Owners of parts of it that are gone: it has none."""
        return []

    def restart(self, serial: int) -> int | None:
        """Replace such an owner."""
        return None

    def holder_process(self) -> int:
        """The process that holds the lock, where that can be known."""
        return self.memory.holder()

    def release(self) -> None:
        """Give the memory back."""
        self.memory.close()

    def _late(self) -> None:
        self.late(int(self._head[HOLDER]) - 1)

    @contextmanager
    def reading(self, who: int) -> Iterator[Copy]:
        """The present copy, while nobody changes it."""
        with self.memory.locked(self.timeout, self._late):
            yield self.now

    @contextmanager
    def change(self, who: int) -> Iterator[tuple[Copy, Copy]]:
        """The present copy and the next, which has the same book. It is put in force unless an exception comes."""
        with self.memory.locked(self.timeout, self._late):
            self._head[HOLDER] = who + 1
            version = int(self._head[VERSION])
            old, new = self._copies[version % 2], self._copies[(version + 1) % 2]
            new.book.words[:] = old.book.words
            yield old, new
            self._head[VERSION] = version + 1
            self._head[HOLDER] = 0

    @contextmanager
    def replacing(self, who: int) -> Iterator[Copy]:
        """The next copy, all of which is to be filled."""
        with self.change(who) as (_, new):
            yield new

    @contextmanager
    def change_book(self, who: int) -> Iterator[Book]:
        """A change of the book alone."""
        with self.change(who) as (old, new):
            new.bytes[:] = old.bytes
            yield new.book
