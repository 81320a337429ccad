"""The driver on pycuda: no graphs and no stream-ordered memory; freed memory goes to pycuda's pool.

May touch: the package pycuda, imported when a device is first used.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.backends.cuda.driver.base import (
    LOST,
    NO_DEVICE,
    NO_LIBRARY,
    NOT_OPENED,
    NOT_SO_MANY,
    WRONG_KERNELS,
    CudaError,
    DeviceLost,
    NoDevice,
    OutOfDeviceMemory,
    not_ready,
)
from termgraph.config import config
from termgraph.terms.term import AnyTerm

NO_PACKAGE = "cuda.driver=pycuda needs the package pycuda, which is not installed: pip install 'termgraph[pycuda]'"


# What the messages of errors say after which the context cannot be used any more: pycuda has no codes.
FATAL = ("illegal memory access", "misaligned address", "launch failure", "launch timed out", "illegal instruction",
         "hardware stack error", "invalid program counter", "address space", "uncorrectable ECC", "device-side assert",
         "context is destroyed")  # fmt: skip
# The same of errors when the driver is initialised, with the names that the other package has for them.
NAMES = {
    "no CUDA-capable device": "NO_DEVICE",
    "system not yet initialized": "SYSTEM_NOT_READY",
    "unsupported display driver": "SYSTEM_DRIVER_MISMATCH",
    "forward compatibility": "COMPAT_NOT_SUPPORTED_ON_DEVICE",
    "OS call failed": "OPERATING_SYSTEM",
}


def _in_context(method: Callable) -> Callable:
    """Another thread than the one that opened the device enters the context for each call: pycuda wants it left."""

    @functools.wraps(method)
    def call(self: PyCudaDriver, *args: Any) -> Any:
        if threading.get_ident() == self.home and PyCudaDriver.on_top is self:
            return self.checked(method, *args)
        self.context.push()
        try:
            return self.checked(method, *args)
        finally:
            self.context.pop()

    return call


class PyCudaDriver:
    """One device with one stream. `graphs` is False: work is queued kernel by kernel."""

    name, graphs = "pycuda", False
    on_top: PyCudaDriver | None = None  # the device that was opened last, whose context its thread is in

    def __init__(self, number: int = 0) -> None:
        try:
            import pycuda
        except ImportError:
            raise NoDevice(NO_PACKAGE) from None
        try:
            import pycuda.driver as driver
            import pycuda.tools as tools
        except ImportError:  # pycuda is linked against the library of the NVIDIA driver
            raise NoDevice(NO_LIBRARY) from None
        self.d = driver
        try:
            driver.init()
            count = driver.Device.count()
        except driver.Error as error:
            text = str(error)
            raise NoDevice(not_ready(next((name for part, name in NAMES.items() if part in text), text))) from None
        if count <= number:
            raise NoDevice(NOT_SO_MANY.format(number, count) if count else NO_DEVICE)
        device = driver.Device(number)
        try:
            self.context = device.retain_primary_context()
            self.context.push()
        except driver.Error as error:
            raise NoDevice(NOT_OPENED.format(number, error)) from None
        PyCudaDriver.on_top = self
        atexit.register(self.close)
        self.home = threading.get_ident()
        self._stream = driver.Stream()
        self.stream = int(self._stream.handle)
        self.pool = tools.DeviceMemoryPool()
        self.blocks: dict[int, Any] = {}
        self.modules: list[Any] = []  # kept here, because pycuda wants them to go in this thread, with the context
        self.functions: list[Any] = []
        self.device_name = device.name()
        self.arch = "sm_{}{}".format(*device.compute_capability())
        self.multiprocessors = int(device.get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT))
        self.version = pycuda.VERSION_TEXT
        version = driver.get_driver_version()
        self.cuda_version = f"{version // 1000}.{version % 1000 // 10}"
        if config.gpu.pool_reserve:
            warnings.warn(
                "gpu.pool_reserve has no effect with cuda.driver=pycuda: its pool keeps blocks by their size, and "
                "cannot cut them from one",
                stacklevel=2,
            )

    def enter(self) -> None:
        """Nothing: the thread that opened the device stays in its context, others enter it for each call."""

    def leave(self, before: AnyTerm) -> None:
        """Nothing, as well."""

    def home_of(self, address: int) -> int | None:
        return None

    def checked(self, method: Callable, *args: Any) -> Any:
        """A call, with the exceptions that all drivers raise."""
        try:
            return method(self, *args)
        except self.d.MemoryError:
            raise OutOfDeviceMemory("the device is full") from None
        except self.d.Error as error:
            if any(text in str(error) for text in FATAL):
                raise DeviceLost(LOST.format(error)) from None
            raise CudaError(str(error)) from None

    def close(self) -> None:
        """At the end of the process: give everything back while its context is there, which was entered last."""
        with contextlib.suppress(self.d.Error):  # the device may be lost
            self._stream.synchronize()
        self.functions.clear()
        self.modules.clear()
        self.blocks.clear()
        del self._stream, self.pool
        self.context.pop()
        PyCudaDriver.on_top = None

    @_in_context
    def memory(self) -> tuple[int, int]:
        free, total = self.d.mem_get_info()
        return int(free), int(total)

    @_in_context
    def allocate(self, size: int) -> int:
        block = self.pool.allocate(size)
        self.blocks[int(block)] = block
        return int(block)

    @_in_context
    def free(self, address: int) -> None:
        # Everything runs in one stream, so whoever gets this memory next uses it after the work queued now.
        block = self.blocks.pop(address, None)
        if block is not None:  # else the driver is closed
            block.free()

    @_in_context
    def upload(self, address: int, host: np.ndarray) -> None:
        self.d.memcpy_htod_async(address, np.ascontiguousarray(host), self._stream)

    @_in_context
    def download(self, host: np.ndarray, address: int) -> None:
        self.d.memcpy_dtoh_async(host, address, self._stream)

    def landing(self, size: int) -> np.ndarray:
        return np.empty(size, np.uint8)  # pycuda would give page-locked memory back when its context is gone

    @_in_context
    def mark(self) -> Any:
        event = self.d.Event()
        event.record(self._stream)
        return event

    @_in_context
    def reach(self, mark: Any) -> None:
        mark.synchronize()

    @_in_context
    def copy(self, to: int, source: int, size: int) -> None:
        self.d.memcpy_dtod_async(to, source, size, self._stream)

    def copy_across(self, to: int, other: object, source: int, size: int) -> bool:
        return False

    @_in_context
    def clear(self, address: int, size: int) -> None:
        self.d.memset_d8_async(address, 0, size, self._stream)

    @_in_context
    def load(self, image: bytes) -> Any:
        try:
            self.modules.append(self.d.module_from_buffer(image))
        except self.d.Error as error:
            text = WRONG_KERNELS.format(self.device_name, self.arch, error, self.cuda_version)
            raise CudaError(text) from None
        return len(self.modules) - 1

    @_in_context
    def kernel(self, module: Any, name: str) -> Any:
        self.functions.append(self.modules[module].get_function(name))
        return len(self.functions) - 1

    @_in_context
    def launch(
        self, kernel: Any, grid: tuple[int, int, int], block: tuple[int, int, int], arguments: list[Any]
    ) -> None:
        values = [_NUMPY[type(a)](a.value or 0) for a in arguments]
        self.functions[kernel](*values, grid=grid, block=block, stream=self._stream)

    @_in_context
    def synchronize(self) -> None:
        self._stream.synchronize()

    @_in_context
    def wait_for(self, stream: int) -> None:
        self.context.synchronize()  # pycuda cannot name a foreign stream: wait for all

    def followed_by(self, stream: int) -> None:
        self.synchronize()

    def capture(self) -> None:
        raise CudaError("pycuda has no graphs")

    def captured(self) -> Any:
        return None

    def replay(self, graph: Any) -> None:
        raise CudaError("pycuda has no graphs")


_NUMPY: dict[type, Any] = {
    ctypes.c_int32: np.int32,
    ctypes.c_int64: np.int64,
    ctypes.c_float: np.float32,
    ctypes.c_double: np.float64,
    ctypes.c_void_p: np.uintp,
}
