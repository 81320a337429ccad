"""Series: the first terms of an expression of one variable around 0 and towards infinity, as polynomials.

Coefficients come from values at a few tiny operands with thousands of bits, so that it does not matter how the
expression is written: poles and 0 / 0 are no obstacle. An expression that has no such series is found out by its value
at another place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.accuracy.exact import Unsure, _context, value_at
from termgraph.terms.ops.elementwise import add, mul, sqr, true_div
from termgraph.terms.term import AnyTerm, Const, mk
from termgraph.terms.traverse import children_first

if TYPE_CHECKING:
    from mpmath import mpf
    from mpmath.ctx_mp import MPContext


_BITS, _STEP = 4400, -200  # of precision; the exponent of the distance of the places
_TERMS = 14  # places, and so coefficients
_POLE = 2  # the lowest power is x ** -_POLE
_LENGTHS = (1, 2, 3, 4, 6, 9)  # numbers of terms in the forms made


def leaves_of(root: AnyTerm, leaves: frozenset) -> set:
    """Which leaves a term is about."""
    return {t for t in children_first([root]) if t in leaves}


def series(root: AnyTerm, leaf: AnyTerm) -> Iterator[Any]:
    """Polynomials that are near the term for small operands, and for large ones."""
    for far in (False, True):
        found = _coefficients(root, leaf, far)
        if found:
            yield from _forms(found, leaf, far)


def _coefficients(root: AnyTerm, leaf: AnyTerm, far: bool) -> dict[int, Any] | None:
    """Coefficients by exponent, those that are not zero; None where there is no such series."""
    mp = _context(_BITS)[0]
    step = mp.ldexp(1, _STEP)
    half = _TERMS // 2
    both = [*range(-half, 0), *range(1, half + 1)]
    for places in (both, list(range(1, _TERMS + 1))):
        at = [k * step for k in places]
        f = _scaled(root, leaf, far)
        values = [f(x) for x in at]
        if None in values:
            continue
        found = _interpolated(mp, at, values)
        if _holds(mp, found, f, step * (half + mp.mpf(1) / 3)):
            largest = max(abs(c) for c in found)
            return {k - _POLE: c for k, c in enumerate(found[:-2]) if abs(c) > mp.ldexp(largest, _STEP // 2)} or None
    return None


def _scaled(root: AnyTerm, leaf: AnyTerm, far: bool) -> Callable[[Any], Any]:
    """The term times a power of its operand, so that a pole is none; of 1 / x for series towards infinity."""

    def value(x: mpf) -> Any:
        try:
            found = value_at(root, {leaf: 1 / x if far else x}, _BITS)
        except Unsure:
            return None
        return None if found is None or abs(found) > 1 / abs(x) ** (_POLE + 1) else found * x**_POLE

    return value


def _interpolated(mp: MPContext, at: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The coefficients of the polynomial through these points."""
    table = list(values)
    count = len(at)
    for level in range(1, count):
        for i in range(count - 1, level - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (at[i] - at[i - level])
    out = [mp.mpf(0)] * count
    for i in range(count - 1, -1, -1):  # Newton's form, by Horner's scheme
        shifted = [mp.mpf(0), *out[:-1]]
        out = [s - at[i] * c for s, c in zip(shifted, out, strict=True)]
        out[0] += table[i]
    return out


def _holds(mp: MPContext, found: Sequence[Any], f: Callable, x: mpf) -> bool:
    value = f(x)
    if value is None:
        return False
    near = mp.polyval(list(reversed(found)), x)
    return bool(abs(near - value) <= mp.ldexp(abs(value), -100))


def _forms(found: dict[int, Any], leaf: AnyTerm, far: bool) -> Iterator[Any]:
    dtype = leaf.type.np_dtype
    powers = sorted(found)
    with np.errstate(over="ignore", under="ignore"):
        numbers = {k: np.asarray(float(found[k]), dtype=dtype) for k in powers}
    one = Const(np.asarray(1, dtype=dtype))
    x = mk(true_div, (one, leaf)) if far else leaf
    square = mk(sqr, (x,))
    even = all((k - powers[0]) % 2 == 0 for k in powers)
    for count in _LENGTHS:
        if count > len(powers):
            break
        chosen = powers[:count]
        step = 2 if even else 1
        places = range(chosen[0], chosen[-1] + 1, step)
        inner: Any = None
        for k in reversed(places):
            c = Const(numbers[k]) if k in numbers else None
            if inner is not None:
                inner = mk(mul, (square if even else x, inner))
                inner = inner if c is None else mk(add, (c, inner))
            else:
                inner = c
        yield _times_power(inner, x, square, leaf, chosen[0], far)


def _times_power(inner: Any, x: AnyTerm, square: Any, leaf: AnyTerm, power: int, far: bool) -> Any:
    """`inner * x ** power`, without overflow on the way; powers of 1 / x divide."""
    base, divides = (leaf, power > 0) if far else (leaf, power < 0)
    for _ in range(abs(power)):
        inner = mk(true_div, (inner, base)) if divides else mk(mul, (inner, base))
    return inner
