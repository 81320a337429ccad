"""Which values a statement of a loop tree uses, and which its indices do: of the statement itself, not of those inside.

Asked by what prints and deals out kernels. May import lowering and terms.
"""

from __future__ import annotations

from typing import Any

from termgraph.lower.lengths.polynomials import values
from termgraph.lower.loops.tree import Accumulate, Branch, Columns, Let, Loop, Node, Reduce, Write
from termgraph.lower.push.kernel import ARG_FOLDS, kids


def index_references(n: Node) -> list[Any]:
    """The terms whose values a statement uses inside an index."""
    if isinstance(n, Let) and n.stored is not None:
        return list(values(n.stored[1]))
    if isinstance(n, (Loop, Reduce, Columns)):
        return list(values(n.var.extent))
    return []


def references(n: Node) -> list[Any]:
    """The terms whose values a statement itself uses, with repetition."""
    if isinstance(n, Let):
        return [] if n.stored is not None else list(n.term.args or kids(n.term))
    if isinstance(n, Write):
        return [n.value, *values(n.offset)]
    if isinstance(n, Accumulate):
        kind = n.fold.op.params["kind"]
        return [n.fold.args[0]] * (4 if kind in ARG_FOLDS else 2 if kind in ("max", "min") else 1)
    if isinstance(n, Branch):
        return list(n.term.args)
    return []
