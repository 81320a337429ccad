"""Whether iterations of a nest of loops surely come to different places, read off the indices of an axis each.

What two places that are equal tell about the counts is collected until it is all of them, or no more can be had.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from termgraph.lower.lengths.index import nonneg
from termgraph.lower.lengths.polynomials import ONE, ZERO, Apply, Atom, Poly, Var, poly, quotient


def never_meet(place: Sequence[Poly], vars_: Iterable[Var]) -> bool:
    """Whether the place tells the count of every loop."""
    unknown = {v for v in vars_ if v.extent is not ONE}
    told: set[Poly] = set(place)
    while unknown:
        found = {p for q in told for p in (*_parts(q, unknown), *_joined(q, told))} - told
        told |= found
        counts = {v for v in unknown if poly(v) in told}
        if not found and not counts:
            return False
        unknown -= counts
    return True


def moves_with(p: Poly, v: Var, vars_: Sequence[Var]) -> bool:
    """Whether a number that is equal in two iterations tells that the count of this loop is."""
    step = p.coefficient(v)
    return bool(step.const) and (p - step * poly(v)).fv.isdisjoint(vars_)


def _parts(p: Poly, unknown: set[Var]) -> Iterable[Poly]:
    """What a known number tells: the one thing in it that is not known, or digits, each too large for those below."""
    steps = _digits(p, unknown)
    below = ZERO
    for atom in sorted(steps, key=lambda a: _size(steps[a])):
        if not nonneg(steps[atom] - below - 1):
            return ()
        if len(steps) > 1:
            if not isinstance(atom, Var):
                return ()
            below = below + steps[atom] * (atom.extent - 1)
    return [poly(a) for a in steps]


def _digits(p: Poly, unknown: set[Var]) -> dict[Atom, Poly]:
    """What changes in a number, with what it is multiplied by; nothing if two of them are multiplied."""
    out: dict[Atom, Poly] = {}
    rest = p
    for atom in p.atoms():
        if not unknown.isdisjoint(atom.fv):
            step = p.coefficient(atom)
            rest = rest - step * poly(atom)
            out[atom] = -step if all(c < 0 for _, c in step.terms) else step
    known = all(step.terms and unknown.isdisjoint(step.fv) for step in out.values()) and unknown.isdisjoint(rest.fv)
    return out if known else {}


def _size(step: Poly) -> tuple[int, int]:
    """By which steps are put in order: the number of lengths in them, then their numbers."""
    return max(len(m) for m, _ in step.terms), sum(abs(c) for _, c in step.terms)


def _joined(p: Poly, told: set[Poly]) -> Iterable[Poly]:
    """A number of which the rest and the quotient by another are known."""
    atom = next(iter(p.atoms()), None)
    if isinstance(atom, Apply) and atom.fn == "mod" and p is poly(atom):
        whole, by = atom.args
        if poly(quotient(whole, by)) in told:
            yield whole
