"""Polynomials over loop variables, lengths, strides and opaque atoms: interned, in one normal form.

A polynomial is a sum of integer multiples of products of atoms: equal indices are the same object. What is known of
their values, and division, is in `index`.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from termgraph.terms.hashing import stable_hash
from termgraph.terms.term import AnyTerm

E = TypeVar("E")
A = TypeVar("A", bound="Atom")
EMPTY: frozenset[Any] = frozenset()
_ATOMS: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_POLYS: weakref.WeakValueDictionary[str, Poly] = weakref.WeakValueDictionary()


# ---------------------------------------------------------------------- atoms
class Atom:
    """Something a polynomial is made of. `key` is its canonical text, `fv` the loop variables in it."""

    __slots__ = ("__weakref__", "fv", "key")
    key: str
    fv: frozenset[Var]

    def __repr__(self) -> str:
        return self.key

    def __reduce__(self) -> Any:
        raise TypeError("index atoms live inside one process")


def _intern(atom: A, key: str) -> A:
    atom.key = key
    kept: A = _ATOMS.setdefault(key, atom)  # of this class: the keys of different classes differ
    return kept


class Var(Atom):
    """A loop variable, named by its nesting level and its length: equal loops are one object. 0 <= var < extent."""

    __slots__ = ("extent", "level")
    level: int
    extent: Poly

    def __new__(cls, level: int, extent: Poly) -> Var:
        key = f"i{level}<{extent.key}>"
        found: Var | None = _ATOMS.get(key)
        if found is not None:
            return found
        self = object.__new__(cls)
        self.level, self.extent = level, extent
        self.fv = frozenset((self,))
        return _intern(self, key)

    def __repr__(self) -> str:
        return f"i{self.level}"


class Sym(Atom):
    """A number known when a program is entered: a length (never negative), a stride or the value of an argument."""

    __slots__ = ("name", "natural")
    name: str
    natural: bool

    def __new__(cls, name: str, natural: bool = True) -> Sym:
        key = name if natural else f"{name}~"
        found: Sym | None = _ATOMS.get(key)
        if found is not None:
            return found
        self = object.__new__(cls)
        self.name, self.natural, self.fv = name, natural, EMPTY
        return _intern(self, key)

    def __repr__(self) -> str:
        return self.name


class Apply(Atom):
    """An integer function that no polynomial expresses: floordiv, mod, max, min, wrap."""

    __slots__ = ("args", "fn", "natural")
    fn: str
    args: tuple[Poly, ...]
    natural: bool | None  # whether it is known to be never negative; None until somebody asks

    def __new__(cls, fn: str, *args: Poly) -> Apply:
        key = f"{fn}({','.join(a.key for a in args)})"
        found: Apply | None = _ATOMS.get(key)
        if found is not None:
            return found
        self = object.__new__(cls)
        self.fn, self.args, self.natural = fn, args, None
        self.fv = _union(a.fv for a in args)
        return _intern(self, key)

    def __repr__(self) -> str:
        return f"{self.fn}({', '.join(map(repr, self.args))})"


class Value(Atom):
    """The value of a scalar kernel term used as an index (already checked and not negative)."""

    __slots__ = ("below", "term")
    term: Any
    below: Poly

    def __new__(cls, term: AnyTerm, fv: frozenset[Var], below: Poly) -> Value:
        key = f"value({term._h & 0xFFFFFFFFFFFFFFFF:016x})"
        found: Value | None = _ATOMS.get(key)
        if found is not None:
            return found
        self = object.__new__(cls)
        self.term, self.fv, self.below = term, fv, below
        return _intern(self, key)


def _union(sets: Iterable[frozenset[E]]) -> frozenset[E]:
    out: frozenset[E] = EMPTY
    for s in sets:
        if s and s is not out and not s <= out:
            out = s if out <= s else out | s
    return out


# ---------------------------------------------------------------------- polynomials
Monomial = tuple[Atom, ...]
_INTEGERS: dict[int, Poly] = {}


class Poly:
    """A polynomial in normal form. Interned: `is` means equal. Supports + - * with polynomials, atoms and integers.

    One that is no number remembers its sums, by the other summand, its multiples, by the factor, and what its atoms
    are multiplied by, while it lives.
    """

    __slots__ = ("__weakref__", "const", "fv", "key", "nonneg", "results", "terms", "values")
    terms: tuple[tuple[Monomial, int], ...]
    const: int | None  # the integer this is, or None
    fv: frozenset[Var]
    key: str
    values: tuple[Any, ...]  # the kernel terms whose values it uses, also inside opaque atoms
    results: dict[Poly | Atom | int, Poly]
    nonneg: bool | None  # whether it is known to be never negative, wherever it is evaluated; None until somebody asks

    def __new__(cls, terms: Mapping[Monomial, int]) -> Poly:
        rows = [row for row in _joined(terms).items() if row[1]]
        if len(rows) > 1:
            rows.sort(key=_row_key)
        key = "+".join([_row_text(m, c) for m, c in rows]) or "0"
        found = _POLYS.get(key)
        if found is not None:
            return found
        self = object.__new__(cls)
        self.terms, self.key, self.results, self.nonneg = tuple(rows), key, {}, None
        self.const = 0 if not rows else rows[0][1] if len(rows) == 1 and not rows[0][0] else None
        self.fv = _union(a.fv for m, _ in rows for a in m)
        self.values = tuple(dict.fromkeys(t for m, _ in rows for a in m for t in _values_in(a)))
        return _POLYS.setdefault(key, self)

    @property
    def _h(self) -> int:
        """For the hash of what has it as a parameter; few of these are asked for theirs."""
        return stable_hash("poly", self.key)

    def atoms(self) -> list[Atom]:
        """The atoms of all monomials, each once."""
        return list(dict.fromkeys(a for m, _ in self.terms for a in m))

    def coefficient(self, atom: Atom) -> Poly:
        """What multiplies the atom where it occurs once."""
        found = self.results.get(atom)
        if found is None:
            out: dict[Monomial, int] = {}
            for m, c in self.terms:
                if m.count(atom) == 1:
                    rest = list(m)
                    rest.remove(atom)
                    out[tuple(rest)] = c
            found = Poly(out)
            if out:  # else another one's atoms would be kept as long as this one
                self.results[atom] = found
        return found

    def without(self, atoms: Iterable[Atom]) -> Poly:
        """The part in which none of the atoms occurs."""
        drop = set(atoms)
        return Poly({m: c for m, c in self.terms if not drop & set(m)})

    def __add__(self, other: Any) -> Poly:
        return plus(self, other if other.__class__ is Poly else poly(other))

    def __radd__(self, other: object) -> Poly:
        return plus(poly(other), self)

    def __sub__(self, other: Any) -> Poly:
        return plus(self, times(poly(other), MINUS_ONE))

    def __rsub__(self, other: object) -> Poly:
        return poly(other) - self

    def __mul__(self, other: Any) -> Poly:
        return times(self, other if other.__class__ is Poly else poly(other))

    def __rmul__(self, other: int) -> Poly:
        return times(poly(other), self)

    def __neg__(self) -> Poly:
        return times(self, MINUS_ONE)

    def __repr__(self) -> str:
        return show(self)


def _values_in(a: Atom) -> tuple[Any, ...]:
    if isinstance(a, Value):
        return (a.term,)
    return tuple(t for p in a.args for t in p.values) if isinstance(a, Apply) else ()


def _row_key(row: tuple[Monomial, int]) -> tuple[str, ...]:
    return tuple([a.key for a in row[0]])


def _row_text(m: Monomial, c: int) -> str:
    return "*".join([str(c), *[a.key for a in m]]) if c != 1 or not m else "*".join([a.key for a in m])


def _sorted(m: Iterable[Atom]) -> Monomial:
    return tuple(sorted(m, key=lambda a: a.key))


def poly(x: Any) -> Poly:
    """An integer, an atom or a polynomial as a polynomial."""
    if x.__class__ is Poly:
        return x
    if x.__class__ is Var and not x.extent.values:
        return _of_loop(x)
    if isinstance(x, Atom):
        return Poly({(x,): 1})
    found = _INTEGERS.get(x)
    if found is None:
        found = Poly({(): int(x)})
        if len(_INTEGERS) < 10000:
            _INTEGERS[x] = found
    return found


@functools.lru_cache(maxsize=1024)
def _of_loop(v: Var) -> Poly:
    """A loop variable alone: equal layers ask for the same few."""
    return Poly({(v,): 1})


def plus(a: Poly, b: Poly) -> Poly:
    """The sum."""
    if not a.terms:
        return b
    if not b.terms:
        return a
    if a.const is not None:
        if b.const is not None:
            return poly(a.const + b.const)
        a, b = b, a
    found = a.results.get(b)
    if found is None:
        out = dict(a.terms)
        for m, c in b.terms:
            out[m] = out.get(m, 0) + c
        found = a.results[b] = Poly(out)
    return found


def times(a: Poly, b: Poly) -> Poly:
    """The product."""
    if a is ONE:
        return b
    if b is ONE:
        return a
    if a.const is not None:
        return multiple(b, a.const)
    if b.const is not None:
        return multiple(a, b.const)
    out: dict[Monomial, int] = {}
    for m, c in a.terms:
        for n, d in b.terms:
            key = _sorted(m + n)
            out[key] = out.get(key, 0) + c * d
    return Poly(out)


def multiple(a: Poly, factor: int) -> Poly:
    """The product with an integer."""
    if a.const is not None:
        return poly(a.const * factor)
    found = a.results.get(factor)
    if found is None:
        found = a.results[factor] = Poly({m: c * factor for m, c in a.terms})
    return found


def product(xs: Iterable[Any]) -> Poly:
    """The product of many; 1 if there are none."""
    out = ONE
    for x in xs:
        out = times(out, x if x.__class__ is Poly else poly(x))
    return out


def quotient(p: Poly, q: Poly) -> Apply:
    """p // q as it is written; what was divided before is divided once: (x // 2) // 2 is x // 4."""
    atom = p.terms[0][0][0] if len(p.terms) == 1 and len(p.terms[0][0]) == 1 and p.terms[0][1] == 1 else None
    if atom.__class__ is Apply and atom.fn == "floordiv" and (atom.args[1].const or 0) > 0 and (q.const or 0) > 0:
        return Apply("floordiv", atom.args[0], atom.args[1] * q)
    return Apply("floordiv", p, q)


