"""What the backend asks of a driver. `core` and `pycuda` are two; the emulation has a third that needs no package.

A driver works on one device, in one stream: what is asked of it happens in that order, later; `synchronize` waits.
"""

from __future__ import annotations

from typing import Any, Protocol


class CudaError(RuntimeError):
    """The device or its driver reported a failure."""


class DeviceLost(CudaError):
    """The device stopped working; this process cannot use it any more. What is on the host is untouched."""


class OutOfDeviceMemory(MemoryError):
    """The device has no room for an array."""


class NoDevice(RuntimeError):
    """CUDA cannot be used here; the message says what is missing."""


LOST = (
    "the GPU stopped ({}); this process cannot use it any more. "
    "Values on the host are untouched; start a new process to go on with the GPU"
)
WRONG_KERNELS = (
    "the GPU {} ({}) cannot run the compiled kernels ({}). Its driver is made for CUDA {}: kernels of a CUDA compiler "
    "with a higher first number need a newer driver (CUDA 13 needs 580 or later)"
)
NO_LIBRARY = "there is no NVIDIA driver on this machine (its library libcuda.so.1 was not found)"
NOT_SO_MANY = "device number {} was asked for, and the NVIDIA driver finds {} (numbers start at 0)"
NO_DEVICE = "the NVIDIA driver finds no GPU; if there is one, look at the environment variable CUDA_VISIBLE_DEVICES"
NOT_READY = {
    "NO_DEVICE": NO_DEVICE,
    "SYSTEM_NOT_READY": "the GPUs are not ready yet; on machines with NVSwitch (HGX, DGX) that is so until the service "
    "nvidia-fabricmanager runs, in the version of the driver",
    "SYSTEM_DRIVER_MISMATCH": "the library of the NVIDIA driver is of another version than its kernel module; after "
    "an update restart the machine, and in a container use the driver of the host",
    "COMPAT_NOT_SUPPORTED_ON_DEVICE": "the compatibility package of the NVIDIA driver (cuda-compat) is not for this "
    "GPU; take it from the search path of libraries, or update the driver",
    "OPERATING_SYSTEM": "the NVIDIA driver may not use its devices: can this process open /dev/nvidia0 and "
    "/dev/nvidiactl?",
}
NOT_OPENED = "GPU number {} cannot be used: {}; nvidia-smi shows which processes hold it"
FORKED = (
    "the GPU cannot be used in a process that was forked from one that has used it; start it with "
    "multiprocessing.get_context('spawn'), or fork before the GPU is first used"
)


def not_ready(name: str) -> str:
    """Why the NVIDIA driver cannot be initialised, by the name of its error."""
    return NOT_READY.get(name, f"the NVIDIA driver cannot be initialised ({name})")


class Driver(Protocol):
    """One device with one stream. Addresses and sizes are plain integers, in bytes."""

    name: str
    device_name: str
    arch: str  # "sm_90"
    multiprocessors: int
    stream: int  # the handle of the stream

    def enter(self) -> Any:
        """Work in the device's context from now on, in this thread; gives what `leave` needs."""

    def leave(self, before: Any) -> None:
        """Go back to the context of another library, if the thread was in one."""

    def home_of(self, address: int) -> int | None:
        """The number of the device that has some memory; None if it is not known."""

    def memory(self) -> tuple[int, int]:
        """(free, total)."""

    def allocate(self, size: int) -> int:
        """Room on the device, aligned to 256 bytes; OutOfDeviceMemory if there is none."""

    def free(self, address: int) -> None:
        """Give room back, once the work queued so far is done with it."""

    def upload(self, address: int, host: Any) -> None:
        """Copy a contiguous array to the device. The array may change as soon as this returns."""

    def download(self, host: Any, address: int) -> None:
        """Copy to a contiguous array on the host; it is there after `synchronize`."""

    def landing(self, size: int) -> Any:
        """Bytes of the host, page-locked where the package can: a download to them does not wait."""

    def mark(self) -> Any:
        """A point in the work queued so far, which may be waited for once."""

    def reach(self, mark: Any) -> None:
        """Wait for the work up to a point, not for what was queued later."""

    def copy(self, to: int, source: int, size: int) -> None:
        """Copy on the device."""

    def copy_across(self, to: int, other: Driver, source: int, size: int) -> bool:
        """Copy from another device, which goes on when that is done; False if that has to go through the host."""

    def clear(self, address: int, size: int) -> None:
        """Set bytes to zero."""

    def load(self, image: bytes) -> Any:
        """Make the kernels of a compiled image known."""

    def kernel(self, module: Any, name: str) -> Any:
        """A kernel of a loaded image."""

    def launch(
        self, kernel: Any, grid: tuple[int, int, int], block: tuple[int, int, int], arguments: list[Any]
    ) -> None:
        """Queue a kernel; the arguments are ctypes numbers."""

    def synchronize(self) -> None:
        """Wait for all work; CudaError if something went wrong since the last time."""

    def wait_for(self, stream: int) -> None:
        """What is queued here from now on waits for the work queued so far in the stream of another library."""

    def followed_by(self, stream: int) -> None:
        """What is queued in the stream of another library from now on waits for the work queued here so far."""

    def capture(self) -> None:
        """Record the following work instead of doing it."""

    def captured(self) -> Any:
        """The recorded work as a graph, or None where the driver has no graphs."""

    def replay(self, graph: Any) -> None:
        """Queue recorded work."""
