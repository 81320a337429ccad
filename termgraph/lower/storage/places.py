"""Stored indices are checked where they are stored, not wherever they are read; others before the rows that share them.

Places that all channels of an image share (`x[:, places]`) are computed once; so they are compared with the length of
the axis once, and negative ones are counted from the end, too. The loops that read elements there do nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from termgraph.lower.lengths.index import ONE, ZERO, Poly, minimum, nest, nonneg, poly, product
from termgraph.lower.lengths.polynomials import Var, values
from termgraph.lower.loops.tree import Call, Choice, Compound
from termgraph.lower.push.kernel import INDEX, LOAD, PICK, PLACE, Buf, Scalars, kids, scalars
from termgraph.lower.storage.index_sets import Moved
from termgraph.terms.ops.elementwise import cast
from termgraph.terms.term import AnyTerm

FEWEST_ROWS = 4  # that read the same indices, if their number is known


def checked_before(s: Scalars, stores: Sequence[Any], prefix: str) -> list[Any]:
    """Statements that read indices again in each row, as those of columns, after others that store them checked."""
    copies: dict[AnyTerm, AnyTerm] = {}  # what is read for an index
    out: list[Any] = []
    for x in stores:
        found = [] if isinstance(x, Call | Compound) else _again_in_rows(s, x)
        for t, around, inside in found:
            if t not in copies:
                some = ONE if nonneg(around - 1) else minimum(ONE, around)  # of no rows nothing is asked for
                first, *others = [v.extent for v in inside]
                at, loops = nest((first * some, *others))
                buf = Buf(f"{prefix}places{len(copies)}", "int64", (first, *others), "temp")
                there = Moved(s, dict(zip(inside, at)), {})
                out.append(type(x)(buf, buf.offset(at), there.term(t), loops))
                load = s.load(buf, buf.offset(tuple(map(poly, inside))))
                copies[t] = s.again(PLACE.bind(length=t.op.params["length"]), (load,))
        out.append(_with_places(s, x, None, copies) if found else x)
    return out


def _again_in_rows(s: Scalars, x: Any) -> list[tuple[AnyTerm, Poly, list[Var]]]:
    """The indices of a statement that are the same in all steps of some loop around the last one in which they differ.

    Beside each how many steps that are, and the loops in which it differs.
    """
    roots = (*values(x.offset), x.value)
    surely = [*scalars(roots, lambda t: t.op.family is PICK), *_conditions(roots)]
    found = []
    for t in dict.fromkeys(surely):
        if t.op.family is INDEX and _is_read(t.args[0]):
            inside = [v for v in x.vars if v in s.free(t)]
            length = t.op.params["length"]
            known = not length.fv and not length.values and not any(v.extent.fv for v in inside)
            if inside and known and s.free(t) <= set(x.vars):
                last = x.vars.index(inside[-1])
                rows = product([v.extent for v in x.vars[:last] if v not in inside])
                if rows is not ONE and (rows.const is None or rows.const >= FEWEST_ROWS):
                    found.append((t, rows, inside))
    return found


def _is_read(t: AnyTerm) -> bool:
    return t.op.family is LOAD or (t.op.family is cast and t.args[0].op.family is LOAD)


def checked_where_stored(s: Scalars, stores: Sequence[Any]) -> list[Any]:
    """Statements of which one stores indices checked, and others read them.

    One statement writes them, and they are read as indices along axes of one length and for nothing else.
    """
    others = [x for x in stores if isinstance(x, Call | Compound)]
    plain = [x for x in stores if not isinstance(x, Call | Compound)]
    written = Counter(b for x in others for b in (x.bufs if isinstance(x, Compound) else (x.buf,)))
    written.update(x.buf for x in plain)
    checks = _checks(s, plain, _told(s, others))
    once = {x.buf for x in plain if x.mode == "set" and written[x.buf] == 1}
    checks = {b: found for b, found in checks.items() if b in once}
    if not checks:
        return list(stores)
    places = {t: s.again(PLACE.bind(length=t.op.params["length"]), t.args) for found in checks.values() for t in found}
    return [_with_places(s, x, checks.get(x.buf), places) if x in plain else x for x in stores]


def _with_places(s: Scalars, x: Any, checks: Sequence[AnyTerm] | None, places: dict[AnyTerm, AnyTerm]) -> Any:
    """A statement that stores checked indices, or reads them, or neither."""
    moved = Moved(s, {}, places)
    offset, value = moved.index(x.offset), moved.term(x.value)
    if checks is not None:
        first = checks[0].op.params
        value = s.number(s.index(value, first["length"], first["site"]))
    return x if offset is x.offset and value is x.value else x.moved(x.vars, offset, value)


def _told(s: Scalars, others: Sequence[Any]) -> list[AnyTerm]:
    """What calls and statements with trees of their own read: no more is known of it."""
    found: list[AnyTerm] = []
    for x in others:
        if isinstance(x, Choice):
            found.append(x.condition)
        for buf, offset, *_ in x.operands() if isinstance(x, Compound) else x.operands:
            found += [s.load(buf, ZERO), *values(offset)]
        if isinstance(x, Call) and "alpha" in x.options:
            found.append(x.options["alpha"])
    return found


def _checks(s: Scalars, stores: Sequence[Any], fixed: Collection[AnyTerm]) -> dict[Buf, list[AnyTerm]]:
    """The indices of each array that is read for them only, all of it for one of them at least."""
    roots = [t for x in stores for t in (*values(x.offset), x.value)]
    terms = scalars([*roots, *fixed])
    found: dict[Buf, list[AnyTerm]] = {}
    loads: set[AnyTerm] = set()
    for t in terms:
        if t.op.family is INDEX and t.args[0].op.family is LOAD:
            found.setdefault(t.args[0].op.params["buf"], []).append(t)
            loads.add(t.args[0])
    if not found:
        return {}
    others = {a for t in terms if t.op.family is not INDEX for a in kids(t)}.union([x.value for x in stores], fixed)
    used = {t.op.params["buf"] for t in terms if t.op.family is LOAD and (t in others or t not in loads)}
    surely = set(scalars(roots, lambda t: t.op.family is PICK)) | set(_conditions(roots))
    return {b: ts for b, ts in found.items() if b not in used and b.kind == "temp" and _is_one(b, ts, surely)}


def _conditions(roots: Sequence[AnyTerm]) -> list[AnyTerm]:
    """What is computed to choose, where no choice is around."""
    seen: dict[AnyTerm, None] = {}
    todo = list(roots)
    while todo:
        picks = [t for t in scalars(todo, lambda t: t.op.family is PICK) if t.op.family is PICK and t not in seen]
        seen.update(dict.fromkeys(picks))
        todo = [t.args[0] for t in picks]
    return scalars([t.args[0] for t in seen], lambda t: t.op.family is PICK)


def _is_one(buf: Buf, checks: Sequence[AnyTerm], surely: Collection[AnyTerm]) -> bool:
    """Whether checks ask the same of an array of indices, and one of them is made for all of it."""
    length: Poly = checks[0].op.params["length"]
    if buf.dtype != "int64" or buf.strides is not None or length.fv or length.values:
        return False
    size = product(buf.shape)
    return all(t.op.params["length"] is length for t in checks) and any(
        t in surely and _covers(t.args[0].op.params["offset"], size) for t in checks
    )


def _covers(offset: Poly, size: Poly) -> bool:
    """Whether loops go through all of an array."""
    left, step = set(offset.fv), ONE
    while left:
        v = next((v for v in left if offset.coefficient(v) is step), None)
        if v is None:
            return False
        offset, step = offset - step * v, step * v.extent
        left.remove(v)
    return offset is ZERO and step is size
