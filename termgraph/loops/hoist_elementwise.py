"""Element-wise work taken out of loops: what needs only sequences is done before, what needs only results after.

There one pass goes over the whole array instead of many over short rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from termgraph.loops.hoist_products import read_rows
from termgraph.loops.loop_term import LoopView, change_loops
from termgraph.loops.residuals import is_cheap
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.linalg import dot
from termgraph.terms.term import AnyTerm, Arg, mk, mk1
from termgraph.terms.traverse import children_first, region

_ALONG = frozenset(("softmax", "log_softmax"))  # over axes that are there after stacking too
Stacks = Callable[[Any], Any]  # a value of one step -> those of all steps, or None


# ---------------------------------------------------------------------- before
def costly_before(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Costly functions of numbers that a sequence holds: of the whole sequence at once, before the loop."""
    return change_loops(roots, _taken_before)


def _taken_before(t: AnyTerm, used: set[int]) -> Sequence[Any] | None:
    if t.op.params["until"]:
        return None  # rows that are never reached should not be paid for
    view = LoopView(t)
    known: set[Any] = set(view.xs) | set(view.consts)
    early: list[Any] = []
    for p in children_first(view.roots):
        if p.op.kind == "elementwise" and all(a in known or a.op is CONST for a in p.args):
            known.add(p)
            if not is_cheap(p.op) and p.type.ndim == 0 and any(leaf in view.xs for leaf in children_first([p])):
                early.append(p)
    inner = {q for p in early for q in children_first(p.args)}
    early = [p for p in early if p not in inner or p in view.roots]
    if not early:
        return None
    rows = {leaf: read_rows(view, leaf) for leaf in view.xs}
    leaves = {p: view.leaf(p.type) for p in early}
    view.xs.update((leaves[p], _over_steps(p, rows.get, view)) for p in early)
    view.replace(leaves)
    return view.results()


# ---------------------------------------------------------------------- after
def elementwise_after(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Results made element by element from others that are stacked: made from those, after the loop."""
    return change_loops(roots, _taken_after)


def _taken_after(t: AnyTerm, used: set[int]) -> Sequence[Any] | None:
    if t.op.params["until"]:
        return None
    view = LoopView(t)
    asked = list(view.ys)
    late: dict[Any, None] = {}
    for y in asked:
        needs = _needs(y, view)
        stay = [z for z in view.ys if z is not y and z not in late]
        inside = [*stay, *[c[2] for c in view.carries]]
        if needs is None or y in set(children_first(inside)):
            continue
        missing = [a for a in needs if a not in view.xs and a not in stay]
        if not missing or (len(missing) == 1 and missing[0].op is dot and missing[0].args[1] in view.consts):
            late[y] = None
            view.ys = [*stay, *missing]
    if not late:
        return None
    results = view.results()
    k = len(view.carries)

    def stacked(a: Any) -> Any:
        if a in view.xs:
            return read_rows(view, a)
        return results[k + view.ys.index(a)] if a in view.ys else None

    return [*results[:k], *[_over_steps(y, stacked, view) if y in late else stacked(y) for y in asked]]


def _needs(y: AnyTerm, view: LoopView) -> list[Any] | None:
    """What a result is made of element by element, constants aside; None if it is not made so."""
    if not _is_along(y):
        return None
    _, edge = region(y.args, lambda a: a not in view.ys and _is_along(a))
    return [a for a in edge if a.op is not CONST and a not in view.consts] or None


def _is_along(t: AnyTerm) -> bool:
    """Whether an op can be applied to all steps at once."""
    return bool(t.args) and (t.op.kind == "elementwise" or t.op.family is dimshuffle or t.op.family.name in _ALONG)


def _over_steps(root: AnyTerm, stacked: Stacks, view: LoopView) -> AnyTerm:
    """The values of a term of the body in all steps."""
    done: dict[Any, tuple[Any, bool]] = {}  # the value, and whether it has one row per step
    stack = [root]
    while stack:
        t = stack.pop()
        if t in done:
            continue
        whole = stacked(t) if t is not root or not t.args else None
        if whole is not None:
            done[t] = whole, True
        elif t.op is CONST or t.__class__ is Arg:
            done[t] = view.consts.get(t, t), False
        elif all(a in done for a in t.args):
            done[t] = _applied(t, [done[a] for a in t.args])
            view.moved(done[t][0], t)
        else:
            stack += [t, *[a for a in t.args if a not in done]]
    return done[root][0]


def _applied(t: AnyTerm, args: list[tuple[Any, bool]]) -> tuple[Any, bool]:
    """An op on all steps at once."""
    if not any(rows for _, rows in args):
        return mk(t.op, tuple([a for a, _ in args])), False
    if t.op.family is dimshuffle:
        order = tuple(["x" if d == "x" else d + 1 for d in t.op.params["order"]])
        return mk1(dimshuffle.bind(order=(0, *order)), args[0][0]), True
    if t.op.kind != "elementwise":
        return mk(t.op.bind(axis=tuple([d + 1 for d in t.op.params["axis"]])), (args[0][0],)), True
    ndim = t.type.ndim
    return mk(t.op, tuple([_aligned(a, ndim) if rows else a for a, rows in args])), True


def _aligned(a: AnyTerm, ndim: int) -> AnyTerm:
    """Stacked values of fewer dimensions, for broadcasting step by step."""
    own = a.type.ndim - 1
    if own == ndim:
        return a
    return mk1(dimshuffle.bind(order=(0, *["x"] * (ndim - own), *range(1, own + 1))), a)
