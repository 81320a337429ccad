"""Ops about running rather than computing: lazy choice, checks, printing, and calls of closed graphs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.terms.errors import CheckError, TypeMismatch
from termgraph.terms.op import OPS, Op
from termgraph.terms.types import TensorType, TupleType, Type


# ---------------------------------------------------------------------- lazy choice
class LazyChoice(Op):
    """`ifelse(cond, *then, *else)`: the first or second half of the operands. Only the chosen half is computed."""

    lazy = True

    def bind(self, **params: Any) -> Op:
        op = super().bind(**params)
        op.nout = op.params["n"]
        return op

    def choose(self, condition: np.ndarray, n_inputs: int) -> Sequence[int]:
        """Which inputs are needed, given the value of the first."""
        half = (n_inputs - 1) // 2
        return range(1, 1 + half) if np.asarray(condition).item() else range(1 + half, n_inputs)


def _infer_ifelse(cond: Type, *branches: Type, n: int) -> Type:
    if not isinstance(cond, TensorType) or cond.ndim != 0:
        raise TypeMismatch(f"the condition of ifelse must be a scalar, got {cond}")
    if len(branches) != 2 * n:
        raise TypeError(f"ifelse of {n} values takes {2 * n} operands after the condition, got {len(branches)}")
    types = [merge_types(a, b, i) for i, (a, b) in enumerate(zip(branches[:n], branches[n:]))]
    return types[0] if n == 1 else TupleType(types)


def merge_types(a: Type, b: Type, i: int = 0) -> Type:
    """The type that holds the values of both branches: lengths that differ become unknown."""
    if a is b or a == b:
        return a
    if isinstance(a, TensorType) and isinstance(b, TensorType) and a.dtype == b.dtype and a.ndim == b.ndim:
        return TensorType.of(a.dtype, tuple([m if m == n else None for m, n in zip(a.shape, b.shape)]))
    raise TypeMismatch(f"value {i} of ifelse has type {a} in one branch and {b} in the other; convert one of them")


def _ifelse(cond: np.ndarray, *values: np.ndarray, n: int) -> Any:
    chosen = values[:n] if np.asarray(cond).item() else values[n:]
    return chosen[0] if n == 1 else tuple(chosen)


ifelse = OPS["ifelse"] = LazyChoice(
    "ifelse",
    arity=None,
    infer=_infer_ifelse,
    meaning=_ifelse,
    kind="control",
    params={"n": 1},
    doc="The first half of the operands after the condition if it is true, else the second; computed lazily.",
)


# ---------------------------------------------------------------------- checks
def _same_type(x: Type, *_: Type, **__: object) -> Type:
    return x


def _check(x: np.ndarray, *conditions: np.ndarray, error: type, message: str) -> Any:
    for i, condition in enumerate(conditions):
        if not (condition.all() if condition.__class__ is np.ndarray else np.all(condition)):
            which = f" (condition {i})" if len(conditions) > 1 else ""
            raise error(f"{message}{which}")
    return x


check = OPS["check"] = Op(
    "check",
    arity=None,
    infer=_same_type,
    meaning=_check,
    kind="effect",
    params={"error": CheckError, "message": "assertion failed"},
    view=0,
    doc="The first operand; raises `error(message)` unless all other operands are true everywhere.",
)


# ---------------------------------------------------------------------- printing
def _print(x: np.ndarray, *, message: str, attributes: tuple[str, ...], show: Callable[..., Any]) -> np.ndarray:
    if show is not None:
        show(message, x)
        return x
    for name in attributes:
        value = getattr(x, name)
        if callable(value):  # "__str__", "min", "any": what the method gives
            value = value()
        sys.stdout.write(f"{message} {name} = {value}\n")
    return x


print_ = OPS["print"] = Op(
    "print",
    arity=1,
    infer=_same_type,
    meaning=_print,
    kind="effect",
    params={"message": "", "attributes": ("__str__",), "show": None},
    view=0,
    doc="The operand, printed when it is computed.",
)
