"""Which examples a step reads: a pure function of seed, epoch, step and shard."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Batch(NamedTuple):
    """What one shard of one step reads: arrays, how many examples, and the part that these are of the whole step."""

    arrays: tuple[Any, ...]
    examples: int
    first: int  # the number of its first example in the whole step
    share: float


class Arrays:
    """Arrays with examples along the first dimension: NumPy's, or memory-mapped files (these are read where they lie).

    Each epoch reads every example once, in an order that follows from the seed and the number of the epoch; the last
    batch of an epoch is smaller if `batch` does not divide the number of examples.

    >>> data = Arrays(np.arange(10.0), batch=4, epochs=2, shuffle=False)
    >>> data.steps
    6
    >>> data.read(step=2, shard=0, shards=1, seed=0).arrays[0]
    array([8., 9.])
    """

    def __init__(self, *arrays: Any, batch: int, epochs: int = 1, shuffle: bool = True) -> None:
        self.arrays = [a if isinstance(a, np.ndarray) else np.asarray(a) for a in arrays]
        lengths = {len(a) if a.ndim else -1 for a in self.arrays}
        if len(lengths) != 1 or -1 in lengths:
            raise ValueError(
                f"Arrays: needs arrays of one length along the first dimension, got shapes "
                f"{[a.shape for a in self.arrays]}"
            )
        if wrong := [a.dtype for a in self.arrays if a.dtype.hasobject]:
            raise TypeError(f"Arrays: needs arrays of numbers, got dtype {wrong[0]}")
        if batch < 1 or epochs < 0:
            raise ValueError(f"Arrays: batch must be at least 1 and epochs at least 0, got {batch} and {epochs}")
        self.examples, self.batch, self.epochs, self.shuffle = lengths.pop(), int(batch), int(epochs), shuffle
        self._order: tuple[tuple[int, int], np.ndarray] | None = None

    @property
    def steps(self) -> int:
        """Steps of all epochs together."""
        return self.per_epoch * self.epochs

    @property
    def per_epoch(self) -> int:
        """Steps of one epoch."""
        return math.ceil(self.examples / self.batch)

    def indices(self, step: int, shard: int, shards: int, seed: int) -> tuple[np.ndarray, int, int]:
        """The examples of a shard, the number of the first of them in the step, and how many the step has."""
        epoch, k = divmod(step, self.per_epoch)
        start, end = k * self.batch, min((k + 1) * self.batch, self.examples)
        size = end - start
        a, b = shard * size // shards, (shard + 1) * size // shards
        return self.order(seed, epoch)[start + a : start + b], a, size

    def order(self, seed: int, epoch: int) -> np.ndarray:
        """The order of an epoch. Kept until another is asked for."""
        if self._order is None or self._order[0] != (seed, epoch):
            rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, epoch])))
            found = rng.permutation(self.examples) if self.shuffle else np.arange(self.examples)
            self._order = ((seed, epoch), found)
        return self._order[1]

    def read(self, step: int, shard: int, shards: int, seed: int) -> Batch:
        """What one shard of one step reads."""
        chosen, first, size = self.indices(step, shard, shards, seed)
        if not self.shuffle and len(chosen):
            arrays = tuple(a[chosen[0] : chosen[-1] + 1] for a in self.arrays)
        else:
            arrays = tuple(a[chosen] for a in self.arrays)
        return Batch(tuple(np.asarray(a) for a in arrays), len(chosen), first, len(chosen) / size)

    def signature(self) -> str:
        """What a checkpoint has to agree with."""
        shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in self.arrays)
        return f"{shapes} in batches of {self.batch}{', shuffled' if self.shuffle else ''}"


class Loader:
    """Your own way of reading: `load(step, shard, shards)` gives the arrays of one shard of one step.

    It has to be a pure function of its arguments, because a shard is read again where a worker was lost. All shards of
    a step have the same number of examples unless `sizes(step)` gives the list of their numbers.
    """

    def __init__(
        self, load: Callable[[int, int, int], Sequence[Any]], steps: int,
        sizes: Callable[[int], Sequence[int]] | None = None,
    ) -> None:  # fmt: skip
        self.load, self.steps, self.sizes = load, int(steps), sizes

    def read(self, step: int, shard: int, shards: int, seed: int) -> Batch:
        """What one shard of one step reads."""
        sizes = None if self.sizes is None else [int(n) for n in self.sizes(step)]
        if sizes is not None and (len(sizes) != shards or min(sizes) < 0 or not sum(sizes)):
            raise ValueError(f"Loader: sizes({step}) must be {shards} numbers of examples, got {sizes}")
        if sizes is not None and not sizes[shard]:
            return Batch((), 0, 0, 0.0)
        arrays = tuple(np.asarray(a) for a in self.load(step, shard, shards))
        n = len(arrays[0]) if arrays and arrays[0].ndim else 1
        if sizes is None:
            return Batch(arrays, n, shard * n, 1 / shards)
        if n != sizes[shard]:
            raise ValueError(f"Loader: shard {shard} of step {step} has {n} examples, but sizes said {sizes[shard]}")
        return Batch(arrays, n, sum(sizes[:shard]), n / sum(sizes))

    def signature(self) -> str:
        """What a checkpoint has to agree with."""
        return "a loader"


Data = Arrays | Loader


def as_data(data: Any) -> Data:
    """`data` as given to train, or an error that says what to write."""
    if isinstance(data, (Arrays, Loader)):
        return data
    raise TypeError(
        f"train: data must be dist.Arrays(x, y, batch=...) or dist.Loader(load, steps=...), got {type(data).__name__}"
    )
