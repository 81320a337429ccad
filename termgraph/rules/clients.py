"""How many places of the graph being rewritten use a term: counted when a rule first asks. Imports nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Uses:
    """The uses of the terms of one run, by id. The driver starts it and passes on what terms turn into."""

    __slots__ = ("counts", "finished", "roots")

    def __init__(self) -> None:
        self.roots: Sequence[Any] = ()
        self.finished: Any = ()  # the marks of terms that are in normal form already
        self.counts: dict[int, int] | None = None

    def start(self, roots: Sequence[Any], finished: Any) -> None:
        """Forget the run before."""
        self.roots, self.finished, self.counts = roots, finished, None

    def stop(self) -> None:
        """No run is going on: every term counts as used once."""
        self.start((), ())

    def once(self, t: Any) -> bool:
        """Whether at most one place of the graph uses the term."""
        counts = self.counts
        if counts is None:
            counts = self.counts = self._count()
        return counts.get(id(t), 1) <= 1

    def passes_to(self, new: Any, old: Any) -> None:
        """What used `old` uses `new` from now on."""
        if self.counts is not None:
            self.counts[id(new)] = self.counts.get(id(new), 0) + self.counts.get(id(old), 0)

    def _count(self) -> dict[int, int]:
        """Uses in the graph as it was given; what is in normal form already has passed them on."""
        counts: dict[int, int] = {}
        met = list(dict.fromkeys(self.roots))
        for r in self.roots:
            counts[id(r)] = counts.get(id(r), 0) + 1
        for t in met:
            for a in t.args:
                known = counts.get(id(a))
                counts[id(a)] = 1 if known is None else known + 1
                if known is None:
                    met.append(a)
        for t in met:
            if t._nf is not None and t._st in self.finished:
                counts[id(t._nf)] = counts.get(id(t._nf), 0) + counts[id(t)]
        return counts


USES = Uses()  # of the run that holds the compile lock
used_once = USES.once
