"""How the workers of one machine come to one mean where each has a GPU of its own: by NCCL, on the devices.

The memory of a generation has the counters of an `Exchange` and no slots. A shard's gradients stay on its GPU, are
multiplied and added up there, and NCCL adds those of all workers in an order of its own: the copies stay equal, but the
bits depend on the number of workers. Another thread ends the sum when the driver closes the generation.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

import termgraph.tensor as T
from termgraph.backends.cuda.run.device_array import DeviceArray
from termgraph.dist import nccl
from termgraph.dist.exchange import Closed, Exchange
from termgraph.dist.layout import ALIGNMENT, Layout, Spec, aligned
from termgraph.dist.memory import Shared
from termgraph.function import function
from termgraph.function.inout import Out
from termgraph.terms.types import TensorType

LOOK = 0.02  # seconds between two looks of the thread that ends sums
FAREWELL = 10.0  # seconds in which the driver hears of a lost worker, of whom NCCL may know first


def can_add(specs: Sequence[Spec]) -> bool:
    """Whether NCCL knows the types."""
    return all(dtype in nccl.TYPES for dtype, _ in specs)


class DeviceSums:
    """This worker's part of the means of a step, in the memory of its GPU."""

    def __init__(self, specs: Sequence[Spec]) -> None:
        self.specs = list(specs)
        self.arrays: list[DeviceArray] = []
        self._types = [TensorType(dtype, (None,) * len(shape)) for dtype, shape in self.specs]

    @cached_property
    def _scaled(self) -> Any:
        """From results and their share to the first sums."""
        results, share = [t() for t in self._types], T.dscalar("share")
        made = [Out(r * share.astype(r.dtype), target="cuda") for r in results]
        return function([*results, share], made, name="scaled")

    @cached_property
    def _added(self) -> Any:
        """The same for further shards, added to the sums."""
        sums, results, share = [t() for t in self._types], [t() for t in self._types], T.dscalar("share")
        made = [Out(s + r * share.astype(r.dtype), target="cuda") for s, r in zip(sums, results)]
        return function([*sums, *results, share], made, name="added")

    def begin(self) -> None:
        """A new step: nothing is there."""
        self.arrays = []

    def add(self, results: Sequence[Any], share: float) -> None:
        """Add a shard."""
        self.arrays = self._added(*self.arrays, *results, share) if self.arrays else self._scaled(*results, share)

    def complete(self) -> list[DeviceArray]:
        """The sums; zeros if this worker's shards have no examples."""
        if not self.arrays:
            self.arrays = [DeviceArray.of(np.zeros(shape, dtype)) for dtype, shape in self.specs]
        return self.arrays


class DeviceExchange(Exchange):
    """One generation, as one member with a GPU sees it."""

    def __init__(
        self, memory: Shared, sums: DeviceSums, shards: int, members: int, rank: int,
        timeout: float = 300.0, late: Callable[[list[int]], None] = lambda ranks: None,
    ) -> None:  # fmt: skip
        super().__init__(memory, Layout([]), shards, members, rank, timeout, late)
        start = Exchange.size(Layout([]), shards, members)
        self._named, self._begun = np.split(memory.words(start, 1 + members), [1])
        start += aligned(8 * (1 + members))
        self._name = memory.buffer[start : start + nccl.ID_BYTES]
        self.sums, self._step = sums, -1
        self._group: nccl.Communicator | None = None
        self._waiting_since: float | None = None
        self._left = threading.Event()

    @staticmethod
    def size(layout: Layout, shards: int, members: int) -> int:
        """Bytes of a generation's memory."""
        return Exchange.size(Layout([]), shards, members) + aligned(8 * (1 + members)) + max(nccl.ID_BYTES, ALIGNMENT)

    def put(self, step: int, shard: int, results: Sequence[Any], share: float, examples: int) -> None:
        """Add a shard's part of the means to this worker's."""
        if step != self._step:
            self.sums.begin()
            self._step = step
        for (_, shape), value in zip(self.sums.specs, results):
            self._check_shape(shape, value, step, shard)
        if results:
            self.sums.add(results, share)
        self._counts[shard] = examples
        self._filled[shard] = step + 1

    def total(self, step: int) -> list[Any]:
        """The means of a step, on the device, as soon as all workers have come to it."""
        self._wait_filled(step)
        arrays = self.sums.complete()
        device = arrays[0].device
        pieces = [nccl.Piece(a.address, a.size, str(a.dtype)) for a in arrays]
        self._begun[self.rank] = step + 1
        with device.lock:
            try:
                group = self._group or self._meet()
                self._waiting_since = time.monotonic()
                group.all_reduce(pieces, device.driver.stream)
                device.driver.synchronize()
            except nccl.NcclError:
                self._hear_of_a_loss()
                raise
            finally:
                self._waiting_since = None
        if group.aborted:  # perhaps in the middle of the sum
            raise Closed
        self._added[self.rank] = step + 1
        return arrays

    def means(self) -> list[Any]:
        """The means as they are."""
        return list(self.sums.arrays)

    def release(self) -> None:
        """Leave the group, and give the memory back."""
        self._left.set()
        if self._group is not None:
            self._group.abort()  # nobody waits here for those who are gone; all work is done
        super().release()

    # ------------------------------------------------------------------ the group
    def _meet(self) -> nccl.Communicator:
        """The group of all members, under a name that the first one makes."""
        library = nccl.library()
        assert isinstance(library, nccl.Library)
        if self.rank == 0:
            self._name[:] = np.frombuffer(library.unique_id(), np.uint8)
            self._named[0] = 1
        self._wait(lambda: bool(self._named[0]), lambda: [0])
        self._waiting_since = time.monotonic()
        group = nccl.Communicator(library, self.members, self.rank, self._name.tobytes(), self._check)
        self._group = group
        threading.Thread(target=self._watch, args=(group,), name="dist-sums", daemon=True).start()
        return group

    def _check(self) -> None:
        """Whether there is still somebody to wait for."""
        if self.closed:
            raise Closed
        if self._group is None:  # afterwards the other thread does this, or both would speak at once
            self._complain()

    def _complain(self) -> None:
        """Tell the driver for whom we wait, after a long time: who has not begun; all, if everybody has."""
        since, now = self._waiting_since, time.monotonic()
        if since is not None and now - since > self.timeout:
            others = [k for k in range(self.members) if k != self.rank]
            self.late([k for k in others if self._begun[k] < self._begun[self.rank]] or others)
            self._waiting_since = now

    def _watch(self, group: nccl.Communicator) -> None:
        """End a sum that waits on the device for somebody who is gone."""
        while not self._left.wait(LOOK):
            try:
                self._check()
                self._complain()
            except Closed:
                group.abort()
                return

    def _hear_of_a_loss(self) -> None:
        """A connection may break before the driver has closed the generation: then this is no error."""
        until = time.monotonic() + min(FAREWELL, self.timeout)
        while time.monotonic() < until:
            if self.closed:
                raise Closed
            time.sleep(LOOK)
