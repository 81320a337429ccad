"""DeviceArray: an array in the memory of the GPU. NumPy gets a copy of it; GPU libraries get the memory itself."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from termgraph.backends.cuda.run.context import Device, current, helpers, numbered
from termgraph.backends.cuda.run.dlpack import capsule, imported
from termgraph.terms.dtypes import BFLOAT16_TYPESTR, numpy_dtype
from termgraph.vm.aliasing import HELD

DEFAULT_STREAM = 1  # the one that libraries work in unless told otherwise; ours does not wait for it by itself


class DeviceArray:
    """An array on the device. `np.asarray(a)` copies it to the host; `a.T` and `a[1::2]` are views of the same memory.

    It offers `__cuda_array_interface__` and `__dlpack__`, so PyTorch, CuPy and JAX take it without a copy.
    """

    __slots__ = ("__weakref__", "address", "device", "dtype", "keeps", "lent", "shape", "stream", "strides")

    def __init__(
        self, device: Device, address: int, shape: tuple[int, ...], dtype: Any, keeps: Any = None,
        stream: int | None = None, strides: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self.device, self.address = device, address
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.keeps = keeps  # what owns the memory, if it is not this array
        self.stream = stream  # the one in which that works, if it is known
        self.lent: set[int] = set()  # streams of others that may read the memory
        packed = strides is None or tuple(strides) == _packed(self.shape) or 0 in self.shape
        self.strides = None if packed else tuple(strides or ())  # in elements; None where it is C-contiguous

    def __del__(self) -> None:
        if getattr(self, "keeps", self) is None and not sys.is_finalizing():
            self.device.free(self.address, self.lent)

    @classmethod
    def empty(cls, device: Device, shape: tuple[int, ...], dtype: Any, purpose: str = "an array") -> DeviceArray:
        """An array with any content."""
        dtype = np.dtype(dtype)
        address = device.allocate(prod(shape) * dtype.itemsize, (purpose, dtype, tuple(shape)))
        return cls(device, address, shape, dtype)

    @classmethod
    def of(
        cls, value: Any, purpose: str = "an argument", device: Device | None = None, spare: Spare | None = None,
        name: str | None = None,
    ) -> DeviceArray:  # fmt: skip
        """An array with the values of one on the host; in memory of `spare`, if that has some."""
        host = np.ascontiguousarray(value).reshape(np.shape(value))
        if host.dtype == bool:  # any byte but 0 is true on the host; kernels know 1 only
            host = np.asarray(host.view(np.uint8) != 0)
        spare = spare or Spare(device or current())
        made = spare.take(name, host.shape, host.dtype, purpose)
        if host.size:
            with made.device.lock:  # here and below: nothing of ours may get into what another thread records
                made.device.driver.upload(made.address, host)
        return made

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def steps(self) -> tuple[int, ...]:
        """Its strides, in elements."""
        return _packed(self.shape) if self.strides is None else self.strides

    def view(self, begin: int, shape: Sequence[int], strides: Sequence[int]) -> DeviceArray:
        """Another array on the same memory, which starts at some element."""
        address = self.address + begin * self.dtype.itemsize
        return DeviceArray(self.device, address, tuple(shape), self.dtype, self, self.stream, strides)

    @property
    def T(self) -> DeviceArray:
        """The axes in reverse order, where they are."""
        return self.view(0, self.shape[::-1], self.steps[::-1])

    def __getitem__(self, key: object) -> DeviceArray:
        """Part of the array, where it is: numbers, slices, `...` and None."""
        begin, axis = 0, 0
        shape: list[int] = []
        strides: list[int] = []
        for k in _full_key(key, self.ndim):
            if k is None:
                shape.append(1)
                strides.append(0)
                continue
            n, step = self.shape[axis], self.steps[axis]
            axis += 1
            if isinstance(k, slice):
                first, end, by = k.indices(n)
                shape.append(len(range(first, end, by)))
                strides.append(step * by)
            else:
                first = operator.index(k)
                if not -n <= first < n:
                    raise IndexError(f"index {first} is out of bounds for axis {axis - 1} with size {n}")
                first %= n
            begin += first * step
        return self.view(begin if 0 not in shape else 0, shape, strides)

    def contiguous(self) -> DeviceArray:
        """The array itself, or a copy if it is not C-contiguous."""
        if self.strides is None:
            return self
        return helpers().copy(self)

    @property
    def is_foreign(self) -> bool:
        """Whether another library owns the memory."""
        return self.owner().keeps is not None

    def rows(self, begin: int, end: int) -> DeviceArray:
        """Some rows, where they are."""
        return self[begin:end]

    def __len__(self) -> int:
        return self.shape[0]

    def to_host(self) -> np.ndarray:
        """A copy on the host."""
        return to_host([self])[0]

    def copy(self) -> DeviceArray:
        """Another array with the same values."""
        if self.strides is not None:
            return self.contiguous()
        other = DeviceArray.empty(self.device, self.shape, self.dtype, "a copy")
        other.assign(self)
        return other

    def assign(self, other: DeviceArray) -> None:
        """Take the values of another array of the same shape and dtype."""
        if self.size:
            other = other.contiguous()
            with self.device.lock:
                self.device.driver.copy(self.address, other.address, self.nbytes)

    def __deepcopy__(self, memo: dict) -> DeviceArray:
        return self.copy()

    def __reduce__(self) -> tuple:
        return (np.array, (self.to_host(),))

    def __array__(self, dtype: str | None = None, copy: Any = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array on the GPU cannot be seen from the host without a copy")
        return self.to_host() if dtype is None else self.to_host().astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"<DeviceArray, {self.dtype}, shape {self.shape}>"

    # ------------------------------------------------------------------ other libraries
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.wait()  # not every library looks at a stream that is named here
        self.owner().lent.add(DEFAULT_STREAM)
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address if self.size else 0, False),
            "strides": None if self.strides is None else tuple(n * self.dtype.itemsize for n in self.strides),
            "version": 3,
            "stream": None,
        }

    def wait(self) -> None:
        """Until everything that was queued is done."""
        with self.device.lock:
            self.device.driver.synchronize()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.device.number)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A capsule for the library that asks: its `stream` waits for us, and we for it before we reuse the memory."""
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"this array is on device {self.__dlpack_device__()}, not on {tuple(dl_device)}")
        if copy:
            return self.copy().__dlpack__(stream=stream)
        if stream != -1:  # else nobody shall wait for anybody
            theirs = DEFAULT_STREAM if stream is None else int(stream)
            with self.device.lock:
                self.device.driver.followed_by(theirs)
            self.owner().lent.add(theirs)
        return capsule(self)

    def owner(self) -> DeviceArray:
        """The array that this one is a view of."""
        array = self
        while isinstance(array.keeps, DeviceArray):
            array = array.keeps
        return array


