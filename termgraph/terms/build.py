"""Small terms that rules and drivers need again and again: lengths, arrays of one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.terms.ops.shaping import alloc, shape_i
from termgraph.terms.term import Const, mk, mk1

if TYPE_CHECKING:
    from termgraph.terms.term import AnyTerm


def length(t: Any, axis: int) -> Any:
    """The length of a term along an axis, as a term: a constant if it is known."""
    n = t.type.shape[axis]
    return Const(np.int64(n)) if n is not None else mk1(shape_i.bind(axis=axis), t)


def lengths(t: AnyTerm) -> list:
    """All lengths of a term."""
    return [length(t, i) for i in range(t.type.ndim)]


def filled_like(t: Any, value: float, dtype: str | None = None) -> AnyTerm:
    """An array of one number with the shape of `t`."""
    number = Const(np.asarray(value, dtype=dtype or t.type.dtype))
    return mk(alloc, (number, *lengths(t))) if t.type.ndim else number


def number_like(t: AnyTerm, value: float) -> AnyTerm:
    """A number in the dtype of `t`, without dimensions: it broadcasts where it is used."""
    return Const(np.asarray(value, dtype=t.type.dtype))
