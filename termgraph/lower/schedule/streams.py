"""Values that several loops would compute from several arrays each: stored, where that moves fewer bytes.

In `h = h + f(h)`, layer after layer, every loop that needs the last h would add up all layers before it. Elementwise
values are cheap to compute and not stored for that; here it is counted what they cost to read. May import this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from termgraph.lower.lengths.index import product
from termgraph.lower.loops.phases import phases
from termgraph.lower.loops.plan import Planner
from termgraph.lower.loops.scopes import Scope
from termgraph.lower.push.driver import Index
from termgraph.lower.push.kernel import FOLD, HEAVY, LOAD, operands_first, own_cost
from termgraph.lower.push.kernel import kids as operands_of
from termgraph.lower.storage.policy import Statements, Storage, Store
from termgraph.terms.term import AnyTerm

FEW = 64  # elements: an array as small as that costs less to compute again than a loop costs to begin,
MUCH = 256  # unless so many elements were read again for it
SUMMED = 4  # elements: a sum of fewer costs less to compute again than to read
MANY = 16  # arrays that are told apart below one value; more are as good as that many
Users = dict[Any, frozenset[tuple[float, Any]]]  # scalar -> the loops that compute it, each by phase and variable


def with_streams(storage: Storage, more: Callable[[Storage], Iterable[Any]] | None = None) -> Statements:
    """The statements of a program, with streams stored beside what the storage's own criterion gives, and `more`."""
    storage.begin()
    for t in foreseen(storage):
        storage.keep(t)
    for t in more(storage) if more is not None else ():
        storage.keep(t)
    storage.settle()
    for t in streams(storage):
        storage.keep(t)
    return storage.run()


def foreseen(storage: Storage) -> list[Any]:
    """The streams that the graph shows when products, and what they read, are known to be stored.

    Sums around many layers, mostly: what reads them is then written once, not once more when they are found at the end.
    By the same criterion; loops and arrays are counted low. The last of a chain are found at the end.
    """
    light = {t for t in storage.order if _is_light(storage, t)}
    depth: dict[Any, int] = {}  # how many products, loops and routines come before a term
    for t in storage.order:
        depth[t] = max([depth.get(a, 0) for a in t.args], default=0) + (t in storage.cuts and storage.is_cut(t))
    loops: dict[Any, int] = {}  # at which depths it would be computed: one bit each
    for t in reversed(storage.order):
        loops[t] = 0
        for u in storage.work.users.get(t, ()):
            loops[t] |= loops[u] if u in light else 1 << depth[u]
    found: dict[Any, None] = {}
    arrays: dict[Any, frozenset[Any]] = {}  # what is read for it, at least
    for t in storage.order:
        arrays[t] = frozenset((t,))
        if t not in light:
            continue
        shape, read = storage.lengths[t], frozenset[Any]()
        for x in [arrays[a] for a in t.args if storage.lengths[a] == shape]:
            if len(read) < MANY:
                read = read | x if len(x) < MANY else x
        if any(u in light and loops[u] == loops[t] for u in storage.work.users.get(t, ())):
            arrays[t] = read  # that one would be stored
        elif _pays(shape, loops[t].bit_count(), len(read)):
            found[t] = None
    return list(found)


def _is_light(storage: Storage, t: AnyTerm) -> bool:
    """Whether a term is computed wherever it is needed, as far as is known."""
    if t in storage.cuts or t in storage.targets or t in storage.given:
        return False
    return t.op.kind == "elementwise" and bool(t.args) and own_cost(t) < HEAVY


