"""NCCL by ctypes: sums of arrays on several GPUs, one per process. Used where its library is installed.

May touch: the library libnccl.so.2, looked for when a worker with a GPU gets ready. Communicators never block: who
waits looks whether the others are still there, and can leave.
"""

from __future__ import annotations

import ctypes
import importlib.util
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

LIBRARY, PACKAGE = "libnccl.so.2", "nvidia.nccl"
OLDEST = 21400  # the first version with communicators that do not block
ID_BYTES = 128
IN_PROGRESS, SUM = 7, 0
TYPES = {
    "int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5,
    "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
}  # fmt: skip


class NcclError(RuntimeError):
    """NCCL reported a failure."""


class UniqueId(ctypes.Structure):
    """What the members of one communicator have in common."""

    _fields_ = (("content", ctypes.c_char * ID_BYTES),)


class Settings(ctypes.Structure):
    """The settings of a communicator as the oldest version has them; later ones fill in what came after."""

    _fields_ = (
        ("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint), ("blocking", ctypes.c_int)
    )  # fmt: skip


class Piece(NamedTuple):
    """An array on the GPU: where it is, how many elements it has, and of which type."""

    address: int
    size: int
    dtype: str


class Library:
    """The functions of the library that are used."""

    def __init__(self, functions: Any) -> None:
        self._functions = functions
        handle, place = ctypes.c_void_p, ctypes.POINTER
        signatures: dict[str, list[Any]] = {
            "ncclGetVersion": [place(ctypes.c_int)],
            "ncclGetUniqueId": [place(UniqueId)],
            "ncclCommInitRankConfig": [place(handle), ctypes.c_int, UniqueId, ctypes.c_int, place(Settings)],
            "ncclCommGetAsyncError": [handle, place(ctypes.c_int)],
            "ncclAllReduce": [handle, handle, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, handle, handle],
            "ncclGroupStart": [],
            "ncclGroupEnd": [],
            "ncclCommAbort": [handle],
        }
        for name, arguments in signatures.items():
            function = getattr(functions, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
        functions.ncclGetErrorString.argtypes = [ctypes.c_int]
        functions.ncclGetErrorString.restype = ctypes.c_char_p
        found = ctypes.c_int()
        self.call("ncclGetVersion", ctypes.byref(found))
        self.version = found.value

    def call(self, name: str, *args: Any) -> None:
        """Call a function; NcclError if it fails. What goes on in the background is no failure."""
        self.judge(name, getattr(self._functions, name)(*args))

    def judge(self, name: str, result: int) -> None:
        """NcclError if a result is one."""
        if result not in (0, IN_PROGRESS):
            why = self._functions.ncclGetErrorString(result) or b"no reason given"
            raise NcclError(f"{name}: {why.decode()} ({result})")

    def unique_id(self) -> bytes:
        """The name of a new communicator, made by one of its members."""
        made = UniqueId()
        self.call("ncclGetUniqueId", ctypes.byref(made))
        return bytes(memoryview(made))


class Communicator:
    """One member of a group of processes that add arrays. `check` is called while it waits, and may raise.

    `abort` may be called by another thread: it ends what is still going on, on the GPU too.
    """

    def __init__(self, library: Library, members: int, rank: int, name: bytes, check: Callable[[], None]) -> None:
        self.library, self._check = library, check
        self._handle = ctypes.c_void_p()
        self._once = threading.Lock()
        self.aborted = False
        settings = Settings(ctypes.sizeof(Settings), 0xCAFEBEEF, OLDEST, 0)
        wanted = (members, UniqueId.from_buffer_copy(name), rank, ctypes.byref(settings))
        library.call("ncclCommInitRankConfig", ctypes.byref(self._handle), *wanted)
        try:
            self.settle()
        except BaseException:
            self.abort()
            raise

    def settle(self) -> None:
        """Wait until what was asked for is accepted."""
        state, pause = ctypes.c_int(IN_PROGRESS), 0.00005
        while True:
            with self._once:  # nobody asks a communicator that is gone
                if self.aborted:
                    return
                self.library.call("ncclCommGetAsyncError", self._handle, ctypes.byref(state))
            self.library.judge("NCCL", state.value)
            if state.value != IN_PROGRESS:
                return
            self._check()
            time.sleep(pause)
            pause = min(pause * 1.2, 0.002)

    def all_reduce(self, pieces: Sequence[Piece], stream: int) -> None:
        """Queue the sums of arrays over all members, in their place, in a stream of the device."""
        library = self.library
        library.call("ncclGroupStart")
        try:
            for address, size, dtype in pieces:
                if size:
                    where = (address, address, size, TYPES[dtype], SUM)
                    library.call("ncclAllReduce", *where, self._handle, ctypes.c_void_p(stream))
        finally:
            library.call("ncclGroupEnd")
        self.settle()

    def abort(self) -> None:
        """Leave the group; what others still wait for from here does not come."""
        with self._once:
            if not self.aborted:
                self.aborted = True
                self.library.call("ncclCommAbort", self._handle)


def _places() -> list[str]:
    """Where the library may be: where the loader looks, and in the package that brings it to Python."""
    try:
        found = importlib.util.find_spec(PACKAGE)
    except ModuleNotFoundError:
        found = None
    folders = list(found.submodule_search_locations or []) if found else []
    return [LIBRARY, *(str(Path(folder) / "lib" / LIBRARY) for folder in folders)]


@cache
def library() -> Library | str:
    """The library, or why there is none that can be used."""
    for place in _places():
        try:
            found = Library(ctypes.CDLL(place))
        except (OSError, AttributeError, NcclError) as err:
            why = f"NCCL cannot be used: {err}"
            continue
        if found.version >= OLDEST:
            return found
        why = f"NCCL is too old: version {found.version}, and {OLDEST} is needed"
    return why
