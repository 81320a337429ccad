"""Operands that are stored turned round: they are read for each element of an axis that they lack, across memory.

`((x[:, None] - y[None]) ** 2).sum(2)` reads all rows of `y` for each row of `x`. Its loop over these rows takes whole
vectors where the first numbers of all rows lie side by side, then the second ones: `y` is copied so, once.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from termgraph._records import record
from termgraph.lower.lengths.index import (
    ONE,
    ZERO,
    Poly,
    Var,
    largest,
    maximum,
    minimum,
    nest,
    nonneg,
    poly,
    product,
    substitute,
)
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
    """Elements of an array in the last of some loops: those from `start` on, `count` of them, of each row."""

    buf: Buf
    start: Poly
    count: Poly
    vars: Sequence[Var]
    loads: dict[AnyTerm, Poly]  # the loads, and which of the row each is
    lane: Poly  # which row it is of those side by side: the count of the last loop, or some more

    @property
    def own(self) -> list[Var]:
        """The loops outside the last one in which it is another row."""
        return [v for v in self.vars[:-1] if v in self.start.fv]

    @property
    def lanes(self) -> Poly:
        """How many lie side by side."""
        return largest(self.lane) + 1

    @property
    def rows(self) -> Poly:
        """How often it is read."""
        return product([v.extent for v in self.vars if v not in self.start.fv])


def turned(s: Scalars, stores: Sequence[Any], prefix: str) -> dict[Any, list[Any]]:
    """What statements become that read operands turned round: the copies, and the same with other loads.

    Where it is not known whether sums are faster so, there is a statement for either case; the loops of one of them
    have no steps.
    """
    operands: dict[Any, list[Operand]] = {}
    folds: dict[Any, list[AnyTerm]] = {}  # those that read some of them
    nests = [(x, *nest) for x in stores if x.splits for nest in _nests(s, x) if len(nest[0]) > 1]
    for vars, same in grouped((vars, (x, value)) for x, vars, value in nests).items():
        sums = [_folds(s, value, vars[-1]) for _, value in same]
        fits = all(_runs_along(s, f, vars) for found in sums for f in found)  # the loop is one for all of them
        for (x, value), found in zip(same, sums):
            rows = [r for f in found for r in _rows(s, f, vars)] if fits else []
            alone = [] if found else _elements(value, vars, vars != tuple(x.vars))
            operands.setdefault(x, []).extend([*rows, *alone])
            folds.setdefault(x, []).extend(found if rows else [])
    copies: dict[Any, Buf] = {}
    out: dict[Any, list[Any]] = {}
    for x, found in operands.items():
        worth = _worth(found, folds[x])
        if worth is not ZERO:
            out[x] = _with_copies(s, x, found, worth if folds[x] else ONE, copies, prefix)
    return out


# ---------------------------------------------------------------------- which operands
def _nests(s: Scalars, x: Any) -> Iterator[tuple[tuple[Var, ...], AnyTerm]]:
    """The loops of a statement with what the last one computes: its own, and those of the folds that wait for no other.

    What a fold needs that is the same in all its steps, as a mean by which a variance differs, is a fold before it.
    """
    yield tuple(x.vars), x.value
    for f in scalars([x.value]):
        if f.op.family is FOLD and s.free(f) <= set(x.vars):
            yield (*[v for v in x.vars if v in s.free(f)], f.op.params["var"]), f.args[0]


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
    var, found = f.op.params["var"], []
    for t in scalars(f.args):
        if t.op.family is LOAD and _is_reread(t, vars, (*vars, var)) and _step(t, var) == 1:
            start, lane = _lane(t.op.params["offset"].without([var]), vars)
            found.append(Operand(t.op.params["buf"], start, var.extent, vars, {t: poly(var)}, lane))
    return found


def _elements(value: AnyTerm, vars: Sequence[Var], of_fold: bool) -> list[Operand]:
    """Rows that are written out, element by element: those of the same places but for a number are one operand.

    What differs from element to element of a result that a fold makes is left to lie as it does.
    """
    found: dict[tuple[Buf, Poly], list[tuple[int, AnyTerm]]] = {}
    for t in scalars([value], lambda t: t.op.family in (FOLD, PICK)):
        if t.op.family is LOAD and _is_reread(t, vars, vars):
            offset = t.op.params["offset"]
            number = offset.without(offset.atoms()).const or 0
            if not of_fold or len(offset.fv) == 1:
                found.setdefault((t.op.params["buf"], offset - number), []).append((number, t))
    out = []
    for (buf, start), loads in found.items():
        least, most = min(k for k, _ in loads), max(k for k, _ in loads)
        if most - least < FURTHEST:
            places = {t: poly(k - least) for k, t in loads}
            first, lane = _lane(start + least, vars)
            out.append(Operand(buf, first, poly(most - least + 1), vars, places, lane))
    return out


def _is_reread(t: AnyTerm, vars: Sequence[Var], all_vars: Sequence[Var]) -> bool:
    """Whether an element is at a step of the last loop, not beside those of the next step, and read in each row."""
    offset = t.op.params["offset"]
    lane = vars[-1]
    plain = not offset.values and all(not a.fv or a in all_vars for a in offset.atoms())
    if not plain or lane not in offset.fv or _step(t, lane) == 1 or not _is_linear(offset):
        return False
    return not set(vars) <= _lane(offset, vars)[0].fv


def _lane(start: Poly, vars: Sequence[Var]) -> tuple[Poly, Poly]:
    """Where a row begins if it is the first of those side by side, but for the last loop, and which of them it is.

    Where a loop around moves on as the last one does, as in `x[i + j]`, both loops count the same rows.
    """
    *around, last = vars
    step, lane = start.coefficient(last), poly(last)
    for v in around:
        if v in last.extent.fv and start.coefficient(v) is step:
            lane, start = lane + v, start.without([v])
    if lane is not poly(last) and nonneg(start.without(vars) - step):
        lane, start = lane + 1, start - step
    return start, lane


def _is_linear(offset: Poly) -> bool:
    return all(sum(a.__class__ is Var for a in m) <= 1 for m, _ in offset.terms)


def _step(t: AnyTerm, var: Var) -> int:
    return distance(t.op.params["offset"].coefficient(var), t.op.params["buf"].strides)


# ---------------------------------------------------------------------- whether it pays
def _worth(operands: Sequence[Operand], folds: Collection[AnyTerm]) -> Poly:
    """1 where the copies pay, 0 elsewhere."""
    if not operands:
        return ZERO
    spare = [n for r in operands for n in (r.lanes - FEWEST_LANES, r.rows - FEWEST_ROWS)]
    spare += [LONGEST - f.op.params["var"].extent for f in folds]
    return maximum(0, functools.reduce(minimum, dict.fromkeys(spare), ZERO) + 1)


# ---------------------------------------------------------------------- the statements
def _with_copies(
    s: Scalars, x: Any, operands: Sequence[Operand], worth: Poly, copies: dict[Any, Buf], prefix: str
) -> list[Any]:
    """A statement that reads copies, after those that make them, and the one that does not, if that is not known."""
    first = x.vars[0]
    loops = _from(x.vars, Var(first.level, first.extent * worth))
    here: dict[Any, Poly] = {v: poly(new) for v, new in zip(x.vars, loops)}
    out, known = [], {}
    for r in operands:
        shape = (*[v.extent for v in r.own], r.count, r.lanes)
        key = r.buf, r.start, shape
        if key not in copies:
            copies[key] = Buf(f"{prefix}turned{len(copies)}", r.buf.dtype, shape, "temp")
            out.append(_copy(type(x), s, r, worth, copies[key]))
        own = [here.get(v, poly(v)) for v in r.own]
        for t, place in r.loads.items():
            known[t] = s.load(copies[key], copies[key].offset((*own, place, substitute(r.lane, here))))
    out.append(_over(s, x, loops, known))
    if worth.const is None:
        out.append(_over(s, x, _from(x.vars, Var(first.level, first.extent * (1 - worth))), {}))
    return out


def _from(vars: Sequence[Var], first: Var) -> list[Var]:
    """Loops with another first one; how long those inside are may depend on it."""
    new = [first]
    here: dict[Any, Poly] = {vars[0]: poly(first)}
    for v in vars[1:]:
        new.append(Var(v.level, substitute(v.extent, here)))
        here[v] = poly(new[-1])
    return new


def _over(s: Scalars, x: Any, loops: list[Var], known: dict[AnyTerm, AnyTerm]) -> Any:
    """The statement in other loops."""
    moved = Moved(s, {v: poly(new) for v, new in zip(x.vars, loops)}, known)
    return x.moved(loops, moved.index(x.offset), moved.term(x.value))


def _copy(store: Any, s: Scalars, r: Operand, worth: Poly, buf: Buf) -> Any:
    """The statement that fills a copy."""
    index, vars = nest((buf.shape[0] * worth, *buf.shape[1:]))
    *outer, place, lane = index
    there: dict[Any, Poly] = {**dict(zip(r.own, outer)), r.vars[-1]: lane}
    return store(buf, buf.offset(index), s.load(r.buf, substitute(r.start, there) + place), vars)
