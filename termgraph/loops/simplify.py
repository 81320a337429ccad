"""Passes over single loops:
drop what nobody reads, share what is equal, move invariants out, unroll very short loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.loops.loop_term import LoopView, change_loops, loops_of
from termgraph.terms.errors import ShapeError
from termgraph.terms.invariants import outer_terms
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.loop import projections
from termgraph.terms.ops.shaping import join, static_scalar
from termgraph.terms.term import AnyTerm, Arg, mk, mk1
from termgraph.terms.traverse import children_first, count_nodes, grouped, substitute
from termgraph.terms.types import TensorType, TupleType

SHORT = 40  # a loop of so few operations in all is cheaper unrolled


# ---------------------------------------------------------------------- clean
def clean(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Drop results and carries that nobody reads; share equal operands, carries and results; inline numbers."""
    return change_loops(roots, _cleaned)


def _cleaned(t: AnyTerm, used: set[int]) -> Sequence[Any] | None:
    view = LoopView(t)
    s, k = len(view.carries), len(view.ys)
    finals: list[Any] = list(range(s))  # per old carry: its place among the new ones, or the term of its final value
    stacks = list(range(s, s + k))
    _share_operands(view)
    finals = _constant_carries(view, finals)
    finals = _equal_carries(view, finals)
    kept_ys = sorted({y - s for y in used if s <= y < s + k})
    live = _live_carries(view, [view.ys[y] for y in kept_ys], {finals[j] for j in used if j < s})
    place = {c: i for i, c in enumerate(sorted(live))}
    distinct = list(dict.fromkeys(view.ys[y] for y in kept_ys))
    stacks = {y: distinct.index(view.ys[y]) for y in kept_ys}
    view.carries = [view.carries[c] for c in sorted(live)]
    view.ys = distinct
    if not view.carries and not distinct and view.stop is None:
        new: list[Any] = []
    else:
        built = view.build()
        if built is t:
            return None
        new = projections(built)
    out: list[Any] = []
    for i in range(len(t.type.types)):
        if i not in used:
            out.append(None)
        elif i < s:
            out.append(new[place[finals[i]]] if isinstance(finals[i], int) else finals[i])
        elif i < s + k:
            out.append(new[len(view.carries) + stacks[i - s]])
        else:
            out.append(new[-1])
    return out


def _share_operands(view: LoopView) -> None:
    """One leaf per operand; constants that are scalars known now move into the body."""
    mapping: dict[Any, Any] = {}
    for group in (view.consts, view.xs):
        first: dict[Any, Any] = {}
        for leaf, operand in list(group.items()):
            if group is view.consts and operand.op is CONST and isinstance(operand.type, TensorType):
                if operand.type.ndim == 0 and operand.type.dtype == leaf.type.dtype:
                    mapping[leaf] = operand
                    continue
            other = first.setdefault((operand, leaf.type), leaf)
            if other is not leaf:
                mapping[leaf] = other
    if mapping:
        view.replace(mapping)


def _constant_carries(view: LoopView, finals: list[Any]) -> list[Any]:
    """Carries that no step changes are constants."""
    same = [j for j, (leaf, _, new) in enumerate(view.carries) if new is leaf]
    if not same:
        return finals
    out = list(finals)
    for j in same:
        leaf, init, _ = view.carries[j]
        view.consts[leaf] = init
        out[j] = init
    kept = [j for j in range(len(view.carries)) if j not in same]
    view.carries = [view.carries[j] for j in kept]
    place = {j: i for i, j in enumerate(kept)}
    return [place[f] if isinstance(f, int) else f for f in out]


