"""Losses with PyTorch's names that ask for a margin, or take a target for a draw; formulas of other functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.tensor.creation import arange, zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.layers import pairwise_distance
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.losses import cosine_similarity, pair_of, reduced
from termgraph.tensor.reductions import cumsum, mean
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.selecting import put_along_axis, take_along_axis
from termgraph.tensor.shaping import expand_dims
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew


@on_terms
def poisson_nll_loss(
    input: TensorLike,
    target: TensorLike,
    reduction: str = "mean",
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
) -> TensorVariable:
    """-log of the Poisson probability of counts, whose rate is exp(input) (`input` unless `log_input`).

    What does not depend on the input is left out; `full` adds Stirling's formula of it for counts above 1.

    >>> import termgraph.tensor as T
    >>> float(T.nnet.poisson_nll_loss([0.0], [2.0]).eval())
    1.0
    """
    x, target = pair_of(input, target, "poisson_nll_loss")
    loss = ew.exp(x) - target * x if log_input else x - target * ew.log(x + eps)
    if full:
        many = ew.maximum(target, 1)
        rest = many * ew.log(many) - many + 0.5 * ew.log(2 * math.pi * many)
        loss = loss + ew.switch(ew.gt(target, 1), rest, np.zeros((), rest.type.np_dtype))
    return reduced(loss, reduction, "poisson_nll_loss")


@on_terms
def gaussian_nll_loss(
    input: TensorLike,
    target: TensorLike,
    var: TensorLike,
    reduction: str = "mean",
    full: bool = False,
    eps: float = 1e-6,
) -> TensorVariable:
    """-log of the normal density of targets, of mean `input` and of variance `var`, which counts as `eps` at least.

    log(2 pi) / 2 is left out unless `full`. A variance with a dimension less is that of all in a row.

    >>> import termgraph.tensor as T
    >>> float(T.nnet.gaussian_nll_loss([0.0], [2.0], [1.0]).eval())
    2.0
    """
    x, target = pair_of(input, target, "gaussian_nll_loss")
    var = as_tensor(var)
    if 0 < var.ndim < x.ndim - 1 or var.ndim > x.ndim:
        raise ShapeError(f"gaussian_nll_loss: {var} of type {var.type} is no variance of each element or row of {x}")
    spread = ew.maximum(expand_dims(var, -1) if 0 < var.ndim < x.ndim else var, eps)
    loss = 0.5 * (ew.log(spread) + ew.sqr(x - target) / spread)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction, "gaussian_nll_loss")


@on_terms
def soft_margin_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> TensorVariable:
    """log(1 + exp(-target * input)) for targets of 1 and -1, without overflow."""
    x, target = pair_of(input, target, "soft_margin_loss")
    return reduced(ew.softplus(ew.neg(target * x)), reduction, "soft_margin_loss")


@on_terms
def multilabel_soft_margin_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> TensorVariable:
    """The mean over the last axis of the cross-entropies of sigmoid(input) and targets from 0 to 1."""
    x, target = pair_of(input, target, "multilabel_soft_margin_loss")
    loss = target * ew.softplus(ew.neg(x)) + (1 - target) * ew.softplus(x)
    return reduced(mean(loss, axis=-1), reduction, "multilabel_soft_margin_loss")


@on_terms
def hinge_embedding_loss(
    input: TensorLike, target: TensorLike, reduction: str = "mean", margin: float = 1.0
) -> TensorVariable:
    """The input where the target is 1, what it lacks to the margin where that is -1."""
    x, target = pair_of(input, target, "hinge_embedding_loss")
    return reduced(ew.switch(ew.eq(target, 1), x, ew.maximum(margin - x, 0)), reduction, "hinge_embedding_loss")


@on_terms
def margin_ranking_loss(
    input1: TensorLike, input2: TensorLike, target: TensorLike, reduction: str = "mean", margin: float = 0.0
) -> TensorVariable:
    """What `input1` lacks to be a margin above `input2` where the target is 1, below it where that is -1."""
    x1, x2 = pair_of(input1, input2, "margin_ranking_loss")
    x1, target = pair_of(x1, target, "margin_ranking_loss")
    return reduced(ew.maximum(target * (x2 - x1) + margin, 0), reduction, "margin_ranking_loss")


@on_terms
def cosine_embedding_loss(
    input1: TensorLike, input2: TensorLike, target: TensorLike, reduction: str = "mean", margin: float = 0.0
) -> TensorVariable:
    """1 minus the cosine of vectors along the last axis where the target is 1; what it is above the margin where -1."""
    cosine = cosine_similarity(input1, input2, axis=-1)
    cosine, target = pair_of(cosine, target, "cosine_embedding_loss")
    loss = ew.switch(ew.eq(target, 1), 1 - cosine, ew.maximum(cosine - margin, 0))
    return reduced(loss, reduction, "cosine_embedding_loss")


@on_terms
def triplet_margin_loss(
    anchor: TensorLike,
    positive: TensorLike,
    negative: TensorLike,
    reduction: str = "mean",
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
) -> TensorVariable:
    """How much nearer than a margin the anchor is to the negative than to the positive, by `pairwise_distance`.

    With `swap` the negative's distance to the positive counts where it is the smaller one.

    >>> import termgraph.tensor as T
    >>> T.nnet.triplet_margin_loss([[0.0]], [[1.0]], [[1.5]]).eval().round(6)
    np.float64(0.5)
    """
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ew.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced(ew.maximum(near - far + margin, 0), reduction, "triplet_margin_loss")


@on_terms
def multi_margin_loss(
    input: TensorLike, target: Any, reduction: str = "mean", p: int = 1, margin: float = 1.0
) -> TensorVariable:
    """How much the score of each other class is above that of the label less a margin, to the power p, by classes.

    Classes lie along the last axis.

    >>> import termgraph.tensor as T
    >>> float(T.nnet.multi_margin_loss([[0.5, 0.0]], [0]).eval())
    0.25
    """
    x, target = as_tensor(input), as_tensor(target)
    if target.ndim != x.ndim - 1 or target.type.kind not in "iu":
        raise TypeError(
            f"multi_margin_loss: the target must be integer labels of {x.ndim - 1} dimensions, got {target} of type "
            f"{target.type}"
        )
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p must be 1 or 2, got {p!r}")
    n, label = length(x, x.ndim - 1), expand_dims(target, -1)
    own = ew.eq(arange(n), ew.switch(ew.lt(label, 0), label + n, label))  # of which the margin would be left
    over = ew.maximum(margin - take_along_axis(x, label, -1) + x, 0)
    total = sum_over(over if p == 1 else ew.sqr(over), axis=-1, where=ew.logical_not(own))
    return reduced(total / (n if isinstance(n, int) else cast(n, x.type.dtype)), reduction, "multi_margin_loss")


@on_terms
def multilabel_margin_loss(input: TensorLike, target: Any, reduction: str = "mean") -> TensorVariable:
    """How much the scores of other classes are above those of a row's labels less 1: the sum of all pairs, by classes.

    Classes lie along the last axis. `target` is as long as the input; labels end at the first one that is negative.

    >>> import termgraph.tensor as T
    >>> float(T.nnet.multilabel_margin_loss([[0.5, 0.0]], [[0, -1]]).eval())
    0.25
    """
    x, target = pair_of(input, target, "multilabel_margin_loss")
    target = as_tensor(target)
    if target.type.kind not in "iu" or not x.ndim:
        raise TypeError(
            f"multilabel_margin_loss: scores and integer labels of as many elements, got {x.type} and {target.type}"
        )
    n = length(x, x.ndim - 1)
    label = ew.eq(cumsum(ew.lt(target, 0), axis=-1), 0)  # before the end
    room = zeros((*lengths(x)[:-1], n + 1), "bool")  # the last one is for what is no label
    own = put_along_axis(room, ew.switch(label, target, n), True, -1)[..., :n]
    place = ew.switch(label, target, 0)
    over = ew.maximum(1 - expand_dims(take_along_axis(x, place, -1), -2) + expand_dims(x, -1), 0)
    total = sum_over(over, axis=(-2, -1), where=expand_dims(label, -2) & ew.logical_not(expand_dims(own, -1)))
    return reduced(total / (n if isinstance(n, int) else cast(n, x.type.dtype)), reduction, "multilabel_margin_loss")


@on_terms
def triplet_margin_with_distance_loss(
    anchor: TensorLike,
    positive: TensorLike,
    negative: TensorLike,
    *,
    distance_function: Callable[..., Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> TensorVariable:
    """`triplet_margin_loss` by another distance, a function of two arrays; `pairwise_distance` unless given.

    >>> import termgraph.tensor as T
    >>> taxi = lambda a, b: T.abs(a - b).sum(axis=-1)
    >>> float(T.nnet.triplet_margin_with_distance_loss([[0.0]], [[1.0]], [[1.5]], distance_function=taxi).eval())
    0.5
    """
    away = pairwise_distance if distance_function is None else distance_function
    anchor, positive, negative = as_tensor(anchor), as_tensor(positive), as_tensor(negative)
    near, far = away(anchor, positive), away(anchor, negative)
    if swap:
        far = ew.minimum(far, away(positive, negative))
    return reduced(ew.maximum(near - far + margin, 0), reduction, "triplet_margin_with_distance_loss")
