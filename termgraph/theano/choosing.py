"""theano.ifelse: a choice of which one side is computed. May import loops."""

from __future__ import annotations

from typing import Any

import termgraph.tensor as T
from termgraph.loops.ifelse import ifelse as native_ifelse
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import TensorVariable


def ifelse(condition: TensorLike, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """`then_branch` if the condition holds, else `else_branch`; what is given as a list or tuple is given back so."""
    several = isinstance(then_branch, (list, tuple)), isinstance(else_branch, (list, tuple))
    if several == (False, False):
        return native_ifelse(_number(condition), then_branch, else_branch, name)
    thens, elses = (list(b) if s else [b] for b, s in zip((then_branch, else_branch), several))
    if len(thens) != len(elses):
        raise ValueError(f"ifelse: the branches have {len(thens)} and {len(elses)} values; they must be as many")
    found = native_ifelse(_number(condition), thens, elses, name)
    if several[0] and isinstance(then_branch, tuple):
        return tuple(found)
    return found if several[0] or len(found) > 1 else found[0]


def _number(condition: TensorLike) -> TensorVariable:
    """The condition as one number."""
    c = T.as_tensor(condition)
    return c.reshape(()) if c.ndim and all(c.broadcastable) else c
