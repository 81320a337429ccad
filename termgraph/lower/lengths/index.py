"""Index arithmetic: polynomials, their bounds, and division that rounds down, as in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from termgraph.lower.lengths.polynomials import (
    EMPTY,
    MINUS_ONE,
    ONE,
    ZERO,
    Apply,
    Atom,
    Monomial,
    Poly,
    Sym,
    Value,
    Var,
    _sorted,
    _union,
    plus,
    poly,
    product,
    quotient,
    repeats,
    show,
    symbols,
    times,
    values,
)


# ---------------------------------------------------------------------- bounds
def bound(p: Poly, upper: bool, whole: bool = False) -> Poly | None:
    """The largest (or smallest) value over all loop variables, as a polynomial in lengths; None if unknown.

    Quotients and remainders of lengths have bounds of their own, or stay what they are: `whole`.
    """
    out = ZERO
    for m, c in p.terms:
        extreme: Poly | None
        extreme, atoms = _whole_part(m, c, whole) if (c > 0) == upper else (poly(c), m)
        for a in atoms:
            limit = poly(a) if whole and _of_lengths(a) else _atom_bound(a, (c > 0) == upper)
            if limit is None or extreme is None:
                return None
            extreme = extreme * limit
        if extreme is None:
            return None
        out = out + extreme
    return out


def _whole_part(m: Monomial, c: int, whole: bool) -> tuple[Poly | None, Monomial]:
    """A bound of (p // q) * r, r <= q, in a product (it is at most p), and the other factors; of others the number."""
    for a in m:
        if isinstance(a, Apply) and a.fn == "floordiv" and natural(a):
            for r in _at_most(a.args[1]):
                n, rest = taken_out(Poly({m: c}), poly(a) * r)
                if rest is ZERO and len(n.terms) == 1:
                    top = bound(a.args[0], True, whole)
                    return (None if top is None else top * n.terms[0][1]), n.terms[0][0]
    return poly(c), m


def _at_most(p: Poly) -> list[Poly]:
    """A length, and those of which it is the maximum, but for numbers."""
    (atoms, c), *more = p.terms or (((), 0),)
    a = atoms[0] if len(atoms) == 1 and c == 1 and not more else None
    return [p, *[x for x in a.args if x.const is None]] if isinstance(a, Apply) and a.fn == "max" else [p]


def _atom_bound(a: Atom, upper: bool) -> Poly | None:
    """Bounds of an atom that is never negative; None where nothing is known."""
    if isinstance(a, Var):
        return a.extent - 1 if upper else ZERO
    if isinstance(a, Sym):
        return poly(a) if a.natural else None
    if isinstance(a, Value):
        return a.below - 1 if upper else ZERO
    assert isinstance(a, Apply)
    if a.fn == "mod":
        return a.args[1] - 1 if upper else ZERO
    if a.fn == "floordiv":
        return _top_of_quotient(*a.args) if upper else ZERO if natural(a) else None
    return poly(a) if natural(a) and not a.fv else None


def _top_of_quotient(p: Poly, q: Poly) -> Poly | None:
    """The largest p // q, where numbers say it."""
    top = bound(p, True) if q.const else None
    if top is None or top.const is None or q.const is None or q.const < 0:
        return None
    return poly(top.const // q.const)


def largest(p: Poly) -> Poly:
    """The largest value of what grows or falls evenly in each loop, the length of which may depend on loops around."""
    while p.fv:
        v = max(p.fv, key=lambda v: v.level)
        p = substitute(p, {v: ZERO if nonneg(-p.coefficient(v)) else v.extent - 1})
    return p


def _of_lengths(a: Atom) -> bool:
    """Whether an atom is a quotient or a remainder without loop variables; bounds are multiplied, so never below 0."""
    return isinstance(a, Apply) and a.fn in ("floordiv", "mod") and not a.fv and natural(a)


def natural(a: Atom) -> bool:
    """Whether an atom is known to be never negative."""
    if isinstance(a, Sym):
        return a.natural
    if not isinstance(a, Apply):
        return True
    if a.natural is None:
        a.natural = _natural_result(a)
    return a.natural


def _natural_result(a: Apply) -> bool:
    if a.fn == "mod":
        return True
    if a.fn == "floordiv":
        return nonneg(a.args[0]) and nonneg(a.args[1])
    if a.fn == "wrap":
        return False
    known = [all(natural(x) for m, _ in p.terms for x in m) and all(c >= 0 for _, c in p.terms) for p in a.args]
    return any(known) if a.fn == "max" else all(known)


def _at_least_one(p: Poly) -> set[Atom]:
    """Length atoms that are >= 1 wherever p is evaluated: a loop body runs, so its extent is not zero."""
    out: set[Atom] = set()
    todo = list(p.fv)
    seen: set[Var] = set()
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        if len(v.extent.terms) == 1:
            out.update(v.extent.terms[0][0])
        todo.extend(v.extent.fv)
    return out


def _unclamped(p: Poly, positive: set[Atom]) -> Poly:
    """max(0, e) is e where it is known to be positive."""
    for a in positive:
        if isinstance(a, Apply) and a.fn == "max" and a.args[0] is ZERO and p.coefficient(a).terms:
            p = p + p.coefficient(a) * (a.args[1] - poly(a))
    return p


def nonneg(p: Poly | None, given: Poly | None = None) -> bool:
    """Whether p >= 0 is proven, for all loop variables in range."""
    if p is None:
        return False
    if p.const is not None:
        return p.const >= 0
    if given is not None:
        return _nonneg(p, given)
    if p.nonneg is None:
        p.nonneg = _nonneg(p, None)
    return p.nonneg


def _nonneg(p: Poly, given: Poly | None) -> bool:
    positive = _at_least_one(p) | (_at_least_one(given) if given is not None else set())
    if _is_nonneg(bound(p, upper=False), positive):
        return True
    return any(_of_lengths(a) for m, _ in p.terms for a in m) and _is_nonneg(bound(p, False, whole=True), positive)


def _is_nonneg(low: Poly | None, positive: set[Atom]) -> bool:
    """The same of a smallest value; some atoms are known to be at least one."""
    if low is None:
        return False
    low = _unclamped(low, positive)
    larger = [a for m, c in low.terms if c < 0 for a in m if isinstance(a, Apply) and a.fn == "max"]
    if larger:
        low = _least(low, larger)
    return _adds_up(low, positive) or any(_adds_up(q, positive) for q in _without_maxima(low))


def _adds_up(low: Poly, positive: set[Atom]) -> bool:
    """Whether what is never negative is added up, and numbers below zero are made up for."""
    total = 0
    for m, c in low.terms:
        if m and c < 0:
            return False
        if m and not all(natural(a) for a in m):
            return False
        total += c if not m or all(a in positive for a in m) else 0
    return total >= 0


def _without_maxima(p: Poly) -> Iterator[Poly]:
    """p with a maximum that is added replaced by either of what it is no less than."""
    for m, c in p.terms:
        if c > 0 and len(m) == 1 and isinstance(m[0], Apply) and m[0].fn == "max":
            for x in m[0].args:
                yield p + c * (x - poly(m[0]))


def _least(p: Poly, larger: list[Apply]) -> Poly:
    """p with some maxima that are taken off it replaced by what they cannot exceed: the sum, if both are natural."""
    for a in larger:
        factor, (x, y) = p.coefficient(a), a.args
        if factor.const is not None and nonneg(x) and nonneg(y):
            p = p + factor * (x + y - poly(a))
    return p


def less(p: Any, q: Any) -> bool:
    """Whether p < q is proven."""
    p, q = poly(p), poly(q)
    return nonneg(q - p - 1, given=p)


def divide(p: Any, q: Any) -> tuple[Poly, Poly]:
    """Quotient and remainder of floor division, simplified as far as the bounds allow."""
    p, q = poly(p), poly(q)
    if q is ONE:
        return p, ZERO
    if p.const is not None and q.const:
        return poly(p.const // q.const), poly(p.const % q.const)
    return _divided(p, q) if p.values or q.values else _remembered(p, q)


def _divided(p: Poly, q: Poly) -> tuple[Poly, Poly]:
    whole, rest = taken_out(p, q)
    if not nonneg(rest):
        # C divides towards zero: a dividend that could become negative by splitting stays in one piece.
        whole, rest = ZERO, p
    elif less(rest, q):
        return whole, rest
    left = _quotient(rest, q)
    return (whole, rest) if left is ZERO else (whole + left, poly(Apply("mod", rest, q)))


_remembered = functools.lru_cache(maxsize=1024)(_divided)  # layers that are alike divide alike; keeps no terms alive


def _quotient(p: Poly, q: Poly) -> Poly:
    """p // q where nothing can be taken out."""
    whole = quotient(p, q)
    return poly(whole) if whole.args[0] is p else divide(*whole.args)[0]


def taken_out(p: Poly, q: Poly) -> tuple[Poly, Poly]:
    """p = whole * q + rest, monomial by monomial."""
    if len(q.terms) != 1:
        return ZERO, p
    (qm, qc) = q.terms[0]
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for m, c in p.terms:
        left = list(m)
        for a in qm:
            if a not in left:
                break
            left.remove(a)
        else:
            if c % qc == 0:
                whole[tuple(left)] = c // qc
                continue
        rest[m] = c
    return Poly(whole), Poly(rest)


def maximum(a: Any, b: Any) -> Poly:
    """The larger one."""
    return _extreme("max", poly(a), poly(b))


def minimum(a: Any, b: Any) -> Poly:
    """The smaller one."""
    return _extreme("min", poly(a), poly(b))


def wrapped(s: Any, n: Any) -> Poly:
    """A position that counts from the end of `n` elements when it is negative."""
    s, n = poly(s), poly(n)
    if nonneg(s):
        return s
    if s.const is not None:
        return s + n
    return poly(Apply("wrap", s, n))


def _extreme(fn: str, a: Poly, b: Poly) -> Poly:
    if nonneg(a - b):
        return a if fn == "max" else b
    if nonneg(b - a):
        return b if fn == "max" else a
    if b.const is not None or (a.const is None and b.key < a.key):
        a, b = b, a
    return poly(Apply(fn, a, b))


def has_division(p: Poly) -> bool:
    """Whether a division or remainder that depends on a loop variable is left."""
    todo, seen = [p], set()
    while todo:
        x = todo.pop()
        if x in seen:
            continue
        seen.add(x)
        for a in [a for m, _ in x.terms for a in m if a.__class__ is Apply]:
            if a.fn in ("floordiv", "mod") and a.fv:
                return True
            todo.extend(a.args)
    return False


def unravelled(shape: tuple[Poly, ...], flat: Poly) -> tuple[Poly, ...]:
    """The index whose flat position is given."""
    out: list[Poly] = []
    for n in reversed(shape[1:]):
        flat, rest = divide(flat, n)
        out.append(rest)
    return (flat, *reversed(out)) if shape else ()


def shifted(axis: int, start: Poly, index: tuple[Poly, ...]) -> tuple[Poly, ...]:
    """The place of an element of a part that begins somewhere along an axis."""
    return (*index[:axis], index[axis] + start, *index[axis + 1 :])


def row_major(shape: Iterable[Poly], index: Iterable[Poly]) -> Poly:
    """The flat position of an index."""
    flat = ZERO
    for n, i in zip(shape, index):
        flat = flat * n + i
    return flat


def nest(shape: Iterable[Poly], level: int = 0) -> tuple[tuple[Poly, ...], list[Var]]:
    """One loop variable per dimension that is not of length one."""
    index: list[Poly] = []
    vars: list[Var] = []
    for n in shape:
        if n is poly(1):
            index.append(ZERO)
        else:
            vars.append(Var(level + len(vars), n))
            index.append(poly(vars[-1]))
    return tuple(index), vars


# ---------------------------------------------------------------------- use
def substitute(p: Poly, replace: Mapping[Atom, Poly]) -> Poly:
    """Replace atoms, also inside opaque ones."""
    if not replace:
        return p
    out = ZERO
    for m, c in p.terms:
        part = poly(c)
        for a in m:
            part = part * _replaced(a, replace)
        out = out + part
    return out


def _replaced(a: Atom, replace: Mapping[Atom, Poly]) -> Poly:
    found = replace.get(a)
    if found is not None:
        return found
    if isinstance(a, Apply):
        x, y = (substitute(q, replace) for q in a.args)
        if (x, y) != a.args:
            return MAKE[a.fn](x, y)
    return poly(a)


MAKE: dict[str, Callable[[Poly, Poly], Poly]] = {
    "floordiv": lambda a, b: divide(a, b)[0],
    "mod": lambda a, b: divide(a, b)[1],
    "max": maximum,
    "min": minimum,
    "wrap": wrapped,
}
_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "floordiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
    "max": max,
    "min": min,
    "wrap": lambda s, n: s + n if s < 0 else s,
}


def evaluate(p: Poly, env: Mapping[Any, int]) -> int:
    """The number p is when its symbols and variables have these values; `env` maps symbol names or atoms."""
    out = 0
    for m, c in p.terms:
        for a in m:
            c *= _number(a, env)
        out += c
    return out


def _number(a: Atom, env: Mapping[Any, int]) -> int:
    if a in env:
        return env[a]
    if isinstance(a, Sym):
        return env[a.name]
    if isinstance(a, Apply):
        return _NUMBERS[a.fn](*[evaluate(x, env) for x in a.args])
    raise KeyError(f"no value for {a!r}")


__all__ = [
    "EMPTY", "MINUS_ONE", "ONE", "ZERO", "Apply", "Atom", "Monomial", "Poly", "Sym", "Value", "Var", "_sorted",
    "_union", "bound", "divide", "evaluate", "has_division", "largest", "less", "maximum", "minimum", "natural",
    "nonneg", "plus", "poly", "product", "repeats", "show", "substitute", "symbols", "taken_out", "times", "values",
    "wrapped",
]  # fmt: skip
