"""A driver for the emulation that needs no CUDA package: memory of the host, kernels called directly.

Work is queued and runs when somebody waits, so a missing wait shows as stale data. With the variable of the environment
`TERMGRAPH_TEST_GPU` set, `emulation()` gives the GPU of this machine instead: the same tests, run by hardware.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable
from ctypes.util import find_library
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from emucuda.build import blas_libraries, build, dnn_library, driver_library
from termgraph.backends.cuda.build.compile import nvrtc_image
from termgraph.backends.cuda.driver.base import CudaError, DeviceLost, OutOfDeviceMemory
from termgraph.backends.cuda.run import device as devices
from termgraph.backends.cuda.run.device import Device

TOTAL = 8 * 2**30
_libc = ctypes.CDLL(None)  # its own memory: sanitizers see where an array ends


class EmulatedDriver:
    """The protocol of drivers on the CPU. `limit` is the size of its memory, in bytes."""

    name, device_name, arch = "emulated", "emulated CUDA device", "emulated"
    multiprocessors, stream = 4, 0

    def __init__(self, limit: int = TOTAL) -> None:
        self.limit, self.held = limit, 0
        self.queue: list[Callable[[], None]] = []
        self.recording: list[Callable[[], None]] | None = None
        self.sizes: dict[int, int] = {}
        self.lost: str | None = None
        self.launches = self.replays = 0
        self.done = 0  # pieces of work
        self.waits: list[int] = []  # how many were still queued after each wait
        self.followers: list[int] = []  # streams of others that wait for this one
        self.lock = threading.RLock()  # one thread runs the queue at a time, or a free could overtake a copy

    def enter(self) -> None:
        pass

    def leave(self, before: Any) -> None:
        pass

    def home_of(self, address: int) -> int | None:
        return None

    def memory(self) -> tuple[int, int]:
        return self.limit - self.held, self.limit

    def allocate(self, size: int) -> int:
        if self.held + size > self.limit:
            raise OutOfDeviceMemory("the emulated device is full")
        place = ctypes.c_void_p()
        if _libc.posix_memalign(ctypes.byref(place), ctypes.c_size_t(256), ctypes.c_size_t(size)):
            raise OutOfDeviceMemory("the host is full")
        address = int(place.value or 0)
        ctypes.memset(address, 0xFF, size)  # not a number, wherever somebody forgets to write
        self.sizes[address] = size
        self.held += size
        return address

    def free(self, address: int) -> None:
        self.held -= self.sizes.pop(address)
        self.do(lambda: _libc.free(ctypes.c_void_p(address)))

    def do(self, step: Callable[[], Any]) -> None:
        """Queue, or record, a step."""
        (self.queue if self.recording is None else self.recording).append(step)

    def upload(self, address: int, host: np.ndarray) -> None:
        assert isinstance(host, np.ndarray), type(host)  # packages ask for its address
        data = host.tobytes()
        self.do(lambda: ctypes.memmove(address, data, len(data)))

    def download(self, host: np.ndarray, address: int) -> None:
        self.do(lambda: ctypes.memmove(host.ctypes.data, address, host.nbytes))

    def copy(self, to: int, source: int, size: int) -> None:
        self.do(lambda: ctypes.memmove(to, source, size))

    def copy_across(self, to: int, other: Any, source: int, size: int) -> bool:
        other.synchronize()
        data = ctypes.string_at(source, size)
        self.do(lambda: ctypes.memmove(to, data, size))
        return True

    def clear(self, address: int, size: int) -> None:
        self.do(lambda: ctypes.memset(address, 0, size))

    def load(self, image: bytes) -> Any:
        return ctypes.CDLL(image.decode())

    def kernel(self, module: Any, name: str) -> Any:
        return getattr(module, f"tg_launch_{name}")

    def launch(self, kernel: Any, grid: tuple, block: tuple, arguments: list[Any]) -> None:
        three = ctypes.c_uint * 3
        self.launches += 1

        def run() -> None:
            error = ctypes.create_string_buffer(512)
            places = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
            if kernel(three(*grid), three(*block), ctypes.c_size_t(0), places, error, ctypes.c_size_t(512)):
                self.lost = error.value.decode()
                raise DeviceLost(f"the kernel failed: {self.lost}")

        self.do(run)

    def synchronize(self) -> None:
        self.reach(self.mark())

    def landing(self, size: int) -> np.ndarray:
        return np.full(size, 0xFF, np.uint8)

    def mark(self) -> int:
        return self.done + len(self.queue)

    def reach(self, mark: int) -> None:
        if self.lost:
            raise DeviceLost(f"the device cannot be used after a kernel failed: {self.lost}")
        with self.lock:
            count = max(0, mark - self.done)
            queue, self.queue = self.queue[:count], self.queue[count:]
            self.done += count
            self.waits.append(len(self.queue))
            for step in queue:
                step()

    def wait_for(self, stream: int) -> None:
        self.synchronize()

    def followed_by(self, stream: int) -> None:
        self.followers.append(stream)

    def capture(self) -> None:
        if self.recording is not None:
            raise CudaError("already recording")
        self.recording = []

    def captured(self) -> Any:
        graph, self.recording = self.recording, None
        return graph

    def replay(self, graph: list[Callable[[], None]]) -> None:
        self.replays += 1
        self.queue += graph


def compile_emulated(source: str, arch: str, options: tuple[str, ...], name: str) -> bytes:
    """The path of the compiled kernels, which stands for an image.

    With the variable `TERMGRAPH_TEST_NVRTC` set, NVRTC must take the text as well: g++ knows what it does not.
    """
    if os.environ.get("TERMGRAPH_TEST_NVRTC"):
        for which in ("compute_75", "compute_90"):
            nvrtc_image(source, which, ("--Ofast-compile=max", *options), name, ptx=True)
    return build(source, options).encode()


def packaged_device(name: str, number: int = 0) -> Device:
    """The driver `core` or `pycuda`, unchanged, above an emulated libcuda.so.1.

    Only for a process of its own: the library must be loaded before the package looks for it.
    """
    installed = find_library("cudnn") or (find_spec("nvidia") is not None and find_spec("nvidia.cudnn") is not None)
    # A real cuDNN knows nothing of emulated devices: where there is one, the emulated one is found before it.
    for library in (driver_library(), *blas_libraries(), *([dnn_library()] if installed else [])):
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    driver = devices._open(name, number)
    return Device(driver, lambda *args: Path(compile_emulated(*args).decode()).read_bytes(), number)


def emulated_device(limit: int = TOTAL, number: int = 0) -> Device:
    """A device without hardware."""
    return Device(EmulatedDriver(limit), compile_emulated, number)


@functools.cache
def real_device() -> Device:
    """The GPU of this machine, whose driver counts launches as the emulated one does."""
    from termgraph.backends.cuda.build.compile import compile_text
    from termgraph.backends.cuda.driver.core import CoreDriver

    class Counted(CoreDriver):
        launches = replays = 0

        def launch(self, *arguments: Any) -> None:
            self.launches += 1
            super().launch(*arguments)

        def replay(self, graph: Any) -> None:
            self.replays += 1
            super().replay(graph)

    return Device(Counted(0), compile_text, 0)


REAL = bool(os.environ.get("TERMGRAPH_TEST_GPU"))


class emulation:
    """While this is entered, programs for the GPU run on the CPU, or on a GPU where `TERMGRAPH_TEST_GPU` asks for it.

    >>> from emucuda.driver import emulation
    >>> with emulation() as device:                                 # doctest: +SKIP
    ...     f = tg.function([x], T.exp(x), mode=tg.Mode(linker="cuda"))
    """

    def __init__(self, device: Device | None = None, *others: Device) -> None:
        self.device, self.others = device or (real_device() if REAL else emulated_device()), others

    def __enter__(self) -> Device:
        self.previous = devices.use(self.device, *self.others)
        return self.device

    def __exit__(self, *_: Any) -> None:
        devices.use(self.previous)
