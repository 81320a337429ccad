"""Small terms that rules and drivers need again and again: lengths, arrays of one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.terms.leaves import Input
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import add, cast
from termgraph.terms.ops.shaping import alloc, shape_i
from termgraph.terms.term import AnyTerm, Const, mk, mk1


def length(t: Input | AnyTerm, axis: int) -> Any:
    """The length of a term along an axis, as a term: a constant if it is known."""
    n = t.type.shape[axis]
    return Const(np.int64(n)) if n is not None else mk1(shape_i.bind(axis=axis), t)


def lengths(t: AnyTerm) -> list[Any]:
    """All lengths of a term."""
    return [length(t, i) for i in range(t.type.ndim)]


def is_zero(t: Any) -> bool:
    """Whether a term is seen to be zero everywhere."""
    while t.op is alloc or t.op.family is dimshuffle:
        t = t.args[0]
    return isinstance(t, Const) and t.scalar is not None and bool(t.scalar == 0)


def summed(parts: Sequence[Any]) -> Any:
    """The sum of terms; one alone is itself."""
    return parts[0] if len(parts) == 1 else mk(add, tuple(parts))


def in_dtype(t: AnyTerm, dtype: str) -> AnyTerm:
    """The term, cast unless it has the dtype already."""
    return t if t.type.dtype == dtype else mk1(cast.bind(dtype=dtype), t)


def filled_like(t: Any, value: float, dtype: str | None = None) -> AnyTerm:
    """An array of one number with the shape of `t`."""
    number = Const(np.asarray(value, dtype=dtype or t.type.dtype))
    return mk(alloc, (number, *lengths(t))) if t.type.ndim else number


def number_like(t: AnyTerm, value: float) -> AnyTerm:
    """A number in the dtype of `t`, without dimensions: it broadcasts where it is used."""
    return Const(np.asarray(value, dtype=t.type.dtype))


def unspread(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands of an element-wise op, constants without the dimensions that broadcasting gives them anyway.

    So the 3 of a rule `x**3` is the 3 of `vector**3` in any term that users write, before something is folded.
    """
    if not [t for t in operands if t.op.family is dimshuffle]:
        return operands
    plain = tuple([_constant_behind(t) for t in operands])
    ranks = max([t.type.ndim for t in operands]), max([t.type.ndim for t in plain])
    return plain if ranks[0] == ranks[1] else operands


def _constant_behind(t: Input | AnyTerm) -> Any:
    """The constant that a term gives leading dimensions of length 1 and nothing else; other terms as they are."""
    if t.op.family is not dimshuffle or t.args[0].op is not CONST:
        return t
    ndim, order = t.args[0].type.ndim, t.op.params["order"]
    return t.args[0] if order == ("x",) * (len(order) - ndim) + tuple(range(ndim)) else t