def streams(storage: Storage) -> list[Any]:
    """The terms to store besides those that are: `users` loops read `loads` arrays each, instead of one.

    Stored, the arrays are read once, the value is written, and each of the loops reads it.
    """
    origin, known, stores = storage.push.origin, storage.scalars, storage.stores
    users = _users(storage, stores)
    values = operands_first([x.value for x in stores if isinstance(x, Store)])
    inside = _inside(values, users)
    reads: dict[Any, frozenset[AnyTerm]] = {}  # scalar -> the loads it is computed from
    found: dict[Any, None] = {}

    def pays(s: Any) -> bool:
        t, folded = origin[s][0], 1
        if t.op.kind == "reduce":
            loads = folded = _folded(storage, t)
        else:
            free = known.free(s)
            loads = sum(free <= known.free(x) for x in reads[s])  # what is broadcast is small
        return _pays(storage.lengths[t], len(users[s]), loads, folded)

    for s in values:
        reads[s] = _reads(s, reads)
        if s in users and s not in inside and (origin[s][0] in found or pays(s)):
            found[origin[s][0]] = None
            reads[s] = frozenset((s,))
    stored = {s for s in values if s in users and origin[s][0] in found}
    for s in reversed(values):  # of what is inside something too short to be stored, sums may be worth it
        if s in inside and not inside[s].isdisjoint(stored):
            stored.add(s)
    for s in values:
        if s in inside and s not in stored and s.op.family is FOLD and pays(s):
            found[origin[s][0]] = None
    return list(found)


def _users(storage: Storage, stores: list[Any]) -> Users:
    """For each element of a value that could be stored, the loops that compute it."""
    planner, top = Planner(storage.scalars), Scope(None)
    folds = planner.placeable(stores, top)
    phase = phases(planner.predecessors(folds, stores, top))
    outer = set(folds)
    loops: Users = {}
    for y, value, var in _loops(folds, stores):
        loops[value] = loops.get(value, frozenset()) | {(phase[y], var)}
    for s in reversed(operands_first(loops)):  # users first: what all of them hand down is one set
        if s in outer:
            continue
        here = loops[s]
        for a in operands_of(s):
            there = loops.get(a)
            if there is None:
                loops[a] = here
            elif there is not here and not here <= there:
                loops[a] = there | here
    return {s: found for s, found in loops.items() if _could_be_stored(storage, s)}


def _loops(folds: list[Any], statements: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """What has a loop at the top, what is computed in it, and its variable."""
    for f in folds:
        yield f, f.args[0], f.op.params["var"]
    for x in statements:
        if isinstance(x, Store):
            yield x, x.value, x.vars[0] if x.vars else None


def _could_be_stored(storage: Storage, s: AnyTerm) -> bool:
    """Whether a scalar is an element of an elementwise result or of folds that has no storage."""
    found = storage.push.origin.get(s)
    if found is None or s.op.family is LOAD or not (s.op.kind == "elementwise" or s.op.family is FOLD):
        return False
    t = found[0]
    if t in storage.cuts or t in storage.targets or t in storage.given or t.op.kind not in ("elementwise", "reduce"):
        return False
    if t.op.kind == "reduce" and s.op.family is not FOLD and _folded(storage, t) < SUMMED:
        return False
    return bool(storage.lengths[t])


def _pays(shape: Index, loops: int, loads: int, folded: int = 1) -> bool:
    """Whether an array that so many loops would compute from so many others is stored: a loop more, but fewer loads.

    Of sums `folded` elements are read for each.
    """
    saved, size = loops * (loads - 1) - (loads + 1), product(shape).const
    return saved > 0 and bool(shape) and (size is None or size * folded > FEW or size * saved > MUCH)


def _folded(storage: Storage, t: AnyTerm) -> int:
    """Of how many elements each element of a fold is made; of what is not known they are many."""
    whole, own = product(storage.lengths[t.args[0]]).const, product(storage.lengths[t]).const
    return MANY if whole is None or not own else whole // own


def _inside(values: list[Any], users: Users) -> dict[Any, set[Any]]:
    """Those that are computed only where something computed from them is, and what that is: it would be stored."""
    out: dict[Any, set[Any]] = {}
    for s in values:
        if s in users and s.op.family is not FOLD:
            for a in operands_of(s):
                if a in users and users[a] == users[s]:
                    out.setdefault(a, set()).add(s)
    return out


def _reads(s: AnyTerm, reads: dict[Any, frozenset[AnyTerm]]) -> frozenset[AnyTerm]:
    if s.op.family is LOAD:
        return frozenset((s,))
    if s.op.family is FOLD:
        return frozenset()
    found: frozenset[AnyTerm] = frozenset()
    for a in operands_of(s):
        if len(found) < MANY and not reads[a] <= found:
            found = reads[a] if found <= reads[a] else found | reads[a]
    return found
