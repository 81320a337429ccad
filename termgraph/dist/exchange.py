"""How the workers of one machine come to one mean in each step: slots in shared memory, and counters.

A generation is one piece of memory with fixed members. Each shard has a slot that its owner fills; each member adds one
piece of all slots, in the order of a fixed tree; nobody begins the next step's slots before all have added. Who was
lost or stopped meanwhile has another generation's memory, in which nobody looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from termgraph.dist.layout import Layout, aligned
from termgraph.dist.memory import Shared, wait_until
from termgraph.dist.tree import piece, tree_sum

CLOSED, GENERATION = 0, 1
HEAD = 2


class Closed(Exception):
    """This generation is over: the driver has something else to say."""


class Differ(Exception):
    """The copies of the workers are not the same any more."""


class Exchange:
    """One generation's memory, as one member sees it."""

    def __init__(
        self, memory: Shared, layout: Layout, shards: int, members: int, rank: int,
        timeout: float = 300.0, late: Callable[[list[int]], None] = lambda ranks: None,
    ) -> None:  # fmt: skip
        self.memory, self.layout, self.shards, self.members, self.rank = memory, layout, shards, members, rank
        self.timeout, self.late = timeout, late
        self.owner = owners(shards, members)
        self.mine = [j for j in range(shards) if self.owner[j] == rank]
        ends = np.cumsum([HEAD, shards, shards, members, members, members])
        words = memory.words(0, int(ends[-1]))
        self._head, self._filled, self._counts, self._added, self._checked, self._digests = np.split(words, ends[:-1])
        start = aligned(8 * int(ends[-1]))
        parts = [memory.buffer[start + k * layout.nbytes : start + (k + 1) * layout.nbytes] for k in range(shards + 1)]
        self._slots = [layout.arrays(part) for part in parts[:shards]]
        self._flat = [layout.flat(part) for part in parts[:shards]]
        self._sum, self._sum_flat = layout.arrays(parts[shards]), layout.flat(parts[shards])

    @staticmethod
    def size(layout: Layout, shards: int, members: int) -> int:
        """Bytes of a generation's memory."""
        return aligned(8 * (HEAD + 2 * shards + 3 * members)) + (shards + 1) * layout.nbytes

    @property
    def closed(self) -> bool:
        """Whether the driver has ended this generation."""
        return bool(self._head[CLOSED])

    def close(self) -> None:
        """End this generation."""
        self._head[CLOSED] = 1

    def release(self) -> None:
        """Give the memory back."""
        self.memory.close()

    def put(self, step: int, shard: int, results: Sequence[np.ndarray], share: float, examples: int) -> None:
        """Fill a slot with a shard's part of the means. Without results (a shard without examples) with zeros."""
        for slot, value in zip(self._slots[shard], results or self._slots[shard]):
            if results:
                self._check_shape(slot.shape, value, step, shard)
                np.multiply(value, share, out=slot)
            else:
                slot[...] = 0
        self._counts[shard] = examples
        self._filled[shard] = step + 1

    def _check_shape(self, shape: tuple[int, ...], value: np.ndarray, step: int, shard: int) -> None:
        if np.shape(value) != shape:
            raise ValueError(
                f"what is meant over must have one shape in all steps and shards, but one is {shape} at first and "
                f"{np.shape(value)} in step {step}, shard {shard}; take the mean over examples first"
            )

    def total(self, step: int) -> list[np.ndarray]:
        """The means of a step, as soon as all slots are filled and added."""
        self._wait_filled(step)
        for k, out in enumerate(self._sum_flat):
            part = piece(out.size, self.rank, self.members)
            tree_sum([flat[k][part] for flat in self._flat], out[part])
        self._added[self.rank] = step + 1
        self._wait(lambda: self.is_added(step), lambda: self._behind(self._added, step))
        return self._sum

    def _wait_filled(self, step: int) -> None:
        self._wait(
            lambda: int(self._filled.min()) > step, lambda: [self.owner[j] for j in self._behind(self._filled, step)]
        )

    def is_added(self, step: int) -> bool:
        """Whether the means of a step are complete. They stay so until all members have filled slots of the next."""
        return int(self._added.min()) > step

    def means(self) -> list[np.ndarray]:
        """The means as they are."""
        return self._sum

    def check(self, step: int, digest: int) -> None:
        """Leave a digest of this copy after a step; it is compared when all have."""
        self._digests[self.rank] = digest
        self._checked[self.rank] = step + 1

    def compare(self, step: int) -> None:
        """Compare the digests that all members have left after a step."""
        self._wait(lambda: int(self._checked.min()) > step, lambda: self._behind(self._checked, step))
        if (self._digests != self._digests[0]).any():
            raise Differ(f"after {step + 1} steps the copies differ: digests {[hex(int(d)) for d in self._digests]}")

    def _behind(self, counters: np.ndarray, step: int) -> list[int]:
        return [int(k) for k in np.flatnonzero(counters <= step)]

    def _wait(self, done: Callable[[], bool], missing: Callable[[], list[int]]) -> None:
        def over() -> bool:
            if self.closed:
                raise Closed
            return done()

        wait_until(over, self.timeout, lambda: self.late(sorted(set(missing()))))


def owners(shards: int, members: int) -> list[int]:
    """Which member computes each shard: neighbouring shards together, as evenly as it goes."""
    return [j * members // shards for j in range(shards)]
