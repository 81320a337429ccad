"""Elements that one statement would compute at many places: neighbours of neighbours, for instance.

A few cheap operations are made again rather than stored. In a chain of such terms their number grows with a power of
its length, so what is made again is counted while indices are pushed, before there is too much of it.
"""

from __future__ import annotations

from typing import Any

from termgraph.lower.lengths.index import Poly, Var, _union
from termgraph.lower.push.kernel import FOLD, LOAD, PICK, Scalars, kids, own_cost
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import work_out

OFTEN = 3  # from here on places count: the arms of a choice, or two neighbours, are no chain
MOST = 40  # operations of all places together: more than storing an element and reading it again
CHOICE = 4  # of a choice, which makes a loop no vector loop


class Repeats:
    """How often each term is pushed through for one statement, by the loops it is in, and what an element costs."""

    def __init__(self, scalars: Scalars) -> None:
        self.scalars = scalars
        self.places: dict[tuple[Any, frozenset[Var]], int] = {}
        self.weights: dict[Any, int] = {}

    def begin(self) -> None:
        """Another statement."""
        self.places.clear()

    def too_many(self, t: AnyTerm, index: tuple[Poly, ...], value: AnyTerm) -> bool:
        """Count one more place; whether the term had better be stored."""
        if value.op.family is LOAD or not value.args or not self.scalars.free(value):
            return False
        if not all(p.fv or n == 1 for p, n in zip(index, t.type.shape)):
            return False  # a row of its own, as of folds that are written out: not the neighbour of another element
        loops = _union(p.fv for p in index)
        count = self.places[t, loops] = self.places.get((t, loops), 0) + 1
        return count >= OFTEN and count * self.weight(value) > MOST

    def weight(self, value: AnyTerm) -> int:
        """Operations of one element, down to what is loaded; no more than are too many."""
        known = self.weights

        def weighed(t: AnyTerm) -> int:
            own = CHOICE if t.op.family is PICK else MOST if t.op.family is FOLD else own_cost(t)
            return min(own + sum([known[a] for a in kids(t)]), MOST)

        return work_out(known, value, kids, weighed)
