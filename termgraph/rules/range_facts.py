"""Facts about whole numbers: which of two is smaller, and what divides what, as far as ranges and forms tell."""

from __future__ import annotations

from termgraph.rules.goals import goal
from termgraph.rules.intervals import may_tell, tells
from termgraph.rules.linear import divisor_of, not_above
from termgraph.terms.term import AnyTerm, Const


@goal("ii", fact=True, after=tells, worth=may_tell)
def at_most(i: AnyTerm, j: AnyTerm) -> bool:
    """No element of `i` exceeds that of `j`."""
    return not_above(i, j)


@goal("ii", fact=True, after=tells, worth=may_tell)
def below(i: AnyTerm, j: AnyTerm) -> bool:
    """Every element of `i` is less than that of `j`."""
    return not_above(i, j, 1)


@goal("ii", fact=True, after=tells, worth=may_tell)
def apart(i: AnyTerm, j: AnyTerm) -> bool:
    """All elements of `i` are less than those of `j`, or all are greater."""
    return not_above(i, j, 1) or not_above(j, i, 1)


@goal("ii", fact=True)
def divides(d: AnyTerm, i: AnyTerm) -> bool:
    """The number `d`, which is not 0, divides every element of `i`."""
    return isinstance(d, Const) and bool(d.scalar) and divisor_of(i) % int(d.scalar) == 0


@goal("ii", fact=True)
def leaves_rest(d: AnyTerm, c: AnyTerm) -> bool:
    """The number `d` is no multiple of the number `c`."""
    return isinstance(d, Const) and isinstance(c, Const) and bool(c.scalar) and int(d.scalar) % int(c.scalar) != 0
