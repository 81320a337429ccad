"""Sums inside a fold that are made for all its steps first, side by side, and kept in a row.

`((x[:, None] - yt) ** 2).sum(1).min(1)` looks for the least of many sums. What these read lies side by side for the
steps of the outer fold, which takes no whole vectors while a loop is inside; so the sums have loops of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.lower.lengths.index import Var, largest, poly
from termgraph.lower.loops.scopes import Plans, Scope
from termgraph.lower.loops.tree import Row
from termgraph.lower.push.kernel import Buf
from termgraph.lower.storage.policy import Store

FEWEST = 8  # steps of the outer fold: fewer make no whole vectors


def sums_in_rows(planner: Plans, var: Var, scope: Scope, inner: Scope, statements: Sequence[Any]) -> bool:
    """Make the sums that the statements need in each step of a fold over `var`, if columns of them can be.

    They are read from the rows then; False if everything is as it was.
    """
    sums = planner.placeable(statements, inner)
    few = var.extent.const is not None and var.extent.const < FEWEST
    if few or not scope.depth or not planner.s.whole_vectors or any(f.type.kind == "c" for f in sums):
        return False
    rows = [Buf(f"row{planner.count + k + 1}", f.type.dtype, (var.extent,), "row") for k, f in enumerate(sums)]
    stores = [Store(buf, poly(var), f, []) for buf, f in zip(rows, sums)]
    columns = planner.columns(var, scope, Scope(scope, var), stores)
    if columns is None:
        return False
    planner.count += len(rows)
    scope.nodes += [*[Row(buf, largest(var.extent)) for buf in rows], columns]
    inner.stored.update({f: (buf, poly(var)) for buf, f in zip(rows, sums)})
    return True
