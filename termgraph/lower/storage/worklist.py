"""Roots whose statements have to be made, or made anew: users before what they use.

What has to be stored is then known before its own statement is made. Knows the graph, nothing of what is done with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from heapq import heappop, heappush
from typing import Any

from termgraph.terms.term import AnyTerm


class Worklist:
    """The roots that wait; those of an earlier `turn(t)` come first.

    `is_stored(t)` says whether users of a term read it instead of computing it.
    """

    def __init__(
        self,
        order: Sequence[Any],
        leaves: Collection[Any],
        is_stored: Callable[[Any], bool],
        turn: Callable[[Any], int],
    ) -> None:
        self.order, self.is_stored, self.turn = order, is_stored, turn
        self.position = {t: k for k, t in enumerate(order)}
        self.users: dict[Any, list[Any]] = {}
        for t in order:
            if t not in leaves:
                for a in dict.fromkeys(t.args):
                    self.users.setdefault(a, []).append(t)
        self.heap: list[tuple[int, int]] = []
        self.waiting: set[Any] = set()

    def add(self, t: AnyTerm) -> None:
        """One more root."""
        if t not in self.waiting:
            self.waiting.add(t)
            heappush(self.heap, (self.turn(t), -self.position[t]))

    def pop(self, last: int) -> Any:
        """The next one whose turn is not after the `last`, or None."""
        if not self.heap or self.heap[0][0] > last:
            return None
        t = self.order[-heappop(self.heap)[1]]
        self.waiting.remove(t)
        return t

    def above(self, t: AnyTerm, was_pushed: Callable[[Any], bool]) -> list[Any]:
        """Everything that may have been computed from a term with nothing stored between.

        The first stored users end it, and those of which no element was ever made: nothing above them holds one of t.
        So all of these walks together take no more steps than elements are made.
        """
        out: dict[Any, None] = {}
        todo = [t]
        while todo:
            for u in self.users.get(todo.pop(), ()):
                if u not in out:
                    out[u] = None
                    if was_pushed(u) and not self.is_stored(u):
                        todo.append(u)
        return list(out)
