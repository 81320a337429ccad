"""Arguments that do not lie in row-major order, such as slices and transposed arrays, and programs made for them.

The first calls copy such arguments. Once that has cost about as much as compiling (`TG_COPIED_MOST` in abi.h counts
bytes), C asks here: a program that reads them where they lie answers, if its loops read them well.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph._records import NamedTuple
from termgraph.lower.memory.read_in_place import read_well
from termgraph.lower.memory.strides import ANY, BACKWARDS, DENSE, REPEATED, ROWS, SECOND, Kinds
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.term import AnyTerm, Arg
from termgraph.terms.types import TensorType

ORDERS = 8  # TG_ORDERS of abi.h
REMEMBERED = 64  # shapes and strides of which is known who answers
Order = tuple[int, ...]
_guard = threading.Lock()


class Layout(NamedTuple):
    """How an array lies: its axes from the slowest to the fastest, and what their strides are."""

    order: Order
    kinds: Kinds

    @property
    def turned(self) -> bool:
        """Whether the axes are in another order than they are counted."""
        return self.order != tuple(range(len(self.order)))


Layouts = Sequence[Layout | None]


# ---------------------------------------------------------------------- what is there
def layout_of(a: np.ndarray, type_: Any) -> Layout | None:
    """How an array lies that could be read there; None if it is in row-major order, or has to be copied anyway."""
    if a.__class__ is not np.ndarray or a.ndim > 8 or a.size == 0 or not a.flags.aligned:
        return None
    if not isinstance(type_, TensorType) or a.dtype != type_.np_dtype or a.ndim != type_.ndim:
        return None
    item = a.itemsize
    if any(s % item for s in a.strides):
        return None
    strides = [s // item for s in a.strides]
    order = _order(a.shape, strides)
    kinds = _kinds([a.shape[d] for d in order], [strides[d] for d in order])
    found = Layout(order, kinds)
    return found if found.turned or any(kinds) else None


def _order(shape: Sequence[int], strides: Sequence[int]) -> Order:
    """The axes from the slowest to the fastest; those of length one or stride zero stay behind the one before them."""
    keys: list[int] = []
    for d, (n, stride) in enumerate(zip(shape, strides)):
        keys.append(abs(stride) if n > 1 and stride else keys[d - 1] if d else 1 << 62)
    return tuple(sorted(range(len(keys)), key=lambda d: -keys[d]))


def _kinds(shape: Sequence[int], strides: Sequence[int]) -> Kinds:
    """The kinds of `lower/memory/strides.py`; the same as `layout_code` in team.c."""
    kinds: list[int] = []
    step, known = 1, True
    for n, s in zip(reversed(shape), reversed(strides)):
        if n == 1 or (s == step and known):
            kind = DENSE
        elif s == 0:
            kind = REPEATED
        elif s == -step and known:
            kind = BACKWARDS
        elif s == 2 and step == 1 and known:
            kind = SECOND
        else:
            kind = ROWS if s >= step else ANY
        if n > 1 and s:
            step = max(step, abs(s) * n)
        known = known and kind != ANY
        kinds.append(kind)
    return tuple(reversed(kinds))


def name_of(layouts: Layouts) -> int:
    """The number by which C knows how the arguments with axes lie (`relayout` in team.c)."""
    name = 0
    for found in layouts:
        own = 0
        if found is not None:
            own = 1 << 48 | sum((d | kind << 3) << 6 * k for k, (d, kind) in enumerate(zip(*found)))
        name = name * 31 + own
    name &= (1 << 64) - 1
    return name - (1 << 64) if name >> 63 else name


# ---------------------------------------------------------------------- what is made for it
def given_so(arguments: Sequence[Any], layouts: Layouts) -> tuple[list[Any], dict[Any, Any], dict[Any, Kinds]]:
    """Leaves for arguments that lie so, with their axes from the slowest to the fastest.

    The second result are terms that stand for those leaves that are new, the third the kinds of strides.
    """
    new, instead, strided = list(arguments), {}, {}
    for k, (a, found) in enumerate(zip(arguments, layouts)):
        if found is None:
            continue
        if found.turned:
            new[k] = Arg(a.index, TensorType(a.type.dtype, tuple([a.type.shape[d] for d in found.order])))
            instead[a] = turned_back(new[k], found.order)
        if any(found.kinds):
            strided[new[k]] = found.kinds
    return new, instead, strided


def turned_back(t: AnyTerm, order: Order) -> Any:
    """What t was before its axes were put in this order."""
    return dimshuffle.bind(order=inverse(order))(t)


def inverse(order: Order) -> Order:
    """The order that undoes another one."""
    return tuple([order.index(d) for d in range(len(order))])


class Found(NamedTuple):
    """A callable for some layouts, which of them it takes, and in which order the axes of each result are."""

    run: Callable[..., Any]
    taken: Layouts
    results: Sequence[Order | None]


class Refused(Exception):
    """The program failed, and nothing has happened: the one that everybody knows says why."""


class Programs:
    """The programs of one function for arguments in other layouts.

    `make(layouts)` gives the program (a CProgram) that takes them so, and the orders of its results; or None.
    `bind(program)` makes it a callable that raises Refused where it fails, and `table` is `tg_orders` of the program
    that everybody knows.
    """

    def __init__(self, types: Sequence[Any], make: Callable, bind: Callable, table: int) -> None:
        self.types, self.make, self.bind = types, make, bind
        self.table = table
        self.known: dict[tuple, Found | None] = {}
        self.met: dict[tuple, Found | None] = {}

    def call(self, given: Sequence[Any]) -> Any:
        """The answer to a call; Refused if copies have to be made."""
        key = tuple([(a.shape, a.strides, a.dtype, a.flags.aligned) if type(a) is np.ndarray else None for a in given])
        if key not in self.met:
            if len(self.met) >= REMEMBERED:
                self.met.clear()
            self.met[key] = self.found(tuple([layout_of(a, type_) for a, type_ in zip(given, self.types)]))
        found = self.met.get(key)
        if found is None:
            raise Refused
        turned = [a if t is None or not t.turned else a.transpose(t.order) for a, t in zip(given, found.taken)]
        return _turned_back(found.run(*turned), found.results)

    def found(self, layouts: tuple) -> Found | None:
        """Who answers for these layouts; the first time, this compiles."""
        if layouts not in self.known:
            with _guard:
                if layouts not in self.known:
                    self.known[layouts] = self._made(layouts)
        return self.known[layouts]

    def _made(self, layouts: Layouts) -> Found | None:
        """The program that takes those arguments as they lie for which that is faster than a copy."""
        taken = list(layouts)
        while any(taken):
            made = self.make(taken)
            if made is None:
                break
            code, results = made
            bufs = {leaf.index: b for leaf, b in code.lowered.statements.inputs.items() if leaf.index < len(taken)}
            well = read_well(code.lowered.nodes, list(bufs.values()))
            bad = [k for k, found in enumerate(taken) if found is not None and k in bufs and bufs[k] not in well]
            if not bad:
                return Found(self.bind(code), taken, results)
            taken = [None if k in bad else found for k, found in enumerate(taken)]
        self._always_copy(layouts)
        return None

    def _always_copy(self, layouts: Layouts) -> None:
        """Tell the C program not to ask again for arguments that lie like these."""
        name = name_of([found for found, type_ in zip(layouts, self.types) if type_.ndim])
        seen = (ctypes.c_int64 * (2 * ORDERS)).from_address(self.table)
        for k in range(ORDERS):
            if seen[k] == name:
                seen[ORDERS + k] = -1


class AsksForLayouts:
    """What a callable gets whose program asks; `other_programs` makes its Programs, when that is done first."""

    other_programs: Callable[[], Programs]

    def _with_layout(self, *args: Any) -> Any:
        programs = self.__dict__.get("_programs") or self.__dict__.setdefault("_programs", self.other_programs())
        try:
            return programs.call(args)
        except Refused:
            return self(*map(packed, args))  # type: ignore[operator]  # what is called is a subclass


def _turned_back(results: Any, orders: Sequence[Order | None]) -> Any:
    """The results with their axes as the caller counts them."""
    if not any(orders):
        return results
    if isinstance(results, dict):
        return {key: _back(r, order) for (key, r), order in zip(results.items(), orders)}
    if isinstance(results, (list, tuple)):
        return type(results)([_back(r, order) for r, order in zip(results, orders)])
    return _back(results, orders[0])


def _back(result: Any, order: Order | None) -> Any:
    return result if order is None else result.transpose(inverse(order))


def refuse(*_status: int) -> None:
    """What a program does that fails: the one that everybody knows says why."""
    raise Refused


def packed(a: object) -> Any:
    """A copy in row-major order of what is not."""
    return np.ascontiguousarray(a) if isinstance(a, np.ndarray) and a.ndim else a
