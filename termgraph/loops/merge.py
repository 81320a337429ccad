"""Merging loops that run side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.loops.loop_term import LoopView, loops_of
from termgraph.terms.moved import rebuild_moved
from termgraph.terms.ops.loop import inherit_places, projections
from termgraph.terms.term import AnyTerm, Arg, mk
from termgraph.terms.traverse import children_first, grouped, substitute


# ---------------------------------------------------------------------- merge
def merge(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """One loop instead of several that make equally many steps and do not need each other's results."""
    roots, count = list(roots), 0
    while True:
        pair = _mergeable(roots)
        if pair is None:
            return roots, count
        roots = _merged(roots, *pair)
        count += 1


def _mergeable(roots: Sequence[Any]) -> tuple[Any, Any] | None:
    """Two loops that may become one."""
    loops = loops_of(roots)
    if len(loops) < 2:
        return None
    groups = grouped((_together(t), t) for t in loops)
    if all(len(g) == 1 for g in groups.values()):
        return None
    above = _needs(roots, loops)
    for group in groups.values():
        for i, a in enumerate(group):
            for b in group[i + 1 :]:
                if not (above[b] >> loops.index(a)) & 1 and not (above[a] >> loops.index(b)) & 1:
                    return a, b
    return None


def _together(t: AnyTerm) -> Any:
    """What two loops must have in common: the number of steps, or all that decides it if they may end early."""
    op = t.op
    return t.args[0] if op.stop is None else (t.args, op.next_carries, op.stop)


def _needs(roots: Sequence[Any], loops: Sequence[Any]) -> dict[Any, int]:
    """For each term the loops it is computed from, as bits."""
    bit = {t: 1 << i for i, t in enumerate(loops)}
    needs: dict[Any, int] = {}
    for t in children_first(roots):
        mask = 0
        for a in t.args:
            mask |= needs[a] | bit.get(a, 0)
        needs[t] = mask
    return needs


def _merged(roots: Sequence[Any], a: AnyTerm, b: AnyTerm) -> list[Any]:
    first = LoopView(a)
    second = LoopView(b, offset=len(a.op.params["takes"]))
    sa, ka, sb = len(first.carries), len(first.ys), len(second.carries)
    if first.stop is not None:  # the same loop but for its results
        same = dict(
            zip([Arg(i + len(a.op.params["takes"]), t) for i, t in enumerate(a.op.params["takes"])], a.op.leaves)
        )
        first.ys += substitute(second.ys, same)
        place_b = [*range(sa), *range(sa + ka, sa + len(first.ys)), sa + len(first.ys)]
    else:
        first.consts.update(second.consts)
        first.xs.update(second.xs)
        first.carries += second.carries
        first.ys += second.ys
        place_b = [*range(sa, sa + sb), *range(sa + sb + ka, sa + sb + len(first.ys))]
    place_a = [*range(sa), *range(len(first.carries), len(first.carries) + ka)]
    if first.stop is not None:
        place_a.append(len(first.carries) + len(first.ys))
    whole = first.build()
    inherit_places(whole.op, b.op, second.renamed)
    new = projections(whole)
    old = {p: new[i] for t, places in ((a, place_a), (b, place_b)) for p, i in zip(projections(t), places)}
    return substitute_all(roots, old)


def substitute_all(roots: Sequence[Any], replace: dict[Any, Any]) -> list[Any]:
    """Replace terms, also inside the replacements' surroundings: children first, until nothing of them is left."""

    def visit(t: AnyTerm, args: tuple) -> Any:
        if t in replace:
            return replace[t]
        return t if all(x is y for x, y in zip(args, t.args)) else mk(t.op, args)

    return rebuild_moved(roots, visit)
