"""Cutting a long straight-line loop into several over a block that stays in the cache, so that compilers stay fast.

Values that cross from one part to a later one are kept in slots, which are reused.
"""

from __future__ import annotations

from typing import Any

from termgraph.lower.lengths.index import Var, poly
from termgraph.lower.loops.scopes import Plans, Scope
from termgraph.lower.loops.tree import Tiles, Write
from termgraph.lower.push.kernel import Buf, kids
from termgraph.lower.storage.policy import Store
from termgraph.terms.op import CONST

LIMIT, WIDTH = 200, 512


def cut_into_tiles(planner: Plans, var: Var, statements: list[Any], scope: Scope) -> Tiles | None:
    """The tiles of a loop with more than LIMIT operations, or None if it is short or not straight-line."""
    order = _operations(planner, var, statements)
    if order is None or len(order) <= LIMIT:
        return None
    part = {t: k // LIMIT for k, t in enumerate(order)}
    last: dict[Any, int] = {}
    for t in order:
        for a in kids(t):
            if a in part:
                last[a] = max(last.get(a, 0), part[t])
    for x in statements:
        if x.value in part:
            last[x.value] = max(last.get(x.value, 0), part[x.value])
    return _parts(planner, var, statements, scope, order, part, last)


def _operations(planner: Plans, var: Var, statements: list[Any]) -> list[Any] | None:
    """Element-wise operations of the body, operands first; None if there is anything else."""
    order: list[Any] = []
    seen: set[Any] = set()
    stack: list[tuple[Any, bool]] = []
    for x in statements:
        if not isinstance(x, Store) or x.mode != "set":
            return None
        stack.append((x.value, False))
        while stack:
            t, done = stack.pop()
            if done:
                order.append(t)
            elif t not in seen:
                seen.add(t)
                if t.op is CONST or var not in planner.s.free(t) or t.op.family.name in ("load", "ival", "itest"):
                    continue
                if t.op.kind != "elementwise":
                    return None
                stack.append((t, True))
                stack.extend((a, False) for a in reversed(t.args))
    return order


def _parts(
    planner: Plans,
    var: Var,
    statements: list[Any],
    scope: Scope,
    order: list[Any],
    part: dict[Any, int],
    last: dict[Any, int],
) -> Tiles:
    slots: dict[Any, Buf] = {}
    free: list[Buf] = []
    every: list[Buf] = []
    expire: dict[int, list[Buf]] = {}
    bodies = []
    count = part[order[-1]] + 1
    for k in range(count):
        free += expire.pop(k - 1, [])
        inner = Scope(scope, var)
        inner.stored = {t: (b, poly(var)) for t, b in slots.items() if last[t] >= k and part[t] < k}
        for t in order[k * LIMIT : (k + 1) * LIMIT]:
            planner.emit(t, inner)
            if last.get(t, k) > k:
                slots[t] = _take(free, every, t.type.dtype)
                expire.setdefault(last[t], []).append(slots[t])
                inner.nodes.append(Write(slots[t], poly(var), t))
        for x in statements:
            if part.get(x.value, count - 1) == k:
                planner.leaf(x, inner)
        bodies.append(inner.nodes)
    return Tiles(var, WIDTH, bodies, every)


def _take(free: list[Buf], every: list[Buf], dtype: str) -> Buf:
    """A slot of this dtype that is free, or a new one."""
    for b in free:
        if b.dtype == dtype:
            free.remove(b)
            return b
    every.append(Buf(f"tile{len(every)}", dtype, (poly(WIDTH),), "tile"))
    return every[-1]
