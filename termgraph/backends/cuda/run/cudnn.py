"""Convolutions by cuDNN 9, through ctypes. Without it, and for what it does not know, own kernels do the work.

What the library is asked, and what computes it, is kept per shape: the algorithm that is recommended, or the fastest
of some plans (`cudnn_timing`). May touch: the library, opened when a program asks for it.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from math import gcd
from pathlib import Path
from typing import Any

from termgraph.backends.cuda.driver.base import CudaError, OutOfDeviceMemory
from termgraph.backends.cuda.run import cudnn_timing
from termgraph.backends.cuda.run.cudnn_engines import Engines, NotSupported
from termgraph.backends.cuda.run.cudnn_products import products
from termgraph.config import config

LIBRARY = "libcudnn.so.9"
INSTALL = "pip install nvidia-cudnn-cu13 installs it"
WORKSPACE = 1 << 30, 16  # the most bytes that an algorithm may keep, and the share of the memory: the less counts
FIRST_ROOM = 1 << 20  # bytes; later ones are twice as large as the last
TYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 9}  # cudnnDataType_t
EXACT, TENSOR_CORES, ROUNDED = 3, 1, 0  # cudnnMathType_t: FMA only, tensor cores, and those for TF32
DETERMINISTIC = 1
MODES = {False: 1, True: 0}  # cudnnConvolutionMode_t: whether filters are turned
ALGORITHMS = 8  # that are asked for

# What products are multiplied by, and what was there before: in doubles or not.
FACTORS = {wide: (number(1), number(0)) for wide, number in ((False, ctypes.c_float), (True, ctypes.c_double))}
ALIGNMENT = 16  # bytes, the most that kernels ask of addresses

# The functions that are called, and their parameters: pointers, numbers, sizes.
SIGNATURES = {
    "cudnnCreate": "p", "cudnnSetStream": "pp", "cudnnGetVersion": "",
    "cudnnCreateTensorDescriptor": "p", "cudnnSetTensorNdDescriptor": "piipp",
    "cudnnCreateFilterDescriptor": "p", "cudnnSetFilterNdDescriptor": "piiip",
    "cudnnCreateConvolutionDescriptor": "p", "cudnnSetConvolutionNdDescriptor": "pipppii",
    "cudnnSetConvolutionGroupCount": "pi", "cudnnSetConvolutionMathType": "pi",
    "cudnnGetConvolutionForwardAlgorithm_v7": "pppppipp",
    "cudnnGetConvolutionBackwardDataAlgorithm_v7": "pppppipp",
    "cudnnGetConvolutionBackwardFilterAlgorithm_v7": "pppppipp",
    "cudnnGetConvolutionForwardWorkspaceSize": "pppppip",
    "cudnnGetConvolutionBackwardDataWorkspaceSize": "pppppip",
    "cudnnGetConvolutionBackwardFilterWorkspaceSize": "pppppip",
    "cudnnConvolutionForward": "pppppppipzppp",
    "cudnnConvolutionBackwardData": "pppppppipzppp",
    "cudnnConvolutionBackwardFilter": "pppppppipzppp",
    "cudnnBackendCreateDescriptor": "ip", "cudnnBackendDestroyDescriptor": "p", "cudnnBackendFinalize": "p",
    "cudnnBackendSetAttribute": "piilp", "cudnnBackendGetAttribute": "piilpp", "cudnnBackendExecute": "ppp",
}  # fmt: skip
_C = {"p": ctypes.c_void_p, "i": ctypes.c_int, "z": ctypes.c_size_t, "l": ctypes.c_int64}
# A routine -> the name in the functions, and which arrays it reads and writes: images, filters, results.
ROLES = {
    "conv_panels": ("Forward", ("x", "w", "y")),
    "conv_spread": ("BackwardData", ("w", "y", "x")),
    "conv_taps": ("BackwardFilter", ("x", "y", "w")),
}


class Performance(ctypes.Structure):
    """An algorithm that the library offers (cudnnConvolutionFwdAlgoPerf_t and its kin)."""

    _fields_ = [
        ("algo", ctypes.c_int),
        ("status", ctypes.c_int),
        ("time", ctypes.c_float),
        ("memory", ctypes.c_size_t),
        ("determinism", ctypes.c_int),
        ("math", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
    ]


@functools.cache
def library() -> Any:
    """The library with the types of its functions, or None where it is not installed."""
    wheel = find_spec("nvidia.cudnn") if find_spec("nvidia") is not None else None
    folders = [Path(p, "lib") for p in (wheel.submodule_search_locations or ())] if wheel is not None else []
    for name in (LIBRARY, *[str(folder / LIBRARY) for folder in folders]):
        try:
            found = ctypes.CDLL(name)
            for function, signature in SIGNATURES.items():
                getattr(found, function).argtypes = [_C[c] for c in signature]
            return found
        except (OSError, AttributeError):  # it is not there, or another version
            continue
    return None


def why_not() -> str | None:
    """Why no convolution can be left to the library; None if it is installed."""
    return None if library() is not None else f"NVIDIA's library cuDNN 9 ({LIBRARY}) is not installed; {INSTALL}"


class Cudnn:
    """A handle on the stream of a device."""

    def __init__(self, device: Any, found: Any) -> None:
        self.library, self.device = found, device
        self.handle = self.made("cudnnCreate")
        self.call("cudnnSetStream", self.handle, int(device.driver.stream))
        self.rooms: list[tuple[int, int]] = []  # workspaces and their sizes; recordings hold the old ones
        self.most = min(WORKSPACE[0], int(device.driver.memory()[1]) // WORKSPACE[1])
        self.plans: dict[tuple, cudnn_timing.Plan | None] = {}
        self.calls = 0

    @classmethod
    def open(cls, device: Any) -> Cudnn | None:
        """cuDNN for a device, or None where the library is not installed."""
        found = library()
        return None if found is None else cls(device, found)

    # ------------------------------------------------------------------ calling
    def call(self, name: str, *args: Any) -> None:
        """One function; an error of the library is an exception."""
        status = getattr(self.library, name)(*args)
        if 3000 <= status < 4000:
            raise NotSupported(name)
        if status:
            raise CudaError(f"cuDNN: {name} failed with status {status}")

    def made(self, name: str) -> int:
        """What a function creates."""
        out = ctypes.c_void_p()
        self.call(name, ctypes.addressof(out))
        return int(out.value or 0)

    def convolve(self, p: Mapping[str, Any], at: Mapping[Any, int], precision: str, timed: bool = False) -> bool:
        """Queue a convolution or a gradient of one; False if the library does not know it.

        The first time it is decided what computes it: if `timed` and the flag agree, what is the fastest.
        """
        places = dict(zip(ROLES[p["name"]][1], [at[buf] + offset for buf, offset in p["places"]]))
        timed = timed and bool(config.cuda.time_convolutions)
        key = (p["name"], p["dtype"], p["key"], precision, _alignment(places.values()) if timed else 0)
        if key not in self.plans:
            if timed and self.device.recording:  # nothing can be waited for
                return self.convolve(p, at, precision)
            self.plans[key] = self.planned(p, precision, places if timed else None)
        plan = self.plans[key]
        if plan is None:
            return False
        plan.run(places)
        self.calls += 1
        return True

    # ------------------------------------------------------------------ planning
    def planned(
        self, p: Mapping[str, Any], precision: str, places: Mapping[str, int] | None = None
    ) -> cudnn_timing.Plan | None:
        """What computes a problem; None if there is nothing that repeats its results. With places it is timed."""
        math = self.math(p["dtype"], precision)
        if math is None:
            return None
        usual = self.recommended(p, math)
        if places is None:
            return usual
        align = _alignment(places.values())
        how = {name: p[name] for name in ("name", "dtype", *"xwy", "pad", "stride", "dilation", "groups", "turned")}
        driver = self.device.driver
        own = products(self.device, p, precision)
        versions = [self.library.cudnnGetVersion(), *[plan.version() for plan in own]]
        on = [driver.device_name, driver.arch, *versions, self.most]
        return cudnn_timing.fastest(
            self, usual, lambda: Engines(self, p, TYPES, MODES[p["turned"]], align), math == EXACT, places,
            [how, math, align, on], own,
        )  # fmt: skip

    def recommended(self, p: Mapping[str, Any], math: int) -> Algorithm | None:
        """The descriptors of a problem, and the algorithm for it; None if there is none that repeats its results."""
        arrays = {"x": self.tensor(p["x"], p["dtype"]), "w": self.filters(p["w"], p["dtype"])}
        arrays["y"] = self.tensor(p["y"], p["dtype"])
        what = self.made("cudnnCreateConvolutionDescriptor")
        n, computed = len(p["pad"]), TYPES["float64" if p["dtype"] == "float64" else "float32"]
        try:
            steps = [_ints(p[name]) for name in ("pad", "stride", "dilation")]
            self.call("cudnnSetConvolutionNdDescriptor", what, n, *steps, MODES[p["turned"]], computed)
            self.call("cudnnSetConvolutionGroupCount", what, p["groups"])
            self.call("cudnnSetConvolutionMathType", what, math)
            return self.chosen(p["name"], arrays, what, math, p["dtype"] == "float64")
        except NotSupported:
            return None

    def math(self, dtype: str, precision: str) -> int | None:
        """What products may be rounded to; None if the library has nothing of the kind."""
        arch = self.device.driver.arch  # "sm_75"
        old = arch.startswith("sm_") and int(arch[3:]) < 80
        if dtype == "float32":
            return {"float32": EXACT, "tf32": ROUNDED}.get(precision)
        return ROUNDED if dtype == "float64" else None if dtype == "bfloat16" and old else TENSOR_CORES

    def tensor(self, shape: tuple[int, ...], dtype: str) -> int:
        """The descriptor of images, or of results, whose elements lie one after the other."""
        found, strides = self.made("cudnnCreateTensorDescriptor"), [1]
        for length in reversed(shape[1:]):
            strides.insert(0, strides[0] * length)
        self.call("cudnnSetTensorNdDescriptor", found, TYPES[dtype], len(shape), _ints(shape), _ints(strides))
        return found

    def filters(self, shape: tuple[int, ...], dtype: str) -> int:
        """The descriptor of filters."""
        found = self.made("cudnnCreateFilterDescriptor")
        self.call("cudnnSetFilterNdDescriptor", found, TYPES[dtype], 0, len(shape), _ints(shape))
        return found

    def chosen(
        self, name: str, arrays: Mapping[str, int], what: int, math: int, wide: bool = False
    ) -> Algorithm | None:
        """The first algorithm that the library recommends, of those that repeat their results and have room enough."""
        kind, (first, second, out) = ROLES[name]
        offered, count = (Performance * ALGORITHMS)(), ctypes.c_int(0)
        problem = (arrays[first], arrays[second], what, arrays[out])
        self.call(
            f"cudnnGetConvolution{kind}Algorithm_v7", self.handle, *problem, ALGORITHMS, ctypes.addressof(count),
            ctypes.addressof(offered),
        )  # fmt: skip
        for x in offered[: count.value]:
            exact = math != EXACT or x.math in (EXACT, ROUNDED)
            if x.status or x.determinism != DETERMINISTIC or x.memory > self.most or not exact:
                continue
            if math != EXACT:
                self.call("cudnnSetConvolutionMathType", what, x.math)
            size = ctypes.c_size_t(0)
            try:
                self.call(
                    f"cudnnGetConvolution{kind}WorkspaceSize", self.handle, *problem, x.algo, ctypes.addressof(size)
                )
            except NotSupported:
                continue
            room = self.room(size.value) if size.value <= self.most else None
            if room is not None:
                return Algorithm(self, name, dict(arrays), what, x.algo, size.value, room, FACTORS[wide])
        return None

    def room(self, size: int) -> int | None:
        """A workspace of at least this size, one for all calls: the stream runs one after the other.

        It is asked for while a problem is planned, which is before anything is recorded. None if it is not to be had:
        then an algorithm that wants less is taken.
        """
        if self.rooms and size <= self.rooms[-1][1]:
            return self.rooms[-1][0]
        twice = 2 * self.rooms[-1][1] if self.rooms else FIRST_ROOM
        for wanted in dict.fromkeys((max(size, min(twice, self.most)), size)):
            try:
                self.rooms.append((self.device.allocate(wanted, "the workspace of cuDNN"), wanted))
                return self.rooms[-1][0]
            except OutOfDeviceMemory:
                continue
        return None


class Algorithm:
    """An algorithm for a problem: the descriptors of that, the room that it needs, factors of 1 and 0."""

    def __init__(
        self, dnn: Cudnn, name: str, arrays: dict[str, int], what: int, algorithm: int, size: int, room: int,
        factors: tuple[Any, Any],
    ) -> None:  # fmt: skip
        self.dnn, self.name, self.arrays, self.what, self.factors = dnn, name, arrays, what, factors
        self.algorithm, self.size, self.room = algorithm, size, room

    def __str__(self) -> str:
        return f"algorithm {self.algorithm}"

    def run(self, places: Mapping[str, int]) -> None:
        """Queue it, with arrays at these addresses."""
        kind, (first, second, out) = ROLES[self.name]
        a, b, c = self.arrays[first], self.arrays[second], self.arrays[out]
        one, zero = map(ctypes.addressof, self.factors)
        self.dnn.call(
            f"cudnnConvolution{kind}", self.dnn.handle, one, a, places[first], b, places[second],
            self.what, self.algorithm, self.room, self.size, zero, c, places[out],
        )  # fmt: skip


def _alignment(addresses: Iterable[int]) -> int:
    """What all addresses are multiples of, as far as kernels ask."""
    return functools.reduce(gcd, addresses, ALIGNMENT)


def _ints(values: Any) -> Any:
    """Numbers as the library reads them; the array lives until the call is over."""
    return (ctypes.c_int * len(values))(*values)
