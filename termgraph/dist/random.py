"""Random draws that do not depend on how a batch is divided: by step and shard, or by example.

A draw has a key and a counter. The counter of an ordinary stream is set from the number of the step and of the shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.tensor.random import RandomStream
from termgraph.tensor.sharedvar import shared

SPACING = 1 << 32  # steps of a counter that a call may use, in loops, before it meets those of the next shard


class ExampleStream(RandomStream):
    """A stream whose draws belong to examples: the first dimension of each draw is that of the batch.

    A worker that has examples 30 to 39 of a batch draws what a single worker draws for these. Made by
    `worker.stream(seed)`.
    """

    def __init__(self, seed: int | None, first: Any) -> None:
        super().__init__(seed)
        self.first = first  # shared: the number of the shard's first example in its batch

    def _blocks(self, size: Any, params: Sequence[Any] = ()) -> tuple[Any, Any, Any]:
        key, step, index = super()._blocks(size, params)
        if index.type.ndim == 0:
            return key, step, index
        row = np.uint64(1)
        for d in range(1, index.type.ndim):
            row = row * index.shape[d].astype("uint64")
        return key, step, index + self.first * row


def first_example() -> Any:
    """The shared number that an ExampleStream reads."""
    return shared(np.uint64(0), name="first_example")


def counters(start: np.ndarray, step: int, shard: int, shards: int, by_example: bool) -> np.ndarray:
    """The state of a draw in a step and shard, from the state at the beginning."""
    turn = step if by_example else step * shards + shard
    return np.array([start[0], (int(start[1]) + turn * SPACING) % (1 << 64)], dtype=np.uint64)
