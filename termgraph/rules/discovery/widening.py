"""More general pairs: other terms than the very ones that a search has met are as good, where the values say so.

An input that is read several times may stand for several (`log(exp(x) / x)` speaks of any quotient), and what both
sides compute, or a number that both know, may be any input (`exp(log1p(2 * x))` speaks of any operand).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from termgraph.rules.discovery.points import DIFFERENT, Points, Values, agreement
from termgraph.rules.discovery.vocabulary import NO_OVERFLOW, Vocabulary, more_leaves
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm, mk
from termgraph.terms.traverse import children_first, substitute

_READS = 8  # of one input, that are told apart in all ways


class Widening:
    """Pairs that are more general than a given one; `leaves` are the inputs that they are about."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.leaves = more_leaves(vocabulary)
        self.of_facts = any(f != NO_OVERFLOW for f in vocabulary.facts)
        self.vocabulary = vocabulary._replace(leaves=self.leaves)
        self.points = Points(self.vocabulary, seed=1)

    def of(self, before: AnyTerm, after: AnyTerm) -> list[tuple[Any, Any]]:
        """Pairs whose values agree, each of which is more general than the one before it."""
        out: list[tuple[Any, Any]] = []
        now: tuple[Any, Any] | None = (before, after)
        while now is not None:
            now = next((pair for pair in self._tried(*now) if self._agree(*pair)), None)
            if now is not None:
                out.append(now)
        return [self._in_order(*pair) for pair in out]

    def _tried(self, before: AnyTerm, after: AnyTerm) -> Iterator[tuple[Any, Any]]:
        inside = children_first([before])
        shared = set(children_first([after]))
        for leaf in self.leaves:
            new = self._new(leaf.type, inside)
            if leaf in inside and new is not None:
                yield from _told_apart(before, after, leaf, new)
        new = self._new(self.leaves[0].type, inside)
        for s in inside if new is not None else ():
            if s not in shared or s in (before, after) or s in self.leaves:
                continue
            if s.op is CONST:
                fits = s.type.dtype == new.type.dtype and not s.type.ndim
            else:  # of a term that is computed, it is not known what is of inputs
                fits = bool(s.args) and s.type == new.type and not self.of_facts
            if fits:
                yield tuple(substitute([before, after], {s: new}))

    def _new(self, type_: Any, inside: list[Any]) -> Any:
        return next((t for t in self.leaves if t.type == type_ and t not in inside), None)

    def agree(self, a: AnyTerm, b: AnyTerm, facts: Mapping[Any, Sequence[str]]) -> bool:
        """Whether two terms about plain inputs have equal values where the inputs have these facts only."""
        return self._agree(a, b, Points(self.vocabulary, 2, facts))

    def _in_order(self, wide: AnyTerm, short: AnyTerm) -> tuple[Any, Any]:
        """Both sides about the first inputs of each type."""
        read = [t for t in self.leaves if t in children_first([wide])]
        free = list(self.leaves)
        names: dict[Any, Any] = {}
        for t in read:
            names[t] = next(f for f in free if f.type == t.type)
            free.remove(names[t])
        return tuple(substitute([wide, short], names))

    def _agree(self, a: AnyTerm, b: AnyTerm, points: Points | None = None) -> bool:
        left, right = (self._values(t, points or self.points) for t in (a, b))
        if left is None or right is None:
            return False
        # In the core all numbers are positive, where functions such as log(1 - exp(x)) have no values.
        return agreement(Values((), left.around), Values((), _spread(right.around, left.around))) != DIFFERENT

    def _values(self, t: AnyTerm, points: Points) -> Values | None:
        if t in self.leaves or not t.args:
            return points.leaf(t)
        operands = [v for v in (self._values(a, points) for a in t.args) if v is not None]
        return points.of(t, tuple(operands)) if len(operands) == len(t.args) else None


def _told_apart(before: AnyTerm, after: AnyTerm, leaf: Any, new: Any) -> Iterator[tuple[Any, Any]]:
    """Both sides with some of the places where an input is read given to another one, the first being its own."""
    left, right = _reads(before, leaf), _reads(after, leaf)
    if left < 2 or left + right > _READS:
        return
    for chosen in product((False, True), repeat=left - 1):
        for others in product((False, True), repeat=right):
            if any(chosen):
                yield (_with(before, leaf, new, iter((False, *chosen))), _with(after, leaf, new, iter(others)))


def _reads(t: Any, leaf: Any) -> int:
    """How often a term reads an input."""
    return 1 if t is leaf else sum([_reads(a, leaf) for a in t.args])


def _with(t: Any, leaf: Any, new: Any, chosen: Iterator[bool]) -> Any:
    if t is leaf:
        return new if next(chosen) else leaf
    return mk(t.op, tuple([_with(a, leaf, new, chosen) for a in t.args])) if _reads(t, leaf) else t


def _spread(values: tuple[Any, ...], like: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers as arrays of the other side's shapes."""
    return tuple([np.broadcast_to(v, w.shape) if not v.shape else v for v, w in zip(values, like, strict=True)])
