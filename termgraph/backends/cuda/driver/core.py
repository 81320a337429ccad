"""The driver on cuda-core and cuda-bindings: stream-ordered memory, recorded graphs.

May touch: the packages cuda-core and cuda-bindings, imported when a device is first used.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
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

NO_PACKAGE = "the GPU is reached through the package cuda-core, which is not installed: pip install 'termgraph[cuda]'"
# After these the context cannot be used any more.
FATAL = {"ILLEGAL_ADDRESS", "LAUNCH_FAILED", "LAUNCH_TIMEOUT", "MISALIGNED_ADDRESS", "ILLEGAL_INSTRUCTION",
         "HARDWARE_STACK_ERROR", "INVALID_PC", "INVALID_ADDRESS_SPACE", "ECC_UNCORRECTABLE", "ASSERT",
         "CONTEXT_IS_DESTROYED", "DEVICE_UNAVAILABLE", "TENSOR_MEMORY_LEAK"}  # fmt: skip
EVENT_WITHOUT_TIME = 2  # CU_EVENT_DISABLE_TIMING
WRONG_ARCH = {"NO_BINARY_FOR_GPU", "INVALID_IMAGE", "UNSUPPORTED_PTX_VERSION", "INVALID_PTX"}
PAGE_LOCKED = 1  # CU_MEMORYTYPE_HOST


_thread = threading.local()  # the driver whose context a thread is in, as far as we have changed it


class CoreDriver:
    """One device with one stream; everything is queued in it."""

    name = "core"

    def __init__(self, number: int = 0) -> None:
        try:
            from cuda.bindings import driver as cu
            from cuda.core import Device
        except ImportError:
            raise NoDevice(NO_PACKAGE) from None
        self.cu = cu
        _thread.driver = self  # no context is needed until the device is known
        try:
            (error,) = cu.cuInit(0)
        except RuntimeError:  # the library of the NVIDIA driver cannot be loaded
            raise NoDevice(NO_LIBRARY) from None
        if int(error):
            raise NoDevice(not_ready(_name(error)))
        count = self.ask(cu.cuDeviceGetCount)
        if count <= number:
            raise NoDevice(NOT_SO_MANY.format(number, count) if count else NO_DEVICE)
        before = self.cu.cuCtxGetCurrent()[1]
        self.device = Device(number)
        self._open(number)
        self.device_name = str(self.device.name)
        capability = self.device.compute_capability
        self.arch = f"sm_{capability.major}{capability.minor}"
        attribute = cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
        self.multiprocessors = int(self.ask(cu.cuDeviceGetAttribute, attribute, self.ask(cu.cuDeviceGet, number)))
        version = self.ask(cu.cuDriverGetVersion)
        self.cuda_version = f"{version // 1000}.{version % 1000 // 10}"
        self._event: Any = None
        self._marks: list[Any] = []  # events that nobody waits for
        self._keep_memory(number)
        self.leave(int(before))

    def _open(self, number: int) -> None:
        """The primary context of the device, which PyTorch, CuPy and JAX use as well, and a stream in it."""
        try:
            self.device.set_current()
            self._stream = self.device.create_stream()
        except Exception as error:  # the package has its own; another process may own the device, or fill it
            raise NoDevice(NOT_OPENED.format(number, error)) from None
        self.stream = int(self._stream.handle)
        self.context = self.ask(self.cu.cuStreamGetCtx, self.stream)

    def _keep_memory(self, number: int) -> None:
        """Memory that is given back stays with this process; some may be taken at the start (`gpu.pool_reserve`)."""
        cu = self.cu
        pool = self.ask(cu.cuDeviceGetDefaultMemPool, self.ask(cu.cuDeviceGet, number))
        attribute = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        self.ask(cu.cuMemPoolSetAttribute, pool, attribute, cu.cuuint64_t(2**64 - 1))
        reserve = float(config.gpu.pool_reserve)
        if not reserve:
            return
        free, total = self.memory()
        size = int(reserve * total if reserve <= 1 else reserve * 2**20)
        try:
            self.free(self.allocate(size))
        except OutOfDeviceMemory:
            raise NoDevice(
                f"gpu.pool_reserve asks for {size >> 20} MiB of GPU number {number}, of which {free >> 20} are free"
            ) from None

    def enter(self) -> int:
        """Be in the device's context; gives the one that the thread was in."""
        before = int(self.cu.cuCtxGetCurrent()[1])
        if before != int(self.context):
            _thread.driver = self
            self.ask(self.cu.cuCtxSetCurrent, self.context)
        _thread.driver = self
        return before

    def leave(self, before: int) -> None:
        """Other libraries expect the context that they have left; where there was none, ours may stay."""
        if before and before != int(self.context):
            _thread.driver = None
            self.cu.cuCtxSetCurrent(before)

    def home_of(self, address: int) -> int | None:
        attribute = self.cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        error, number = self.cu.cuPointerGetAttribute(attribute, address)
        return None if int(error) else int(number)

    # ------------------------------------------------------------------ errors
    def ask(self, function: Callable, *args: Any) -> Any:
        """What a function of the driver gives; its error as an exception."""
        if getattr(_thread, "driver", None) is not self:
            self.enter()
        error, *found = function(*args)
        if int(error):
            raise self.failure(error, function.__name__)
        return found[0] if len(found) == 1 else tuple(found)

    def failure(self, error: Any, what: str) -> Exception:
        """The exception for an error code."""
        name = _name(error)
        if name == "OUT_OF_MEMORY":
            return OutOfDeviceMemory("the device is full")
        if name in FATAL:
            return DeviceLost(LOST.format(f"{name}, reported by {what}"))
        if name in WRONG_ARCH:
            return CudaError(WRONG_KERNELS.format(self.device_name, self.arch, name, self.cuda_version))
        return CudaError(f"{what} failed: {name}")

    # ------------------------------------------------------------------ memory
    def memory(self) -> tuple[int, int]:
        free, total = self.ask(self.cu.cuMemGetInfo)
        return int(free), int(total)

    def allocate(self, size: int) -> int:
        return int(self.ask(self.cu.cuMemAllocAsync, size, self.stream))

    def free(self, address: int) -> None:
        self.ask(self.cu.cuMemFreeAsync, address, self.stream)

    def upload(self, address: int, host: np.ndarray) -> None:
        self.ask(self.cu.cuMemcpyHtoDAsync, address, host.ctypes.data, host.nbytes, self.stream)
        if self._is_page_locked(host.ctypes.data):  # the device reads that later, and the caller may change it now
            self.synchronize()

    def _is_page_locked(self, address: int) -> bool:
        attribute = self.cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        error, kind = self.cu.cuPointerGetAttribute(attribute, address)
        return not int(error) and int(kind) == PAGE_LOCKED

    def download(self, host: np.ndarray, address: int) -> None:
        self.ask(self.cu.cuMemcpyDtoHAsync, host.ctypes.data, address, host.nbytes, self.stream)

    def landing(self, size: int) -> np.ndarray:
        place = self.ask(self.cu.cuMemHostAlloc, size, 0)
        return np.ctypeslib.as_array((ctypes.c_ubyte * size).from_address(int(place)))

    def mark(self) -> Any:
        event = self._marks.pop() if self._marks else self.ask(self.cu.cuEventCreate, EVENT_WITHOUT_TIME)
        self.ask(self.cu.cuEventRecord, event, self.stream)
        return event

    def reach(self, mark: Any) -> None:
        self.ask(self.cu.cuEventSynchronize, mark)
        self._marks.append(mark)

    def copy(self, to: int, source: int, size: int) -> None:
        self.ask(self.cu.cuMemcpyDtoDAsync, to, source, size, self.stream)

    def copy_across(self, to: int, other: object, source: int, size: int) -> bool:
        if not isinstance(other, CoreDriver):
            return False
        other.followed_by(self.stream)
        self.ask(self.cu.cuMemcpyPeerAsync, to, self.context, source, other.context, size, self.stream)
        self.followed_by(other.stream)  # what it frees or overwrites now, it does after the copy
        return True

    def clear(self, address: int, size: int) -> None:
        self.ask(self.cu.cuMemsetD8Async, address, 0, size, self.stream)

    # ------------------------------------------------------------------ kernels
    def load(self, image: bytes) -> Any:
        return self.ask(self.cu.cuModuleLoadData, image)

    def kernel(self, module: Any, name: str) -> Any:
        return self.ask(self.cu.cuModuleGetFunction, module, name.encode())

    def launch(
        self, kernel: Any, grid: tuple[int, int, int], block: tuple[int, int, int], arguments: list[Any]
    ) -> None:
        places = (ctypes.c_void_p * max(1, len(arguments)))(*[ctypes.addressof(a) for a in arguments])
        self.ask(self.cu.cuLaunchKernel, kernel, *grid, *block, 0, self.stream, ctypes.addressof(places), 0)

    def synchronize(self) -> None:
        self.ask(self.cu.cuStreamSynchronize, self.stream)

    def wait_for(self, stream: int) -> None:
        try:
            self.ask(self.cu.cuEventRecord, self.event(), stream)
        except CudaError:  # a stream of another context
            self.ask(self.cu.cuStreamSynchronize, stream)
        else:
            self.ask(self.cu.cuStreamWaitEvent, self.stream, self._event, 0)

    def followed_by(self, stream: int) -> None:
        self.ask(self.cu.cuEventRecord, self.event(), self.stream)
        self.ask(self.cu.cuStreamWaitEvent, stream, self._event, 0)

    def event(self) -> Any:
        """One is enough: whoever waits for it waits for what had been recorded by then."""
        if self._event is None:
            self._event = self.ask(self.cu.cuEventCreate, EVENT_WITHOUT_TIME)
        return self._event

    # ------------------------------------------------------------------ graphs
    def capture(self) -> None:
        mode = self.cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        self.ask(self.cu.cuStreamBeginCapture, self.stream, mode)

    def captured(self) -> Any:
        graph = self.ask(self.cu.cuStreamEndCapture, self.stream)
        try:
            return Graph(self, self.ask(self.cu.cuGraphInstantiate, graph, 0))
        finally:
            self.ask(self.cu.cuGraphDestroy, graph)

    def replay(self, graph: Any) -> None:
        self.ask(self.cu.cuGraphLaunch, graph.handle, self.stream)


class Graph:
    """Recorded work, which goes with its last reference."""

    def __init__(self, driver: CoreDriver, handle: Any) -> None:
        self.driver, self.handle, self.process = driver, handle, os.getpid()

    def __del__(self) -> None:
        if self.process == os.getpid() and not sys.is_finalizing():
            self.driver.cu.cuGraphExecDestroy(self.handle)


def _name(error: Any) -> str:
    """An error code as it is called in the documentation."""
    return str(getattr(error, "name", error)).removeprefix("CUDA_ERROR_")
