"""Goals about writing into arrays. May import termgraph.terms, termgraph.tensor and termgraph.rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rulelib._goals_index import length
from termgraph.rules import goal
from termgraph.terms.op import CONST
from termgraph.terms.ops.elementwise import cast
from termgraph.terms.ops.shaping import alloc
from termgraph.terms.term import mk, mk1


@goal("iio")
def like(y: Any, x: Any) -> Any:
    """`y` with the dtype and the shape of `x`, into which it is written."""
    if y.type.dtype != x.type.dtype:
        y = mk1(cast.bind(dtype=x.type.dtype), y)
    if y.type.ndim == x.type.ndim and all(a == b or a is None for a, b in zip(y.type.shape, x.type.shape)):
        return y if y.type is x.type else None
    return mk(alloc, (y, *[length(x, d) for d in range(x.type.ndim)]))


@goal("ii")
def takes(x: Any, y: Any) -> bool:
    """Adding `y` to `x` keeps the dtype and the rank of `x`."""
    return np.result_type(x.type.np_dtype, y.type.np_dtype) == x.type.np_dtype and y.type.ndim <= x.type.ndim


@goal("i")
def zero(o: Any) -> bool:
    """Zero everywhere."""
    value = o.args[0] if o.op is alloc else o
    return value.op is CONST and value.scalar is not None and value.scalar == 0


@goal("i")
def zeros(o: Any) -> bool:
    """An array of zeros."""
    return o.type.ndim > 0 and zero.modes["i"](o)
