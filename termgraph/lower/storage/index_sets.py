"""Index-set splitting: a loop in which a choice changes at a known index becomes loops without the choice.

Neighbours around the edges of an array, joined parts and windows that are written into choose by index. Inside the
innermost loop that keeps compilers from whole vectors, so the loop is cut there; and so are outer loops where what is
chosen between is computed in the innermost one. Statements are cut when what is stored has been decided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from termgraph.lower.lengths.index import ZERO, Poly, Value, Var, poly, substitute
from termgraph.lower.lengths.polynomials import values
from termgraph.lower.push.kernel import (
    FALSE,
    FOLD,
    ITEST,
    IVAL,
    LOAD,
    PICK,
    TRUE,
    Buf,
    Scalars,
    kids,
    operands_first,
    scalars,
)
from termgraph.terms.ops.elementwise import logical_and
from termgraph.terms.term import AnyTerm, Const
from termgraph.terms.traverse import grouped

Range = tuple[int, int]  # first index, and the one after the last
MOST_RANGES = 3  # of a loop: beyond, the longest is kept and what is before and after it stays as it was
MOST_WORK = 1500  # terms that are printed, over all pieces
FEWEST = 64  # elements of a statement: below, loops cost more than choices
LARGE = 8  # a range of at least this part of a loop is cut along the loops inside it, too


Box = tuple[Range, ...]


def split(
    s: Scalars, stores: Sequence[Any], fixed: Collection[AnyTerm], written: Mapping[Buf, int]
) -> dict[Any, list[Any]]:
    """What statements become: several, each, of one that chooses by index, or one that reads what these store.

    What others compute in the same loops is read from where it is stored then, if no other statement has `written`
    or added there. A statement stays whole where others choose between the same elements in their loops, or what they
    are told (`fixed`): they would be computed twice.
    """
    boxes = {x: found for x in stores if x.splits and (found := boxes_of(s, x.value, x.vars))}
    if not boxes:
        return {}
    chosen = {x: {t for t in operands_first([x.value]) if _is_chosen(t)} for x in stores}
    users = grouped((t, x) for x, found in chosen.items() for t in found)  # the statements that compute what is chosen
    known: dict[Any, AnyTerm] = {}  # values that are stored in pieces, as what is loaded in their place
    for x in list(boxes):
        own = {t for t in chosen[x] if x.vars[-1] in s.free(t)}
        others = dict.fromkeys(y for t in own for y in users[t])
        apart = [y for y in others if (boxes.get(y), y.vars) != (boxes[x], x.vars)]
        load = {x.value: s.load(x.buf, x.offset)}
        left = operands_first([Moved(s, {}, load).term(y.value) for y in apart])
        if not own.isdisjoint(left) or not own.isdisjoint(fixed) or (apart and not _holds(x, written)):
            del boxes[x]
        elif apart:
            known |= load
    out = {
        x: [x.moved(x.vars, x.offset, Moved(s, {}, known).term(x.value))] for x in stores if known and x not in boxes
    }
    for x, found in boxes.items():
        pieces = [Piece(s, x.vars, box) for box in found]
        out[x] = [x.moved(p.vars, p.index(x.offset), p.term(x.value)) for p in pieces]
    return out


def _holds(x: Any, written: Mapping[Buf, int]) -> bool:
    """Whether a statement leaves its value in memory, to be read by others."""
    return x.mode == "set" and written[x.buf] == 1


def _is_chosen(t: AnyTerm) -> bool:
    """Whether a term is a choice between elements, or computed from one that lies at a chosen place.

    A place alone costs nothing: unlike statements that read their neighbours at such places compute nothing twice.
    """
    if t.op.family is PICK:
        return any(a.op.family is not IVAL and a.__class__ is not Const for a in t.args[1:])
    return any(a.op.family is LOAD and any(v.op.family is PICK for v in kids(a)) for a in t.args)


class Moved:
    """Kernel terms made again with other indices, and with some of them known already."""

    def __init__(self, s: Scalars, replace: dict[Any, Poly], made: dict[Any, Any]) -> None:
        self.s, self.replace = s, replace
        self.made: dict[Any, AnyTerm] = dict(made)

    def term(self, root: AnyTerm) -> AnyTerm:
        """A kernel term there."""
        for t in operands_first([root], self.made.__contains__):
            if t not in self.made:
                self.made[t] = self._term(t)
        return self.made[root]

    def _term(self, t: AnyTerm) -> AnyTerm:
        s, family, params = self.s, t.op.family, t.op.params
        if family is LOAD:
            return s.load(params["buf"], self.index(params["offset"]))
        if family is IVAL:
            return s.number(self.index(params["index"]))
        if family is ITEST:
            return s.test(params["test"], self.index(params["a"]), self.index(params["b"]))
        args = tuple([self.made[a] for a in t.args])
        if family is PICK:
            return s.pick(*args)
        if t.op is logical_and:
            args = tuple([a for a in args if a is not TRUE])
            if FALSE in args or len(args) < 2:
                return FALSE if FALSE in args else args[0] if args else TRUE
        if args == t.args:
            return t
        return s.fold(params["kind"], params["var"], *args) if family is FOLD else s.again(t.op, args)

    def index(self, p: Poly) -> Poly:
        """An index there."""
        replace: Mapping[Any, Poly] = self.replace
        if p.values:
            replace = {**replace}
            for t in values(p):
                atom, new = Value(t, self.s.free(t), ZERO), self.term(t)
                if new.__class__ is Const:
                    replace[atom] = poly(int(new.scalar))
                elif new is not t:
                    replace[atom] = poly(Value(new, self.s.free(new), self.index(atom.below)))
        return substitute(p, replace)


class Piece(Moved):
    """The part of a statement for some ranges of its loops: which loops are left, and what its terms are there."""

    def __init__(self, s: Scalars, vars: Sequence[Var], box: Box) -> None:
        super().__init__(s, {}, {})
        self.vars: list[Var] = []
        for v, (start, stop) in zip(vars, box):
            self.replace[v] = poly(start)
            if stop - start > 1:
                self.vars.append(Var(vars[0].level + len(self.vars), poly(stop - start)))
                self.replace[v] += poly(self.vars[-1])


def boxes_of(s: Scalars, value: AnyTerm, vars: Sequence[Var]) -> list[Box]:
    """The ranges of each piece of a statement; none if it chooses nothing by index, or cannot be cut."""
    extents = [v.extent.const for v in vars]
    if None in extents or not _is_large(extents):  # type: ignore[arg-type]
        return []
    terms = scalars([value])
    if any(t.op.family is FOLD for t in terms):
        return []
    places = _places(s, terms, vars)
    for axes in (vars, vars[-1:]):
        ranges = [_ranges(int(n), places[v] if v in axes else set()) for v, n in zip(vars, extents)]  # type: ignore[arg-type]
        boxes = [tuple(box) for box in _boxes(ranges)]
        if len(boxes) > 1 and len(boxes) * len(terms) <= MOST_WORK:
            return boxes
    return []


def _is_large(extents: Sequence[int]) -> bool:
    elements = 1
    for n in extents:
        elements *= n
    return elements >= FEWEST


def _places(s: Scalars, terms: Sequence[AnyTerm], vars: Sequence[Var]) -> dict[Var, set[int]]:
    """Where along each loop a choice changes that is made in the innermost one."""
    found: dict[Var, set[int]] = {v: set() for v in vars}
    for t in terms:
        if t.op.family is PICK and vars[-1] in s.free(t):
            for test in scalars([t.args[0]]):
                if test.op.family is ITEST:
                    for v, place in _changes(test):
                        if v in found:
                            found[v].add(place)
    return found


def _changes(test: AnyTerm) -> Iterator[tuple[Var, int]]:
    """A loop's variable and its value from which on a test has another result, if that is all that it depends on."""
    away = test.op.params["b"] - test.op.params["a"]
    atoms = away.atoms()
    if len(atoms) != 1 or atoms[0].__class__ is not Var:
        return
    v = atoms[0]
    rest = (away - away.coefficient(v) * poly(v)).const
    sign = away.coefficient(v).const
    if rest is None or sign not in (1, -1):
        return
    if test.op.params["test"] == "eq":
        yield v, -sign * rest
        yield v, -sign * rest + 1
    else:  # a < b
        yield v, rest if sign < 0 else 1 - rest


def _ranges(n: int, places: set[int]) -> list[Range]:
    """A loop of n steps cut at some places; at those around the longest range if these are many."""
    cuts = [0, *sorted(p for p in places if 0 < p < n), n]
    if len(cuts) - 1 > MOST_RANGES:
        start, stop = max(pairwise(cuts), key=lambda r: r[1] - r[0])
        cuts = sorted({0, start, stop, n})
    return list(pairwise(cuts))


def _boxes(ranges: Sequence[list[Range]]) -> Iterator[list[Range]]:
    """The ranges of each piece. Short ranges of an outer loop, edges mostly, are not cut along the loops inside."""
    if not ranges:
        yield []
        return
    n = ranges[0][-1][1]
    for start, stop in ranges[0]:
        whole = (stop - start) * LARGE < n
        for inside in [[(r[0][0], r[-1][1]) for r in ranges[1:]]] if whole else _boxes(ranges[1:]):
            yield [(start, stop), *inside]
