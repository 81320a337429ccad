"""How many places of the graph being rewritten use a term: counted when a rule first asks.

Imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.terms.term import AnyTerm


class _Top:
    """What has the roots of a graph as its operands."""

    __slots__ = ("args",)

    def __init__(self, roots: Sequence[Any]) -> None:
        self.args = roots


class Uses:
    """The uses of the terms of one run. The driver starts it, and what terms turn into gets their `counts`."""

    __slots__ = ("counts", "finished", "roots")

    def __init__(self) -> None:
        self.roots: Sequence[Any] = ()
        self.finished: Any = ()  # the marks of terms that are in normal form already
        self.counts: dict[Any, int] | None = None

    def start(self, roots: Sequence[Any], finished: Any) -> None:
        """Forget the run before."""
        self.roots, self.finished, self.counts = roots, finished, None

    def stop(self) -> None:
        """No run is going on: every term counts as used once."""
        self.start((), ())

    def once(self, t: AnyTerm) -> bool:
        """Whether at most one place of the graph uses the term."""
        counts = self.counts
        if counts is None:
            counts = self._counts()
        return counts.get(t, 1) <= 1

    def by(self, t: AnyTerm) -> int | None:
        """How many places of the graph use the term; None if no run is going on."""
        return self._counts().get(t, 0) if self.roots else None

    def _counts(self) -> dict[Any, int]:
        counts = self.counts
        if counts is None:
            counts = self.counts = self._count()
        return counts

    def size(self) -> int:
        """How many nodes the graph has; a few more once some were replaced."""
        return len(nodes_of(self.roots) if self.counts is None else self.counts)

    def _count(self) -> dict[Any, int]:
        """Uses in the graph as it stands: what is in normal form already stands for what it was made of."""
        finished = self.finished
        counts: dict[Any, int] = {}
        met: list[Any] = [_Top(self.roots)]
        for t in met:  # which grows meanwhile
            for a in t.args:
                while a._nf is not None and a._st in finished:
                    a = a._nf
                if a in counts:
                    counts[a] += 1
                else:
                    counts[a] = 1
                    met.append(a)
        return counts


def nodes_of(roots: Sequence[Any]) -> list[Any]:
    """The nodes of a graph, each once."""
    met = list(dict.fromkeys(roots))
    known = set(met)
    add, note = known.add, met.append
    for t in met:
        for a in t.args:
            if a not in known:
                add(a)
                note(a)
    return met


USES = Uses()  # of the run that holds the compile lock
used_once, used_by = USES.once, USES.by
