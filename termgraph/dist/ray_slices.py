"""The centre on Ray in slices: actors that own one each, which workers read and write directly, and who replaces them.

An owner has the slice in force and one that a ticket has brought. What the ticket has brought is in force when the
keeper of the book takes that ticket back, for all slices by that one act; so there is no half of a change.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from termgraph.dist.exchange import Closed
from termgraph.dist.layout import ALIGNMENT, aligned

AT_LEAST = 4_000_000  # bytes of a slice, unless a number of owners was given

Answer = Callable[[float], Any]  # waits so many seconds for the answer of a call
Call = Callable[..., Answer]  # begins a call of an actor: the method, then its arguments


class NoAnswer(Exception):
    """An actor is gone, or silent."""


class OwnerLost(Closed):
    """An owner of a slice does not answer. What a worker had of the centre is of no use any more."""

    def __init__(self, serial: int) -> None:
        super().__init__(serial)
        self.serial = serial


class Slice:
    """Bytes of the centre, by the ticket that has brought them: those in force, and those that may be next."""

    def __init__(self, nbytes: int) -> None:
        self._versions = {0: np.zeros(nbytes, np.uint8)}
        self._latest = 0  # ticket
        self._lock = threading.Lock()

    def read(self, version: int) -> np.ndarray | None:
        """The bytes that a ticket has brought. None if there are later ones in force."""
        with self._lock:
            return self._versions.get(version)  # nobody changes these bytes

    def write(self, ticket: int, version: int, content: np.ndarray) -> bool:
        """What may come after the version in force. False if a later ticket was here: then this one is void."""
        content = content.copy()  # not Ray's memory, which is not ours to keep
        with self._lock:
            if ticket <= self._latest:
                return False
            self._latest = ticket
            self._versions = {k: v for k, v in self._versions.items() if k == version} | {ticket: content}
            return True

    def stay(self) -> None:
        """Never answers: who waits for it hears when this actor is gone."""
        threading.Event().wait()


def cuts(nbytes: int, count: int) -> list[slice]:
    """About equal parts of a buffer of bytes; never more than it has lines of the cache."""
    ends = sorted({min(aligned(nbytes * k // count), nbytes) for k in range(count + 1)})
    return [slice(a, b) for a, b in zip(ends, ends[1:])]


class Slices:
    """The slices of the centre, as a worker or the driver sees them; an owner in another's place has another serial."""

    def __init__(self, owners: Mapping[int, Call], nbytes: int, timeout: float) -> None:
        self.owners = dict(owners)
        self.places = cuts(nbytes, max(1, len(self.owners)))
        # a worker that waits for an owner keeps the centre from others, who wait for `timeout`: the owner has less
        self.patience = timeout / 2

    def read(self, version: int, out: np.ndarray) -> None:
        """All slices of a version. Closed if there is a later one."""
        asked = {serial: call("read", version) for serial, call in self.owners.items()}
        for place, content in zip(self.places, self._answers(asked)):
            if content is None:
                raise Closed
            out[place] = content

    def write(self, ticket: int, version: int, content: np.ndarray) -> None:
        """Bring what may be in force after `version` to all owners. Closed if the ticket is void."""
        asked = {s: self._write(s, ticket, version, content[place]) for s, place in zip(self.owners, self.places)}
        if not all(self._answers(asked)):
            raise Closed

    def _write(self, serial: int, *args: Any) -> Answer:
        return self.owners[serial]("write", *args)

    def _answers(self, asked: Mapping[int, Answer]) -> list[Any]:
        until = time.monotonic() + self.patience
        found = []
        for serial, answer in asked.items():
            try:
                found.append(answer(max(0.0, until - time.monotonic())))
            except NoAnswer:
                raise OwnerLost(serial) from None
        return found


def calling(handle: Any) -> Call:
    """Calls of an actor of Ray."""
    import ray

    def wait(ref: Any, seconds: float) -> Any:
        try:
            return ray.get(ref, timeout=seconds)
        except ray.exceptions.RayTaskError:  # an error of ours
            raise
        except ray.exceptions.RayError as err:
            raise NoAnswer(str(err)) from None

    return lambda method, *args: partial(wait, getattr(handle, method).remote(*args))


class Owners(Slices):
    """The actors that own slices, as the driver has them: on all nodes of the cluster in turn, the first beside it."""

    def __init__(
        self, ray: Any, count: int, nbytes: int, timeout: float, options: Mapping[str, Any],
        until_started: Callable[[Sequence[Any]], None],
    ) -> None:  # fmt: skip
        self._ray, self._options, self._until_started = ray, options, until_started
        self.handles: dict[int, Any] = {}  # by serial number, in the order of the slices
        self._staying: dict[Any, int] = {}
        self._serials = 0
        self._places = cuts(nbytes, count)
        for k in range(len(self._places)):
            self._start(k)
        self._until_started(list(self.handles.values()))
        super().__init__({s: calling(h) for s, h in self.handles.items()}, nbytes, timeout)

    def _start(self, k: int) -> int:
        place, nodes = self._places[k], nodes_of(self._ray)
        beside = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(nodes[k % len(nodes)], soft=True)
        options = {**self._options, "memory": 1000}  # Ray heeds the node only for who asks for something
        host = self._ray.remote(Slice).options(**options, scheduling_strategy=beside)
        self._serials += 1
        self.handles[self._serials] = handle = host.remote(place.stop - place.start)
        self._staying[handle.stay.remote()] = self._serials
        return self._serials

    def lost(self) -> list[int]:
        """Owners that are gone, as Ray says."""
        ready, _ = self._ray.wait(list(self._staying), num_returns=len(self._staying), timeout=0)
        return [self._staying[ref] for ref in ready]

    def replace(self, serial: int) -> int:
        """An empty owner in the place of one that was lost: which slice it has, counted from 0."""
        k = list(self.handles).index(serial)
        self._ray.kill(self.handles[serial], no_restart=True)
        self._staying = {ref: s for ref, s in self._staying.items() if s != serial}
        new = self._start(k)
        self._until_started([self.handles[new]])
        order = [new if s == serial else s for s in self.handles if s != new]
        self.handles = {s: self.handles[s] for s in order}
        self.owners = {s: calling(h) for s, h in self.handles.items()}
        return k

    def stop(self) -> None:
        """End all of them."""
        for handle in self.handles.values():
            self._ray.kill(handle, no_restart=True)


def nodes_of(ray: Any) -> Sequence[str]:
    """The nodes of the cluster, this one first."""
    here = ray.get_runtime_context().get_node_id()
    return [here, *sorted(n["NodeID"] for n in ray.nodes() if n["Alive"] and n["NodeID"] != here)]


def how_many(ray: Any, nbytes: int, wanted: int | None) -> int:
    """How many slices: as many as were wanted; else one on each node, if they are large enough to be worth it."""
    most, least_bytes = (len(nodes_of(ray)), AT_LEAST) if wanted is None else (wanted, ALIGNMENT)
    return min(most, max(1, nbytes // least_bytes))
