"""How an array lies in memory: a kind for each stride, of those arrays that are not in row-major order.

Which kinds an array has is known when it is handed over; a program that is made for them reads it where it lies. The
same kinds are found by `layout_code` in backends/c/run/team.c.
"""

from __future__ import annotations

from collections.abc import Sequence

from termgraph.lower.lengths.index import MINUS_ONE, ONE, ZERO, Poly, Sym, poly

# From the fastest axis to the slowest, `step` is what the axes inside span. A stride is ...
DENSE = 0  # step: this axis and those inside are one (also every axis of length one)
REPEATED = 1  # zero
BACKWARDS = 2  # -step
SECOND = 3  # two, of the fastest axis: every second element, or the real parts of complex numbers
ROWS = 4  # at least step: rows of a wider array
ANY = 5  # something else: rows that run backwards or overlap
Kinds = tuple[int, ...]


def any_strides(ndim: int) -> Kinds:
    """The kinds of an array of which nothing is known."""
    return (ANY,) * ndim


def strides_of(index: int, shape: Sequence[Poly], kinds: Kinds) -> tuple[Poly, ...]:
    """The strides of argument number `index`, in elements; those not known before are symbols `s<argument>_<axis>`."""
    out: list[Poly] = []
    step = ONE
    for d in reversed(range(len(kinds))):
        kind = kinds[d]
        symbol = poly(Sym(f"s{index}_{d}", natural=kind == ROWS))
        stride = {DENSE: step, REPEATED: ZERO, BACKWARDS: step * MINUS_ONE, SECOND: poly(2)}.get(kind, symbol)
        out.append(stride)
        if kind != REPEATED:
            step = (step if kind in (DENSE, BACKWARDS) else stride) * shape[d]
    return tuple(reversed(out))


FAR = 9


def distance(step: Poly, strides: Sequence[Poly] | None) -> int:
    """How far apart in memory elements are that follow each other: 1 side by side, FAR or more in other rows."""
    if step.const is not None:
        return abs(step.const) or FAR
    fastest = [s for s in strides or () if s is not ZERO][-1:]
    return FAR - 1 if any(step is s or step is -s for s in fastest) else FAR


def spans_rows(stride: Poly) -> bool:
    """Whether this is a multiple of the stride of ROWS: no row reaches into the next."""
    if len(stride.terms) != 1:
        return False
    ((factors, count),) = stride.terms
    return count > 0 and any(isinstance(a, Sym) and a.natural and a.name[0] == "s" for a in factors)
