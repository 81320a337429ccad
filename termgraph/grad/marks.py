"""Functions that return their argument and change the gradient that flows back through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import gradmarks as ops

if TYPE_CHECKING:
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable


def grad_clip(x: TensorLike, lower_bound: float, upper_bound: float) -> TensorVariable:
    """x, whose gradient is clipped to [lower_bound, upper_bound].

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dscalar("x")
    >>> float(tg.grad(tg.grad_clip(x, -1, 1) ** 2, x).eval({x: 3.0}))
    1.0
    """
    if not np.isscalar(lower_bound) or not np.isscalar(upper_bound) or not lower_bound <= upper_bound:  # type: ignore[operator]
        raise ValueError(f"grad_clip: the bounds must be two numbers in order, got {lower_bound!r} and {upper_bound!r}")
    return ops.grad_clip(as_tensor(x), lower=float(lower_bound), upper=float(upper_bound))  # type: ignore[arg-type]


def grad_scale(x: TensorLike, multiplier: float) -> TensorVariable:
    """x, whose gradient is multiplied by a number."""
    return ops.grad_scale(as_tensor(x), multiplier=float(multiplier))


def grad_reverse(x: TensorLike) -> TensorVariable:
    """x, whose gradient changes its sign: what makes one half of an adversarial network work against the other."""
    return grad_scale(x, -1.0)


def zero_grad(x: TensorLike) -> TensorVariable:
    """x, with zero for its gradient. What depends on x still counts as connected with it."""
    return ops.zero_grad(as_tensor(x))


def disconnected_grad(x: TensorLike) -> TensorVariable:
    """x, as if the result did not depend on it: asking for the gradient raises, or gives what you chose for that."""
    return ops.disconnected_grad(as_tensor(x))


def consider_constant(x: TensorLike) -> TensorVariable:
    """x, treated as a constant by gradients: the same as `zero_grad`."""
    return zero_grad(x)


def undefined_grad(x: TensorLike) -> TensorVariable:
    """x, whose gradient is declared undefined: asking for it is an error."""
    return ops.undefined_grad(as_tensor(x))
