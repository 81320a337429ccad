"""Batches of arrays, in an order that a seed and the number of the epoch decide: a resumed run repeats nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


class Batches:
    """An iterable: each pass over it is one epoch and gives tuples of slices of the arrays, in a new order.

    `epoch` is the number of the next pass; setting it makes the order that of that pass.
    """

    def __init__(self, arrays: tuple[Any, ...], size: int, shuffle: bool, seed: int, drop_last: bool) -> None:
        self.arrays = [np.asarray(a) for a in arrays]
        lengths = {len(a) for a in self.arrays}
        if len(lengths) != 1:
            raise ValueError(f"batches: arrays must have one length, got {[len(a) for a in self.arrays]}")
        if size < 1:
            raise ValueError(f"batches: size must be at least 1, got {size}")
        self.size, self.shuffle, self.seed, self.drop_last = size, shuffle, seed, drop_last
        self.examples = lengths.pop()
        self.epoch = 0

    def __len__(self) -> int:
        """How many batches an epoch has."""
        return self.examples // self.size if self.drop_last else -(-self.examples // self.size)

    def __iter__(self) -> Iterator[tuple[np.ndarray, ...]]:
        order = np.arange(self.examples)
        if self.shuffle:
            np.random.default_rng([self.seed, self.epoch]).shuffle(order)
        self.epoch += 1
        for k in range(len(self)):
            part = order[k * self.size : (k + 1) * self.size]
            yield tuple([a[part] for a in self.arrays])


def batches(*arrays: Any, size: int, shuffle: bool = True, seed: int = 0, drop_last: bool = False) -> Batches:
    """Slices of `size` examples of arrays (or of what NumPy makes arrays of, such as columns of a table).

    >>> import numpy as np
    >>> from termgraph import train
    >>> data = train.batches(np.arange(5), np.arange(5) * 10, size=2, seed=0)
    >>> len(data), [x.tolist() for x, y in data], [x.tolist() for x, y in data]
    (3, [[2, 4], [3, 0], [1]], [[1, 4], [3, 0], [2]])
    """
    if not arrays:
        raise TypeError("batches needs at least one array")
    return Batches(arrays, size, shuffle, seed, drop_last)
