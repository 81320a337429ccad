"""The type guarantee: a replacement gets the old term's dtype and rank, with lengths at least as precise.

Literals take the old dtype, casts and lost broadcasts are put back; what cannot be fitted is refused (None). Also the
small constructors that generated matchers call.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import numpy as np

from termgraph.terms.dtypes import can_cast, promote
from termgraph.terms.op import CONST, OPS, Op
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import cast
from termgraph.terms.term import AnyTerm, Const, Lit, mk, mk1
from termgraph.terms.types import TensorType

BAD_TYPES = (TypeError, ValueError, OverflowError, IndexError)
REFUSED: Counter[str] = Counter()  # matches refused because the type could not be kept, by rule name
_numbers: dict[tuple[Any, ...], Const] = {}
_NOTED = 8  # how many steps apart terms note where their lengths come from


def num(lit: Lit, *dtypes: Any) -> Const:
    """A pattern number beside operands of these dtypes, as a constant: numbers are weak."""
    key = (lit, *dtypes)
    found = _numbers.get(key)
    if found is None:
        value = lit.value
        dtype = promote(*dtypes, type(value)(0)) if dtypes else None
        found = _numbers[key] = Const(np.asarray(value, dtype=dtype))
    return found


def full(lit: Lit, t: AnyTerm) -> Any:
    """A pattern number that replaces the whole term `t`: it takes t's dtype."""
    return _scalar(lit.value, t.type.dtype)


def _scalar(value: float, dtype: str) -> Const:
    return _cached_scalar(repr(value), value, dtype)  # the text tells -0.0 from 0.0


@functools.lru_cache(4096)
def _cached_scalar(text: str, value: float, dtype: str) -> Const:
    return Const(np.asarray(value, dtype=dtype))


@functools.lru_cache(1024)
def _bound(family: Op, name: str, value: int) -> Op:
    """A bound op, kept alive: making one costs more than a whole rewrite."""
    return family.bind(**{name: value})


def left_over(operands: tuple[Any, ...], taken: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands whose places are not taken."""
    return tuple([a for i, a in enumerate(operands) if i not in taken])


def rest_term(op: Op, operands: tuple[Any, ...], node: AnyTerm) -> Any:
    """The operands of `node` that a pattern left over, as one term of the same dtype."""
    if len(operands) == 1:
        return operands[0]
    term = mk(op, operands)
    if term.type.dtype != node.type.dtype:  # the wide operand went: the others must still be added up in its dtype
        term = mk(op, (mk1(_bound(cast, "dtype", node.type.dtype), operands[0]), *operands[1:]))
    return term


def carry(op: Op, made: Any, rest: tuple[Any, ...]) -> Any:
    """A replacement for some operands of an n-ary term, together with the others."""
    if not rest:
        return made
    return mk(op, (*made.args, *rest) if made.op is op else (made, *rest))


def nary(op: Op, operands: tuple[Any, ...]) -> Any:
    """`op(*operands)`; a single operand is itself."""
    return operands[0] if len(operands) == 1 else mk(op, operands)


def fit(new: Any, old: Any, name: str) -> Any:
    """`new` with the type of `old`, or None (counted under the rule's name) if that cannot be had."""
    try:
        fitted = _fit(new, old)
    except BAD_TYPES:
        fitted = None
    if fitted is None:
        REFUSED[name] += 1
    return fitted if fitted is not old else None


def _fit(new: Any, old: Any) -> Any:
    want = old.type
    if not isinstance(want, TensorType) or not isinstance(new.type, TensorType):
        return new if want.accepts(new.type) else None
    if new.type.dtype != want.dtype:
        new = _recast(new, want.dtype)
        if new is None:
            return None
    new = _same_rank(new, want)
    if new is None or new.type is want:
        return new
    return _same_lengths(new, old)


def _recast(new: Any, dtype: str) -> Any:
    if not can_cast(new.type.np_dtype, dtype, "same_kind"):
        return None
    return Const(new.value.astype(dtype)) if new.op is CONST else mk1(_bound(cast, "dtype", dtype), new)


def _same_rank(new: Any, want: TensorType) -> Any:
    missing = want.ndim - new.type.ndim
    if missing > 0 and new.op is CONST:
        return Const(new.value.reshape((1,) * missing + new.value.shape))
    if missing > 0:
        return mk1(_bound(dimshuffle, "order", ("x",) * missing + tuple(range(new.type.ndim))), new)
    if missing < 0:
        if any(n != 1 for n in new.type.shape[:-missing]):
            return None
        return mk1(_bound(dimshuffle, "order", tuple(range(-missing, new.type.ndim))), new)
    return new


def _same_lengths(new: Any, old: Any) -> Any:
    have, want = new.type.shape, old.type.shape
    lost = False
    for h, w in zip(have, want, strict=True):
        if h == w or (w is None and h != 1):
            continue
        if h == 1 and (w is not None or new.op is CONST or old.op.kind == "elementwise" or old.op.name == "alloc"):
            lost = True
        elif w is not None:
            return None  # the old term promised a length that the new one does not know
    return _broadcast_like(new, old) if lost else new


def _broadcast_like(new: Any, old: AnyTerm) -> Any:
    alloc = OPS.get("alloc")
    lengths = [length_of(old, axis) for axis in range(old.type.ndim)]
    if alloc is None or any(n is None for n in lengths):
        return None
    if new.op is CONST and new.scalar is not None:
        new = _scalar(new.scalar, new.type.dtype)
    return mk(alloc, (new, *lengths))


def length_of(t: AnyTerm, axis: int) -> Any:
    """The length of `t` along an axis as a term that does not contain `t` itself, or None if not known how."""
    start, path = t, []
    while t.type.shape[axis] is None and t.args:
        known = t._notes
        step = known.get(axis) if known is not None else None
        if step is None:
            path.append((t, axis))
            first = t.args[0]
            if first.type is t.type and t.op.kind == "elementwise":
                t = first
                continue
            step = _where_length_comes_from(t, axis)
            if step is None:
                break
        t, axis = step
        if axis < 0:
            break
    for passed, along in path[::_NOTED]:  # the next question on this chain is answered soon
        if passed is not t:
            if passed._notes is None:
                passed._notes = {}
            passed._notes[along] = (t, axis)  # by axis: the older term and its axis that have the same length
    if axis < 0:
        return t  # a length given as an operand
    n = t.type.shape[axis]
    if n is not None:
        return _scalar(n, "int64")
    shape_i = OPS.get("shape_i")
    return None if shape_i is None or t is start else mk1(_bound(shape_i, "axis", axis), t)


def _where_length_comes_from(t: AnyTerm, axis: int) -> tuple[Any, int] | None:
    """The operand and axis that have the same length; axis -1: the operand *is* the length."""
    if t.op.kind != "elementwise":
        return t.op.length_from(t, axis) if t.op.length_from is not None else None
    for a in t.args:
        i = axis - (t.type.ndim - a.type.ndim)
        if i >= 0 and a.type.shape[i] is None:
            return a, i
    return None
