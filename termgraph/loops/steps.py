"""What `loop` and `scan` share: numbers of steps, stopping conditions, calling the user's step function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.loops.carries import function_text
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError, TypeMismatch
from termgraph.terms.ops.elementwise import cast, minimum
from termgraph.terms.ops.shaping import shape_i


class Until:
    """A condition after which a loop makes no further step: `tg.until(error < 1e-6)`, returned by the step function."""

    def __init__(self, condition: Any) -> None:
        self.condition = as_tensor(condition)


def until(condition: Any) -> Until:
    """End a loop after the step in which `condition` (a scalar) is true; return it last from the step function.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> powers, _ = tg.scan(lambda p: (p * 2, tg.until(p > 10)), outputs_info=1.0, n_steps=100)
    >>> tg.function([], powers)()
    array([ 2.,  4.,  8., 16., 32.])
    """
    return Until(condition)


def scalar_condition(stop: Until) -> Variable:
    """The condition as a bool scalar."""
    condition = stop.condition
    if condition.type.ndim != 0:
        raise TypeMismatch(
            f"until() needs a scalar, got {condition} of type {condition.type}; reduce it with .all() or .any()"
        )
    return condition if condition.type.dtype == "bool" else cast(condition, dtype="bool")


def call_step(function: Callable, args: Sequence[Any], named: dict, what: str) -> Any:
    """What the user's step function returns; if it raises, a note says what it was called with."""
    if not callable(function):
        raise TypeError(f"{what}: the step must be a function, got {type(function).__name__} {function!r:.60}")
    try:
        return function(*args, **named)
    except Exception as err:
        shown = ", ".join(_argument(a) for a in [*args, *named.values()])
        err.add_note(f"while {what} called the step function {function_text(function)} with ({shown})")
        raise


def _argument(value: object) -> str:
    return f"{value.name or 'unnamed'}: {value.type}" if isinstance(value, Variable) else f"{value!r:.60}"


def steps_variable(asked: Any, available: Any, what: str) -> Variable:
    """The number of steps as an int64 scalar: what was asked for, else as many as the sequences have."""
    if asked is None:
        if available is None:
            raise ValueError(f"without sequences the number of steps is unknown: pass {what}=")
        return available
    n = asked if isinstance(asked, Variable) else as_tensor(asked)
    if n.type.ndim != 0 or n.type.kind not in "iu":
        raise TypeMismatch(f"{what} must be an integer scalar, got {asked!r:.60} of type {n.type}")
    value = getattr(n, "data", None)
    if value is not None and int(value) < 0:
        raise ShapeError(f"{what} must not be negative, got {int(value)}; use go_backwards=True to run in reverse")
    return n if n.type.dtype == "int64" else cast(n, dtype="int64")


def common_length(rows: Sequence[tuple[str, Variable]], equal: bool = False) -> Variable | None:
    """The number of rows of the shortest; of any of them if they must be `equal`, ShapeError if it is seen that not."""
    if not rows:
        return None
    static = {label: x.type.shape[0] for label, x in rows if x.type.ndim and x.type.shape[0] is not None}
    if equal and len(set(static.values())) > 1:
        shown = ", ".join(f"{label} has {n}" for label, n in static.items())
        raise ShapeError(f"the sequences must have equally many rows: {shown}; pass length= to use the first rows only")
    lengths = [rows_of(x) for _, x in rows if x.type.ndim]
    if not equal or len(lengths) < 2:
        return shortest(lengths)
    return next((n for n in lengths if getattr(n, "data", None) is not None), lengths[0])


def shortest(lengths: Sequence[Any]) -> Any:
    """The smallest of some lengths, each counted once; None of none."""
    if not lengths:
        return None
    unique = list({v.term: v for v in lengths}.values())
    known = [v for v in unique if getattr(v, "data", None) is not None]
    if known:
        least = min(known, key=lambda v: int(v.data))
        unique = [least, *[v for v in unique if v not in known]]
    return unique[0] if len(unique) == 1 else minimum(*unique)


def rows_of(x: Variable) -> TensorVariable:
    """The number of rows: a constant where the type knows it."""
    n = x.type.shape[0]
    return as_tensor(np.int64(n)) if n is not None else shape_i(x, axis=0)
