"""What a backward loop reads of the forward one: which values of each step are kept, and which are computed again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.loops.varying import growing, varying
from termgraph.terms.op import CONST, Op
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TupleType

READING = 4  # what reading a kept value back costs, about, in multiplications


def is_cheap(op: Op) -> bool:
    """Whether doing it again costs about as little as reading its result."""
    return op.kind in ("shape", "length") or (op.kind == "elementwise" and op.cost <= READING)


def choose_residuals(op: Any, needed: Sequence[Any]) -> list[Any]:
    """The terms of a loop's body to keep for each step, so that the `needed` ones can be computed from them.

    Free: constants, rows of the sequences, results that are stacked anyway. A cheap op over at most one further value
    is done again, as is what has another shape in each step; anything else is kept. With `recompute` only carries are.
    """
    leaves = op.leaves
    free = {*leaves[: op.n_consts], *leaves[op.n_consts + op.n_carry :]}
    stacked, everything = set(op.results), op.params["recompute"]
    keep: dict[Any, frozenset] = {}
    changing: set[Any] = set(leaves[op.n_consts :])  # what differs from step to step
    shapeless = varying(needed, changing, growing(op))
    for t in children_first(needed):
        if any(a in changing for a in t.args):
            changing.add(t)
        if t.op is CONST or t in free or t not in changing:
            keep[t] = frozenset()
        elif t in leaves or (t in stacked and not everything):
            keep[t] = frozenset((t,))
        else:
            below = frozenset().union(*[keep[a] for a in t.args])
            several = sum(r not in stacked and not _is_length(r) for r in below) > 1
            again = everything or isinstance(t.type, TupleType) or t in shapeless or (is_cheap(t.op) and not several)
            keep[t] = below if again and (everything or not _is_length(t)) else frozenset((t,))
    kept = dict.fromkeys(r for t in needed for r in sorted(keep[t], key=lambda r: r._h))
    arrays = {r for r in kept if not _is_length(r)}
    return [r for r in kept if r in arrays or not keep[r.args[0]] <= arrays]


def _is_length(t: Any) -> bool:
    """A number that stands for a whole array, of which nothing else may be needed."""
    return t.op.kind == "length" and t.type.ndim == 0
