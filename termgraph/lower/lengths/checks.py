"""Conditions on lengths that a call checks before it computes, and what a term is that loops cannot express.

What one side of a choice demands has to hold where the choice falls on that side only.
"""

from __future__ import annotations

import operator as op
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from termgraph._records import NamedTuple, record
from termgraph.lower.lengths.index import ZERO, Poly, evaluate
from termgraph.lower.loops.lazy import is_lazy, surely_needed
from termgraph.terms.term import AnyTerm

# An integer scalar term as a polynomial, for a term that uses it; NotLowerable if it is none.
AsPoly = Callable[[Any, AnyTerm], Poly]

# Comparisons of integers as C writes them, what they mean, their names here, and their opposites.
HOLDS = {"==": op.eq, "!=": op.ne, "<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge}
SIGNS = {"eq": "==", "neq": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class When(NamedTuple):
    """A condition on integers that a call knows before it computes: `test` is a sign of C's."""

    test: str
    a: Poly
    b: Poly


class NotLowerable(Exception):
    """A term that loops cannot express; the Program runs it by its NumPy meaning. `wanted` is a value needed first."""

    def __init__(self, term: Any, why: str, wanted: AnyTerm | None = None) -> None:
        super().__init__(f"{getattr(term.op, 'name', term)}: {why}")
        self.term, self.why, self.wanted = term, why, wanted


@record(frozen=True)
class Check:
    """A condition on lengths: `a == b` (eq) or `a >= b` (ge). It need hold only `when` a choice falls on what asks."""

    test: str
    a: Poly
    b: Poly
    site: int
    when: When | None = None

    def failed(self, env: Mapping[Any, int]) -> tuple[int, int] | None:
        """The two numbers that do not fit, where symbols have these values."""
        if self.when and not HOLDS[self.when.test](evaluate(self.when.a, env), evaluate(self.when.b, env)):
            return None
        a, b = evaluate(self.a, env), evaluate(self.b, env)
        return (a, b) if (a != b if self.test == "eq" else a < b) else None


@record(frozen=True)
class Site:
    """What can go wrong at a term. `text` tells the user, with {0} and {1} for the two numbers that do not fit.

    `loops` are the loop terms whose body the term is in, outermost first; {name} in the text is the user's name for
    `leaf` of the loop `term`.
    """

    term: Any
    text: str
    loops: tuple[AnyTerm, ...] = ()
    leaf: Any = None


# ---------------------------------------------------------------------- choices
def sides_of(order: Sequence[Any], guarded: Collection[Any]) -> dict[Any, list[tuple[AnyTerm, int]]]:
    """Of terms that only sides of choices need, those choices and sides, inside of sides as well."""
    out: dict[Any, list[tuple[AnyTerm, int]]] = {}
    for t in order if guarded else ():
        if t.args and is_lazy(t):
            n = t.op.params["n"]
            for side in (0, 1):
                for x in surely_needed(t.args[1 + side * n : 1 + (side + 1) * n]):
                    if x in guarded:
                        out.setdefault(x, []).append((t, side))
    return out


def when_chosen(as_poly: AsPoly, choice: AnyTerm, side: int) -> When | None:
    """The condition under which a choice falls on a side, as one on integers; None if it is no such condition."""
    c, opposite = choice.args[0], bool(side)
    while c.op.family.name == "logical_not":
        c, opposite = c.args[0], not opposite
    try:
        if c.op.family.name in SIGNS and all(_is_number(a) for a in c.args):
            test, a, b = SIGNS[c.op.family.name], *[as_poly(x, choice) for x in c.args]
        elif _is_number(c):
            test, a, b = "!=", as_poly(c, choice), ZERO
        elif c.op.family.name == "cast" and _is_number(c.args[0]):
            test, a, b = "!=", as_poly(c.args[0], choice), ZERO
        else:
            return None
    except (NotLowerable, KeyError):
        return None
    return When(OPPOSITE[test] if opposite else test, a, b)


def _is_number(t: AnyTerm) -> bool:
    """Whether it is one whole number that fits into 64 bits with its sign, in which lengths are computed."""
    return t.type.ndim == 0 and t.type.kind in "iu" and t.type.dtype != "uint64"
