"""Reshaped arrays that are stored because what is made of them element by element would divide each index.

`repeat` is such an array, or planes that are woven into one: stored by the loops of what they are made of, they need no
division, and what reads them is a loop of whole vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from termgraph.lower.lengths.index import Apply, Poly, poly
from termgraph.lower.push.kernel import HEAVY, LOAD, Scalars, kids, operands_first, own_cost
from termgraph.terms.ops.shaping import reshape
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first_until, users_first

if TYPE_CHECKING:
    from termgraph.lower.lengths.shapes import Shape
    from termgraph.lower.push.driver import Index, Push

FEW_DIVISIONS = 2  # of the indices of one element: they take no longer than to store the array and to read it again


def repeated(p: Push, cuts: Collection[AnyTerm], t: AnyTerm, value: AnyTerm) -> list[AnyTerm]:
    """The reshaped arrays below a root that had better be stored, if dividing takes long beside all else."""
    slow = _one_by_one(p.scalars, value)
    if not slow:
        return []
    below = children_first_until([t], {id(c): c for c in cuts if c is not t})
    found = [u for u in below if u.op.family is reshape and u is not t and u not in cuts]
    return [u for u in found if any(_takes_all(p.lengths[u], i) for i, x in p.memo.get(u, {}).items() if x in slow)]


def _one_by_one(s: Scalars, value: AnyTerm) -> set[AnyTerm]:
    """What is made of elements that each step of the innermost loop finds by a division; nothing if that is cheap.

    It is dear if a function is computed of it, which then takes no whole vectors, or if many divisions are made.
    """
    slow: set[AnyTerm] = set()
    divisions: set[Apply] = set()
    for x in operands_first([value]):
        if x.op.family is LOAD and x in s.divides:
            inner = max(v.level for v in s.free(x))
            made = {a for a in _divisions(x.op.params["offset"]) if any(v.level == inner for v in a.fv)}
            divisions |= made
            slow |= {x} if made else set()
        elif not slow.isdisjoint(kids(x)):
            slow.add(x)
    return slow if len(divisions) > FEW_DIVISIONS or any(own_cost(x) >= HEAVY for x in slow) else set()


def _takes_all(shape: Shape, index: Index) -> bool:
    """Whether all elements of an array are read, each dimension by a loop of its own."""
    loops = [next(iter(i.fv), None) for i, n in zip(index, shape) if n.const != 1]
    counted = [i for i, n in zip(index, shape) if n.const != 1]
    return len(set(loops)) == len(loops) and all(v is not None and i is poly(v) for v, i in zip(loops, counted))


def _divisions(p: Poly) -> Iterator[Apply]:
    for x in users_first([p], lambda x: [y for a in _applied(x) for y in a.args]):
        yield from (a for a in _applied(x) if a.fn in ("floordiv", "mod") and a.fv)


def _applied(p: Poly) -> list[Apply]:
    return [a for a in p.atoms() if isinstance(a, Apply)]
