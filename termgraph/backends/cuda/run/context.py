"""What a device is, and which of them this process has opened. `device` opens them, and says what works for them."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from termgraph._records import NamedTuple
from termgraph.backends.cuda.driver.base import FORKED, CudaError, Driver, NoDevice, OutOfDeviceMemory

Compile = Callable[[str, str, tuple[str, ...], str], bytes]  # text, architecture, options, name -> image


class Turn:
    """The lock of a device: one thread at a time queues work. Who holds it is in the device's context.

    Other libraries of the process may have other contexts, of other devices; they find theirs again.
    """

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.lock = threading.RLock()
        self.depth = 0
        self.before: Any = None

    def acquire(self, blocking: bool = True) -> bool:
        """Take it; False if another thread has it and we do not wait."""
        if not self.lock.acquire(blocking):
            return False
        if not self.depth:
            try:
                self.before = self.driver.enter()
            except BaseException:
                self.lock.release()
                raise
        self.depth += 1
        return True

    def release(self) -> None:
        """Give it back."""
        self.depth -= 1
        if not self.depth:
            self.driver.leave(self.before)
        self.lock.release()

    def __enter__(self) -> Turn:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Forked:
    """Stands where a process that was forked would have a driver: CUDA does not survive a fork."""

    name = "forked"

    def __getattr__(self, name: str) -> Any:
        raise NoDevice(FORKED)


class Device:
    """A driver with a compiler for its device."""

    def __init__(self, driver: Driver, compile: Compile, number: int = 0) -> None:
        self.driver, self.compile, self.number = driver, compile, number
        self.lock = Turn(driver)
        self.copiers: dict[Any, Any] = {}  # programs that copy views
        self.live: dict[int, tuple[int, Any]] = {}  # address -> (bytes, what for), for the message of a full device
        self.allocations = 0
        self.spares: weakref.WeakSet = (
            weakref.WeakSet()
        )  # memory kept for the next calls, given up when there is no other
        self.recording, self.late = False, []  # type: tuple[bool, list[int]]
        self.borrowers: set[int] = set()  # streams of others that may still read what is in `late`
        self.landings: list[Any] = []  # memory of the host for results on their way
        self._status: Any = None
        self._libraries: dict[str, Any] = {}

    def dnn(self) -> Any:
        """cuDNN, under the same conditions as cuBLAS; else None."""
        return self._library("dnn")

    def blas(self) -> Any:
        """cuBLAS, if it is installed and the driver is a real package; else None, and own kernels do the work."""
        return self._library("blas")

    def _library(self, name: str) -> Any:
        if len(_devices) > 1 and not getattr(self.driver, "graphs", True):
            return None  # a library works in the context that the thread is in, which pycuda leaves between calls
        if name not in self._libraries:
            self._libraries[name] = getattr(helpers(), name)(self) if self.driver.stream else None
        return self._libraries[name]

    def status(self, address: int, size: int) -> Any:
        """Queue a download of a program's status. Call it with the lock held until it has been read."""
        if self._status is None:
            self._status = self.driver.landing(size)
        self.driver.download(self._status, address)
        return self._status

    def allocate(self, size: int, purpose: Any) -> int:
        """Room on the device; a full device is reported with what fills it. `purpose` is words, or words and a type."""
        with self.lock:
            if not self.recording:
                self._free_late()
            try:
                address = self._room(max(size, 1))
            except OutOfDeviceMemory:
                raise OutOfDeviceMemory(self._full(size, purpose)) from None
            self.allocations += 1
            self.live[address] = (size, purpose)
            return address

    def _room(self, size: int) -> int:
        try:
            return self.driver.allocate(size)
        except OutOfDeviceMemory:
            if self.recording:
                raise
            for spare in list(self.spares):
                spare.free()
            self._free_late()
            self.driver.synchronize()  # what is still in use is free when the work is done
            return self.driver.allocate(size)

    def free(self, address: int, borrowers: Iterable[int] = ()) -> None:
        """Give room back; what is given back while work is recorded must not become part of the recording.

        Arrays come here when Python lets go of them, in any thread at any point: so it never waits for the lock.
        `borrowers` are streams of other libraries that may still read it.
        """
        if self.live.pop(address, None) is None:
            return
        self.late.append(address)
        self.borrowers.update(borrowers)
        with contextlib.suppress(CudaError):  # of a device that is lost nothing needs to be given back
            if not self.recording and self.lock.acquire(blocking=False):
                try:
                    self._free_late()
                finally:
                    self.lock.release()

    def _free_late(self) -> None:
        while self.borrowers:
            self.driver.wait_for(self.borrowers.pop())
        while self.late:
            self.driver.free(self.late.pop())

    def release(self, streams: Sequence[int | None]) -> None:
        """Other libraries may change their arrays now: in streams that are known it waits for us."""
        if None in streams:
            self.driver.synchronize()
            return
        for stream in dict.fromkeys(streams):
            self.driver.followed_by(stream)  # type: ignore[arg-type]

    def record(self, work: Callable[[], None]) -> Any:
        """Record work as a graph; None where the driver has no graphs. Call it with the lock held."""
        if not getattr(self.driver, "graphs", True):
            return None
        self.driver.capture()
        self.recording = True
        try:
            work()
        except BaseException:
            self.recording = False
            with contextlib.suppress(CudaError):  # what went wrong is on its way already
                self.driver.captured()
            raise
        self.recording = False
        graph = self.driver.captured()
        self._free_late()
        return graph

    def forked(self) -> None:
        """In a child of this process: nothing of the device can be used, and nothing is given back."""
        self.driver = Forked()
        self.lock = Turn(self.driver)
        self.live, self.late = {}, []

    def _full(self, size: int, purpose: Any) -> str:
        free, total = self.driver.memory()
        held = sorted(self.live.values(), key=lambda row: -row[0])[:5]
        lines = "".join(f"\n  {_size(n)} for {_words(what)}" for n, what in held)
        return (
            f"the GPU has no room for {_size(size)} ({_words(purpose)}): {_size(free)} of {_size(total)} are free; "
            f"this process holds {_size(sum(n for n, _ in self.live.values()))}"
            + (f", the largest parts of it:{lines}" if held else "")
        )


