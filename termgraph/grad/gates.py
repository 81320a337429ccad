"""Cotangents that come through one side of a lazy choice stay there: what is below it is differentiated as if alone.

A pullback is linear in its cotangent, so it moves into the choice: of `ifelse(x > 0, log(x), 0)` the gradient is
`ifelse(x > 0, 1 / x, 0)`, not `ifelse(x > 0, 1, 0) / x`, which is NaN where x is 0
(and fails where what the side reads is not there).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from termgraph.grad.fit import spread
from termgraph.terms.build import lengths
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.elementwise import add
from termgraph.terms.ops.shaping import alloc
from termgraph.terms.term import Const, mk

if TYPE_CHECKING:
    from termgraph.terms.term import AnyTerm

_CHOICE, _ONE = ifelse.bind(n=1), Const(np.asarray(1, dtype="int64"))


class Gate(NamedTuple):
    """A side of a lazy choice: where the condition is true, or where it is false."""

    condition: Any
    side: bool


def gate_of(g: AnyTerm | None) -> Gate | None:
    """The side through which alone a cotangent comes, if there is one."""
    if g is None or g.op is not _CHOICE:
        return None
    condition, then, orelse = g.args
    if _is_zero(orelse):
        return Gate(condition, True)
    return Gate(condition, False) if _is_zero(then) else None


def _is_zero(t: AnyTerm) -> bool:
    if t.op is alloc:
        t = t.args[0]
    return isinstance(t, Const) and t.type.ndim == 0 and not t.value


def inside(g: AnyTerm, gate: Gate) -> AnyTerm:
    """The cotangent where its side is taken."""
    return g.args[1 if gate.side else 2]


def behind(gate: Gate, g: AnyTerm, t: AnyTerm) -> AnyTerm:
    """A cotangent of `t` where the side is taken; zeros of the lengths of t where it is not, as g has none there."""
    zero: Any = Const(np.asarray(0, dtype=g.type.dtype))
    if g.type.ndim:
        zero = mk(alloc, (zero, *[_ONE if m == 1 else n for m, n in zip(g.type.shape, lengths(t), strict=True)]))
    return mk(_CHOICE, (gate.condition, g, zero) if gate.side else (gate.condition, zero, g))


def common_gates(cotangents: Sequence[Any]) -> tuple[list[Gate], list[Any]]:
    """The gates, outermost first, that all cotangents of an application come through, and what is inside of them."""
    gates = []
    while (gate := gate_of(next((g for g in cotangents if g is not None), None))) is not None:
        if any(g is not None and gate_of(g) != gate for g in cotangents):
            break
        gates.append(gate)
        cotangents = [None if g is None else inside(g, gate) for g in cotangents]
    return gates, list(cotangents)


def total(parts: Sequence[Any], t: AnyTerm) -> Any:
    """The sum of what arrived at `t`; what comes through the sides of one choice stays in it."""
    if len(parts) == 1:
        return parts[0]
    gates = [gate for g in parts if (gate := gate_of(g)) is not None]
    if len(gates) < len(parts) or len({gate.condition for gate in gates}) > 1:
        return mk(add, tuple(parts))
    sides = [[inside(g, gate) for g, gate in zip(parts, gates) if gate.side is side] for side in (True, False)]
    if not all(sides):
        return behind(gates[0], total(sides[0] or sides[1], t), t)
    then, orelse = [total(side, t) for side in sides]
    if then.type is not orelse.type:  # one of them may have been broadcast, which the type of a choice does not show
        then, orelse = spread(then, t), spread(orelse, t)
    return mk(_CHOICE, (gates[0].condition, then, orelse))


__all__ = ["Gate", "behind", "common_gates", "gate_of", "inside", "total"]
