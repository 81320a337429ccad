"""Cotangents that come through one side of a lazy choice stay there: what is below it is differentiated as if alone.

A pullback is linear in its cotangent, so it moves into the choice: of `ifelse(x > 0, log(x), 0)` the gradient is
`ifelse(x > 0, 1 / x, 0)`, not `ifelse(x > 0, 1, 0) / x`, which is NaN where x is 0
(and fails where what the side reads is not there).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph._records import NamedTuple
from termgraph.grad.fit import spread
from termgraph.terms.build import lengths, summed
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.shaping import alloc
from termgraph.terms.term import AnyTerm, Const, mk
from termgraph.terms.traverse import grouped

_CHOICE, _ONE = ifelse.bind(n=1), Const(np.asarray(1, dtype="int64"))


class Gate:
    """A side of a lazy choice, and the gate outside of it; the same side of the same choice there is one object."""

    def __init__(self, outer: Gate | None, condition: Any, side: bool) -> None:
        self.outer, self.condition, self.side = outer, condition, side
        self.depth: int = 1 if outer is None else outer.depth + 1


class Arrived(NamedTuple):
    """A cotangent, without the gates that it came through."""

    gate: Gate | None
    inner: Any


class Gates:
    """The gates of one backward pass. A cotangent is put behind one only where it meets others, or at the end."""

    def __init__(self) -> None:
        self._known: dict[tuple[Gate | None, Any, bool], Gate] = {}

    def opened(self, gate: Gate | None, g: Any) -> Arrived:
        """A cotangent that came through a gate, and what further gates are around it."""
        while g.op is _CHOICE:
            condition, then, orelse = g.args
            side = _is_zero(orelse)
            if not side and not _is_zero(then):
                break
            key = (gate, condition, side)
            gate = self._known.get(key) or self._known.setdefault(key, Gate(*key))
            g = then if side else orelse
        return Arrived(gate, g)

    def total(self, parts: Sequence[Arrived], t: AnyTerm) -> Arrived:
        """The sum of what arrived at `t`; what comes through both sides of one choice is one choice."""
        first = parts[0].gate
        if all(part.gate is first for part in parts):
            return Arrived(first, summed([part.inner for part in parts]))
        by = grouped((gate, g) for gate, g in parts)
        while len(by) > 1:
            gate = max(filter(None, by), key=lambda k: k.depth)
            g = summed(by.pop(gate))
            other = self._known.get((gate.outer, gate.condition, not gate.side))
            both = _either(gate, g, summed(by.pop(other)), t) if other in by and other is not None else None
            by.setdefault(gate.outer, []).append(behind(gate, g, t) if both is None else both)
        [(gate, found)] = by.items()
        return Arrived(gate, summed(found))

    def together(self, arrived: Sequence[Arrived | None], results: Sequence[Any]) -> tuple[Gate | None, list[Any]]:
        """The gate that all cotangents of an application came through, and each inside of it."""
        known = [None if one is None else list(one) for one in arrived]
        there = [(one, y) for one, y in zip(known, results, strict=True) if one is not None]
        while len({one[0] for one, _ in there}) > 1:
            deepest = max((one[0].depth for one, _ in there if one[0] is not None), default=0)
            for one, y in there:
                last, g = one
                if last is not None and last.depth == deepest:
                    one[:] = last.outer, behind(last, g, y)
        return there[0][0][0] if there else None, [None if one is None else one[1] for one in known]


def whole(arrived: Arrived, t: AnyTerm) -> Any:
    """The cotangent of `t` with all its gates."""
    gate, g = arrived
    while gate is not None:
        g = behind(gate, g, t)
        gate = gate.outer
    return g


def behind(gate: Gate, g: AnyTerm, t: AnyTerm) -> AnyTerm:
    """A cotangent of `t` where the side is taken; zeros of the lengths of t where it is not, as g has none there."""
    zero: Any = Const(np.asarray(0, dtype=g.type.dtype))
    if g.type.ndim:
        zero = mk(alloc, (zero, *[_ONE if m == 1 else n for m, n in zip(g.type.shape, lengths(t), strict=True)]))
    return mk(_CHOICE, (gate.condition, g, zero) if gate.side else (gate.condition, zero, g))


def _either(gate: Gate, g: AnyTerm, other: AnyTerm, t: AnyTerm) -> AnyTerm:
    then, orelse = (g, other) if gate.side else (other, g)
    if then.type is not orelse.type:  # one of them may have been broadcast, which the type of a choice does not show
        then, orelse = spread(then, t), spread(orelse, t)
    return mk(_CHOICE, (gate.condition, then, orelse))


def _is_zero(t: AnyTerm) -> bool:
    if t.op is alloc:
        t = t.args[0]
    return isinstance(t, Const) and t.type.ndim == 0 and not t.value
