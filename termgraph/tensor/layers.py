"""Layers and activations with PyTorch's names that are formulas: norms, distances, shuffled pixels, rows of tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.config import config
from termgraph.tensor.elemwise import cast
from termgraph.tensor.lengths import length, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, TensorLike
from termgraph.tensor.linalg import vector_norm
from termgraph.tensor.losses import layer_norm
from termgraph.tensor.products import matmul
from termgraph.tensor.reductions import axes_of, logsumexp, to_dtype, wide
from termgraph.tensor.reductions import max as max_over
from termgraph.tensor.reductions import mean as mean_over
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.shaping import dimshuffle, expand_dims, reshape, squeeze, swapaxes
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import normal_axis
from termgraph.terms.ops.triangles import pack_triangle


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


@on_terms
def hardsigmoid(x: TensorLike) -> TensorVariable:
    """A straight line through (0, 0.5) with slope 1/6, clipped to 0..1, as in PyTorch; `hard_sigmoid` is Theano's."""
    x = as_tensor(x)
    return ew.clip((x + 3) / 6, 0, 1)


@on_terms
def squareplus(x: TensorLike, b: TensorLike = 4) -> TensorVariable:
    """(x + sqrt(x ** 2 + b)) / 2: a smooth maximum of x and 0 made of a root."""
    x = as_tensor(x)
    return (x + ew.sqrt(ew.sqr(x) + b)) / 2


@on_terms
def sparse_plus(x: TensorLike) -> TensorVariable:
    """0 up to -1, x from 1 on, a parabola between: the integral of `sparse_sigmoid`."""
    x = as_tensor(x)
    middle = ew.sqr(ew.clip(x, -1, 1) + 1) / 4
    return ew.switch(ew.gt(x, 1), x, middle)


@on_terms
def sparse_sigmoid(x: TensorLike) -> TensorVariable:
    """A straight line through (0, 0.5) with slope 1/2, clipped to 0..1."""
    x = as_tensor(x)
    return ew.clip((x + 1) / 2, 0, 1)


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
def standardize(
    x: TensorLike,
    axis: AxisLike = -1,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 1e-5,
) -> TensorVariable:
    """x less its mean along axes, divided by the root of its variance and `epsilon`; either may be given.

    >>> import termgraph.tensor as T
    >>> T.nnet.standardize([1.0, 3.0], epsilon=0.0).eval()
    array([-1.,  1.])
    """
    x = as_tensor(x)
    middle = mean_over(x, axis=axis, keepdims=True) if mean is None else as_tensor(mean)
    spread = mean_over(ew.sqr(x - middle), axis=axis, keepdims=True) if variance is None else as_tensor(variance)
    return (x - middle) / ew.sqrt(spread + epsilon)


