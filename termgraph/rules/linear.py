"""Integers as sums of multiples of others, and which of two is proved to be the smaller one.

`i * 4 + j - 3` is the form {i: 4, j: 1} and -3, as far as nothing on the way wraps around. The difference of two forms
is bounded by the ranges of what stands in it, and by bounds that are terms: `T.assume(i, between=(0, n))`, remainders,
rows of `arange(n)`, places of extremes, the operands of a minimum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from termgraph.rules.indices import length
from termgraph.rules.intervals import (
    Range,
    decides,
    known_ranges,
    limits,
    may_tell,
    product,
    range_of,
    raw_range,
    stays_within,
    within,
)
from termgraph.terms.op import CONST, Op
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.assume import assume, between
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.indexing import gather, subtensor
from termgraph.terms.ops.reduce import argmax, argmin
from termgraph.terms.ops.shaping import arange

if TYPE_CHECKING:
    from termgraph.terms.leaves import Arg
    from termgraph.terms.term import AnyTerm

_DEEPEST = 8  # nested operators that are looked into
_MOST = 120  # terms that are looked at for one question
_WIDEST = 24  # terms of a form; a longer sum is taken as a whole
_TRIES = 40  # bounds that are tried for one question
_NESTED = 8  # maxima (minima) within each other that are looked through

Atom = frozenset[tuple[Any, int]]  # the factors of a product, each with how often it occurs
Form = tuple[dict[Atom, int], int]


class _Reader:
    """Forms of terms, in the knowledge that the terms of one question give about each other."""

    def __init__(self, *terms: AnyTerm) -> None:
        self.known: dict[Any, Range] = {}
        self.stands: dict[Any, Any] = {}  # what an assumption is about, and the assumption
        self._left = _MOST
        for t in terms:
            self._gather(t, 0)
        self._left = _MOST

    def _gather(self, t: Any, depth: int) -> None:
        """What `T.assume` says: of its operand, and of the upper bound, which is above the lower one."""
        if limits(t) is None or depth > _DEEPEST or self._left <= 0:
            return
        self._left -= 1
        family = t.op.family
        if family is between or family is assume:
            bare = _bare(t)
            self._learn(bare, range_of(t))
            self.stands.setdefault(bare, t)
            if family is between:
                least = range_of(t)
                self._learn(_bare(t.args[2]), least and (least[0] + 1, 1 << 64))
            self._gather(t.args[0], depth + 1)
        elif family in _SAME_PLACES:
            for a in t.args:
                self._gather(a, depth + 1)

    def _learn(self, t: AnyTerm, known: Range | None) -> None:
        old = self.range(t)
        if known is not None and old is not None:
            low, high = max(old[0], known[0]), min(old[1], known[1])
            if low <= high:
                self.known[t] = low, high

    def range(self, t: Any) -> Range | None:
        """The range of a term, as far as this question knows."""
        return self.known.get(t) or range_of(t)

    def form(self, t: Any, depth: int = 0) -> Form:
        """The term as a sum of multiples."""
        t = _bare(t)
        if t.op is CONST:
            return ({}, int(t.scalar)) if t.scalar is not None else ({_atom(t): 1}, 0)
        self._left -= 1
        if depth < _DEEPEST and self._left > 0 and t.op.family in _LOOKED_INTO and self._exact(t):
            found = self._parts(t, depth + 1)
            if found is not None and len(found[0]) <= _WIDEST:
                return found
        return {_atom(t): 1}, 0

    def _exact(self, t: AnyTerm) -> bool:
        raw = raw_range(t, [self.range(_bare(a)) for a in t.args])
        around = limits(t)
        return raw is not None and around is not None and within(raw, around)

    def _parts(self, t: AnyTerm, depth: int) -> Form | None:
        family = t.op.family
        if family is ew.mul:
            return self._product(t, depth)
        forms = [self.form(a, depth) for a in t.args]
        if family is ew.add:
            return _sum(forms)
        if family is ew.neg:
            return _times(forms[0], -1)
        return _sum([forms[0], _times(forms[1], -1)])

    def _product(self, t: AnyTerm, depth: int) -> Form | None:
        number, factors = 1, []
        for a in map(_bare, t.args):
            if a.op is CONST and a.scalar is not None:
                number *= int(a.scalar)
            else:
                factors.append(a)
        if not factors:
            return {}, number
        return _times(self.form(factors[0], depth), number) if len(factors) == 1 else ({_atom(*factors): number}, 0)

    def of_atom(self, atom: Atom) -> Range | None:
        """The range of a product."""
        found = (1, 1)
        for factor, times in atom:
            r = self.range(factor)
            if r is None:
                return None
            found = reduce(product, [r] * times, found)
        return found

    # ------------------------------------------------------------------ what bounds a form from below
    def at_least_zero(self, form: Form) -> bool:
        """Whether the form is proved to be nowhere below zero."""
        tried = 0
        seen = set()
        waiting = [form]
        while waiting and tried < _TRIES:
            form = waiting.pop(0)
            key = (frozenset(form[0].items()), form[1])
            if key in seen:
                continue
            seen.add(key)
            tried += 1
            if self._least(form) >= 0:
                return True
            waiting += self._weaker(form)
        return False

    def _least(self, form: Form) -> float:
        least: float = form[1]
        for atom, times in form[0].items():
            r = self.of_atom(atom)
            if r is None:
                return -math.inf
            least += times * r[0 if times > 0 else 1]
        return least

    def _weaker(self, form: Form) -> Iterator[Form]:
        """Forms that are nowhere above a positive multiple of this one: something is replaced by its bound."""
        for atom, times in form[0].items():
            if len(atom) != 1:
                continue
            ((t, power),) = atom
            if power != 1:
                continue
            rest = {a: n for a, n in form[0].items() if a != atom}, form[1]
            for multiple, bound in self._bounds(t, above=times < 0):
                yield _sum([_times(rest, multiple), _times(bound, times)])

    def _bounds(self, t: Arg | AnyTerm, above: bool) -> Iterator[tuple[int, Form]]:
        """Pairs of `m > 0` and a form that is nowhere below (above) `m * t`."""
        t = self.stands.get(t, t)
        while t.op.family in _STATING and not (t.op.family is ew.cast and not _keeps(t)):
            if t.op.family is between:
                bound = self.form(t.args[2 if above else 1])
                yield 1, _sum([bound, ({}, -1)]) if above else bound
            t = t.args[0]
        family, args = t.op.family, t.args
        if family is ew.minimum and above or family is ew.maximum and not above:
            for a in args:
                yield 1, self.form(a)
        elif family is ew.mod and above:
            divisor = self.range(_bare(args[1]))
            if divisor is not None and divisor[0] >= 1:
                yield 1, _sum([self.form(args[1]), ({}, -1)])
        elif family is ew.floor_div:
            divisor = args[1].scalar if args[1].op is CONST else None
            if isinstance(divisor, int) and divisor >= 1:
                yield divisor, _sum([self.form(args[0]), ({}, 0 if above else 1 - divisor)])
        elif family is arange:
            step = range_of(args[2])
            if step is not None and step[0] >= 1:
                yield 1, _sum([self.form(args[1]), ({}, -1)]) if above else self.form(args[0])
        elif family is subtensor or family is gather:
            if _bare(args[0]).op.family is arange:
                yield from self._bounds(_bare(args[0]), above)
        elif family in _PLACES and above and len(axes := t.op.params["axis"]) == 1:
            yield 1, _sum([self.form(length(args[0], axes[0])), ({}, -1)])


_LOOKED_INTO = frozenset((ew.add, ew.sub, ew.neg, ew.mul))
_STATING = frozenset((assume, between, ew.cast))
_PLACES = frozenset((argmax, argmin))
# bounded by other terms, if not by numbers
_BOUNDED = _PLACES | frozenset((ew.mod, ew.floor_div, arange, subtensor, gather, ew.cast))
_UNCHANGED = _STATING | {dimshuffle}  # of what `_bare` may take away
_TELLING = _UNCHANGED | _BOUNDED | _LOOKED_INTO  # where operands may bound a term
_HELD, _TOWERING = _TELLING | {ew.minimum}, _TELLING | {ew.maximum}  # what terms may be above of, and below
_SAME_PLACES = _LOOKED_INTO | {ew.mod, ew.floor_div, ew.minimum, ew.maximum, ew.cast, dimshuffle}


def _bare(t: Any) -> Any:
    """The term without what changes neither its numbers nor which of them stands where."""
    while True:
        family = t.op.family
        spread = family is dimshuffle and t.args[0].type.ndim == 0
        if family is between or family is assume or (family is ew.cast and _keeps(t)) or spread:
            t = t.args[0]
        else:
            return t


def _keeps(t: AnyTerm) -> bool:
    have, around = range_of(t.args[0]), limits(t)
    return have is not None and around is not None and around[0] <= have[0] and have[1] <= around[1]


def _atom(*factors: Arg | AnyTerm) -> Atom:
    counts: dict[Any, int] = {}
    for f in factors:
        counts[f] = counts.get(f, 0) + 1
    return frozenset(counts.items())


def _sum(forms: list[Form]) -> Form:
    total: dict[Atom, int] = {}
    number = 0
    for parts, offset in forms:
        number += offset
        for atom, times in parts.items():
            total[atom] = total.get(atom, 0) + times
    return {a: n for a, n in total.items() if n}, number


def _times(form: Form, number: int) -> Form:
    return {a: n * number for a, n in form[0].items()} if number else {}, form[1] * number


def not_above(x: AnyTerm, y: AnyTerm, by: int = 0) -> bool:
    """Whether `x + by <= y` is proved for integers, element by element."""
    if not may_tell(x, y) or (not decides(x, y) and _by_operands(x, y) is False):
        return False  # told by signatures and operators: no range is worked out
    known = known_ranges(x, y)
    if known is None:
        return False
    left, right, stated = known
    if left[1] + by <= right[0]:
        return True
    if not stated and (found := _by_operands(x, y)) is not None:
        return found and not by
    reader = _Reader(x, y)
    return reader.at_least_zero(_sum([reader.form(y), _times(reader.form(x), -1), ({}, -by)]))


def are_places(i: AnyTerm, n: AnyTerm) -> bool:
    """Whether all elements of `i` are known to be from 0 to n - 1: places of extremes along n, what is clipped."""
    known = range_of(i)
    return known is not None and known[0] >= 0 and not_above(i, n, 1)


def _by_operands(x: AnyTerm, y: AnyTerm) -> bool | None:
    """Whether nested minima of `x` and nested maxima of `y` have an operand in common. None if other terms may bound
    one of the two. Most terms are neither of these: then nothing is walked.
    """
    held, towering = x.op.family in _HELD, y.op.family in _TOWERING
    if not (held or towering):
        return x is y
    above = _reached(x, ew.minimum) if held else (x,)
    below = _reached(y, ew.maximum) if towering else (y,)
    if above is None or below is None:
        return None
    return not {*map(id, above)}.isdisjoint(map(id, below))


def _reached(t: AnyTerm, through: Op) -> Sequence[AnyTerm] | None:
    """The operands of nested maxima (minima), which are nowhere above (below) the term. None if arithmetic stands among
    them: then other terms may bound it, too.
    """
    waiting = [t]
    for t in waiting:  # those of the last are put behind it
        family = t.op.family
        if family is through:
            if len(waiting) < _NESTED:
                waiting += t.args
        elif family in _TELLING:
            if family in _UNCHANGED and (bare := _bare(t)) is not t:
                waiting.append(bare)
            elif family in _BOUNDED or (family in _LOOKED_INTO and stays_within(t)):
                return None
    return waiting


def divisor_of(t: AnyTerm) -> int:
    """A number that divides every element of an integer term: the greatest that is known; 0 where all are zero."""
    if limits(t) is None:
        return 1
    reader = _Reader(t)
    parts, number = reader.form(t)
    return math.gcd(number, *[times * _stride(reader, atom) for atom, times in parts.items()])


def _stride(reader: _Reader, atom: Atom) -> int:
    return math.prod(_declared(reader.stands.get(factor, factor)) ** times for factor, times in atom)


def _declared(t: Any) -> int:
    """What `T.assume(x, multiple_of=n)` says, and what the elements of a constant have in common."""
    found = 1
    while t.op.family is assume or t.op.family is between:
        if t.op.family is assume:
            found = math.lcm(found, t.op.params["multiple_of"])
        t = t.args[0]
    return math.gcd(*map(int, t.value.ravel())) if t.op is CONST and t.value.size <= _SMALL else found


_SMALL = 1 << 12
