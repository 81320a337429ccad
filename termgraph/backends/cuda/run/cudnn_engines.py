"""Engines of cuDNN for a convolution, with their knobs: finer than its algorithms, of which each has several tiles.

A convolution is described as a graph of one operation; heuristics rank what computes it. May touch: the library.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from termgraph.backends.cuda.driver.base import CudaError

# cudnnBackendDescriptorType_t
CONVOLUTION, ENGINE, CONFIG, HEURISTICS, PLAN, KNOB, GRAPH, PACK, TENSOR = 1, 2, 3, 4, 5, 7, 15, 16, 17
# cudnnBackendAttributeType_t, and what elements of it are in C
HANDLE, DATA_TYPE, INT64, FLOAT, DOUBLE, POINTER, MODE, RANKING, KNOB_TYPE, NOTE, DESCRIPTOR, BEHAVIOUR = (
    0, 1, 3, 4, 5, 6, 7, 8, 9, 11, 15, 19,
)  # fmt: skip
_C: dict[int, Any] = {
    **dict.fromkeys((HANDLE, POINTER, DESCRIPTOR), ctypes.c_void_p),
    **dict.fromkeys((DATA_TYPE, MODE, RANKING, KNOB_TYPE, NOTE, BEHAVIOUR), ctypes.c_int),
    INT64: ctypes.c_int64,
    FLOAT: ctypes.c_float,
    DOUBLE: ctypes.c_double,
}
# A routine -> the type of its operation, and the first of its attributes: two factors, the convolution, and `ARRAYS`.
OPERATIONS = {"conv_panels": (10, 700), "conv_spread": (12, 706), "conv_taps": (11, 712)}
ARRAYS = "wxy"
NUMBERS = {"x": 1, "w": 2, "y": 3}  # of arrays in the graph
RANKINGS = 3, 2  # cudnnBackendHeurMode_t: mode A, then what always works
ASKED = 32  # configurations of each ranking
KNOBS = 64  # at least as many as there are kinds
# cudnnBackendNumericalNote_t: tensor cores, operands or sums of fewer bits, sums in any order
TENSOR_CORE, INEXACT = 0, frozenset((1, 2, 4))
COMPILED = 0  # cudnnBackendBehaviorNote_t: kernels are compiled when a plan is made, which takes seconds


class NotSupported(Exception):
    """The library says that it does not know a problem."""


REFUSED = (NotSupported, CudaError)


class Library(Protocol):
    """What is asked of the library: a function by its name, for a handle."""

    handle: int

    def call(self, name: str, *args: Any) -> None:
        """One function; NotSupported or CudaError where it fails."""


class Engines:
    """A convolution as a graph, and the plans that compute it."""

    def __init__(self, library: Library, p: Mapping[str, Any], types: Mapping[str, int], mode: int, align: int) -> None:
        self.library = library
        wide, n = p["dtype"] == "float64", len(p["pad"])
        number = types["float64" if wide else "float32"]
        arrays = {role: self.tensor(NUMBERS[role], types[p["dtype"]], p[role], align) for role in ARRAYS}
        what = self.made(
            CONVOLUTION, (100, DATA_TYPE, [number]), (101, MODE, [mode]), (106, INT64, [n]),
            (102, INT64, p["dilation"]), (103, INT64, p["stride"]), (104, INT64, p["pad"]), (105, INT64, p["pad"]),
        )  # fmt: skip
        kind, first = OPERATIONS[p["name"]]
        factor = DOUBLE if wide else FLOAT
        operation = self.made(
            kind, (first, factor, [1.0]), (first + 1, factor, [0.0]), (first + 2, DESCRIPTOR, [what]),
            *[(first + 3 + k, DESCRIPTOR, [arrays[role]]) for k, role in enumerate(ARRAYS)],
        )  # fmt: skip
        self.graph = self.made(GRAPH, (801, DESCRIPTOR, [operation]), (800, HANDLE, [library.handle]))

    # ------------------------------------------------------------------ descriptors
    def empty(self, kind: int) -> int:
        """A descriptor without attributes."""
        out = ctypes.c_void_p()
        self.library.call("cudnnBackendCreateDescriptor", kind, ctypes.addressof(out))
        return int(out.value or 0)

    def made(self, kind: int, *attributes: tuple[int, int, Sequence[Any]]) -> int:
        """A descriptor with attributes: their names, types and elements."""
        out = self.empty(kind)
        for name, type_, values in attributes:
            elements = (_C[type_] * len(values))(*values)
            self.library.call("cudnnBackendSetAttribute", out, name, type_, len(values), ctypes.addressof(elements))
        self.library.call("cudnnBackendFinalize", out)
        return out

    def dropped(self, *descriptors: int) -> None:
        """Give descriptors back."""
        for one in descriptors:
            self.library.call("cudnnBackendDestroyDescriptor", one)

    def asked(self, descriptor: int, name: int, type_: int, room: int) -> list[Any]:
        """The elements of an attribute, at most so many."""
        elements, count = (_C[type_] * room)(), ctypes.c_int64(0)
        where = ctypes.addressof(count), ctypes.addressof(elements)
        self.library.call("cudnnBackendGetAttribute", descriptor, name, type_, room, *where)
        return list(elements[: min(count.value, room)])

    def parts(self, descriptor: int, name: int, kind: int, room: int) -> list[int]:
        """The descriptors that are an attribute of another."""
        given = [self.empty(kind) for _ in range(room)]
        elements, count = (ctypes.c_void_p * room)(*given), ctypes.c_int64(0)
        where = ctypes.addressof(count), ctypes.addressof(elements)
        self.library.call("cudnnBackendGetAttribute", descriptor, name, DESCRIPTOR, room, *where)
        self.dropped(*given[count.value :])
        return given[: count.value]

    def tensor(self, number: int, dtype: int, shape: Sequence[int], align: int) -> int:
        """An array whose elements lie one after the other."""
        strides = [1]
        for length in reversed(shape[1:]):
            strides.insert(0, strides[0] * length)
        return self.made(
            TENSOR, (901, DATA_TYPE, [dtype]), (902, INT64, shape), (903, INT64, strides), (906, INT64, [number]),
            (900, INT64, [align]),
        )  # fmt: skip

    # ------------------------------------------------------------------ plans
    def plans(self, exact: bool, most: int) -> Iterator[EnginePlan]:
        """What the heuristics recommend, the best first, without what rounds more or differs from call to call."""
        seen: set[Any] = set()
        for ranking in RANKINGS:
            for config in self.configs(ranking):
                if len(seen) == most:
                    return
                try:
                    (engine,) = self.parts(config, 300, ENGINE, 1)
                    if not self.fits(engine, exact):
                        continue
                    name = self.asked(engine, 1301, INT64, 1)[0], self.knobs(config)
                    if name not in seen:
                        seen.add(name)
                        yield self.plan(config, *name)
                except REFUSED:
                    continue

    def configs(self, ranking: int) -> list[int]:
        """Engines with their knobs, in the order of a ranking; none where the library has no such ranking."""
        try:
            asked = self.made(HEURISTICS, (201, DESCRIPTOR, [self.graph]), (200, RANKING, [ranking]))
            return self.parts(asked, 202, CONFIG, ASKED)
        except REFUSED:
            return []

    def fits(self, engine: int, exact: bool) -> bool:
        """Whether an engine rounds as the program does, adds in one order, and has its kernels ready."""
        notes = set(self.asked(engine, 1303, NOTE, 32))
        return not (
            notes & INEXACT or (exact and TENSOR_CORE in notes) or COMPILED in self.asked(engine, 1305, BEHAVIOUR, 32)
        )

    def knobs(self, config: int) -> tuple[tuple[int, int], ...]:
        """The choices of a configuration: kinds of knobs and their values."""
        found = self.parts(config, 302, KNOB, KNOBS)
        out = [(self.asked(k, 600, KNOB_TYPE, 1)[0], self.asked(k, 601, INT64, 1)[0]) for k in found]
        self.dropped(*found)
        return tuple(sorted(out))

    def plan(self, config: int, engine: int, knobs: tuple[tuple[int, int], ...]) -> EnginePlan:
        """The plan of a configuration, with the room it wants."""
        plan = self.made(PLAN, (401, DESCRIPTOR, [config]), (400, HANDLE, [self.library.handle]))
        return EnginePlan(self, plan, self.asked(plan, 402, INT64, 1)[0], engine, knobs)

    def named(self, engine: int, knobs: Sequence[Sequence[int]]) -> EnginePlan:
        """The plan of an engine by its number and knobs."""
        which = self.made(ENGINE, (1300, DESCRIPTOR, [self.graph]), (1301, INT64, [engine]))
        set_to = [self.made(KNOB, (600, KNOB_TYPE, [kind]), (601, INT64, [value])) for kind, value in knobs]
        choices = [(302, DESCRIPTOR, set_to)] if set_to else []
        config = self.made(CONFIG, (300, DESCRIPTOR, [which]), *choices)
        return self.plan(config, engine, tuple((int(kind), int(value)) for kind, value in knobs))


class EnginePlan:
    """An engine with its knobs, ready to run."""

    def __init__(self, engines: Engines, plan: int, size: int, engine: int, knobs: tuple[tuple[int, int], ...]) -> None:
        self.engines, self.plan, self.size, self.engine, self.knobs = engines, plan, size, engine, knobs
        self.room = 0

    def __str__(self) -> str:
        return " ".join([f"engine {self.engine}", *[f"{kind}={value}" for kind, value in self.knobs]])

    def run(self, places: Mapping[str, int]) -> None:
        """Queue it, with arrays at these addresses."""
        engines = self.engines
        numbers = [NUMBERS[role] for role in places]
        pack = engines.made(
            PACK, (1000, INT64, numbers), (1001, POINTER, list(places.values())), (1003, POINTER, [self.room])
        )
        try:
            engines.library.call("cudnnBackendExecute", engines.library.handle, self.plan, pack)
        finally:
            engines.dropped(pack)

    def close(self) -> None:
        """Give the plan back."""
        self.engines.dropped(self.plan)
