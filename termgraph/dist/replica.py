"""One worker's copy of what is trained: computes shards, makes updates, gives and takes its state."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.dist.data import Batch, Data
from termgraph.dist.layout import Spec
from termgraph.dist.step import Step
from termgraph.tensor.random import RandomStream
from termgraph.tensor.sharedvar import shared

State = dict[str, np.ndarray]


class Worker:
    """What `build(worker)` is told: its number, how many workers there are, and the seed of the whole training.

    Build the same step in every worker: parameters are taken from the first one that is ready.
    """

    def __init__(self, number: int, workers: int, shards: int, seed: int) -> None:
        self.number, self.workers, self.shards, self.seed = number, workers, shards, seed
        self.first = first_example()
        self._streams: list[ExampleStream] = []

    def stream(self, seed: int | None = None) -> ExampleStream:
        """A stream of random draws whose first dimension is that of the batch: each example has its own draws.

        Without a seed it has that of the training.
        """
        made = ExampleStream(self.seed if seed is None else seed, self.first)
        self._streams.append(made)
        return made

    def draws_by_example(self, state: Any) -> bool:
        """Whether a state is that of a draw of `stream`."""
        return any(state is own for stream in self._streams for own, _ in stream.state_updates)


class Replica:
    """A step with its data, in one worker."""

    def __init__(self, step: Step, data: Data, worker: Worker) -> None:
        self.step, self.data, self.worker = step, data, worker
        self.streams = [(v, worker.draws_by_example(v)) for v in step.streams]
        self.starts = [v.get_value() for v, _ in self.streams]
        self.whole = False  # whether batches are taken one by one and whole
        self.on_device = False  # whether what is meant over stays on the GPU

    # ------------------------------------------------------------------ computing
    def read(self, step: int, shard: int) -> Batch:
        """The examples of a shard. May be called from another thread."""
        return self.data.read(step, shard, self.shards, self.worker.seed)

    @property
    def shards(self) -> int:
        """The shards of a step."""
        return 1 if self.whole else self.worker.shards

    def compute(self, step: int, shard: int, batch: Batch) -> list[np.ndarray]:
        """Cost, outputs and everything meant over, of one shard."""
        self._draw(step, shard, batch.first)
        return self._called(self.step.gradients_there if self.on_device else self.step.gradients, batch)

    def apply(self, means: Sequence[np.ndarray], step: int) -> None:
        """Make the updates of a step."""
        self._draw(step, 0, 0)
        self.step.apply(*means)

    def take_step(self, step: int, batch: Batch) -> list[np.ndarray]:
        """A whole step on this copy alone: cost and outputs."""
        self._draw(step, 0, batch.first)
        return self._called(self.step.whole, batch)

    def _called(self, compiled: Any, batch: Batch) -> list[np.ndarray]:
        given, wanted = len(batch.arrays), len(self.step.inputs)
        if given != wanted:
            raise ValueError(f"the step has {wanted} inputs, but the data give {given} arrays")
        return compiled(*batch.arrays)

    def _draw(self, step: int, shard: int, first: int) -> None:
        for (v, by_example), start in zip(self.streams, self.starts):
            v.set_value(counters(start, step, shard, self.shards, by_example), borrow=True)
        self.worker.first.set_value(np.uint64(first))

    def specs(self) -> list[Spec]:
        """Dtype and shape of what `compute` gives, found out on the first examples."""
        for shard in range(self.shards if self.data.steps else 0):
            batch = self.read(0, shard)
            if batch.examples:
                return [(str(r.dtype), np.shape(r)) for r in self.compute(0, shard, batch)]
        return []

    # ------------------------------------------------------------------ state
    def params(self) -> list[np.ndarray]:
        """The parameters themselves: changing them in place changes what is trained."""
        found = [v.get_value(borrow=True, return_internal_type=True) for v in self.step.params]
        if not all(isinstance(v, np.ndarray) for v in found):
            raise NotImplementedError(
                "rules with a centre need parameters in the memory of the host; use Synchronous()"
            )
        return found

    def state(self, copy: bool = True) -> State:
        """All that a step changes, and where the streams began, by names that files have too."""
        named = {f"state{i}": v.get_value(borrow=not copy) for i, v in enumerate(self.step.state)}
        return {name: np.asarray(v) for name, v in named.items()} | {f"stream{i}": v for i, v in enumerate(self.starts)}

    def set_state(self, state: State) -> None:
        """Go on from a state."""
        for i, v in enumerate(self.step.state):
            v.set_value(state[f"state{i}"])
        self.starts = [state[f"stream{i}"] for i in range(len(self.starts))]

    def describe(self) -> list[tuple[str, str, tuple[int, ...]]]:
        """Name, dtype and shape of all of the state: what workers and checkpoints have to agree in."""
        count = len(self.step.params)
        found = [(v.name or f"{'param' if i < count else 'state'}{i}", v) for i, v in enumerate(self.step.state)]
        return [(name, str(v.type.dtype), np.shape(v.get_value(borrow=True))) for name, v in found]

    def digest(self) -> int:
        """A number that is the same in all workers while their copies are."""
        found = 0
        for v in self.step.state:
            found = zlib.crc32(np.ascontiguousarray(v.get_value(borrow=True)).reshape(-1).view(np.uint8).data, found)
        return found


# ---------------------------------------------------------------------- random numbers
# A draw has a key and a counter. The counter of an ordinary stream is set from the number of the step and of the shard.
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
