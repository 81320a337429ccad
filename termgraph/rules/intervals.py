"""Between which numbers an integer lies, and whether computing it wraps around.

A range speaks about every element of an array. It follows from dtypes, constants, lengths, `T.assume`, and ranges of
operands. What might leave the limits of its dtype wraps, and has the dtype's own range. Iterative and memoised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from termgraph.terms.op import CONST, Op
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.assume import assume, between
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.indexing import gather, set_subtensor, subtensor
from termgraph.terms.ops.reduce import argmax, argmin, max_, min_, sum_
from termgraph.terms.ops.shaping import alloc, arange, join, make_vector, reshape, shape_i
from termgraph.terms.signature import GREATEST, LEAST, TOLD
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TensorType

Range = tuple[int, int]  # the least and the greatest number, both possible
LONGEST = 1 << 56  # no memory that processors of today address holds more elements along an axis
_BOTH = (0, 1)
_INTEGERS = [np.iinfo(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
_LIMITS: dict[str, Range] = {"bool": _BOTH, **{info.dtype.name: (int(info.min), int(info.max)) for info in _INTEGERS}}


class _Found:
    """The range of a term, whether its operator stays within the dtype's limits, and whether `T.assume` is part of it.

    Where nothing is `told` beyond the dtype, `range` is the very tuple of its limits: most terms share two of these.
    """

    __slots__ = ("exact", "range", "stated", "told")

    def __init__(self, range_: Range, exact: bool, around: Range, stated: bool = False) -> None:
        self.range, self.exact, self.stated, self.told = range_, exact, stated, range_ is not around


_RANGE = "range"  # where a term notes its own
_UNKNOWN = {exact: {name: _Found(r, exact, r) for name, r in _LIMITS.items()} for exact in (False, True)}


def range_of(t: AnyTerm) -> Range | None:
    """The least and the greatest number that an integer term can be; None for other terms."""
    found = _look_up(t)
    return found.range if found is not None else None


def known_ranges(x: AnyTerm, y: AnyTerm) -> tuple[Range, Range, bool] | None:
    """The ranges of two integer terms, and whether `T.assume` speaks in either; None where nothing is known of both."""
    left, right = _look_up(x), _look_up(y)
    if left is None or right is None or not (left.told or right.told):
        return None
    return left.range, right.range, left.stated or right.stated


def decides(x: AnyTerm, y: AnyTerm) -> bool:
    """Whether ranges may show that `x` is nowhere above `y`, or an assumption may, judged by signatures.

    The greatest number of one and the least of the other have to be known, or all of one: it may be as far as it goes.
    """
    left, right = x.sig.kind.known, y.sig.kind.known
    return bool(left & GREATEST and right & LEAST) or left >= TOLD or right >= TOLD  # what is stated is told


def may_tell(i: AnyTerm, j: AnyTerm) -> bool:
    """Whether more may be known of one of two terms than its dtype says, judged by signatures: if not, nothing is."""
    return bool(i.sig.kind.known or j.sig.kind.known)


def tells(t: AnyTerm) -> bool:
    """Whether a question about ranges may have an answer in a graph with this term."""
    return bool(t.sig.kind.known) or (t.op.family in _COMPARISONS and may_tell(*t.args))


def stays_within(t: AnyTerm) -> bool:
    """Whether `t` is an integer that its operator computes without wrapping around, whatever the operands are."""
    found = _look_up(t)
    return found is not None and found.exact


def limits(t: AnyTerm) -> Range | None:
    """The range of the dtype of a term of integers or truth values."""
    return _LIMITS.get(t.type.dtype) if t.type.__class__ is TensorType else None


def _look_up(t: AnyTerm) -> _Found | None:
    """The range of a term; where its signature says that nothing is known, none is worked out."""
    if not t.sig.kind.known:
        return _nothing_known(t)
    notes = t._notes
    if notes is not None and _RANGE in notes:
        known: _Found | None = notes[_RANGE]
        return known
    stack: list[Any] = [t]
    while stack:
        top = stack[-1]
        around = limits(top)
        operands = top.args if around is not None and top.op.family in _FROM_OPERANDS else ()
        given = []
        for a in operands:
            notes = a._notes
            if not a.sig.kind.known:
                given.append(_nothing_known(a))
            elif notes is None or _RANGE not in notes:
                stack.append(a)
            else:
                given.append(notes[_RANGE])
        if len(given) < len(operands):
            continue
        stack.pop()
        found = None if around is None else _work_out(top, given, around)
        if top._notes is None:
            top._notes = {_RANGE: found}
        else:
            top._notes[_RANGE] = found
    return found


def _nothing_known(t: AnyTerm) -> _Found | None:
    """What holds of a term whose range is that of its dtype, or which is no integer."""
    if t.type.__class__ is not TensorType:
        return None
    return _UNKNOWN[t.op.family in _COPYING and t.type.kind != "b"].get(t.type.dtype)


def _work_out(t: Any, found: list[_Found | None], around: Range) -> _Found:
    """The range of a term from those of the operands on which it depends, and from the limits of its dtype."""
    family = t.op.family
    if family is CONST:
        value = t.value
        return _Found(_same_tuple((int(value.min()), int(value.max())), around) if value.size else around, True, around)
    stated = family is between or family is assume
    given: list[Range | None] = []
    for f in found:
        given.append(None if f is None else f.range)
        stated = stated or (f is not None and f.stated)
    raw = raw_range(t, given)
    exact = raw is not None and t.type.kind != "b" and within(raw, around)
    if raw is not None and not exact and family in _MODULAR and t.type.kind != "b":
        raw = wrapped(raw, around)
    if raw is None or not within(raw, around) or t.type.kind == "b" or raw == around:
        return _Found(around, exact, around, True) if stated else _UNKNOWN[exact][t.type.dtype]
    return _Found(raw, exact, around, stated)


def _same_tuple(r: Range, around: Range) -> Range:
    return around if r == around else r


def raw_range(t: Any, given: Sequence[Range | None]) -> Range | None:
    """Where the exact result of an operator lies for operands in these ranges; None if nothing is known."""
    rule = _RULES.get(t.op.family)
    if rule is None or (None in given and t.op.family not in _SOME):
        return None
    return rule(t, *given)


def within(r: Range, around: Range) -> bool:
    """Whether one range lies in another."""
    return around[0] <= r[0] and r[1] <= around[1]


def wrapped(r: Range, around: Range) -> Range:
    """Where the numbers of a range lie once they have wrapped around: as near to each other if all do so as often.

    An unsigned `x - 3` is spelled `x + 253`: from 3 on all of it wraps around once.
    """
    size = around[1] - around[0] + 1
    turns = (r[0] - around[0]) // size
    same = turns == (r[1] - around[0]) // size
    return (r[0] - turns * size, r[1] - turns * size) if same else around


def product(x: Range, y: Range) -> Range:
    """Where products of numbers of two ranges lie."""
    return _hull([a * b for a in x for b in y])


# ---------------------------------------------------------------------- one rule for each operator
def _add(t: AnyTerm, *given: Range) -> Range:
    return sum(r[0] for r in given), sum(r[1] for r in given)


def _hull(numbers: Sequence[int]) -> Range:
    return min(numbers), max(numbers)


def _mul(t: AnyTerm, *given: Range) -> Range:
    if len(given) == 2 and t.args[0] is t.args[1]:
        return _square(t, given[0])
    return reduce(product, given)


def _square(t: AnyTerm, r: Range) -> Range:
    ends = [n * n for n in r]
    return (0 if r[0] <= 0 <= r[1] else min(ends)), max(ends)


def _absolute(t: AnyTerm, r: Range) -> Range:
    return (0 if r[0] <= 0 <= r[1] else min(map(abs, r))), max(map(abs, r))


def _one_sign(divisor: Range) -> list[Range]:
    """The parts of a divisor's range below and above zero."""
    low, high = divisor
    return [(a, b) for a, b in ((low, min(high, -1)), (max(low, 1), high)) if a <= b]