class Spare:
    """Memory that calls take again and again, by name, as long as nobody has kept what was in it.

    So addresses stay the same from call to call, and recorded work can be replayed. Of small arrays there are two that
    take turns, for callers who hold the last result until there is the next one, as `y = f(x)` in a loop does.
    """

    TWO = 1 << 20  # bytes up to which there are two

    def __init__(self, device: Device) -> None:
        self.device = device
        self.arrays: dict[Any, list[DeviceArray]] = {}
        device.spares.add(self)

    def take(self, name: Any, shape: tuple[int, ...], dtype: Any, purpose: str) -> DeviceArray:
        """An array with any content; without a name it is not taken again."""
        kept = self.arrays.get(name, ())
        for found in kept:
            free = sys.getrefcount(found) <= HELD  # `kept`, `found` and what Python itself has meanwhile
            if free and found.shape == shape and found.dtype == dtype:
                if found.lent:  # whoever borrowed it has let go of it, but may still be reading
                    with self.device.lock:
                        while found.lent:
                            self.device.driver.wait_for(found.lent.pop())
                return found
        made = DeviceArray.empty(self.device, shape, dtype, purpose)
        if name is not None:
            same = [a for a in kept if a.shape == made.shape and a.dtype == made.dtype and made.nbytes <= self.TWO]
            self.arrays[name] = [made, *same[:1]]
        return made

    def free(self) -> None:
        """Give all memory back."""
        self.arrays.clear()


