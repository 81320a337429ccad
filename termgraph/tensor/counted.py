"""What a reduction counts and what it begins with: the arguments `where=` and `initial=`, with NumPy's meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor.indexing import as_values
from termgraph.tensor.shaping import addbroadcast, broadcast_to, shape
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew

if TYPE_CHECKING:
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable


def counted(x: TensorVariable, where: TensorLike | None, otherwise: Any, who: str) -> TensorVariable:
    """`x`, with a number that changes nothing where the mask is false."""
    if where is None or where is True:
        return x
    return ew.switch(_mask(x, where, who), x, np.asarray(otherwise, x.type.np_dtype))


def _mask(x: TensorVariable, where: TensorLike, who: str) -> TensorVariable:
    mask = as_tensor(where) if hasattr(where, "term") else as_tensor(np.asarray(where, bool))
    if mask.type.dtype != "bool":
        raise TypeError(f"{who}: where must be a mask of truth values, got {mask} of type {mask.type}")
    return within(mask, x, who, "where")


def spread_mask(x: TensorVariable, where: TensorLike, who: str) -> TensorVariable:
    return broadcast_to(_mask(x, where, who), shape(x))


def within(v: TensorVariable, x: TensorVariable, who: str, what: str) -> TensorVariable:
    """`v`, which broadcasts to the shape of `x`; what would broadcast `x` is refused."""
    if v.ndim > x.ndim:
        raise ShapeError(f"{who}: {what} has {v.ndim} dimensions, more than the {x.ndim} of {x}")
    ones = [d for d, n in enumerate(x.type.shape[x.ndim - v.ndim :]) if n == 1 and v.type.shape[d] != 1]
    return addbroadcast(v, *ones)


def beginning(initial: TensorLike, found: TensorVariable, who: str) -> TensorVariable:
    """The number that a reduction begins with, in the dtype of its result."""
    if as_tensor(initial).ndim:
        raise ShapeError(f"{who}: initial must be a number, got {initial!r:.60}")
    return as_values(initial, found, f"{who}(initial=)")
