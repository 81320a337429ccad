"""Bounds of whole numbers that their own form says: what is clipped, a remainder, or chosen by a comparison.

An index that is within its axis by itself needs no check when the program runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.terms.dtypes import can_cast
from termgraph.terms.leaves import Const
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.term import AnyTerm

Bounds = tuple[float, float]
NONE: Bounds = (float("-inf"), float("inf"))
# A comparison of a number with a constant: how far from it the lower and the upper end are where it holds.
HOLDS: dict[Any, tuple[int | None, int | None]] = {
    ew.ge: (0, None), ew.gt: (1, None), ew.le: (None, 0), ew.lt: (None, -1), ew.eq: (0, 0),
}  # fmt: skip


def bounds(t: AnyTerm, depth: int = 8) -> Bounds:
    """The least and the largest that a whole number can be; infinite where nothing is known."""
    if t.__class__ is Const:
        return (t.scalar, t.scalar) if t.type.kind in "iu" and not t.type.ndim else NONE
    if not depth or t.type.kind not in "iu":
        return NONE
    op, args = t.op.family, t.args
    of = [bounds(a, depth - 1) for a in args] if op in (ew.maximum, ew.minimum, ew.clip) else []
    if op is ew.maximum:
        return max(low for low, _ in of), max(high for _, high in of)
    if op is ew.minimum:
        return min(low for low, _ in of), min(high for _, high in of)
    if op is ew.clip:
        (low, high), least, most = of
        return min(max(low, least[0]), most[0]), min(max(high, least[1]), most[1])
    if op is ew.mod:
        least, most = bounds(args[1], depth - 1)
        return (0, most - 1) if least > 0 else NONE
    if op is ew.switch:
        chosen, other = _where(args[0], args[1], depth - 1), bounds(args[2], depth - 1)
        return min(chosen[0], other[0]), max(chosen[1], other[1])
    if op is ew.cast and args[0].type.kind in "iu":
        found, holds = bounds(args[0], depth - 1), np.iinfo(t.type.dtype)
        fits = can_cast(args[0].type.dtype, t.type.dtype) or holds.min <= found[0] and found[1] <= holds.max
        return found if fits else NONE
    return NONE


def _where(condition: AnyTerm, t: AnyTerm, depth: int) -> Bounds:
    """Bounds of a number where a condition holds."""
    low, high = bounds(t, depth)
    op = condition.op.family
    if op in (ew.bitwise_and, ew.logical_and):
        parts = [_where(c, t, depth) for c in condition.args]
        return max(low for low, _ in parts), min(high for _, high in parts)
    if op in HOLDS and condition.args[0] is t and bounds(condition.args[1]) is not NONE:
        below, above = HOLDS[op]
        number = bounds(condition.args[1])
        low = low if below is None else max(low, number[0] + below)
        high = high if above is None else min(high, number[1] + above)
    return low, high
