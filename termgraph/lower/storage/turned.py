"""Operands that are stored turned round: they are read for each element of an axis that they lack, across memory.

`((x[:, None] - y[None]) ** 2).sum(2)` reads all rows of `y` for each row of `x`. Its loop over these rows takes whole
vectors where the first numbers of all rows lie side by side, then the second ones: `y` is copied so, once.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

from termgraph._records import record
from termgraph.lower.lengths.index import ONE, ZERO, Poly, Var, maximum, minimum, nest, poly, product, substitute
from termgraph.lower.memory.strides import distance
from termgraph.lower.push.kernel import ARG_FOLDS, FOLD, LOAD, PICK, Buf, Scalars, scalars
from termgraph.lower.storage.index_sets import Moved
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import grouped

# A copy takes about as long as the sums of one row, which it makes two to ten times as fast. It pays
FEWEST_ROWS = 4  # from so many rows on that read the operand,
FEWEST_LANES = 8  # from so many elements on side by side, of which whole vectors are made,
LONGEST = 128  # and up to so many summands: rows of more are vectors as well, and sums of their parts more exact.
FURTHEST = 64  # elements of a row of known length that are read one by one


@record(eq=False)
class Operand:
    """Elements of an array in the last loop of a statement: those from `first` on, `count` of them, of each row."""

    first: AnyTerm
    start: Poly  # the place of the first one
    count: Poly
    loads: dict[AnyTerm, Poly]  # the loads, and which of the row each is


def turned(s: Scalars, stores: Sequence[Any], prefix: str) -> dict[Any, list[Any]]:
    """What statements become that read operands turned round: the copies, and the same with other loads.

    Where it is not known whether sums are faster so, there is a statement for either case; the loops of one of them
    have no steps.
    """
    out: dict[Any, list[Any]] = {}
    copies: dict[Any, Buf] = {}
    for vars, same in grouped((tuple(x.vars), x) for x in stores if x.splits and len(x.vars) > 1).items():
        folds = {x: _folds(s, x.value, vars[-1]) for x in same}
        sums = [f for found in folds.values() for f in found]
        fits = all(_runs_along(s, f, vars) for f in sums)  # else some want their loop, which is one, along the rows
        for x in same:
            rows = [r for f in folds[x] for r in _rows(s, f, vars)] if fits else []
            alone = [] if folds[x] else _elements(s, x.value, vars)
            worth = _worth([*rows, *alone], vars, folds[x])
            if worth is not ZERO:
                out[x] = _with_copies(s, x, [*rows, *alone], worth if folds[x] else ONE, copies, prefix)
    return out


# ---------------------------------------------------------------------- which operands
def _folds(s: Scalars, value: AnyTerm, lane: Var) -> list[AnyTerm]:
    """The outermost sums and the like that differ from element to element of the last loop."""
    return [t for t in scalars([value], lambda t: t.op.family is FOLD) if t.op.family is FOLD and lane in s.free(t)]


def _runs_along(s: Scalars, f: AnyTerm, vars: Sequence[Var]) -> bool:
    """Whether a sum could be made for many elements side by side: what it reads lies so, or would if turned round."""
    below = scalars(f.args)
    if f.op.params["kind"] in ARG_FOLDS or f.op.params["var"].extent.fv:
        return False
    if any(t.op.family in (FOLD, PICK) and vars[-1] in s.free(t) for t in below):
        return False
    turn = {t for r in _rows(s, f, vars) for t in r.loads}
    loads = [t for t in below if t.op.family is LOAD and vars[-1] in s.free(t) and t not in turn]
    return all(_step(t, vars[-1]) == 1 for t in loads)


def _rows(s: Scalars, f: AnyTerm, vars: Sequence[Var]) -> list[Operand]:
    """Rows that a sum runs along, of which each element of the last loop has one."""
    var = f.op.params["var"]
    found = []
    for t in scalars(f.args):
        if t.op.family is LOAD and _is_reread(t, vars, (*vars, var)) and _step(t, var) == 1:
            found.append(Operand(t, t.op.params["offset"].without([var]), var.extent, {t: poly(var)}))
    return found


def _elements(s: Scalars, value: AnyTerm, vars: Sequence[Var]) -> list[Operand]:
    """Rows that are written out, element by element: those of the same places but for a number are one operand."""
    found: dict[tuple[Buf, Poly], list[tuple[int, AnyTerm]]] = {}
    for t in scalars([value], lambda t: t.op.family in (FOLD, PICK)):
        if t.op.family is LOAD and _is_reread(t, vars, vars):
            offset = t.op.params["offset"]
            number = offset.without(offset.atoms()).const or 0
            found.setdefault((t.op.params["buf"], offset - number), []).append((number, t))
    out = []
    for (_, start), loads in found.items():
        least, most = min(k for k, _ in loads), max(k for k, _ in loads)
        if most - least < FURTHEST:
            places = {t: poly(k - least) for k, t in loads}
            out.append(Operand(loads[0][1], start + least, poly(most - least + 1), places))
    return out


def _is_reread(t: AnyTerm, vars: Sequence[Var], all_vars: Sequence[Var]) -> bool:
    """Whether an element is at a step of the last loop, not beside those of the next step, and read in each row."""
    offset = t.op.params["offset"]
    lane = vars[-1]
    plain = not offset.values and all(not a.fv or a in all_vars for a in offset.atoms())
    return plain and lane in offset.fv and not set(vars) <= offset.fv and _step(t, lane) != 1 and _is_linear(offset)


def _is_linear(offset: Poly) -> bool:
    return all(sum(a.__class__ is Var for a in m) <= 1 for m, _ in offset.terms)


def _step(t: AnyTerm, var: Var) -> int:
    return distance(t.op.params["offset"].coefficient(var), t.op.params["buf"].strides)


# ---------------------------------------------------------------------- whether it pays
def _worth(operands: Sequence[Operand], vars: Sequence[Var], folds: Collection[AnyTerm]) -> Poly:
    """1 where the copies pay, 0 elsewhere."""
    if not operands:
        return ZERO
    spare = [vars[-1].extent - FEWEST_LANES]
    spare += [product([v.extent for v in vars if v not in r.start.fv]) - FEWEST_ROWS for r in operands]
    spare += [LONGEST - f.op.params["var"].extent for f in folds]
    return maximum(0, functools.reduce(minimum, spare, ZERO) + 1)


# ---------------------------------------------------------------------- the statements
def _with_copies(
    s: Scalars, x: Any, operands: Sequence[Operand], worth: Poly, copies: dict[Any, Buf], prefix: str
) -> list[Any]:
    """A statement that reads copies, after those that make them, and the one that does not, if that is not known."""
    first, lane = x.vars[0], x.vars[-1]
    here = Var(first.level, first.extent * worth)
    out, known = [], {}
    for r in operands:
        own = [v for v in x.vars[:-1] if v in r.start.fv]
        shape = (*[v.extent for v in own], r.count, lane.extent)
        key = r.first.op.params["buf"], r.start, shape
        if key not in copies:
            copies[key] = Buf(f"{prefix}turned{len(copies)}", r.first.type.dtype, shape, "temp")
            out.append(_copy(x, s, r, own, worth, copies[key]))
        for t, place in r.loads.items():
            index = (*[poly(here if v is first else v) for v in own], place, poly(lane))
            known[t] = s.load(copies[key], copies[key].offset(index))
    out.append(_over(s, x, here, known))
    if worth.const is None:
        out.append(_over(s, x, Var(first.level, first.extent * (1 - worth)), {}))
    return out


def _over(s: Scalars, x: Any, first: Var, known: dict[AnyTerm, AnyTerm]) -> Any:
    """The statement with another first loop."""
    moved = Moved(s, {x.vars[0]: poly(first)}, known)
    return x.moved([first, *x.vars[1:]], moved.index(x.offset), moved.term(x.value))


def _copy(x: Any, s: Scalars, r: Operand, own: Sequence[Var], worth: Poly, buf: Buf) -> Any:
    """The statement that fills a copy."""
    index, vars = nest((buf.shape[0] * worth, *buf.shape[1:]))
    *outer, place, at = index
    there: dict[Any, Poly] = {**dict(zip(own, outer)), x.vars[-1]: at}
    offset = substitute(r.start, there) + place
    return type(x)(buf, buf.offset(index), s.load(r.first.op.params["buf"], offset), vars)
