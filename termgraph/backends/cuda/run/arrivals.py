"""Small results on their way to the host: copied in their turn, waited for when the rest of a call has been queued.

So new values of shared variables are queued while the device is still busy, and the call waits for it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.backends.cuda.run.context import Device
from termgraph.backends.cuda.run.device_array import DeviceArray, to_host

ROOM = 1 << 16  # bytes of results that are not waited for at once
LINE = 16


class Convoy:
    """Results of a device that are copied together."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.room = device.landings.pop() if device.landings else device.driver.landing(ROOM)
        self.taken, self.mark = 0, None

    def __del__(self) -> None:
        self.device.landings.append(self.room)  # what is copied there next is queued behind these

    def add(self, array: DeviceArray) -> Coming:
        """Queue the copy of an array."""
        begin = self.taken
        self.taken += -(-array.nbytes // LINE) * LINE
        host = self.room[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        if host.size:
            self.device.driver.download(host, array.address)
        return Coming(self, host)

    def arrive(self) -> None:
        """Wait, once."""
        mark, self.mark = self.mark, None
        if mark is not None:
            with self.device.lock:
                self.device.driver.reach(mark)


class Coming:
    """A result on its way."""

    __slots__ = ("convoy", "host")

    def __init__(self, convoy: Convoy, host: np.ndarray) -> None:
        self.convoy, self.host = convoy, host

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        self.convoy.arrive()
        return np.array(self.host, dtype)


def departed(values: Sequence[Any]) -> list[Any]:
    """The values on their way to the host; large ones, and those of several devices, are there already."""
    here = [v for v in values if isinstance(v, DeviceArray)]
    small = sum(-(-v.nbytes // LINE) * LINE for v in here) <= ROOM
    if not here or not small or any(v.device is not here[0].device for v in here):
        return to_host(values)
    with here[0].device.lock:
        convoy = Convoy(here[0].device)
        out = [convoy.add(v.contiguous()) if isinstance(v, DeviceArray) else v for v in values]
        convoy.mark = convoy.device.driver.mark()
    return out


def arrived(values: Sequence[Any]) -> list[Any]:
    """The values, with those that were on their way."""
    return [np.asarray(v) if v.__class__ is Coming else v for v in values]
