"""Results over joined arrays, stored part by part:
a choice between the parts would keep loops from being vector loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph._records import NamedTuple
from termgraph.lower.lengths.index import ZERO, Poly
from termgraph.terms.op import ARG, CONST
from termgraph.terms.term import AnyTerm

SAME_PLACES = ("specify_shape", "unbroadcast")  # whose elements lie where those of their operand do
MOST_WORK = 300  # operations that are printed once per part, over all parts


class Parts(NamedTuple):
    """An axis, and where its parts begin and how long they are."""

    axis: int
    ranges: list[tuple[Poly, Poly]]


def parts_of(s: Any, t: AnyTerm) -> Parts | None:
    """How the loops over a root are cut so that each reads one operand of the joins below it; None if there are none.

    Joins are looked for below element-wise operations and promised lengths that are not stored. Where several are, the
    first along the last axis counts, which the innermost loop runs along, or the first of all.
    """
    seen: set[Any] = {t}
    todo = [t]
    joins: list[AnyTerm] = []
    while todo:
        u = todo.pop()
        if u is not t and (u in s.push.bufs or u.op in (ARG, CONST)):
            continue
        if u.op.family.name == "join":
            joins.append(u)
        elif u.op.kind == "elementwise" or u.op.family.name in SAME_PLACES:
            operands = u.args if u.op.kind == "elementwise" else u.args[:1]
            new = [a for a in reversed(operands) if a not in seen]
            seen.update(new)
            todo.extend(new)
    found = _chosen([_ranges(s, u, t.type.ndim) for u in joins], t.type.ndim - 1)
    return found if found and len(found.ranges) * len(seen) <= MOST_WORK else None


def _chosen(found: Sequence[Parts], last: int) -> Parts | None:
    """The parts along the last axis if there are such, or the first ones."""
    return next((parts for parts in found if parts.axis == last), found[0] if found else None)


def _ranges(s: Any, join: AnyTerm, ndim: int) -> Parts:
    axis = join.op.params["axis"]
    ranges, start = [], ZERO
    for a in join.args:
        length = s.lengths[a][axis]
        ranges.append((start, length))
        start = start + length
    return Parts(axis + ndim - join.type.ndim, ranges)
