"""Where an operand of a loop or a routine lies in memory, through whatever views it is seen."""

from __future__ import annotations

from collections.abc import Sequence

from termgraph.lower.lengths.index import ONE, ZERO, Poly, Var, poly, values
from termgraph.lower.push.kernel import LOAD, Buf
from termgraph.lower.storage.policy import Storage
from termgraph.terms.term import AnyTerm

View = tuple[Buf, Poly, tuple[Poly, ...]]  # where an operand begins, and its strides


def view_of(s: Storage, a: AnyTerm) -> View | None:
    """Where an operand lies, through whatever views it is seen; None if it has to be stored first."""
    if s.is_computed(a):
        return None
    shape = s.lengths[a]
    vars = [Var(k, n) for k, n in enumerate(shape)]
    value = s.push.at(a, tuple([ZERO if n == 1 else poly(v) for n, v in zip(a.type.shape, vars)]))
    if value.op.family is LOAD and value.type.dtype == a.type.dtype:
        offset = value.op.params["offset"]
        strides = tuple([offset.coefficient(v) for v in vars])
        base = offset.without(vars)
        whole = base + sum((c * poly(v) for c, v in zip(strides, vars)), ZERO)
        straight = not base.fv and not any(c.fv for c in strides)  # no remainder or quotient of a position is left
        if straight and whole is offset and not values(offset):
            return value.op.params["buf"], base, strides
    return None


def place_of(s: Storage, a: AnyTerm) -> View:
    """The same; what lies nowhere is stored."""
    found = view_of(s, a)
    if found is None:
        s.keep(a)
        found = view_of(s, a)
    assert found is not None, f"a stored operand that cannot be read: {a!r:.200}"
    return found


def is_dense(shape: Sequence[Poly], strides: Sequence[Poly]) -> bool:
    """Whether elements follow each other in row-major order."""
    step = ONE
    for n, own in zip(reversed(shape), reversed(strides)):
        if n is not ONE and own is not step:
            return False
        step = step * n
    return True
