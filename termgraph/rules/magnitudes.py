"""The numbers on the way to a product or a sum, and whether another form of it meets new ones.

Each number on the way may leave the range of its dtype, or take digits from the others, although the result does not.
What was on the way before may be so again, and what is its reciprocal, its root or its half; nothing else may.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, inf, log2
from typing import Any

from termgraph.terms.op import CONST, Op
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.reduce import logsumexp, softmax
from termgraph.terms.term import AnyTerm

Powers = dict[Any, int]  # factors and their exponents, or summands and how often they are there

_LOOKED_AT = 64  # terms below a factor that are looked through for inputs
_PRODUCTS = frozenset((ew.mul, ew.true_div, ew.neg))
_SUMS = frozenset((ew.add, ew.sub, ew.neg))
_EXPONENTIAL = frozenset(
    (ew.exp, ew.exp2, ew.expm1, ew.log, ew.log1p, ew.sigmoid, ew.softplus, ew.tanh, logsumexp, softmax)
)


def keeps_range(old: AnyTerm, new: AnyTerm, factors: Sequence[Any]) -> bool:
    """Whether the way to `new`, a product or quotient of factors of `old`, has only numbers of the way to `old`."""
    return _stays_on_the_way(old, new, factors, _PRODUCTS)


def keeps_digits(old: AnyTerm, new: AnyTerm, operands: Sequence[Any]) -> bool:
    """The same of sums and differences, whose rounding errors are those of the largest number on the way."""
    return _stays_on_the_way(old, new, operands, _SUMS)


def worth_moving(factors: Sequence[Any], gone: Sequence[Any]) -> bool:
    """Whether factors meet that rules of sigmoids, softmaxes and the like are about, as exp(x) and 1 + exp(x) are."""
    if any(_inputs(t)[1] for t in gone):
        return True
    found = [(t, *_inputs(t)) for t in factors]
    found = [(t, inputs) for t, inputs, exponential in found if exponential]
    return any(t is not u and (a is None or b is None or a & b) for i, (t, a) in enumerate(found) for u, b in found[:i])


def _stays_on_the_way(old: AnyTerm, new: AnyTerm, parts: Sequence[Any], ops: frozenset[Op]) -> bool:
    stops = {id(t) for t in parts}
    farthest: dict[frozenset[Any], int] = {}
    for p in (*_on_the_way(old, stops, ops), *(_part(t, ops) for t in parts)):
        direction, n = _root(p)
        farthest[direction] = max(n, farthest.get(direction, 0))
    return all(n <= farthest.get(direction, 0) for direction, n in map(_root, _on_the_way(new, stops, ops)))


def _on_the_way(t: AnyTerm, stops: set[int], ops: frozenset[Op]) -> list[Powers]:
    """The numbers that are computed, from the left to the right in each operation; the last is the result."""
    found: list[Powers] = []
    _powers(t, stops, ops, found)
    return found


def _powers(t: AnyTerm, stops: set[int], ops: frozenset[Op], found: list[Powers]) -> Powers:
    """What a term is as a product of powers, or as a sum of multiples; notes all that are met."""
    if id(t) in stops or t.op not in ops:
        return _part(t, ops)
    inverts = t.op in (ew.sub, ew.true_div)
    whole = dict(_powers(t.args[0], stops, ops, found))
    for a in t.args[1:]:
        for base, n in _powers(a, stops, ops, found).items():
            whole[base] = whole.get(base, 0) + (-n if inverts else n)
            if not whole[base]:
                del whole[base]
        found.append(dict(whole))
    return {base: -n for base, n in whole.items()} if t.op is ew.neg and ops is _SUMS else whole


def _part(t: Any, ops: frozenset[Op]) -> Powers:
    """A factor as a power of a base, a summand as it is; counts and usual constants, which move no number far, {}."""
    if ops is _SUMS:
        return {t: 1}
    if t.op is CONST:
        return {CONST: n} if (n := far(t)) else {}
    if _is_count(t):
        return {}
    if t.op is ew.sqr:
        return {t.args[0]: 2}
    if t.op is ew.pow_ and t.args[1].op is CONST and isinstance(n := t.args[1].scalar, (int, float)) and n == int(n):
        return {t.args[0]: int(n)}
    return {t: 1}


def far(c: Any) -> int:
    """How far a constant moves numbers, in parts of the range of their dtype; 0 for those that hardly do."""
    size = abs(c.scalar) if c.scalar is not None and c.type.kind in "fc" else 0
    return round(log2(size) / _FAR[c.type.dtype]) if 0 < size < inf else 0


_FAR = {
    "float64": 256, "complex128": 256, "float32": 32, "complex64": 32, "bfloat16": 32, "float16": 8,
}  # fmt: skip


def _root(p: Powers) -> tuple[frozenset[Any], int]:
    """What a product is a power of, and the exponent: a root, or a reciprocal, leaves the range no sooner."""
    items = sorted(p.items(), key=lambda item: id(item[0]))
    n = gcd(*(k for _, k in items))
    sign = -1 if items and items[0][1] < 0 else 1
    return frozenset((id(base), sign * k // n) for base, k in items), n


def _is_count(t: AnyTerm) -> bool:
    """Whether a factor is an integer, as the divisor of a mean is."""
    while t.op.family is dimshuffle:
        t = t.args[0]
    return t.op.family is ew.cast and t.args[0].type.kind in "bui"


def _inputs(t: Any) -> tuple[set[int] | None, bool]:
    """The leaves below a term that are no constants (None for a large one), and whether an exponential is there."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = [t]
    exponential = False
    while stack:
        u = stack.pop()
        if id(u) in seen:
            continue
        seen.add(id(u))
        exponential = exponential or u.op.family in _EXPONENTIAL
        if len(seen) > _LOOKED_AT:
            return None, exponential
        if u.args:
            stack.extend(u.args)
        elif u.op is not CONST:
            found.add(id(u))
    return found, exponential
