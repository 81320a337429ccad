"""Loops cut at the lengths by which an index is divided: `x[i % n]` for i below 3 n is a loop of 3 around one of n.

Arrays that repeat others (tiles, repeats, blocks that are merged) are read that way; dividing each index takes longer
than all else, and keeps compilers from whole vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from termgraph.lower.lengths.index import ZERO, Apply, Poly, Var, poly, taken_out, values

ATTEMPTS = 6  # that are tried
SHORT = 16  # a known number below this is divided by: shorter loops cost more than they save


class SplitLoops:
    """Positions along some axes, each counted through by one loop at first; `level` is that of the outermost."""

    def __init__(self, extents: Sequence[Poly], level: int = 0) -> None:
        self.factors = [[n] for n in extents]
        self.level = level
        self._count()

    def _count(self) -> None:
        self.places: dict[Var, tuple[int, int]] = {}  # each loop's axis, and which of that axis it is
        self.index: list[Poly] = []
        for axis, lengths in enumerate(self.factors):
            at = ZERO
            for k, n in enumerate(lengths):
                if n.const != 1:
                    var = Var(self.level + len(self.places), n)
                    self.places[var] = axis, k
                    at = at * n + poly(var)
            self.index.append(at)

    @property
    def vars(self) -> list[Var]:
        """The loops, the outermost first."""
        return list(self.places)

    def cut(self, value: Any, divided: set[Any]) -> bool:
        """Cut one loop at a length that an index in a term divides it by; False if there is none to cut."""
        for a in _divisions(value, divided):
            dividend, length = a.args
            if length.fv or (length.const is not None and length.const < SHORT):
                continue
            for v in dividend.atoms():
                if v in self.places and dividend.coefficient(v).const == 1 and _is_multiple(v.extent, length):
                    axis, k = self.places[v]
                    self.factors[axis][k : k + 1] = [taken_out(v.extent, length)[0], length]
                    self._count()
                    return True
        return False


def _is_multiple(n: Poly, length: Poly) -> bool:
    whole, rest = taken_out(n, length)
    return rest.const == 0 and whole.const not in (0, 1)


def _divisions(value: Any, divided: set[Any]) -> Iterator[Apply]:
    """The divisions in the indices of what is loaded, asked or counted below a term."""
    terms, seen = [value], set()  # lengths of lengths share their parts, as terms do
    while terms:
        t = terms.pop()
        if t in seen or t not in divided:
            continue
        seen.add(t)
        terms.extend(t.args)
        polys = [p for p in t.op.params.values() if isinstance(p, Poly)]
        while polys:
            p = polys.pop()
            if p in seen:
                continue
            seen.add(p)
            terms.extend(values(p))
            for a in p.atoms():
                if isinstance(a, Apply):
                    polys.extend(a.args)
                    if a.fn in ("floordiv", "mod"):
                        yield a
