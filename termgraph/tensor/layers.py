"""Layers and activations with PyTorch's names that are formulas: norms of groups, shuffled pixels, shrinking."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.tensor.lengths import length, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.linalg import vector_norm
from termgraph.tensor.losses import layer_norm
from termgraph.tensor.reductions import any as any_over
from termgraph.tensor.reductions import to_dtype
from termgraph.tensor.shaping import dimshuffle, reshape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import HALVES
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import normal_axis


# ---------------------------------------------------------------------- activations
@on_terms
def celu(x: TensorLike, alpha: float = 1.0) -> TensorVariable:
    """x above 0, alpha * (exp(x / alpha) - 1) below."""
    x = as_tensor(x)
    return ew.switch(ew.gt(x, 0), x, ew.mul(ew.expm1(ew.true_div(not_above_zero(x), alpha)), alpha))


def not_above_zero(x: TensorVariable) -> TensorVariable:
    """x, and 0 where it is above: as the smaller of both, but with the slope of x at 0, where a choice takes it."""
    return ew.switch(ew.gt(x, 0), np.zeros((), x.type.np_dtype), x)


@on_terms
def soft_shrink(x: TensorLike, lambd: float = 0.5) -> TensorVariable:
    """x moved towards 0 by `lambd`, and 0 where it is no farther away."""
    x = as_tensor(x)
    return x - ew.clip(x, ew.neg(lambd) if not isinstance(lambd, (int, float)) else -lambd, lambd)


@on_terms
def hard_shrink(x: TensorLike, lambd: float = 0.5) -> TensorVariable:
    """x where it is farther than `lambd` from 0, else 0."""
    return threshold(x, lambd, 0, both=True)


@on_terms
def tanh_shrink(x: TensorLike) -> TensorVariable:
    """x - tanh(x)."""
    x = as_tensor(x)
    return x - ew.tanh(x)


@on_terms
def threshold(x: TensorLike, threshold: float, value: float, both: bool = False) -> TensorVariable:
    """x where it is above a number (or NaN), else `value`; with `both` where its size is above."""
    x = as_tensor(x)
    return ew.switch(ew.le(ew.abs_(x) if both else x, threshold), np.asarray(value, x.type.np_dtype), x)


@on_terms
def prelu(x: TensorLike, weight: TensorLike) -> TensorVariable:
    """x above 0, weight * x below: one weight, or a vector of one for each channel (axis 1)."""
    x, weight = as_tensor(x), as_tensor(weight)
    weight = _of_channels(weight, x) if weight.ndim == 1 and x.ndim > 1 else weight
    return ew.switch(ew.gt(x, 0), x, weight * not_above_zero(x))


# ---------------------------------------------------------------------- distances and norms
@on_terms
def pairwise_distance(
    x1: TensorLike, x2: TensorLike, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> TensorVariable:
    """The p-norm of x1 - x2 + eps along the last axis.

    >>> import termgraph.tensor as T
    >>> T.nnet.pairwise_distance([[3.0, 4.0]], [[0.0, 0.0]], eps=0.0).eval()
    array([5.])
    """
    apart = ew.sub(as_tensor(x1), x2) + eps
    return vector_norm(apart, -1, keepdims, p)


@on_terms
def normalize(x: TensorLike, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> TensorVariable:
    """x divided by its p-norm along an axis, by `eps` where that is less.

    >>> import termgraph.tensor as T
    >>> T.nnet.normalize([[3.0, 4.0]]).eval()
    array([[0.6, 0.8]])
    """
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    wide = to_dtype(x, "float32") if x.type.dtype in HALVES else x  # squares of 16 bits overflow from 256 on
    empty = ew.logical_not(any_over(wide, axis, True))  # where a root has no slope
    size = vector_norm(ew.switch(empty, np.ones((), wide.type.np_dtype), wide), axis, True, p)
    return to_dtype(wide / ew.maximum(ew.switch(empty, 0, size), eps), (x / eps).type.dtype)


@on_terms
def group_norm(
    x: TensorLike,
    num_groups: int,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    eps: float = 1e-5,
) -> TensorVariable:
    """Images (batch, channels, ...), each group of channels with mean 0 and variance 1; then scaled by channel.

    >>> import termgraph.tensor as T
    >>> T.nnet.group_norm([[[1.0], [3.0], [5.0], [9.0]]], 2, eps=0.0).eval().ravel()
    array([-1.,  1., -1.,  1.])
    """
    x = _images(x, 2, "group_norm")
    channels = length(x, 1)
    if not isinstance(num_groups, int) or num_groups < 1 or isinstance(channels, int) and channels % num_groups:
        raise ShapeError(f"group_norm: {channels} channels do not make num_groups={num_groups!r} groups")
    sizes = lengths(x)
    grouped = reshape(x, (sizes[0], num_groups, channels // num_groups * product(sizes[2:])))
    return _by_channel(reshape(layer_norm(grouped, eps=eps), sizes), weight, bias)


@on_terms
def instance_norm(
    x: TensorLike, weight: TensorLike | None = None, bias: TensorLike | None = None, eps: float = 1e-5
) -> TensorVariable:
    """Images (batch, channels, ...), each channel of each with mean 0 and variance 1; then scaled by channel."""
    x = _images(x, 3, "instance_norm")
    return _by_channel(layer_norm(x, axis=tuple(range(2, x.ndim)), eps=eps), weight, bias)


def _images(x: TensorLike, least: int, who: str) -> TensorVariable:
    x = as_tensor(x)
    if x.ndim < least:
        raise ShapeError(f"{who} takes images (batch, channels, ...), got {x} of type {x.type}")
    return x


def _by_channel(x: TensorVariable, weight: TensorLike | None, bias: TensorLike | None) -> TensorVariable:
    x = x if weight is None else x * _of_channels(as_tensor(weight), x)
    return x if bias is None else x + _of_channels(as_tensor(bias), x)


def _of_channels(v: TensorVariable, x: TensorVariable) -> TensorVariable:
    """A vector with a number for each channel, to broadcast to images."""
    if v.ndim != 1:
        raise ShapeError(f"there must be a number for each channel, in a vector; got {v} of type {v.type}")
    return dimshuffle(v, "x", 0, *["x"] * (x.ndim - 2))


# ---------------------------------------------------------------------- pixels and rows
@on_terms
def pixel_shuffle(x: TensorLike, upscale_factor: int) -> TensorVariable:
    """Images (..., channels * r * r, rows, columns) as (..., channels, rows * r, columns * r).

    >>> import termgraph.tensor as T
    >>> T.nnet.pixel_shuffle([[[1]], [[2]], [[3]], [[4]]], 2).eval()
    array([[[1, 2],
            [3, 4]]])
    """
    x, r = _images(x, 3, "pixel_shuffle"), upscale_factor
    *lead, channels, rows, columns = lengths(x)
    if isinstance(channels, int) and channels % (r * r):
        raise ShapeError(f"pixel_shuffle: {channels} channels do not divide by {r} * {r}")
    n = len(lead)
    parts = reshape(x, (*lead, channels // (r * r), r, r, rows, columns))
    moved = dimshuffle(parts, *range(n), n, n + 3, n + 1, n + 4, n + 2)
    return reshape(moved, (*lead, channels // (r * r), rows * r, columns * r))


@on_terms
def pixel_unshuffle(x: TensorLike, downscale_factor: int) -> TensorVariable:
    """`pixel_shuffle` undone: (..., channels, rows * r, columns * r) as (..., channels * r * r, rows, columns)."""
    x, r = _images(x, 3, "pixel_unshuffle"), downscale_factor
    *lead, channels, rows, columns = lengths(x)
    if any(isinstance(k, int) and k % r for k in (rows, columns)):
        raise ShapeError(f"pixel_unshuffle: {rows} rows and {columns} columns do not divide by {r}")
    n = len(lead)
    parts = reshape(x, (*lead, channels, rows // r, r, columns // r, r))
    moved = dimshuffle(parts, *range(n), n, n + 2, n + 4, n + 1, n + 3)
    return reshape(moved, (*lead, channels * (r * r), rows // r, columns // r))


@on_terms
def embedding(input: Any, weight: TensorLike) -> TensorVariable:
    """The rows of a matrix that integers name: `weight[input]`."""
    rows = as_tensor(input)
    if rows.type.kind not in "iu":
        raise TypeError(f"embedding: rows are named by integers, got {rows} of type {rows.type}")
    return as_tensor(weight)[rows]
