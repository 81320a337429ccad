"""Reshaped arrays that are stored because what is made of them element by element would divide each index.

`repeat` is such an array, or planes that are woven into one: stored by the loops of what they are made of, they need no
division, and what reads them is a loop of whole vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from termgraph.lower.lengths.index import Apply, Poly, poly, product
from termgraph.lower.push.kernel import HEAVY, IVAL, LOAD, PICK, Scalars, kids, operands_first, own_cost
from termgraph.terms.ops.shaping import reshape
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first_until, users_first

if TYPE_CHECKING:
    from termgraph.lower.lengths.shapes import Shape
    from termgraph.lower.push.driver import Index, Push

FEW_DIVISIONS = 2  # of the indices of one element: they take no longer than to store the array and to read it again


def repeated(p: Push, cuts: Collection[AnyTerm], t: AnyTerm, values: Sequence[AnyTerm]) -> list[AnyTerm]:
    """The reshaped arrays below a root that had better be stored, if dividing takes long beside all else."""
    slow = _one_by_one(p.scalars, values)
    if not slow:
        return []
    below = children_first_until([t], {id(c): c for c in cuts if c is not t})
    found = [u for u in below if u.op.family is reshape and u is not t and u not in cuts]
    return [u for u in found if _takes_all(p.lengths[u], [i for i, x in p.memo.get(u, {}).items() if x in slow])]


def _one_by_one(s: Scalars, values: Sequence[AnyTerm]) -> set[AnyTerm]:
    """What is made of elements that each step of the innermost loop finds by a division; nothing if that is cheap.

    It is dear if a function is computed of it, which then takes no whole vectors, if many divisions are made, or if
    what they give is a place in an array of indices, is checked, or decides what is read.
    """
    slow: set[AnyTerm] = set()
    divisions: set[Apply] = set()
    dear = False
    for x in operands_first(values):
        if x.op.family is LOAD and x in s.divides and s.free(x):
            inner = max(v.level for v in s.free(x))
            numbers = [i.op.params["index"] for i in operands_first(kids(x)) if i.op.family is IVAL]
            places = [x.op.params["offset"], *numbers]
            made = {a for q in places for a in _divisions(q) if any(v.level == inner for v in a.fv)}
            divisions |= made
            slow |= {x} if made else set()
            dear = dear or bool(made) and bool(numbers)
        elif not slow.isdisjoint(kids(x)):
            slow.add(x)
            dear = dear or (x.op.family is PICK and x.args[0] in s.divides)
    return slow if dear or len(divisions) > FEW_DIVISIONS or any(own_cost(x) >= HEAVY for x in slow) else set()


def _takes_all(shape: Shape, indices: Sequence[Index]) -> bool:
    """Whether all elements of an array are read: each dimension by a loop of its own, or for all its numbers."""
    for index in indices:
        loops = [i for i, n in zip(index, shape) if n.const != 1 and i.const is None]
        if len(set(loops)) < len(loops) or any(i is not poly(next(iter(i.fv), 0)) for i in loops):
            return False
    fixed = {d for index in indices for d, n in enumerate(shape) if n.const != 1 and index[d].const is not None}
    numbers = {tuple([index[d].const for d in fixed]) for index in indices}
    if not indices or any(None in k for k in numbers):
        return False
    return product([shape[d] for d in fixed]).const == len(numbers)


def _divisions(p: Poly) -> Iterator[Apply]:
    for x in users_first([p], lambda x: [y for a in _applied(x) for y in a.args]):
        yield from (a for a in _applied(x) if a.fn in ("floordiv", "mod") and a.fv)


def _applied(p: Poly) -> list[Apply]:
    return [a for a in p.atoms() if isinstance(a, Apply)]
