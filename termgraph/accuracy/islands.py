"""Islands: the largest parts of a graph that compute each element by itself, which is what can be looked at exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from termgraph.accuracy.exact import known
from termgraph.accuracy.search import Problem
from termgraph.rules import facts
from termgraph.terms.op import CONST
from termgraph.terms.ops.assume import assume
from termgraph.terms.term import AnyTerm, Input, mk
from termgraph.terms.traverse import children_first, client_map, region, substitute
from termgraph.terms.types import TensorType

MOST_LEAVES, MOST_OPERATIONS = 6, 60
_FLOATS = ("float64", "float32")


class Island(NamedTuple):
    """A part of a graph with its root, its operands, and the same with operands that stand for these."""

    root: Any
    leaves: tuple[Any, ...]
    problem: Problem

    def back(self, term: AnyTerm) -> Any:
        """A form in terms of the operands of the graph."""
        pairs = list(zip(self.problem.leaves, self.leaves, strict=True))
        return substitute([term], dict(pairs) | {standing.args[0]: t for standing, t in pairs})[0]


def islands(roots: Sequence[Any], ranges: Mapping[Any, tuple[float, float]]) -> list[Island]:
    """The parts of the graph that are worth a look."""
    inside: set[Any] = set()
    for t in children_first(roots):
        if t not in ranges and _pointwise(t, inside):
            inside.add(t)
    clients = client_map(roots)
    outputs = set(roots)
    out = []
    for t in inside:
        used_outside = any(c not in inside for c, _ in clients.get(t, ()))
        if t.type.dtype in _FLOATS and (t in outputs or used_outside):
            made = _island(t, inside, ranges)
            if made is not None:
                out.append(made)
    return sorted(out, key=lambda i: i.root._h)


def _pointwise(t: AnyTerm, inside: set) -> bool:
    if not t.args or t.op.kind != "elementwise" or t.op.name == "assume" or t.op.name not in known():
        return False
    if t.type.dtype not in (*_FLOATS, "bool"):
        return False
    return all(_number(a) or a in inside or a.type.dtype in _FLOATS for a in t.args)


def _number(t: Any) -> bool:
    """A single number. An array of equal ones is an operand: the part has its lengths."""
    return t.op is CONST and not t.type.ndim and t.type.kind in "fiub" and bool(np.isfinite(t.scalar))


def _island(root: AnyTerm, inside: set, ranges: Mapping[Any, tuple[float, float]]) -> Island | None:
    operations, edge = region([root], inside.__contains__)
    leaves = [t for t in edge if not _number(t)]
    if not leaves or len(leaves) > MOST_LEAVES or len(operations) > MOST_OPERATIONS:
        return None
    order = tuple(sorted(leaves, key=lambda t: t._h))
    limits = tuple([range_of(t, ranges) for t in order])
    standing = tuple([_stand_in(t, i, r) for i, (t, r) in enumerate(zip(order, limits, strict=True))])
    new = substitute([root], dict(zip(order, standing, strict=True)))[0]
    if new.type.dtype != root.type.dtype:
        return None
    return Island(root, order, Problem(new, standing, limits))


def range_of(t: AnyTerm, ranges: Mapping[Any, tuple[float, float]]) -> tuple[float, float]:
    """The range of an operand: as stated, and within that what is known of its sign."""
    info = np.finfo(t.type.np_dtype)
    low, high = float(info.min), float(info.max)
    inner = t
    while inner.op.name == "assume":
        low, high = _within(low, high, ranges.get(inner))
        inner = inner.args[0]
    low, high = _within(low, high, ranges.get(inner))
    if facts.nonnegative.known(t):
        low = max(low, 0.0)
    if facts.positive.known(t):
        low = max(low, float(info.smallest_subnormal))
    if facts.nonpositive.known(t):
        high = min(high, 0.0)
    if facts.negative.known(t):
        high = min(high, -float(info.smallest_subnormal))
    if facts.at_most_one.known(t):
        high = min(high, 1.0)
    return (low, high) if low <= high else (high, low)


def _within(low: float, high: float, stated: tuple[float, float] | None) -> tuple[float, float]:
    return (low, high) if stated is None else (max(low, stated[0]), min(high, stated[1]))


def _stand_in(t: AnyTerm, number: int, limits: tuple[float, float]) -> Any:
    """An operand by itself, of which the facts are known that follow from its range."""
    plain = Input(f"v{number}", TensorType.of(t.type.dtype, ()))
    low, high = limits
    said = ["finite"]
    said += ["positive"] if low > 0 else ["nonnegative"] if low >= 0 else []
    said += ["negative"] if high < 0 else ["nonpositive"] if high <= 0 else []
    said += ["at_most_one"] if high <= 1 else []
    return mk(assume.bind(facts=tuple(sorted(said))), (plain,))
