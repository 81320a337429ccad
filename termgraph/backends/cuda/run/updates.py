"""New values of shared variables, written when everything else has succeeded: over the old ones where that is safe.

A program leaves `Pending` values for those that its last kernels write.
"""

from __future__ import annotations

import _signal  # what `signal` wraps: without its enumerations, which take 15 us of each call
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from termgraph.backends.cuda.run.device_array import DeviceArray


class Pending:
    """A new value that is still to be written, by the last kernels of a call."""

    __slots__ = ("call", "dtype", "number", "shape")

    def __init__(self, call: Unfinished, number: int, shape: tuple[int, ...], dtype: np.dtype | str) -> None:
        self.call, self.number, self.shape, self.dtype = call, number, shape, dtype


class Unfinished:
    """A call of which the last kernels are still to run. It keeps what they read, but not what they may replace."""

    def __init__(self, executable: Any, plan: Any, places: Any, arrays: list[Any]) -> None:
        self.executable, self.plan, self.places = executable, plan, places
        self.arrays = arrays
        self.targets: dict[int, int] = {}

    def run(self) -> None:
        """Queue the last kernels; `targets` says where each new value goes."""
        self.executable.finish(self.plan, self.places, self.targets)
        self.executable.device.release([a.stream for a in self.arrays if a.is_foreign])


class Commit:
    """Prepares all new values, then writes them: nothing is written until there is room for all of them."""

    def __init__(self, news: Iterable[Any], old: Iterable[Any]) -> None:
        self.calls: dict[int, Unfinished] = {id(v.call): v.call for v in news if isinstance(v, Pending)}
        self.steps: list[Callable[[], Any]] = []
        held = set(map(id, old))
        for call in self.calls.values():  # the variables keep their values until all is written
            call.arrays = [a for a in call.arrays if id(a) not in held]

    def pending(self, storage: Any, new: Pending) -> DeviceArray | None:
        """Where a pending value will be: None if it replaces the old one, else new memory."""
        if type(storage) is list and _replaceable(storage, new):
            new.call.targets[new.number] = storage[0].address
            return None
        made = DeviceArray.empty(new.call.executable.device, new.shape, new.dtype, "a new value of a variable")
        new.call.targets[new.number] = made.address
        return made

    def copied(self, storage: Any, new: DeviceArray) -> bool:
        """Whether a value that is there already will be copied to where the old one is."""
        if type(storage) is not list or not _replaceable(storage, new):
            return False
        old = storage[0]
        self.steps.append(lambda: old.assign(new))
        return True

    def then(self, step: Callable[[], Any]) -> None:
        """What follows."""
        self.steps.append(step)

    def run(self) -> None:
        """Write everything; Ctrl-C waits until it is done."""
        with _Uninterrupted():
            for call in self.calls.values():
                call.run()
            for step in self.steps:
                step()


def _replaceable(storage: Any, new: Any) -> bool:
    """Whether the value in a container has the right size, and nobody else holds it.

    The list and the argument of getrefcount are the two references of a value that nobody else holds.
    """
    old = storage[0]
    if not isinstance(old, DeviceArray) or old is new or old.keeps is not None:
        return False
    fits = (old.shape, old.dtype) == (new.shape, new.dtype)
    del old
    return fits and sys.getrefcount(storage[0]) <= 2


class _Uninterrupted:
    """In the main thread, Ctrl-C while this is entered takes effect when it is left."""

    def __enter__(self) -> None:
        self.came: list[tuple] = []
        main = threading.current_thread() is threading.main_thread()
        self.handler = _signal.getsignal(_signal.SIGINT) if main else None
        if self.handler is not None:
            _signal.signal(_signal.SIGINT, lambda *what: self.came.append(what))

    def __exit__(self, *_: object) -> None:
        if self.handler is not None:
            _signal.signal(_signal.SIGINT, self.handler)
        if self.came and callable(self.handler):
            self.handler(*self.came[0])
