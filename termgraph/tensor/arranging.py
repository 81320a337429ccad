"""Matrices of blocks and of powers, and bits packed into bytes: what NumPy has for putting numbers in places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.tensor.creation import ones
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, TensorLike
from termgraph.tensor.padding import pad
from termgraph.tensor.reductions import axes_of, cumprod
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.shaping import broadcast_to, dimshuffle, expand_dims, moveaxis, on_axis, reshape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import promote
from termgraph.terms.ops import elementwise as ew

BITS = {"big": np.arange(7, -1, -1), "little": np.arange(8)}


@on_terms
def block(arrays: TensorLike) -> TensorVariable:
    """An array from nested lists of blocks: inner lists along the last axis, the lists around them along those before.

    >>> import termgraph.tensor as T
    >>> T.block([[T.eye(2), T.zeros((2, 1))], [T.ones((1, 3))]]).eval()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]])
    """
    depth = _depth(arrays)
    rank = max([depth, *[leaf.ndim for leaf in _leaves(arrays)]])
    return _joined(arrays, rank, depth)


def _depth(arrays: TensorLike) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(a) for a in arrays}
    if len(depths) != 1:
        raise ValueError("block: lists must be nested equally deep everywhere, and none may be empty")
    return depths.pop() + 1


def _leaves(arrays: TensorLike) -> list:
    return [leaf for a in arrays for leaf in _leaves(a)] if isinstance(arrays, list) else [as_tensor(arrays)]


def _joined(arrays: TensorLike, rank: int, depth: int) -> TensorVariable:
    if isinstance(arrays, list):
        return concatenate([_joined(a, rank, depth - 1) for a in arrays], rank - depth)
    x = as_tensor(arrays)
    return dimshuffle(x, *["x"] * (rank - x.ndim), *range(x.ndim))


@on_terms
def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> TensorVariable:
    """The matrix whose columns are powers of a vector, from N - 1 down to 0, or upwards if `increasing`.

    >>> import termgraph.tensor as T
    >>> T.vander([1.0, 2.0, 3.0], 3).eval()
    array([[1., 1., 1.],
           [4., 2., 1.],
           [9., 3., 1.]])
    """
    x = as_tensor(x)
    if x.ndim != 1:
        raise ValueError(f"vander takes a vector, {x} has {x.ndim} dimensions")
    n = length(x, 0)
    columns = n if N is None else N
    dtype = promote(x.type.np_dtype, "int64").name
    first = ones((n, 1), dtype=dtype)
    powers = broadcast_to(dimshuffle(ew.cast(x, dtype=dtype), 0, "x"), (n, columns))
    found = cumprod(concatenate([first, powers], 1), 1, dtype=dtype)[:, :columns]
    return found if increasing else found[:, ::-1]


# ---------------------------------------------------------------------- bits
@on_terms
def packbits(a: TensorLike, axis: int | None = None, bitorder: str = "big") -> TensorVariable:
    """Eight truth values in each byte along an axis, or of the flattened array; zeros fill the last byte.

    >>> import termgraph.tensor as T
    >>> T.packbits([1, 0, 0, 0, 0, 0, 1, 1, 1]).eval()
    array([131, 128], dtype=uint8)
    """
    a = as_tensor(a)
    if a.type.kind not in "biu":
        raise TypeError(f"packbits takes bool or integers, got {a.type.dtype}; write x != 0 if that is meant")
    a, axis = on_axis(a, axis)
    last = moveaxis(ew.cast(ew.neq(a, 0), dtype="uint8"), axis, -1)
    n = length(last, -1)
    bytes_ = (n + 7) // 8
    filled = pad(last, [(0, 0)] * (last.ndim - 1) + [(0, bytes_ * 8 - n)])
    grouped = reshape(filled, [*lengths(last)[:-1], bytes_, 8])
    found = sum_over(grouped * _weights(bitorder), -1, dtype="uint8")
    return moveaxis(found, -1, axis)


@on_terms
def unpackbits(
    a: TensorLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> TensorVariable:
    """The bits of bytes, one in each element, along an axis or of the flattened array; `count` of them if given.

    A `count` beyond what there is adds zeros; a negative one leaves out as many at the end.

    >>> import termgraph.tensor as T
    >>> T.unpackbits(T.constant([131], dtype="uint8")).eval()
    array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """
    a = as_tensor(a)
    if a.type.dtype != "uint8":
        raise TypeError(f"unpackbits takes uint8, got {a.type.dtype}")
    a, axis = on_axis(a, axis)
    last = dimshuffle(moveaxis(a, axis, -1), *range(a.ndim), "x")
    bits = ew.minimum(ew.bitwise_and(last, _weights(bitorder)), np.uint8(1))
    flat = reshape(bits, [*lengths(last)[:-2], length(last, -2) * 8])
    if count is not None:
        flat = flat[..., :count]
        missing: Any = count - length(flat, -1)
        missing = max(missing, 0) if isinstance(missing, int) else ew.maximum(missing, 0)
        if not isinstance(missing, int) or missing and count > 0:
            flat = pad(flat, [(0, 0)] * (flat.ndim - 1) + [(0, missing)])
    return moveaxis(flat, -1, axis)


def _weights(bitorder: str) -> TensorVariable:
    """What each of the eight bits of a byte counts for."""
    if bitorder not in BITS:
        raise ValueError(f"bitorder must be 'big' or 'little', got {bitorder!r}")
    return as_tensor((1 << BITS[bitorder]).astype("uint8"))


def apply_over_axes(func: Callable, a: TensorLike, axes: AxisLike) -> TensorVariable:
    """What `func(a, axis)` makes of an array for one axis after the other; those it leaves out stay, of length 1.

    >>> import termgraph.tensor as T
    >>> T.apply_over_axes(T.sum, T.ones((2, 3, 4)), [0, 2]).eval().shape
    (1, 3, 1)
    """
    a = as_tensor(a)
    for axis in axes_of(axes, a.ndim):
        found = as_tensor(func(a, axis))
        if found.ndim == a.ndim - 1:
            found = expand_dims(found, axis)
        if found.ndim != a.ndim:
            raise ValueError(
                f"apply_over_axes: func must keep the number of dimensions, or leave one out: of {a.ndim} it made "
                f"{found.ndim}"
            )
        a = found
    return a


__all__ = ["apply_over_axes", "block", "packbits", "unpackbits", "vander"]
