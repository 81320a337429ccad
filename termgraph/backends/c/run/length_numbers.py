"""Integers that decide lengths: a program is told of them as the shape of an array that takes no room.

What a program allocates is settled before it reads any array, from lengths alone. A value of a run before, or of the
caller's, becomes three lengths: itself, or its complement and a 1 if it is negative (which counts from the end in
slices). The most negative number has no opposite, and numbers beyond the signed ones are taken modulo 2**64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.terms.ops.elementwise import cast, sub
from termgraph.terms.ops.shaping import shape_i
from termgraph.terms.term import mk
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    from termgraph.terms.term import AnyTerm

NUMBER = TensorType("int8", (None, None, None, 0))


def value_of(number: AnyTerm, type_: TensorType) -> AnyTerm:
    """The integer that an argument of type NUMBER stands for."""
    above, below, sign = (mk(shape_i.bind(axis=axis), (number,)) for axis in (0, 1, 2))
    value = mk(sub, (mk(sub, (above, below)), sign))
    return value if value.type is type_ else mk(cast.bind(dtype=type_.dtype), (value,))


def as_number(value: np.ndarray) -> np.ndarray:
    """The argument for an integer."""
    n = int(value)
    n -= 2**64 if n >= 2**63 else 0
    return np.empty((n, 0, 0, 0) if n >= 0 else (0, ~n, 1, 0), "int8")


def with_numbers(run: Callable, first: int) -> Callable:
    """The same function, whose arguments from `first` on are integers."""

    def called(*values: Any) -> tuple:
        return run(*values[:first], *[as_number(v) for v in values[first:]])

    return called


__all__ = ["NUMBER", "as_number", "value_of", "with_numbers"]