def to_host(values: Sequence[Any]) -> list[Any]:
    """The values, copied to the host if they are on the device, with one wait for all."""
    values = [v.contiguous() if isinstance(v, DeviceArray) else v for v in values]
    out: list[Any] = [np.empty(v.shape, v.dtype) if isinstance(v, DeviceArray) else v for v in values]
    moving = [(v, host) for v, host in zip(values, out) if isinstance(v, DeviceArray) and host.size]
    for device in dict.fromkeys(v.device for v, _ in moving):
        with device.lock:
            for v, host in moving:
                if v.device is device:
                    device.driver.download(host, v.address)
            device.driver.synchronize()
    return out


def as_device_array(
    value: object, device: Device | None = None, spare: Spare | None = None, name: Any = None
) -> DeviceArray:
    """The array on the device: itself, another library's memory without a copy, or a copy from the host."""
    if isinstance(value, DeviceArray):
        return value if device is None or value.device is device else _across(value, device, spare, name)
    interface = interface_of(value)
    if interface is None:
        return DeviceArray.of(value, "an argument", device, spare, name)
    address = interface["data"][0] or 0
    device = device or current()
    with device.lock:
        home = interface.get("device", device.driver.home_of(address)) if address else None
    if home is not None and home != device.number:  # on another device: copied from there
        return as_device_array(as_device_array(value, numbered(home)), device, spare, name)
    if interface.get("mask") is not None:
        raise ValueError("an array on the GPU with a mask cannot be taken; fill in what it hides first")
    shape, dtype = tuple(interface["shape"]), _dtype_of(interface["typestr"])
    strides = interface.get("strides")
    stream = interface.get("stream", DEFAULT_STREAM)  # None: whoever made it has waited
    if stream is not None:
        with device.lock:
            device.driver.wait_for(stream)
    if strides is not None and any(n % dtype.itemsize for n in strides):
        raise ValueError(
            f"an array on the GPU with strides of {tuple(strides)} bytes has elements of {dtype.itemsize} bytes that "
            "do not lie side by side; copy it first (x.contiguous() in PyTorch, cupy.ascontiguousarray(x) in CuPy)"
        )
    steps = None if strides is None else tuple(n // dtype.itemsize for n in strides)
    owner = interface.get("owner", value)
    return DeviceArray(device, address, shape, dtype, owner, stream, steps)


def _dtype_of(typestr: str) -> np.dtype:
    return numpy_dtype("bfloat16" if typestr == BFLOAT16_TYPESTR else typestr)


def _across(value: DeviceArray, device: Device, spare: Spare | None, name: str | None) -> DeviceArray:
    """The array on another device: copied from one to the other if they can, else by way of the host."""
    value = value.contiguous()
    made = (spare or Spare(device)).take(name, value.shape, value.dtype, "a copy from another device")
    if not value.size:
        return made
    first, second = sorted((value.device, device), key=lambda d: d.number)
    with first.lock, second.lock:
        there = device.driver.copy_across(made.address, value.device.driver, value.address, value.nbytes)
        if not there:
            host = np.empty(value.shape, value.dtype)
            value.device.driver.download(host, value.address)
            value.device.driver.synchronize()
            device.driver.upload(made.address, host)
    return made


def interface_of(value: object) -> dict[str, Any] | None:
    """Where an array of another library lies on the GPU; None if it is not there."""
    found = getattr(value, "__cuda_array_interface__", None)
    if found is None and hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] == 2:
        return imported(value)
    return found


def _full_key(key: object, ndim: int) -> list[Any]:
    """One entry per axis, and None for each new one."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if not all(k is None or k is Ellipsis or isinstance(k, slice) or hasattr(k, "__index__") for k in keys):
        raise TypeError(f"arrays on the GPU are indexed by numbers, slices, ... and None, got {key!r:.60}")
    missing = ndim - sum(k is not None and k is not Ellipsis for k in keys)
    if missing < 0 or keys.count(Ellipsis) > 1:
        raise IndexError(f"{key!r:.60} is no index of an array with {ndim} dimensions")
    at = keys.index(Ellipsis) if Ellipsis in keys else len(keys)
    return [*keys[:at], *[slice(None)] * missing, *keys[at + 1 :]]


def _packed(shape: tuple[int, ...], item: int = 1) -> tuple[int, ...]:
    out: list[int] = []
    for n in reversed(shape):
        out.insert(0, item)
        item *= n
    return tuple(out)