def _floor_div(t: AnyTerm, n: Range, d: Range) -> Range:
    ends = [a // b for part in _one_sign(d) for a in n for b in part]
    return _hull([*ends, 0] if d[0] <= 0 <= d[1] else ends)  # 0 is what dividing by 0 gives


def _mod(t: AnyTerm, n: Range, d: Range) -> Range:
    if d[0] == d[1] and d[0] and n[0] // d[0] == n[1] // d[0]:
        return n[0] % d[0], n[1] % d[0]
    low, high = min(0, d[0] + 1), max(0, d[1] - 1)
    if n[0] >= 0 <= d[0]:
        return (n[0] if n[1] < d[0] else 0), min(high, n[1])
    return low, high


def _fmod(t: AnyTerm, n: Range, d: Range) -> Range:
    most = max(0, max(map(abs, d)) - 1)
    return max(min(n[0], 0), -most), min(max(n[1], 0), most)


def _maximum(t: AnyTerm, *given: Range) -> Range:
    return max(r[0] for r in given), max(r[1] for r in given)


def _minimum(t: AnyTerm, *given: Range) -> Range:
    return min(r[0] for r in given), min(r[1] for r in given)


def _clip(t: AnyTerm, x: Range, low: Range, high: Range) -> Range:
    return _minimum(t, _maximum(t, x, low), high)


def _any_of(t: AnyTerm, *given: Range) -> Range:
    return min(r[0] for r in given), max(r[1] for r in given)


def _bits(t: AnyTerm) -> int:
    return int(t.type.np_dtype.itemsize * 8)


def _left_shift(t: AnyTerm, x: Range, by: Range) -> Range | None:
    return _hull([a << b for a in x for b in by]) if by[0] >= 0 and by[1] < _bits(t) else None


def _right_shift(t: AnyTerm, x: Range, by: Range) -> Range | None:
    return _hull([a >> b for a in x for b in by]) if by[0] >= 0 and by[1] < _bits(t) else None


def _bitwise_and(t: AnyTerm, *given: Range) -> Range | None:
    most = [r[1] for r in given if r[0] >= 0]
    return (0, min(most)) if most else None


def _bitwise_or(t: AnyTerm, *given: Range) -> Range | None:
    if min(r[0] for r in given) < 0:
        return limits(t)
    return 0, (1 << max(r[1] for r in given).bit_length()) - 1


def _invert(t: AnyTerm, x: Range) -> Range:
    top = _LIMITS[t.type.dtype][1] if t.type.kind == "u" else -1
    return top - x[1], top - x[0]


def _assume(t: AnyTerm, x: Range) -> Range:
    low, high = x
    for name in t.op.params["facts"]:
        least, most = _STATED.get(name, (low, high))
        low, high = max(low, least), min(high, most)
    return (low, high) if low <= high else x


_ENDLESS = 1 << 64
_STATED = {
    "nonnegative": (0, _ENDLESS),
    "positive": (1, _ENDLESS),
    "negative": (-_ENDLESS, -1),
    "nonpositive": (-_ENDLESS, 0),
    "at_most_one": (-_ENDLESS, 1),
}


def _between(t: AnyTerm, x: Range, low: Range, high: Range) -> Range:
    least, most = max(x[0], low[0]), min(x[1], high[1] - 1)
    return (least, most) if least <= most else x


def _length(t: AnyTerm) -> Range:
    n = t.args[0].type.shape[t.op.params["axis"]]
    return (0, LONGEST) if n is None else (n, n)


def _position(t: AnyTerm) -> Range:
    axes = t.op.params["axis"]
    lengths = [t.args[0].type.shape[a] for a in (axes if isinstance(axes, tuple) else (axes,))]
    return 0, max(0, _LONGEST_ARRAY if None in lengths else math.prod(lengths)) - 1


_LONGEST_ARRAY = 1 << 62  # elements of all axes together: how they are counted allows no more


def _arange(t: AnyTerm, start: Range, stop: Range, step: Range) -> Range | None:
    if step[0] >= 1:
        return start[0], max(start[0], stop[1] - 1)
    return (min(start[1], stop[0] + 1), start[1]) if step[1] <= -1 else None


def _first(t: Any, x: Range | None, *others: Range | None) -> Range | None:
    return x


def _either(t: AnyTerm, x: Range | None, y: Range | None, *index: Range | None) -> Range | None:
    return None if x is None or y is None else _any_of(t, x, y)


def _sum(t: AnyTerm, x: Range) -> Range:
    shape = t.args[0].type.shape
    most = _LONGEST_ARRAY if None in shape else math.prod(shape)
    return min(0, x[0] * most), max(0, x[1] * most)


_RULES: dict[Op, Callable[..., Range | None]] = {
    ew.add: _add,
    ew.sub: lambda t, x, y: (x[0] - y[1], x[1] - y[0]),
    ew.mul: _mul,
    ew.neg: lambda t, x: (-x[1], -x[0]),
    ew.sqr: _square,
    ew.abs_: _absolute,
    ew.sign: lambda t, x: (max(-1, min(1, x[0])), max(-1, min(1, x[1]))),
    ew.floor_div: _floor_div,
    ew.mod: _mod,
    ew.fmod: _fmod,
    ew.maximum: _maximum,
    ew.minimum: _minimum,
    ew.clip: _clip,
    ew.switch: lambda t, condition, x, y: None if x is None or y is None else _any_of(t, x, y),
    ew.left_shift: _left_shift,
    ew.right_shift: _right_shift,
    ew.bitwise_and: _bitwise_and,
    ew.bitwise_or: _bitwise_or,
    ew.bitwise_xor: _bitwise_or,
    ew.invert: _invert,
    ew.cast: _first,
    assume: _assume,
    between: _between,
    dimshuffle: _first,
    subtensor: _first,
    gather: _first,
    set_subtensor: _either,
    reshape: _first,
    alloc: _first,
    join: _any_of,
    make_vector: _any_of,
    max_: _first,
    min_: _first,
    sum_: _sum,
    argmax: _position,
    argmin: _position,
    shape_i: _length,
    arange: _arange,
}
_SOME = frozenset(  # some operands need not be integers
    (ew.switch, subtensor, gather, set_subtensor, reshape, alloc)
)
_FROM_OPERANDS = frozenset(_RULES) - {argmax, argmin, shape_i}  # the others follow from lengths
# what is too large for its dtype wraps around
_MODULAR = frozenset((ew.add, ew.sub, ew.mul, ew.neg, ew.sqr, ew.left_shift, ew.cast, sum_))
_COPYING = frozenset((  # these take the numbers of their operands, or bits of them: nothing is wrapped around
    ew.maximum, ew.minimum, ew.clip, ew.switch, ew.bitwise_or, ew.bitwise_xor, ew.invert, dimshuffle, subtensor,
    gather, set_subtensor, reshape, alloc, join, make_vector, max_, min_,
))  # fmt: skip
_COMPARISONS = frozenset((ew.lt, ew.le, ew.gt, ew.ge, ew.eq, ew.neq))

COMPUTED = tuple(_RULES)  # the operators whose results have ranges of their own
