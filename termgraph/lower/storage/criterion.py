"""What has to be stored, read off the scalars of a program: values that would be computed again and again.

A value would be if a loop level outside its deepest variable is missing from its free variables (a *hole*), or if it is
needed at two different indices (*images*); elements that are chosen by their place are stored where two of these are
needed. Folds in arms of choices and deep choices are stored because of their text, and sums of rows and functions that
are compared for equality, because loops may round them in ways of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

from termgraph.lower.lengths.index import Apply, Poly, Var, product, row_major
from termgraph.lower.push.driver import Push
from termgraph.lower.push.kernel import (
    FOLD,
    HEAVY,
    ITEST,
    LOAD,
    PICK,
    Buf,
    Scalars,
    kids,
    operands_first,
    own_cost,
    scalars,
)
from termgraph.terms.op import ARG, CONST
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first, children_first_until, users_first

DEEPEST_CHOICE = 3
LONG = 4  # from here on a row of numbers that all rows need is stored: a quotient, a root
MANY_ROWS = 8
ORDERS = ("lt", "gt", "le", "ge")
CHOSEN = ("max", "min", "cummax", "cummin", "sort", "partition")
ROUNDED_ONCE = ("true_div", "sqrt", "floor_div", "mod", "cast")  # to the nearest number, whoever computes them
EXACT = ("max", "min", "argmax", "argmin")  # folds that are the same in any order


def unsettled(push: Push, stores: Sequence[Any], cuts: Collection[Any], cut_at: Collection[Poly]) -> list[Any]:
    """Terms to store, read off all statements; of two, one above the other, only the inner one.

    `cut_at` are indices along an axis of which each part has a statement of its own.
    """
    s, origin = push.scalars, push.origin
    new: dict[Any, None] = {}
    images: dict[Any, set[Any]] = {}
    picks: list[Any] = []
    compared: list[Any] = []
    values = [x.value for x in stores]
    for x in stores:
        if holes(s.free(x.value)):
            _of_every_row(push, [x.value], frozenset(x.vars), cuts, new)
    for t in scalars(values):
        if asks_equality(t):
            compared += t.args
        if t.op.family is PICK:
            picks.append(t)
            _folds_in_arms(push, t, cuts, new)
        if len(s.free(t)) > 1 and not holes(s.free(t)):  # else it is an operand of something larger that is the same
            _of_every_row(push, t.args or kids(t), s.free(t), cuts, new)
        if t in origin and _is_chosen_by_place(s, t) and origin[t][0] not in cuts:
            images.setdefault(origin[t][0], set()).add(_image(t, origin[t][1], cut_at))
        if not is_work(s, t) or t not in origin:
            continue
        source, index = origin[t]
        if source in cuts or source.op in (ARG, CONST):
            continue
        images.setdefault(source, set()).add(_image(t, index, cut_at))
        if holes(s.free(t)) or stands_still(s, t, push.lengths[source], index):
            new[source] = None
    new.update((t, None) for t, found in images.items() if len(found) > 1)
    _rounded_alike(push, compared, cuts, new)
    _in_arms_and_beside(push, values, picks, cuts, new)
    deep = _deep_choices(push, values, picks, cuts) if picks else []
    if not new:  # each of them is as deep as it is when those below are stored: a chain in one go
        return deep
    return _inner(list(dict.fromkeys([*new, *deep])), cuts)


def is_joined_for_many(shape: Sequence[Poly], wanted: Any, index: Sequence[Poly], value: AnyTerm) -> bool:
    """Whether a choice is read at counted places by more loops than it has axes: each element again and again.

    So it is for `join(a, b)[i + j]`; what is stored is read without choosing, side by side.
    """
    chosen = value.op.family is PICK or (value.op.family is LOAD and any(a.op.family is PICK for a in kids(value)))
    if not chosen or wanted is None or wanted[0].op.family.name != "gather":
        return False
    loops = frozenset().union(*[p.fv for p in index])
    if len(loops) <= len(index) or any(p.values for p in index):
        return False
    reads, elements = product([v.extent for v in loops]).const, product(shape).const
    return reads is None or (elements is not None and reads >= 2 * elements)


def is_work(s: Scalars, t: AnyTerm) -> bool:
    """Whether a scalar is worth keeping: a fold, a function that takes long, or an element of arrays woven into one."""
    return t.op.family is FOLD or own_cost(t) >= HEAVY or t in s.costly or _is_woven(s, t)


def _is_woven(s: Scalars, t: AnyTerm) -> bool:
    """Whether each step of the innermost loop chooses by what its index leaves when divided: that is no vector loop.

    Where each of the arrays that are chosen between is stored by a loop of its own, nothing is chosen.
    """
    if t.op.family is not PICK or t.args[0] not in s.divides or not any(a.args or s.free(a) for a in t.args[1:]):
        return False
    return max(s.free(t), key=lambda v: v.level, default=None) in s.free(t.args[0])


def _is_chosen_by_place(s: Scalars, t: AnyTerm) -> bool:
    """Whether each step of an innermost loop of unknown length chooses by its place what is read, as of joined arrays.

    Such a choice is a gather, unless one arm is a number; loops of known lengths are cut where the choice changes
    (`index_sets.py`).
    """
    if t.op.family is not PICK or t.args[0].op.family is not ITEST or any(a.op is CONST for a in t.args[1:]):
        return False
    innermost = max(s.free(t), key=lambda v: v.level, default=None)
    return innermost is not None and innermost in s.free(t.args[0]) and innermost.extent.const is None


def holes(free: frozenset[Var]) -> tuple[int, ...]:
    """Loop levels outside the deepest variable that are missing."""
    if len(free) < 2:
        return tuple(range(v.level)) if (v := next(iter(free), None)) is not None else ()
    return _missing(frozenset([v.level for v in free]))


@functools.lru_cache(maxsize=1024)
def _missing(levels: frozenset[int]) -> tuple[int, ...]:
    return tuple([k for k in range(max(levels, default=0)) if k not in levels])


def stands_still(s: Scalars, t: AnyTerm, shape: Sequence[Poly], index: Sequence[Poly]) -> bool:
    """Whether work is the same in several steps of its innermost loop: its place is found by dividing that."""
    if t not in s.divides:
        return False
    place, innermost = row_major(shape, index), max(s.free(t), key=lambda v: v.level, default=None)
    return innermost in place.fv and not _moves(place, innermost)


def _moves(place: Poly, v: Var | None) -> bool:
    """Whether a place changes in each step of a loop."""
    inside = [a for a in place.atoms() if v in a.fv]
    return any(not isinstance(a, Apply) or (a.fn != "floordiv" and any(_moves(p, v) for p in a.args)) for a in inside)


def _of_every_row(
    push: Push, operands: Sequence[AnyTerm], around: frozenset[Var], cuts: Collection[Any], new: dict[Any, None]
) -> None:
    """Operands, of a result in loops over `around`, that are the same in every row, and together take long.

    So are roots and quotients of a row of numbers. The result may be a statement that copies them to all rows.
    """
    s, origin = push.scalars, push.origin
    todo = [a for a in operands if s.free(a) is not around and holes(s.free(a))]
    while todo:
        a = todo.pop()
        if a not in origin:  # a reciprocal that was made of a quotient
            todo += kids(a)
            continue
        source, index = origin[a]
        if source in cuts or source in new or source.op in (ARG, CONST):
            continue
        if is_long_in_every_row(s, a, around) and all(p.fv <= s.free(a) for p in index):  # else it is as large itself
            new[source] = None


def is_long_in_every_row(s: Scalars, a: AnyTerm, around: frozenset[Var]) -> bool:
    """Whether an operand takes long and is the same in many rows, of a result in loops over the variables `around`."""
    missing = holes(s.free(a))
    rows = product([v.extent for v in around if v.level in missing]).const
    if not missing or (rows is not None and rows < MANY_ROWS):
        return False
    inside = [x for x in scalars([a], lambda x: x.op.family is FOLD) if s.free(x)]
    return sum(own_cost(x) + (x.op.family is PICK) for x in inside) >= LONG


def _image(t: Any, index: tuple[Poly, ...], cut_at: Collection[Poly]) -> Any:
    """What is the same for elements that are computed once: the parts of an axis have different ones."""
    return tuple([None if p in cut_at else p for p in index]) if any(p in cut_at for p in index) else t


def _folds_in_arms(push: Push, pick: AnyTerm, cuts: Collection[Any], new: dict[Any, None]) -> None:
    """A fold cannot run inside a choice: store it (unless it is the same for all elements)."""
    s, origin = push.scalars, push.origin
    for arm in pick.args[1:]:
        for f in sorted((f for f in s.needs(arm) if not isinstance(f, Buf)), key=s.fold_order.__getitem__):
            if s.free(f) and f in origin and origin[f][0] not in cuts:
                new[origin[f][0]] = None


def asks_equality(t: AnyTerm) -> bool:
    """Whether floats are compared for equality, as gradients of extremes do: they must be rounded alike everywhere."""
    return t.op.kind == "elementwise" and t.op.family.name in ("eq", "neq") and t.args[0].type.kind in "fc"


def looks_for_numbers(roots: Sequence[Any]) -> bool:
    """Whether floats are looked for among others: compared for equality, or with an extreme or a place in an order.

    In steps of loops and in sides of choices too. Comparisons with constants look for nothing that is computed.
    """
    todo: list[Sequence[Any]] = [roots]
    while todo:
        for t in children_first(todo.pop()):
            if asks_equality(t) and t.args[0] is not t.args[1] and not any(a.op is CONST for a in t.args):
                return True
            if t.op.name in ORDERS and t.args[0].type.kind == "f" and any(map(_is_chosen, t.args)):
                return True
            if "body" in t.op.params:
                todo.append(t.op.params["body"])
    return False


def _is_chosen(t: AnyTerm) -> bool:
    """Whether it is an extreme, or what lies at a place of an order, however it is turned."""
    while t.op.family.name in ("dimshuffle", "reshape", "subtensor", "gather", "specify_shape"):
        t = t.args[0]
    return t.op.family.name in CHOSEN


def _rounded_alike(push: Push, compared: Sequence[Any], cuts: Collection[Any], new: dict[Any, None]) -> None:
    """What is rounded in several ways below what is compared: one loop finds an extreme, another one looks for it.

    Those are sums of rows, by their order, and functions: whole vectors have others than single numbers.
    """
    origin = push.origin
    for f in scalars(compared) if compared else ():
        if f.type.kind in "fc" and _rounds_in_several_ways(push.scalars, f):
            if f in origin and origin[f][0] not in cuts and origin[f][0].op not in (ARG, CONST):
                new[origin[f][0]] = None


def _rounds_in_several_ways(s: Scalars, t: AnyTerm) -> bool:
    if t.op.family is FOLD:
        return t.op.params["kind"] not in EXACT and bool(s.free(t))
    return t.op.kind == "elementwise" and t.op.family.name not in ROUNDED_ONCE and own_cost(t) >= HEAVY


def _in_arms_and_beside(
    push: Push, values: Sequence[Any], picks: Sequence[Any], cuts: Collection[Any], new: dict[Any, None]
) -> None:
    """Work in the arm of a choice that a loop makes for each step, although the arm is one for all: what needs it
    outside the choice too would compute it again."""
    s, origin = push.scalars, push.origin
    arms = {a for p in picks for a in p.args[1:] if s.free(p.args[0]) - s.free(a)}
    if not arms:
        return
    beside = set(users_first(values, lambda t: [a for a in kids(t) if t.op.family is not PICK or a not in arms]))
    for t in scalars(list(arms)):
        if t in beside and s.free(t) and is_work(s, t) and t in origin:
            source = origin[t][0]
            if source not in cuts and source.op not in (ARG, CONST):
                new[source] = None


def _deep_choices(push: Push, values: Sequence[Any], picks: Sequence[Any], cuts: Collection[Any]) -> list[Any]:
    """Choices within choices: each arm repeats what is inside, so a few levels are the most between what is stored."""
    if max(_depths(picks).values()) <= DEEPEST_CHOICE:  # few choices have others inside: no need to walk all values
        return []
    depth = _depths(values)
    deepest = max(depth.values())
    found: dict[Any, None] = {}
    for t, d in depth.items():
        if 0 < d < deepest and d % DEEPEST_CHOICE == 0 and t.op.family is PICK and t in push.origin:
            source = push.origin[t][0]
            if source not in cuts and source.args:
                found[source] = None
    return list(found)


def _depths(roots: Sequence[Any]) -> dict[Any, int]:
    """How many choices lie one within the other, from each scalar down."""
    depth: dict[Any, int] = {}
    for t in operands_first(roots):
        inner = max([depth[a] for a in kids(t)], default=0)
        depth[t] = inner + (t.op.family is PICK)
    return depth


def _inner(new: list[Any], cuts: Collection[Any]) -> list[Any]:
    """Storing an inner term may make the outer one needless, unless something stored lies between them."""
    if len(new) < 2:
        return new
    among = set(new)
    has_inner: dict[Any, bool] = {}
    for t in children_first_until(new, {id(t): t for t in cuts}):
        has_inner[t] = any(has_inner[a] or a in among for a in t.args if a not in cuts)
    return [t for t in new if not has_inner[t]]
