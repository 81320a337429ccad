"""More of T.nnet, with PyTorch's names: losses with a reduction, normalised rows, gates and attention.

All are composed of other functions, so that their gradients and their stability are those of what they are made of.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.tensor.creation import tri
from termgraph.tensor.elemwise import cast
from termgraph.tensor.lengths import length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, TensorLike
from termgraph.tensor.products import matmul
from termgraph.tensor.reductions import any as any_of
from termgraph.tensor.reductions import log_softmax, mean, softmax, wide
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.selecting import take, take_along_axis
from termgraph.tensor.shaping import broadcast_arrays, expand_dims, moveaxis, squeeze, swapaxes
from termgraph.tensor.variable import TensorVariable, is_plain_number
from termgraph.tensor.wrap import as_tensor, pad_rank
from termgraph.terms.dtypes import HALVES, finfo
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import at_axis, normal_axis

LEAST_CHANCE = math.exp(-100)


def reduced(loss: TensorVariable, reduction: str, who: str, counts: TensorVariable | None = None) -> TensorVariable:
    if not isinstance(reduction, str) or reduction not in ("mean", "sum", "none"):
        other = ", 'batchmean'" if who == "kl_div" else ""
        raise ValueError(f"{who}: reduction must be 'mean', 'sum'{other} or 'none', got {reduction!r:.60}")
    if reduction == "mean":
        return mean(loss) if counts is None else ew.true_div(sum_over(loss), sum_over(counts))
    return loss if reduction == "none" else sum_over(loss)


def pair_of(x: TensorLike, target: Any, who: str) -> tuple[TensorVariable, Any]:
    """Two arrays of one rank: a column beside a vector would broadcast, and the loss be that of all pairs."""
    x = as_tensor(x)
    if is_plain_number(target):
        return x, target  # which keeps float32 what it is
    target = as_tensor(target)
    if x.ndim != target.ndim and x.ndim and target.ndim:
        raise ValueError(f"{who}: {x} has {x.ndim} dimensions and the target {target.ndim}; reshape one of them")
    return x, target


# ---------------------------------------------------------------------- losses
@on_terms
def mse_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> TensorVariable:
    """The mean of the squared differences; `reduction` may be "sum" or "none".

    >>> import termgraph.tensor as T
    >>> float(T.nnet.mse_loss([1.0, 2.0], [1.0, 4.0]).eval())
    2.0
    """
    x, target = pair_of(input, target, "mse_loss")
    return reduced(ew.sqr(x - target), reduction, "mse_loss")


@on_terms
def binary_cross_entropy(
    input: TensorLike, target: Any, reduction: str = "mean", *, weight: TensorLike | None = None
) -> TensorVariable:
    """-(target * log(input) + (1 - target) * log(1 - input)) of probabilities, logarithms being -100 at least.

    >>> import termgraph.tensor as T
    >>> float(T.nnet.binary_cross_entropy([0.5, 1.0], [1.0, 1.0], "sum").eval().round(6))
    0.693147
    """
    x, target = pair_of(input, target, "binary_cross_entropy")
    least = np.asarray(-100, x.type.np_dtype)

    def kept(log: Any, inside: TensorVariable, p: Any) -> TensorVariable:
        small = ew.ge(inside, 0) & ew.le(inside, LEAST_CHANCE)  # where the logarithm has no slope
        return ew.switch(small, least, log(ew.switch(small, np.asarray(0.5, x.type.np_dtype), p)))

    loss = target * kept(ew.log, x, x) + (1 - target) * kept(lambda v: ew.log1p(ew.neg(v)), 1 - x, x)
    loss = ew.neg(loss if weight is None else loss * as_tensor(weight))
    return reduced(loss, reduction, "binary_cross_entropy")


@on_terms
def binary_cross_entropy_with_logits(
    input: TensorLike,
    target: Any,
    reduction: str = "mean",
    *,
    weight: TensorLike | None = None,
    pos_weight: TensorLike | None = None,
) -> TensorVariable:
    """`binary_cross_entropy` of sigmoid(input), exact also where that rounds; targets of 1 count `pos_weight`.

    >>> import termgraph.tensor as T
    >>> float(T.nnet.binary_cross_entropy_with_logits([-1000.0], [1.0]).eval())
    1000.0
    """
    who = "binary_cross_entropy_with_logits"
    x, target = pair_of(input, target, who)
    positive = target if pos_weight is None else target * as_tensor(pos_weight)
    loss = positive * ew.softplus(ew.neg(x)) + (1 - target) * ew.softplus(x)
    return reduced(loss if weight is None else loss * as_tensor(weight), reduction, who)


@on_terms
def l1_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> TensorVariable:
    """The mean of the absolute differences; `reduction` may be "sum" or "none"."""
    x, target = pair_of(input, target, "l1_loss")
    return reduced(ew.abs_(x - target), reduction, "l1_loss")


@on_terms
def huber_loss(
    input: TensorLike, target: TensorLike, reduction: str = "mean", delta: TensorLike = 1.0
) -> TensorVariable:
    """Half the squared difference where that is below `delta`, and the straight line that goes on from there."""
    x, target = pair_of(input, target, "huber_loss")
    if isinstance(delta, (int, float)) and not delta > 0:
        raise ValueError(f"huber_loss: delta must be above 0, got {delta}")
    size = ew.abs_(x - target)
    near = ew.minimum(size, delta)
    return reduced(near * (size - 0.5 * near), reduction, "huber_loss")


@on_terms
def smooth_l1_loss(input: TensorLike, target: TensorLike, reduction: str = "mean", beta: Any = 1.0) -> TensorVariable:
    """`huber_loss` divided by `beta`, so that far away it is the absolute difference less beta / 2; `l1_loss` for 0."""
    x, target = pair_of(input, target, "smooth_l1_loss")
    if is_plain_number(beta) and beta < 0:
        raise ValueError(f"smooth_l1_loss: beta must not be negative, got {beta}")
    if is_plain_number(beta) and beta == 0:
        return reduced(ew.abs_(x - target), reduction, "smooth_l1_loss")
    return reduced(huber_loss(x, target, "none", beta) / beta, reduction, "smooth_l1_loss")


@on_terms
def cross_entropy(
    input: TensorLike,
    target: TensorLike,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    axis: int = -1,
    *,
    weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> TensorVariable:
    """-log(softmax(input)) at integer labels, or weighted by probabilities; classes lie along the last axis.

    (PyTorch's lie along axis 1, which is another one for more than two dimensions: `axis=1` asks for that.)
    `weight` has a number for each class; labels equal to `ignore_index` count for nothing. As in PyTorch, the mean
    divides by the weights of the labels.

    >>> import termgraph.tensor as T
    >>> T.nnet.cross_entropy([[0.0, 0.0]], [1]).eval().round(6)
    np.float64(0.693147)
    """
    x = as_tensor(input)
    logs = log_softmax(moveaxis(x, axis, -1), axis=-1)
    return _of_classes("cross_entropy", x, logs, target, axis, reduction, label_smoothing, weight, ignore_index)


@on_terms
def nll_loss(
    input: TensorLike,
    target: TensorLike,
    reduction: str = "mean",
    axis: int = -1,
    *,
    weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> TensorVariable:
    """`cross_entropy` of what are log-probabilities already: -input at integer labels.

    >>> import termgraph.tensor as T
    >>> float(T.nnet.nll_loss([[-1.0, -2.0], [-3.0, -4.0]], [1, 0]).eval())
    2.5
    """
    x = as_tensor(input)
    return _of_classes("nll_loss", x, moveaxis(x, axis, -1), target, axis, reduction, 0.0, weight, ignore_index)


def _of_classes(
    who: str,
    x: TensorVariable,
    logs: TensorVariable,
    target: Any,
    axis: int,
    reduction: str,
    label_smoothing: float,
    weight: Any,
    ignore_index: int | None,
) -> TensorVariable:
    """-logs, whose last axis is that of classes, at labels or weighted by probabilities."""
    target = as_tensor(target)
    _check_classes(who, x, target, normal_axis(axis, x.ndim))
    weight = None if weight is None else _weight_of_classes(who, weight, logs)
    scaled, counts, there = logs if weight is None else logs * weight, None, None
    if target.ndim == x.ndim:
        if ignore_index is not None:
            raise TypeError(f"{who}: ignore_index is for integer labels; give what is left out probabilities of 0")
        loss = ew.neg(sum_over(moveaxis(target, axis, -1) * scaled, axis=-1))
    elif target.ndim == x.ndim - 1 and target.type.kind in "iu":
        there = None if ignore_index is None else ew.neq(target, operator.index(ignore_index))
        labels = target if there is None else ew.switch(there, target, 0)
        loss = ew.neg(squeeze(take_along_axis(scaled, expand_dims(labels, -1), -1), -1))
        counts = _weights_of(labels, weight, there, logs.type.dtype)
    else:
        raise TypeError(
            f"{who}: the target must be integer labels of {x.ndim - 1} dimensions or probabilities of "
            f"{x.ndim}, got {target} of type {target.type}"
        )
    if label_smoothing:
        loss = (1 - label_smoothing) * loss - label_smoothing * mean(scaled, axis=-1)
    loss = loss if there is None else ew.switch(there, loss, 0)
    return reduced(loss, reduction, who, counts)


def _weight_of_classes(who: str, weight: TensorLike, logs: TensorVariable) -> TensorVariable:
    weight, n = as_tensor(weight), logs.type.shape[-1]
    if weight.ndim != 1 or (n is not None and weight.type.shape[0] not in (n, None)):
        raise ShapeError(f"{who}: weight must be a vector with a number for each class, got {weight.type}")
    return cast(weight, logs.type.dtype)


def _weights_of(labels: TensorVariable, weight: TensorLike | None, there: TensorVariable | None, dtype: str) -> Any:
    """What each label counts for in a mean; None where each is 1."""
    if weight is None:
        return None if there is None else cast(there, dtype)
    own = cast(take(weight, labels), dtype)
    return own if there is None else ew.switch(there, own, 0)


def _check_classes(who: str, x: TensorVariable, target: TensorVariable, axis: int) -> None:
    """A column of labels would broadcast as probabilities, and one label stand for all rows."""
    wanted = [n for d, n in enumerate(x.type.shape) if target.ndim == x.ndim or d != axis]
    for n, m in zip(wanted, target.type.shape):
        if n != m and m is not None and (n is not None or target.ndim == x.ndim and m == 1):
            raise ShapeError(
                f"{who}: {target} of type {target.type} does not fit {x} of type {x.type}: the target must be "
                "one integer label for each vector of scores, or a probability for each score"
            )


@on_terms
def kl_div(input: TensorLike, target: TensorLike, reduction: str = "mean", log_target: bool = False) -> TensorVariable:
    """target * (log(target) - input) of log-probabilities `input`, 0 where the target is; "batchmean" sums each row."""
    x, target = pair_of(input, target, "kl_div")
    loss = ew.exp(target) * (target - x) if log_target else ew.xlogy(target, target) - target * x
    if isinstance(reduction, str) and reduction == "batchmean":
        return sum_over(loss) / cast(length(x, 0), loss.type.dtype)
    return reduced(loss, reduction, "kl_div")


@on_terms
def cosine_similarity(x1: TensorLike, x2: TensorLike, axis: int = 1, eps: float = 1e-8) -> TensorVariable:
    """The cosine of the angle between vectors along an axis; lengths below `eps` count as `eps`."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    axis = normal_axis(axis, max(x1.ndim, x2.ndim))
    x1, x2 = [pad_rank(x, max(x1.ndim, x2.ndim)) for x in (x1, x2)]
    if (x1.type.shape[axis] == 1) != (x2.type.shape[axis] == 1):  # the length of a repeated number is that of all
        x1, x2 = broadcast_arrays(x1, x2)
    dtype, least = (x1 * x2).type.dtype, eps * eps
    x1, x2 = wide(x1), wide(x2)
    a, b = [ew.maximum(sum_over(ew.sqr(x), axis=axis), least) for x in (x1, x2)]
    cosine = sum_over(x1 * x2, axis=axis) / (ew.sqrt(a) * ew.sqrt(b))
    return cast(cosine, dtype) if dtype in HALVES else cosine


# ---------------------------------------------------------------------- layers
@on_terms
def layer_norm(
    x: TensorLike,
    axis: AxisLike = -1,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    eps: float = 1e-5,
) -> TensorVariable:
    """(x - mean) / sqrt(variance + eps) along axes, times `weight` plus `bias`, which broadcast.

    >>> import termgraph.tensor as T
    >>> T.nnet.layer_norm([[1.0, 3.0]], eps=0.0).eval()
    array([[-1.,  1.]])
    """
    x = as_tensor(x)
    floats = wide(x)
    apart = floats - mean(floats, axis=axis, keepdims=True)
    return _scaled(x, apart / ew.sqrt(mean(ew.sqr(apart), axis=axis, keepdims=True) + eps), weight, bias)


@on_terms
def rms_norm(x: TensorLike, axis: AxisLike = -1, weight: TensorLike | None = None, eps: float = 1e-6) -> TensorVariable:
    """x / sqrt(mean of the squares + eps) along axes, times `weight`, which broadcasts."""
    x = as_tensor(x)
    floats = wide(x)
    return _scaled(x, floats / ew.sqrt(mean(ew.sqr(floats), axis=axis, keepdims=True) + eps), weight, None)


def _scaled(
    given: TensorVariable, x: TensorVariable, weight: TensorLike | None, bias: TensorLike | None
) -> TensorVariable:
    """Rows that were normalised, in the dtype they were given in, scaled and moved."""
    x = cast(x, given.type.dtype) if given.type.dtype in HALVES else x
    x = x if weight is None else ew.mul(x, weight)
    return x if bias is None else ew.add(x, bias)


@on_terms
def glu(x: TensorLike, axis: int = -1) -> TensorVariable:
    """The first half of an axis times the sigmoid of the second half."""
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    n = length(x, axis)
    if isinstance(n, int) and n % 2:
        raise ValueError(f"glu: the axis must have an even length, got {n}")
    half = n // 2
    first, second = [x[at_axis(axis, part)] for part in (slice(None, half), slice(half, None))]
    return first * ew.sigmoid(second)


@on_terms
def mish(x: TensorLike) -> TensorVariable:
    """x * tanh(softplus(x))."""
    x = as_tensor(x)
    return x * ew.tanh(ew.softplus(x))


@on_terms
def hard_swish(x: TensorLike) -> TensorVariable:
    """x * relu6(x + 3) / 6, also called hardswish."""
    x = as_tensor(x)
    return x * ew.clip(x + 3, 0, 6) / 6


@on_terms
def hard_tanh(x: TensorLike) -> TensorVariable:
    """x between -1 and 1, clipped."""
    return ew.clip(x, -1, 1)


@on_terms
def scaled_dot_product_attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    attn_mask: TensorLike | None = None,
    *,
    is_causal: bool = False,
    scale: TensorLike | None = None,
) -> TensorVariable:
    """softmax(query @ key.T * scale) @ value over the last two axes; `scale` is 1 / sqrt(width) unless given.

    A mask of truth values says which keys a query sees, one of numbers is added to the scores; `is_causal` lets each
    query see the keys up to its own place. A query that sees nothing gives 0. (PyTorch has a rate of dropout before
    `is_causal`, so that what comes after the mask is given by name.)

    >>> import termgraph.tensor as T
    >>> T.nnet.scaled_dot_product_attention([[0.0]], [[1.0], [2.0]], [[3.0], [5.0]]).eval()
    array([[4.]])
    """
    query, key, value = as_tensor(query), as_tensor(key), as_tensor(value)
    scores = scaled_scores(query, key, scale)
    masks = [] if attn_mask is None else [as_tensor(attn_mask)]
    if is_causal:
        masks.append(tri(length(query, query.ndim - 2), length(key, key.ndim - 2), dtype="bool"))
    scores, seen = masked_scores(scores, masks)
    return seeing(matmul(softmax(scores, axis=-1), value), None if attn_mask is None else seen)


