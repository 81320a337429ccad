"""Bounds for gradients, as transforms in front of an optimizer: `chain(clip_by_global_norm(1.0), adam(1e-3))`."""

from __future__ import annotations

from collections.abc import Sequence

import termgraph.tensor as T
from termgraph.optim.transform import Directions, State, Transform, elementwise
from termgraph.tensor.sharedvar import TensorSharedVariable
from termgraph.tensor.variable import TensorVariable
from termgraph.terms.dtypes import kind_of


def _positive(name: str, value: float) -> None:
    if isinstance(value, (int, float)) and not value > 0:
        raise ValueError(f"{name}: the bound must be positive, got {value}")


def clip(bound: float) -> Transform:
    """Every element of every gradient brought into -bound ... bound.

    >>> clip(1.0)
    <optimizer clip>
    """
    _positive("clip", bound)
    return elementwise("clip", lambda g, p, state: T.clip(g, -bound, bound))


def clip_by_norm(bound: float) -> Transform:
    """Each gradient made shorter if its Euclidean norm is above the bound.

    >>> clip_by_norm(1.0)
    <optimizer clip_by_norm>
    """
    _positive("clip_by_norm", bound)
    return elementwise("clip_by_norm", lambda g, p, state: g * T.cast(_shorter(T.sqrt(_squares(g)), bound), g.dtype))


def global_norm(arrays: Sequence[TensorVariable]) -> TensorVariable:
    """The Euclidean norm of all elements of several arrays.

    >>> import termgraph.tensor as T
    >>> float(global_norm([T.as_tensor([3.0]), T.as_tensor([[4.0]])]).eval())
    5.0
    """
    total: TensorVariable = T.as_tensor(0.0)
    for g in arrays:
        total = total + _squares(g)
    return T.sqrt(total)


def clip_by_global_norm(bound: float) -> Transform:
    """All gradients made shorter by one factor if the norm of all of them together is above the bound.

    >>> clip_by_global_norm(5.0)
    <optimizer clip_by_global_norm>
    """
    _positive("clip_by_global_norm", bound)

    def change(directions: Directions, params: Sequence[TensorSharedVariable], state: State) -> Directions:
        factor = _shorter(global_norm(directions), bound)
        return [g * T.cast(factor, g.dtype) for g in directions]

    return Transform("clip_by_global_norm", change)


def _squares(g: TensorVariable) -> TensorVariable:
    return T.sum(T.sqr(g), dtype="float64") if kind_of(g.dtype) == "f" else T.sum(T.sqr(T.cast(g, "float64")))


def _shorter(norm: TensorVariable, bound: float) -> TensorVariable:
    """The factor that brings a vector of this norm to the bound; 1 if it is short enough, or all zeros."""
    return bound / T.maximum(norm, bound)
