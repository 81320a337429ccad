"""Integers that decide lengths: a program is told of them as the shape of an array that takes no room.

What a program allocates is settled before it reads any array, from lengths alone. A value of a run before, or of the
caller's, becomes two lengths, of which one is 0: negative numbers count from the end in slices.
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

NUMBER = TensorType("int8", (None, None, 0))


def value_of(number: AnyTerm, type_: TensorType) -> AnyTerm:
    """The integer that an argument of type NUMBER stands for."""
    above, below = (mk(shape_i.bind(axis=axis), (number,)) for axis in (0, 1))
    value = mk(sub, (above, below))
    return value if value.type is type_ else mk(cast.bind(dtype=type_.dtype), (value,))


def as_number(value: np.ndarray) -> np.ndarray:
    """The argument for an integer."""
    n = int(value)
    return np.empty((max(n, 0), max(-n, 0), 0), "int8")


def with_numbers(run: Callable, first: int) -> Callable:
    """The same function, whose arguments from `first` on are integers."""

    def called(*values: Any) -> tuple:
        return run(*values[:first], *[as_number(v) for v in values[first:]])

    return called


__all__ = ["NUMBER", "as_number", "value_of", "with_numbers"]
