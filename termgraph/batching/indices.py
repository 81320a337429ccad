"""Indexing many examples at once: the lanes are one more dimension that is taken whole, or one more index array."""

from __future__ import annotations

from typing import Any

from termgraph.batching.lanes import Lifted, aligned, count, numbered, reorder, spread
from termgraph.terms.ops.indexing import FULL, gather, inc_subtensor, scatter_add, scatter_set, set_subtensor
from termgraph.terms.term import AnyTerm, mk


class _Layout:
    """Where the dimensions of `x[index]` come from: those that slices keep, and the common ones of index arrays."""

    def __init__(self, index: tuple, ndim: int, arrays: int) -> None:
        places = [axis for axis, part in enumerate(index) if part == "a"]
        self.kept = [axis for axis in range(ndim) if axis >= len(index) or isinstance(index[axis], tuple)]
        self.arrays = arrays  # how many dimensions the index arrays have together
        self.together = places == list(range(places[0], places[0] + len(places))) if places else True
        before = len([axis for axis in self.kept if axis < places[0]]) if places else 0
        self.at = before if self.together else 0


def read(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted | None:
    """`x[index]` for all lanes; no answer for slices whose bounds differ between them."""
    x, operands = args[0], args[1:]
    index = t.op.params["index"]
    arrays = max([v.ndim for v in operands], default=0)
    if not any(v.lifted for v in operands):
        new = mk(t.op.bind(index=(FULL, *index)), (x.term, *[v.term for v in operands]))
        layout = _Layout(index, x.ndim, arrays)
        if layout.together:
            return Lifted(new, True)
        return Lifted(reorder(new, (arrays, *[d for d in range(new.type.ndim) if d != arrays])), True)
    if any(isinstance(part, tuple) and "?" in part for part in index):
        return None
    return Lifted(_picked(x, operands, index, arrays, n), True)


def _as_arrays(index: tuple, operands: list[Lifted], arrays: int) -> tuple[list[Any], list[Any]]:
    """The index with an array for each integer, and these arrays: lanes in front of `arrays` other dimensions."""
    given = iter(operands)
    entries: list[Any] = []
    new: list[Any] = []
    for part in index:
        if isinstance(part, tuple):
            entries.append(part)
        else:
            entries.append("a")
            new.append(count(part) if isinstance(part, int) else aligned(next(given), arrays))
    return entries, new


def _picked(x: Lifted, operands: list[Lifted], index: tuple, arrays: int, n: AnyTerm) -> AnyTerm:
    """`x[index]` where the places differ between lanes."""
    entries, new = _as_arrays(index, operands, arrays)
    old = _Layout(tuple(["a" if part == "?" else part for part in index]), x.ndim, arrays)
    if x.lifted:
        entries, new = ["a", *entries], [numbered(n, arrays), *new]
    now = _Layout(tuple(entries), x.term.type.ndim, arrays + 1)
    made = mk(gather.bind(index=tuple(entries)), (x.term, *new))
    kept = [d for d in range(made.type.ndim) if not now.at <= d <= now.at + arrays]
    common = list(range(now.at, now.at + arrays + 1))
    return reorder(made, (common[0], *kept[: old.at], *common[1:], *kept[old.at :]))


def written(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted | None:
    """`x[index] = y` for all lanes; no answer where the dimensions of the places do not come first."""
    x, y, operands = args[0], args[1], args[2:]
    index = t.op.params["index"]
    arrays = max([v.ndim for v in operands], default=0)
    layout = _Layout(index, x.ndim, arrays)
    target = len(layout.kept) + (arrays if "a" in index else 0)
    if any(v.lifted for v in operands):
        return _put(t, args, target, arrays, n)
    if not layout.together:
        return None
    op = t.op.bind(index=(FULL, *index))
    return Lifted(mk(op, (spread(x, n), aligned(y, target), *[v.term for v in operands])), True)


def _put(t: AnyTerm, args: list[Lifted], target: int, arrays: int, n: AnyTerm) -> Lifted | None:
    """The places differ between lanes: one more index array, which the others must follow at once."""
    index = t.op.params["index"]
    places = [axis for axis, part in enumerate(index) if not isinstance(part, tuple)]
    sliced = any(isinstance(part, tuple) and "?" in part for part in index)
    if sliced or places != list(range(len(places))):
        return None
    entries, new = _as_arrays(index, args[2:], arrays)
    op = {set_subtensor: scatter_set, inc_subtensor: scatter_add}.get(t.op.family, t.op.family)
    operands = (spread(args[0], n), aligned(args[1], target), numbered(n, arrays), *new)
    return Lifted(mk(op.bind(index=("a", *entries)), operands), True)