def _joined(terms: Mapping[Monomial, int]) -> Mapping[Monomial, int]:
    """c*q*(p//q) + c*(p%q) -> c*p: why collapsed loops cost nothing."""
    for m, c in terms.items():
        if not c:
            continue
        for a in m:
            if a.__class__ is not Apply:
                continue
            if a.fn == "max" and a.args[0].const == 0:
                whole = _rejoined(terms, m, c, a)
                if whole is not None:
                    return _joined(whole)
            if a.fn != "mod":
                continue
            p, q = a.args
            rest = list(m)
            rest.remove(a)
            rest.append(quotient(p, q))
            partners = {_sorted([*rest, *qm]): c * qc for qm, qc in q.terms}
            if all(terms.get(k) == v for k, v in partners.items()):
                out = {k: v for k, v in terms.items() if k != m and k not in partners}
                for pm, pc in p.terms:
                    key = _sorted([*rest[:-1], *pm])
                    out[key] = out.get(key, 0) + c * pc
                return _joined(out)
    return terms


def _rejoined(terms: Mapping[Monomial, int], m: Monomial, c: int, a: Apply) -> Mapping[Monomial, int] | None:
    """max(0, p - k) + min(k, p) -> p: the length of something cut in two and put together again."""
    rest = list(m)
    rest.remove(a)
    for n, d in terms.items():
        if d != c or len(n) != len(m):
            continue
        for b in n:
            if b.__class__ is Apply and b.fn == "min" and b.args[0].const is not None:
                others = list(n)
                others.remove(b)
                if others == rest and b.args[1] - b.args[0] is a.args[1]:
                    out = {k: v for k, v in terms.items() if k != m and k != n}
                    for pm, pc in b.args[1].terms:
                        key = _sorted([*rest, *pm])
                        out[key] = out.get(key, 0) + c * pc
                    return out
    return None


ONE = Poly({(): 1})
ZERO = Poly({})
MINUS_ONE = Poly({(): -1})


# ---------------------------------------------------------------------- looking inside
def symbols(p: Poly) -> list[Sym]:
    """All symbols in p, also inside opaque atoms, in order."""
    out: dict[Sym, None] = {}
    todo = [p]
    while todo:
        for a in todo.pop().atoms():
            if isinstance(a, Sym):
                out[a] = None
            elif isinstance(a, Apply):
                todo.extend(a.args)
            elif isinstance(a, Var):
                todo.append(a.extent)
    return list(out)


def repeats(p: Poly, vars_: Iterable[Var]) -> bool:
    """Whether a position is the same for several counts of a loop: it surely does not depend on them."""
    return any(v not in p.fv and v.extent is not ONE for v in vars_)


def values(p: Poly) -> tuple[Any, ...]:
    """The kernel terms whose values p uses, also inside opaque atoms."""
    return p.values


def show(p: Poly) -> str:
    """Readable text, variables by level."""
    parts = []
    for m, c in p.terms:
        factors = [*([str(c)] if c != 1 or not m else []), *map(repr, m)]
        parts.append("*".join(factors))
    return " + ".join(parts).replace("+ -", "- ") or "0"