def _equal_carries(view: LoopView, finals: list[Any]) -> list[Any]:
    """Carries that start equal and stay equal in every step are one: the largest such sets, found by refinement."""
    groups = grouped(((init, leaf.type), j) for j, (leaf, init, _) in enumerate(view.carries))
    classes = list(groups.values())
    while True:
        if all(len(c) == 1 for c in classes):
            return finals
        one = {view.carries[j][0]: view.carries[c[0]][0] for c in classes for j in c[1:]}
        new = substitute([c[2] for c in view.carries], one)
        finer = []
        for c in classes:
            parts = grouped((new[j], j) for j in c)
            finer += list(parts.values())
        if len(finer) == len(classes):
            break
        classes = finer
    view.replace(one)
    first = {j: c[0] for c in classes for j in c}
    kept = sorted(c[0] for c in classes)
    place = {j: i for i, j in enumerate(kept)}
    view.carries = [view.carries[j] for j in kept]
    return [place[first[f]] if isinstance(f, int) else f for f in finals]


def _live_carries(view: LoopView, ys: Sequence[Any], wanted: set) -> set[int]:
    """The carries that are read afterwards, or by what is."""
    by_leaf = {c[0]: j for j, c in enumerate(view.carries)}
    live: set[int] = set()
    waiting = [j for j in wanted if isinstance(j, int)]
    roots = [*ys, *([] if view.stop is None else [view.stop])]
    while True:
        waiting += [by_leaf[t] for t in children_first(roots) if t.__class__ is Arg and t in by_leaf]
        roots = []
        while waiting:
            j = waiting.pop()
            if j not in live:
                live.add(j)
                roots.append(view.carries[j][2])
        if not roots:
            return live


# ---------------------------------------------------------------------- hoist
def hoist(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Compute outside, once, what does not change from step to step."""
    return change_loops(roots, _hoisted)


def _hoisted(t: AnyTerm, used: set[int]) -> Sequence[Any] | None:
    view = LoopView(t)
    changing = [*[c[0] for c in view.carries], *view.xs]
    outside = [r for r in outer_terms(view.roots, changing) if r.args and not isinstance(r.type, TupleType)]
    if not outside:
        return None
    values = _put_outside(view, outside, view.consts)
    leaves = {r: view.leaf(r.type) for r in outside}
    view.replace(leaves)
    view.consts.update(zip(leaves.values(), values))
    return view.results()


def _put_outside(view: LoopView, terms: Sequence[Any], given: dict[Any, Any]) -> list[Any]:
    """Terms of the body with values for its leaves, each knowing which one it stands for."""
    every = children_first(terms)
    made = dict(zip(every, substitute(every, given)))
    for old, new in made.items():
        view.moved(new, old)
    return [made[t] for t in terms]


# ---------------------------------------------------------------------- unroll
def unroll(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Write out loops of one step, and constant loops so short that running them costs more than their work."""
    return change_loops(roots, _unrolled)


def _unrolled(t: AnyTerm, used: set[int]) -> Sequence[Any] | None:
    n = static_scalar(t.args[0])
    op = t.op
    if n is None or n < 1 or op.params["until"] or (n > 1 and n * count_nodes(op.params["body"]) > SHORT):
        return None
    if n > 1 and loops_of(op.params["body"]):
        return None  # a copy of each for every step, and these are not short
    view = LoopView(t)
    if n > 1 and any(x.type.shape[0] is None for x in view.xs.values()):
        return None  # a sequence may turn out to be too short: the loop says so best
    values = [c[1] for c in view.carries]
    stacks: list[list] = [[] for _ in view.ys]
    try:
        for i in range(n):
            given = {**view.consts, **{c[0]: v for c, v in zip(view.carries, values)}}
            given.update({leaf: mk1(subtensor.bind(index=(i,)), x) for leaf, x in view.xs.items()})
            new = _put_outside(view, [*[c[2] for c in view.carries], *view.ys], given)
            values = new[: len(values)]
            for stack, y in zip(stacks, new[len(values) :]):
                stack.append(mk1(dimshuffle.bind(order=("x", *range(y.type.ndim))), y))
        ys = [s[0] if n == 1 else mk(join.bind(axis=0), tuple(s)) for s in stacks]
    except ShapeError:  # lengths that change do not fit in some step: the loop says in which, and where it was written
        return None
    return [*values, *ys]