@on_terms
def logmeanexp(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """log(mean(exp(x))) along axes, without overflow.

    >>> import termgraph.tensor as T
    >>> float(T.nnet.logmeanexp([1000.0, 1000.0]).eval())
    1000.0
    """
    x = as_tensor(x)
    axes = axes_of(axis, x.ndim)
    many = product([length(x, d) for d in axes])
    total = logsumexp(x, axis=axis, keepdims=keepdims)
    return total - ew.log(cast(as_tensor(many), total.type.dtype))


@on_terms
def normalize(x: TensorLike, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> TensorVariable:
    """x divided by its p-norm along an axis, by `eps` where that is less.

    >>> import termgraph.tensor as T
    >>> T.nnet.normalize([[3.0, 4.0]]).eval()
    array([[0.6, 0.8]])
    """
    x = as_tensor(x)
    floats = wide(x)
    size = smooth_norm(floats, normal_axis(axis, x.ndim), p, keepdims=True)
    return to_dtype(floats / ew.maximum(size, eps), (x / eps).type.dtype)


def smooth_norm(x: TensorVariable, axis: int, p: float, keepdims: bool = False) -> TensorVariable:
    """The p-norm along an axis, with the slope 0 where all is 0 and a root has none."""
    if p in (0, 1, np.inf):
        return vector_norm(x, axis, keepdims, p)
    powers = ew.sqr(ew.abs_(x)) if p == 2 else _powers(ew.abs_(x), p)
    total = sum_over(powers, axis=axis, keepdims=keepdims, dtype=powers.type.dtype)
    one, none = np.ones((), total.type.np_dtype), ew.eq(total, 0)
    safe = ew.switch(none, one, total)
    return ew.switch(none, np.zeros_like(one), ew.sqrt(safe) if p == 2 else ew.pow_(safe, 1 / p))


def _powers(size: TensorVariable, p: float) -> TensorVariable:
    """size**p; below 1 with the slope 0 at 0, where it has none."""
    if p > 1:
        return ew.pow_(size, p)
    one, none = np.ones((), size.type.np_dtype), ew.eq(size, 0)
    return ew.switch(none, np.zeros_like(one), ew.pow_(ew.switch(none, one, size), p))


@on_terms
def cdist(x1: TensorLike, x2: TensorLike, p: float = 2.0) -> TensorVariable:
    """The p-norms of the differences of all pairs: (..., n, features) and (..., m, features) give (..., n, m).

    Differences are taken before they are squared, so that near points keep their distance; its slope where two
    points are the same is 0.

    >>> import termgraph.tensor as T
    >>> T.nnet.cdist([[0.0, 0.0], [3.0, 0.0]], [[0.0, 4.0]]).eval()
    array([[4.],
           [5.]])
    """
    x1, x2 = _points("cdist", x1), _points("cdist", x2)
    apart = expand_dims(x1, -1) - expand_dims(swapaxes(x2, -1, -2), -3)  # (..., n, features, m): sums in lanes
    return smooth_norm(apart, apart.ndim - 2, _order("cdist", p))


@on_terms
def pdist(input: TensorLike, p: float = 2.0) -> TensorVariable:
    """The distances of all pairs of rows, as `cdist`: of the first row to each later one, then of the second, ...

    >>> import termgraph.tensor as T
    >>> T.nnet.pdist([[0.0], [1.0], [5.0]]).eval()
    array([1., 5., 4.])
    """
    x = _points("pdist", input)
    if x.ndim != 2:
        raise TypeError(f"pdist takes a matrix of points, {x} has {x.ndim} dimensions")
    return pack_triangle(cdist(x, x, _order("pdist", p)), strict=True)


def _points(who: str, x: TensorLike) -> TensorVariable:
    x = as_tensor(x)
    if x.ndim < 2:
        raise TypeError(f"{who} takes points as rows, (..., n, features), {x} has {x.ndim} dimensions")
    return x if x.type.kind in "fc" else cast(x, config.floatX)


def _order(who: str, p: float) -> float:
    if not isinstance(p, (int, float)) or isinstance(p, bool) or not p >= 0:
        raise ValueError(f"{who}: p must be a number from 0 to inf, got {p!r}")
    return p


@on_terms
def group_norm(
    x: TensorLike, num_groups: int, weight: TensorLike | None = None, bias: TensorLike | None = None, eps: float = 1e-5
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
def channel_shuffle(x: TensorLike, groups: int) -> TensorVariable:
    """The channels (axis 1) of `groups` groups dealt out in turn: those that were side by side are `groups` apart.

    >>> import termgraph.tensor as T
    >>> T.nnet.channel_shuffle([[[0], [1], [2], [3]]], 2).eval().ravel()
    array([0, 2, 1, 3])
    """
    x = _images(x, 2, "channel_shuffle")
    batch, channels, *places = lengths(x)
    if not isinstance(groups, int) or groups < 1 or isinstance(channels, int) and channels % groups:
        raise ShapeError(f"channel_shuffle: {channels} channels do not make groups={groups!r} groups")
    parts = reshape(x, (batch, groups, channels // groups, *places))
    return reshape(swapaxes(parts, 1, 2), (batch, channels, *places))


@on_terms
def linear(input: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> TensorVariable:
    """input @ weight.T + bias, along the last axis: `weight` is (results, features), as PyTorch keeps it.

    >>> import termgraph.tensor as T
    >>> T.nnet.linear([1.0, 2.0], [[3.0, 4.0], [0.0, 1.0]], [0.5, 0.0]).eval()
    array([11.5,  2. ])
    """
    weight = as_tensor(weight)
    if weight.ndim not in (1, 2):
        raise TypeError(f"linear: weight must be a matrix (results, features), or a vector; got {weight.type}")
    found = matmul(input, weight.T)
    return found if bias is None else ew.add(found, bias)


@on_terms
def bilinear(
    input1: TensorLike, input2: TensorLike, weight: TensorLike, bias: TensorLike | None = None
) -> TensorVariable:
    """x @ w @ y + bias for each matrix w of a weight (results, features of x, features of y).

    >>> import termgraph.tensor as T
    >>> T.nnet.bilinear([[1.0, 2.0]], [[3.0]], [[[1.0], [1.0]]]).eval()
    array([[9.]])
    """
    x, y, weight = as_tensor(input1), as_tensor(input2), as_tensor(weight)
    if weight.ndim != 3:
        raise TypeError(f"bilinear: weight must be (results, features, features), got {weight.type}")
    by_result = matmul(expand_dims(expand_dims(x, -2), -2), weight)  # (..., results, 1, features of y)
    found = squeeze(matmul(by_result, expand_dims(expand_dims(y, -2), -1)), (-2, -1))
    return found if bias is None else ew.add(found, bias)


@on_terms
def embedding_bag(
    input: Any, weight: TensorLike, mode: str = "mean", per_sample_weights: TensorLike | None = None
) -> TensorVariable:
    """The mean, sum or maximum of the rows that each row of integers names.

    >>> import termgraph.tensor as T
    >>> T.nnet.embedding_bag([[0, 1], [1, 1]], [[1.0], [3.0]], "sum").eval()
    array([[4.],
           [6.]])
    """
    if mode not in ("mean", "sum", "max"):
        raise ValueError(f"embedding_bag: mode must be 'mean', 'sum' or 'max', got {mode!r}")
    rows = embedding(input, weight)
    if per_sample_weights is not None:
        if mode != "sum":
            raise ValueError(f"embedding_bag: per_sample_weights are for mode='sum', not for {mode!r}")
        rows = rows * expand_dims(as_tensor(per_sample_weights), -1)
    folds: dict[str, Any] = {"mean": mean_over, "sum": sum_over, "max": max_over}
    return folds[mode](rows, axis=-2)


@on_terms
def embedding(input: Any, weight: TensorLike) -> TensorVariable:
    """The rows of a matrix that integers name: `weight[input]`."""
    rows = as_tensor(input)
    if rows.type.kind not in "iu":
        raise TypeError(f"embedding: rows are named by integers, got {rows} of type {rows.type}")
    return as_tensor(weight)[rows]