def scaled_scores(query: TensorVariable, key: TensorVariable, scale: TensorLike | None) -> TensorVariable:
    """query @ key.T * scale, the scores of attention."""
    if scale is None:
        width = length(query, query.ndim - 1)
        scale = 1 / math.sqrt(width) if isinstance(width, int) else 1 / ew.sqrt(cast(width, query.type.dtype))
    return ew.mul(matmul(query, swapaxes(key, -1, -2)), scale)


def masked_scores(scores: TensorVariable, masks: Sequence[TensorVariable]) -> tuple[TensorVariable, Any]:
    """Scores under masks, and which of them are seen, if not all: where a mask is True, or a number above -inf.

    What is not seen is the least number there is: a row of these has a softmax and a gradient, one of -inf has none.
    """
    seen = None
    for mask in masks:
        if mask.type.dtype != "bool":
            scores, mask = scores + mask, ew.neq(mask, -math.inf)
        seen = mask if seen is None else seen & mask
    return (scores if seen is None else ew.switch(seen, scores, float(finfo(scores.type.np_dtype).min))), seen


def seeing(found: TensorVariable, seen: TensorVariable | None, otherwise: float = 0.0) -> TensorVariable:
    """What queries found, and another number for those that see no key."""
    return found if seen is None else ew.switch(any_of(seen, axis=-1, keepdims=True), found, otherwise)
