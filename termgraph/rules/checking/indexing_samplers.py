"""Samplers of the indexing ops: an index that fits the array, operands within bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules.checking.draw import Draw, Head, Retry, Want, chosen_lengths
from termgraph.rules.checking.families import sampler
from termgraph.terms.ops.indexing import FULL, SCATTERS, numpy_index


@sampler("subtensor", "set_subtensor", "inc_subtensor")
def _basic(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    return _indexed(d, h, args, want, arrays=False)


@sampler("gather", *SCATTERS)
def _advanced(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    return _indexed(d, h, args, want, arrays=True)


def _indexed(d: Draw, h: Head, args: list[Any], want: Want, arrays: bool) -> list[Any]:
    reads = h.family.name in ("subtensor", "gather")
    index = h.known("index")
    shape = _shape_for(d, index, want, reads)
    x = d.make(args[0], Want(shape, want.dtype))
    shape = chosen_lengths(x.type.shape)
    chosen = index if index is not None else _index(d, shape, arrays)
    index = h.settle("index", lambda: chosen)
    operands = _operand_wants(d, index, shape)
    if reads:
        return [x, *d.fill(args[1:], operands)]
    part = _part(shape, index)
    y = Want(d.narrowed(part), x.type.dtype if d.chance(0.9) else None)
    return [x, *d.fill(args[1:], [y, *operands])]


def _shape_for(d: Draw, index: Any, want: Want, reads: bool) -> tuple[int, ...]:
    if not reads and want.shape:
        return want.shape
    if index is None:
        if want.shape is not None and d.chance(0.8):
            lead = d.rng.choice((0, 1, 1))
            return tuple([3] * lead + [n + d.rng.choice((0, 0, 1)) for n in want.shape]) or (3,)
        return d.shape(least=1)
    shape = d.shape(least=len(index))
    low = [_least_length(e) for e in index]
    return tuple([max(n, least) if least else n for n, least in zip(shape, low, strict=False)]) + shape[len(low) :]


def _least_length(entry: Any) -> int:
    if isinstance(entry, int):
        return entry + 1 if entry >= 0 else -entry
    return 0 if isinstance(entry, tuple) else 2


def _index(d: Draw, shape: tuple[int, ...], arrays: bool) -> tuple[Any, ...]:
    entries = [_entry(d, n, arrays) for n in shape]
    if arrays and "a" not in entries:
        entries[d.rng.randrange(len(entries))] = "a"
    while entries and entries[-1] == FULL and d.chance(0.9):
        entries.pop()
    return tuple(entries)


def _entry(d: Draw, n: int, arrays: bool) -> Any:
    r = d.rng.random()
    if arrays:
        return "a" if n and r < 0.6 else FULL if r < 0.8 else _slice(d, n)
    if n and r < 0.25:
        return d.rng.randrange(-n, n)
    if n and r < 0.4:
        return "?"
    return FULL if r < 0.6 else _slice(d, n)


def _slice(d: Draw, n: int) -> tuple[Any, ...]:
    r = d.rng.randrange(8)
    plain = (
        ("s", 1, None, None), ("s", None, -1, None), ("s", None, None, -1), ("s", None, None, 2), ("s", 0, 2, None),
        ("s", n // 2, None, None), ("s", "?", None, None), ("s", None, "?", None),
    )  # fmt: skip
    return plain[r]


def _operand_wants(d: Draw, index: tuple[Any, ...], shape: tuple[int, ...]) -> list[Want]:
    wants = []
    common = d.rng.choice(((2,), (3,), (2, 2), (), (1,)))
    for axis, entry in enumerate(index):
        n = shape[axis] if axis < len(shape) else 0
        if entry == "?":
            if n == 0:
                raise Retry
            wants.append(Want((), "int64", (-n if d.chance(0.4) else 0, n - 1)))
        elif entry == "a":
            if n == 0:
                raise Retry
            wants.append(Want(common, "int64", (-n if d.chance(0.4) else 0, n - 1)))
        elif isinstance(entry, tuple):
            bounds = {1: (0, n), 2: (0, n), 3: (1, 2)}
            wants += [Want((), "int64", bounds[i]) for i in (1, 2, 3) if entry[i] == "?"]
    return wants


def _part(shape: tuple[int, ...], index: tuple[Any, ...]) -> tuple[int, ...]:
    """The lengths of the part an index names, with zeros for operands."""
    parts = [p for e in index for p in (e if isinstance(e, tuple) else (e,)) if p in ("?", "a")]
    zeros = tuple([np.zeros(1 if p == "a" else (), int) for p in parts])
    try:
        part: np.ndarray = np.empty(shape)[numpy_index(index, zeros)]
        return part.shape
    except IndexError:
        raise Retry from None
