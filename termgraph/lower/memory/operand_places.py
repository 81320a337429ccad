"""Where an operand of a loop or a routine lies in memory, through whatever views it is seen."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from termgraph.lower.lengths.index import ONE, ZERO, Poly, Var, poly, product
from termgraph.lower.push.kernel import LOAD, Buf
from termgraph.lower.storage.policy import Storage
from termgraph.terms.term import AnyTerm, Const

View = tuple[Buf, Poly, tuple[Poly, ...]]  # where an operand begins, and its strides


def view_of(s: Storage, a: AnyTerm) -> View | None:
    """Where an operand lies, through whatever views it is seen; None if it has to be stored first."""
    stored = s.push.bufs.get(a)
    if stored is not None and stored.strides is None and stored.dtype == a.type.dtype:
        steps = _row_major(stored.shape, a.type.shape)
        if not any(c.values for c in steps):
            return stored, ZERO, steps
    if s.is_computed(a):
        return None
    shape = s.lengths[a]
    vars = [Var(k, n) for k, n in enumerate(shape)]
    value = s.push.at(a, tuple([ZERO if n == 1 else poly(v) for n, v in zip(a.type.shape, vars)]))
    if value.op.family is LOAD and value.type.dtype == a.type.dtype:
        found = steps_of(value.op.params["offset"], tuple(vars))
        if found is not None and not found[0].fv and not any(c.fv for c in found[1]):  # no remainder of a position
            return value.op.params["buf"], *found
    return None


@functools.lru_cache(maxsize=1024)
def _row_major(shape: tuple[Poly, ...], static: tuple[int | None, ...]) -> tuple[Poly, ...]:
    """The strides of an array that is stored, without pushing an index to it; 0 where its type says one element."""
    return tuple([ZERO if n == 1 else product(shape[d + 1 :]) for d, n in enumerate(static)])


def steps_of(offset: Poly, vars: tuple[Var, ...]) -> tuple[Poly, tuple[Poly, ...]] | None:
    """Where an array begins, and how far each loop goes in it, if its places are such; None: they are not."""
    if offset.values:
        return None
    return _steps_of(offset, vars) if any(v.extent.values for v in vars) else _remembered(offset, vars)


def _steps_of(offset: Poly, vars: tuple[Var, ...]) -> tuple[Poly, tuple[Poly, ...]] | None:
    strides = tuple([offset.coefficient(v) for v in vars])
    base = offset.without(vars)
    whole = base + sum((c * poly(v) for c, v in zip(strides, vars)), ZERO)
    return (base, strides) if whole is offset else None


_remembered = functools.lru_cache(maxsize=1024)(_steps_of)  # equal layers read alike; keeps no terms alive


def place_of(s: Storage, a: AnyTerm) -> View:
    """The same; what lies nowhere is stored."""
    found = view_of(s, a)
    if found is None:
        if isinstance(a, Const):
            s.push.constant(a)  # places that are counted: they are numbers, but here an array is asked for
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
