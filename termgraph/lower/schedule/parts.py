"""What is stored where memory is short (`memory_limit=`): parts of arrays that wait for a late reader, and sums of
arrays, each as soon as two of them are there. Loops read less then, and what they read is dropped earlier.

A part is a copy, and sums of arrays are added up in the same order. Sums over elements may be added up in another one:
how many partial results they have is a matter of all that their loop computes. May import this package.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from termgraph.lower.lengths.index import product
from termgraph.lower.storage.policy import CUTS, Storage
from termgraph.terms.dtypes import HALVES
from termgraph.terms.ops.elementwise import add
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.term import AnyTerm, mk
from termgraph.terms.traverse import rebuild

MANY = 3  # arrays that are added up one by one
PART = 2  # a part is stored if it is that much smaller than the array


def sums_in_turn(roots: Sequence[Any], calls: Collection[str], origin: dict[Any, Any]) -> list[Any]:
    """Sums of many stored arrays as sums of two; `origin` is told what new terms stand for."""

    def change(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
        new = changed(t, args)
        if new is not t:
            origin[new] = origin.get(t, t)
        return new

    def changed(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
        if t.op is add and _as_two(t) and sum(_is_stored(a, calls) for a in t.args) >= MANY:
            total, *others = args
            for a in others:
                total = mk(add, (total, a))
            return total
        return t if all(a is b for a, b in zip(args, t.args)) else mk(t.op, args)

    return rebuild(roots, change)


def _is_stored(t: AnyTerm, calls: Collection[str]) -> bool:
    return t.op.family.name in CUTS or t.op.family.name in calls


def _as_two(t: AnyTerm) -> bool:
    """Whether a sum is the same, bit by bit, as sums of two: these have no other dtype, and round no more often."""
    return t.type.dtype not in HALVES and all(a.type.dtype == t.type.dtype for a in t.args)


def of_stored(storage: Storage) -> Iterator[Any]:
    """Parts of arrays that are stored, and sums of two such arrays, in the storage's order."""
    summed = set[Any]()
    for t in storage.order:
        if t in storage.cuts or not t.args:
            continue
        if t.op.family is subtensor and t.args[0] in storage.cuts:
            size, whole = (product(storage.lengths[x]).const for x in (t, t.args[0]))
            if size is not None and whole is not None and size * PART <= whole:
                yield t
        elif t.op is add and all(a in storage.cuts or a in summed for a in t.args):
            if all(storage.lengths[a] == storage.lengths[t] for a in t.args):
                summed.add(t)
                yield t