def _words(purpose: Any) -> str:
    return purpose if isinstance(purpose, str) else "{}, {} of shape {}".format(*purpose)


def _size(n: int) -> str:
    return f"{n / 2**30:.2f} GiB" if n >= 2**29 else f"{n / 2**20:.1f} MiB" if n >= 2**19 else f"{n} bytes"


class Helpers(NamedTuple):
    """What works for devices and stands above them: how they are opened, products, convolutions, copies of views."""

    open: Callable[[int], Device]
    blas: Callable[[Device], Any]
    dnn: Callable[[Device], Any]
    copy: Callable[[Any], Any]


_helpers: list[Helpers] = []


def set_helpers(found: Helpers) -> None:
    """Called once by the module that opens devices."""
    _helpers[:] = [found]


def helpers() -> Helpers:
    """What works for devices."""
    return _helpers[0]


_devices: dict[int, Device] = {}
_guard = threading.Lock()


def current() -> Device:
    """The device, opened on first use; NoDevice says in one sentence what is missing."""
    return numbered(0)


def numbered(number: int) -> Device:
    """One of several devices, opened on first use; the first is number 0."""
    with _guard:
        if number not in _devices:
            _devices[number] = helpers().open(number)
        if isinstance(_devices[number].driver, Forked):
            raise NoDevice(FORKED)
        return _devices[number]


def only() -> Device | None:
    """The device, if no other has been opened."""
    return next(iter(_devices.values())) if len(_devices) == 1 else None


def use(device: Device | None, *others: Device) -> Device | None:
    """Put other devices in the place of all; the emulation does. Returns the first of those that were there."""
    with _guard:
        previous = _devices.get(0)
        _devices.clear()
        _devices.update({d.number: d for d in (device, *others) if d is not None})
        return previous


def _in_child() -> None:
    """After a fork, in the child: locks that others held are new ones, devices cannot be used."""
    global _guard
    _guard = threading.Lock()
    for device in _devices.values():
        device.forked()


os.register_at_fork(after_in_child=_in_child)


def why_not() -> str | None:
    """Why there is no device, or None."""
    try:
        current()
    except NoDevice as why:
        return str(why)
    return None
