"""Running values along an axis that are no sums or products: each step of a loop takes one element in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor.creation import full
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import flip
from termgraph.tensor.lengths import lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.shaping import moveaxis, ravel
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import normal_axis

if TYPE_CHECKING:
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable

ABOVE: dict[str, Callable[[], Any]] = {}  # loops are a room above this one; entered where all rooms meet


@on_terms
def logcumsumexp(x: TensorLike, axis: int | None = None, reverse: bool = False) -> TensorVariable:
    """log(cumsum(exp(x))) along an axis, or of the flattened array, without overflow; from the end if `reverse`.

    >>> import termgraph.tensor as T
    >>> T.logcumsumexp([1000.0, 1000.0, -1000.0]).eval().round(6)
    array([1000.      , 1000.693147, 1000.693147])
    """
    x = as_tensor(x)
    if x.type.kind == "c":
        raise TypeError(f"logcumsumexp is defined for real numbers only, got {x.type}")
    x = x if x.type.kind == "f" else cast(x, "float64")
    if axis is None:
        x, axis = ravel(x), 0
    axis = normal_axis(axis, x.ndim)
    rows = moveaxis(x, axis, 0)
    rows = flip(rows, 0) if reverse else rows
    least, no = np.asarray(-np.inf, x.dtype), np.zeros((), x.dtype)

    def step(sum_: TensorVariable, now: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
        none = ew.maximum(sum_, now) <= least  # two infinities have no difference, and so no derivatives
        found = ew.logaddexp(ew.switch(none, no, sum_), ew.switch(none, no, now))
        sum_ = ew.switch(none, least, found)
        return sum_, sum_

    _, found = ABOVE["loop"]()(step, full(lengths(rows)[1:], least), rows)
    return moveaxis(flip(found, 0) if reverse else found, 0, axis)


__all__ = ["logcumsumexp"]
