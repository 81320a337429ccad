"""Sums, products and extremes of segments: elements that carry one number, with the names of jax.ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.tensor.creation import full
from termgraph.tensor.elemwise import cast
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.reductions import max as max_over
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import highest, lowest
from termgraph.terms.errors import ShapeError
from termgraph.terms.op import Op
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.indexing import scatter_add, scatter_max, scatter_min, scatter_mul
from termgraph.terms.ops.shaping import specify_shape
from termgraph.terms.types import shape_text


@on_terms
def segment_sum(
    data: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> TensorVariable:
    """The sums of the rows of `data` that carry one number in the vector `segment_ids`, as jax.ops.segment_sum.

    There are `num_segments` of them, or one more than the largest number; rows with a number that is negative or not
    below `num_segments` count nowhere. What the numbers are known to be (sorted, unique) changes nothing here.

    >>> import termgraph.tensor as T
    >>> T.segment_sum([1.0, 2.0, 4.0, 8.0], [0, 2, 0, 7], num_segments=3).eval()
    array([5., 0., 2.])
    """
    return _segments("segment_sum", scatter_add, data, segment_ids, num_segments)


@on_terms
def segment_prod(
    data: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> TensorVariable:
    """The products of the rows of `data` that carry one number, 1 where there are none; see `segment_sum`.

    >>> import termgraph.tensor as T
    >>> T.segment_prod([1.0, 2.0, 4.0, 8.0], [0, 2, 0, 2]).eval()
    array([ 4.,  1., 16.])
    """
    return _segments("segment_prod", scatter_mul, data, segment_ids, num_segments)


@on_terms
def segment_max(
    data: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> TensorVariable:
    """The largest elements of the rows of `data` that carry one number; see `segment_sum`.

    Where there are none the result is -inf, or the least whole number of the dtype. The gradient goes in equal shares
    to all elements that are largest.

    >>> import termgraph.tensor as T
    >>> T.segment_max([1.0, 2.0, 4.0, 8.0], [0, 2, 0, 2]).eval()
    array([  4., -inf,   8.])
    """
    return _segments("segment_max", scatter_max, data, segment_ids, num_segments)


@on_terms
def segment_min(
    data: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> TensorVariable:
    """The smallest elements of the rows of `data` that carry one number, inf where there are none; see `segment_max`.

    >>> import termgraph.tensor as T
    >>> T.segment_min([1, 2, 4, 8], [0, 1, 0, 1]).eval()
    array([1, 2])
    """
    return _segments("segment_min", scatter_min, data, segment_ids, num_segments)


def _segments(name: str, op: Op, data: TensorLike, segment_ids: TensorLike, num_segments: Any) -> TensorVariable:
    x, ids = as_tensor(data), as_tensor(segment_ids)
    if ids.ndim != 1 or ids.type.kind not in "iu":
        raise TypeError(f"{name}: segment_ids must be a vector of integers, got {ids} of type {ids.type}")
    told = f"{name}: segment_ids needs a number for each row of data"
    known = None not in (x.type.shape[:1] + ids.type.shape)
    if not x.ndim or known and x.type.shape[0] != ids.type.shape[0]:
        raise ShapeError(f"{told}, got shapes {shape_text(ids.type.shape)} and {shape_text(x.type.shape)}")
    if not known:
        ids = specify_shape(ids, as_tensor(length(x, 0)), known=(True,), told=told)
    if x.type.kind == "c" and op in (scatter_max, scatter_min):
        raise TypeError(f"{name}: complex numbers have no order; {x} is {x.type}")
    start, n = _start(op, x.type.np_dtype), _count(name, ids, num_segments)
    # One row more for what is in no segment: no value has to be looked at twice.
    rows = full((n + 1, *lengths(x)[1:]), start, x.type.dtype)
    place = ew.switch(ew.ge(ids, 0) & ew.lt(ids, n), ids, as_tensor(n))
    return op.bind(index=("a",))(rows, x, place)[:n]


def _count(name: str, ids: TensorVariable, num_segments: Any) -> Any:
    if num_segments is None:
        return max_over(cast(ids, "int64"), initial=-1) + 1
    if isinstance(num_segments, (int, np.integer)) and not isinstance(num_segments, bool):
        if num_segments < 0:
            raise ValueError(f"{name}: num_segments must not be negative, got {num_segments}")
        return int(num_segments)
    n = as_tensor(num_segments)
    if n.ndim or n.type.kind not in "iu":
        raise TypeError(f"{name}: num_segments must be an integer, got {n} of type {n.type}")
    return n


def _start(op: Op, dtype: np.dtype) -> Any:
    """What a segment without elements is."""
    if op in (scatter_add, scatter_mul):
        return int(op is scatter_mul)
    return lowest(dtype) if op is scatter_max else highest(dtype)


__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
