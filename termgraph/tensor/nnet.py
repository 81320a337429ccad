"""T.nnet: activations and losses of neural networks, with Theano's names.

All are composed of ops that the rewriting stages know how to stabilize.
"""

from __future__ import annotations

import math
from typing import Any

from termgraph.tensor import creation, elemwise, indexing, joining, products, reductions, shaping, sorting
from termgraph.tensor.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from termgraph.tensor.attention import dot_product_attention, multi_head_attention_forward
from termgraph.tensor.convolution import (
    conv1d,
    conv2d,
    conv2d_grad_wrt_inputs,
    conv2d_grad_wrt_weights,
    conv2d_transpose,
    conv3d,
    conv3d_grad_wrt_inputs,
    conv3d_grad_wrt_weights,
    conv_prices,
)
from termgraph.tensor.creation import arange
from termgraph.tensor.ctc import ctc_loss
from termgraph.tensor.layers import (
    bilinear,
    cdist,
    celu,
    channel_shuffle,
    embedding,
    embedding_bag,
    group_norm,
    hard_shrink,
    hardsigmoid,
    instance_norm,
    linear,
    logmeanexp,
    normalize,
    not_above_zero,
    pairwise_distance,
    pdist,
    pixel_shuffle,
    pixel_unshuffle,
    prelu,
    soft_shrink,
    sparse_plus,
    sparse_sigmoid,
    squareplus,
    standardize,
    tanh_shrink,
    threshold,
)
from termgraph.tensor.lengths import length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, TensorLike
from termgraph.tensor.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_similarity,
    cross_entropy,
    glu,
    hard_swish,
    hard_tanh,
    huber_loss,
    kl_div,
    l1_loss,
    layer_norm,
    mish,
    mse_loss,
    nll_loss,
    rms_norm,
    scaled_dot_product_attention,
    smooth_l1_loss,
)
from termgraph.tensor.margins import (
    cosine_embedding_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    poisson_nll_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from termgraph.tensor.neighbours import fold, images2neibs, neibs2images, unfold
from termgraph.tensor.noise import alpha_dropout, dropout, gumbel_softmax, rrelu
from termgraph.tensor.normalization import (
    batch_normalization,
    batch_normalization_test,
    batch_normalization_train,
    local_response_normalization,
)
from termgraph.tensor.pools import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    fractional_max_pool2d,
    fractional_max_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from termgraph.tensor.protocols import refuse_in
from termgraph.tensor.resampling import affine_grid, grid_sample, interpolate
from termgraph.tensor.selecting import take_along_axis
from termgraph.tensor.separable import causal_conv1d, separable_conv2d, separable_conv3d
from termgraph.tensor.shaping import expand_dims, squeeze
from termgraph.tensor.signal import pool_2d, pool_3d
from termgraph.tensor.upsampling import bilinear_upsampling, frac_bilinear_upsampling
from termgraph.tensor.variable import TensorVariable, Variable, is_plain_number
from termgraph.tensor.windowed import reduce_window
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.types import shape_text

sigmoid, softplus, tanh = ew.sigmoid, ew.softplus, ew.tanh


# ---------------------------------------------------------------------- activations
@on_terms
def relu(x: TensorLike, alpha: TensorLike = 0) -> TensorVariable:
    """max(x, 0), or alpha * x below 0 for another slope (a number or an array).

    >>> import termgraph.tensor as T
    >>> T.nnet.relu(T.fmatrix("x")).owner.op.name
    'maximum'
    """
    x = as_tensor(x)
    if not hasattr(alpha, "term") and not hasattr(alpha, "shape") and alpha == 0:
        return ew.maximum(x, 0)
    return ew.switch(ew.gt(x, 0), x, ew.mul(x, alpha))


@on_terms
def leaky_relu(x: TensorLike, alpha: TensorLike = 0.01) -> TensorVariable:
    """x above 0, alpha * x below."""
    return relu(x, alpha)


@on_terms
def relu6(x: TensorLike) -> TensorVariable:
    """x between 0 and 6, clipped."""
    return ew.clip(x, 0, 6)


@on_terms
def elu(x: TensorLike, alpha: TensorLike = 1) -> TensorVariable:
    """x above 0, alpha * (exp(x) - 1) below."""
    x = as_tensor(x)
    return ew.switch(ew.gt(x, 0), x, ew.mul(ew.expm1(not_above_zero(x)), alpha))  # no overflow in the unused branch


@on_terms
def selu(x: TensorLike) -> TensorVariable:
    """The scaled elu that keeps mean 0 and variance 1 from layer to layer."""
    return ew.mul(elu(x, 1.6732632423543772), 1.0507009873554805)


@on_terms
def gelu(x: TensorLike, approximate: bool = False) -> TensorVariable:
    """x times the probability that a standard normal variable is below x; `approximate` uses tanh instead of erf."""
    x = as_tensor(x)
    if approximate:
        inside = ew.mul(ew.add(x, ew.mul(ew.mul(ew.mul(x, x), x), 0.044715)), math.sqrt(2 / math.pi))
        return ew.mul(ew.mul(x, 0.5), ew.add(ew.tanh(inside), 1))
    return ew.mul(ew.mul(x, 0.5), ew.erfc(ew.mul(x, -math.sqrt(0.5))))


@on_terms
def silu(x: TensorLike, beta: TensorLike = 1) -> TensorVariable:
    """x * sigmoid(beta * x), also called swish."""
    x = as_tensor(x)
    plain = not hasattr(beta, "term") and not hasattr(beta, "shape") and beta == 1
    return ew.mul(x, ew.sigmoid(x if plain else ew.mul(x, beta)))


@on_terms
def softsign(x: TensorLike) -> TensorVariable:
    """x / (1 + |x|)."""
    x = as_tensor(x)
    return ew.true_div(x, ew.add(ew.abs_(x), 1))


@on_terms
def log_sigmoid(x: TensorLike) -> TensorVariable:
    """log(sigmoid(x)), without overflow."""
    return ew.neg(ew.softplus(ew.neg(x)))


@on_terms
def hard_sigmoid(x: TensorLike) -> TensorVariable:
    """A straight line through (0, 0.5) with slope 0.2, clipped to 0..1."""
    return ew.clip(ew.add(ew.mul(x, 0.2), 0.5), 0.0, 1.0)


@on_terms
def ultra_fast_sigmoid(x: TensorLike) -> TensorVariable:
    """A cheap sigmoid from a rational piece and straight lines; off by at most 0.07."""
    half = ew.mul(ew.abs_(x), 0.5)
    near = ew.true_div(ew.mul(half, 1.5), ew.add(half, 1))
    middle = ew.add(ew.mul(ew.sub(half, 1.7), 0.0458812946797165), 0.935409070603099)
    far = ew.switch(ew.lt(half, 3), middle, 0.99505475368673)
    size = ew.switch(ew.lt(half, 1.7), near, far)
    return ew.mul(ew.add(ew.switch(ew.lt(x, 0), ew.neg(size), size), 1), 0.5)


# ---------------------------------------------------------------------- softmax
@on_terms
def softmax(c: TensorLike, axis: AxisLike = -1) -> TensorVariable:
    """exp(x) divided by its sum along an axis (the last one by default): positive numbers that add up to 1.

    >>> import termgraph.tensor as T
    >>> T.nnet.softmax(T.fmatrix("x")).owner.op
    softmax{axis=(1,)}
    """
    return reductions.softmax(c, axis=axis)


@on_terms
def log_softmax(c: TensorLike, axis: AxisLike = -1) -> TensorVariable:
    """log(softmax(x)) along an axis (the last one by default), without overflow."""
    return reductions.log_softmax(c, axis=axis)


@on_terms
def softmin(c: TensorLike, axis: AxisLike = -1) -> TensorVariable:
    """softmax(-x) along an axis: large where x is small."""
    return softmax(ew.neg(c), axis)


@on_terms
def softmax_with_bias(x: TensorLike, b: TensorLike) -> TensorVariable:
    """softmax of each row of x + b."""
    return softmax(ew.add(x, b))


# ---------------------------------------------------------------------- losses
@on_terms
def binary_crossentropy(output: Any, target: Any) -> TensorVariable:
    """-(target * log(output) + (1 - target) * log(1 - output)), element by element; `output` are probabilities."""
    target = target if is_plain_number(target) else as_tensor(target)  # a number keeps float32 what it is
    return ew.neg(ew.add(ew.mul(target, ew.log(output)), ew.mul(1.0 - target, ew.log1p(ew.neg(output)))))


@on_terms
def sigmoid_binary_crossentropy(output: Any, target: Any) -> TensorVariable:
    """`binary_crossentropy(sigmoid(output), target)`, exact also where the sigmoid rounds to 0 or 1."""
    target = target if is_plain_number(target) else as_tensor(target)
    return ew.add(ew.mul(target, ew.softplus(ew.neg(output))), ew.mul(1.0 - target, ew.softplus(output)))


@on_terms
def categorical_crossentropy(coding_dist: Any, true_dist: Any) -> TensorVariable:
    """-sum(true * log(coding)) over the last axis; `true_dist` holds probabilities, or integer labels.

    >>> import termgraph.tensor as T
    >>> T.nnet.categorical_crossentropy(T.fmatrix("p"), T.ivector("labels")).type
    TensorType(float32, (?,))
    """
    coding, true = as_tensor(coding_dist), as_tensor(true_dist)
    if true.ndim == coding.ndim:
        return ew.neg(reductions.sum(ew.mul(true, ew.log(coding)), axis=-1))
    if true.ndim != coding.ndim - 1 or true.type.kind not in "iu":
        raise TypeError(
            f"categorical_crossentropy: true_dist must be probabilities of {coding.ndim} dimensions or integer labels "
            f"of {coding.ndim - 1}, got {true} of type {true.type}"
        )
    return ew.neg(ew.log(at_labels(coding, true)))


def at_labels(x: Any, labels: Any) -> Any:
    """The element of each row that its label names."""
    for n, m in zip(x.type.shape, labels.type.shape):
        if n is not None and m is not None and n != m:
            raise ShapeError(
                f"labels of shape {shape_text(labels.type.shape)} do not fit scores of shape "
                f"{shape_text(x.type.shape)}: one label for each row"
            )
    if x.ndim == 1:
        return x[labels]
    if x.ndim == 2:
        return x[arange(length(x, 0)), labels]
    return squeeze(take_along_axis(x, expand_dims(labels, -1), -1), -1)


@on_terms
def crossentropy_softmax_1hot(x: TensorLike, y_idx: Any) -> list:
    """For scores and integer labels: the cross-entropy of each row's softmax, and the softmax."""
    x = as_tensor(x)
    return [ew.neg(at_labels(log_softmax(x), as_tensor(y_idx))), softmax(x)]


@on_terms
def crossentropy_softmax_1hot_with_bias(x: TensorLike, b: TensorLike, y_idx: Any) -> list:
    """`crossentropy_softmax_1hot` of x + b."""
    return crossentropy_softmax_1hot(ew.add(x, b), y_idx)


@on_terms
def crossentropy_softmax_argmax_1hot_with_bias(x: TensorLike, b: TensorLike, y_idx: Any) -> list:
    """Cross-entropy of each row, the softmax of x + b, and each row's most likely label."""
    scores = ew.add(x, b)
    return [*crossentropy_softmax_1hot(scores, y_idx), reductions.argmax(scores, axis=-1)]


@on_terms
def crossentropy_softmax_max_and_argmax_1hot(x: TensorLike, y_idx: Any) -> list:
    """Cross-entropy of each row, the softmax, and the largest probability of each row with its label."""
    x = as_tensor(x)
    losses, probabilities = crossentropy_softmax_1hot(x, y_idx)
    return [losses, probabilities, reductions.max(probabilities, axis=-1), reductions.argmax(x, axis=-1)]


@on_terms
def crossentropy_categorical_1hot(coding_dist: Any, true_one_of_n: Any) -> TensorVariable:
    """`categorical_crossentropy` with integer labels."""
    return categorical_crossentropy(coding_dist, true_one_of_n)


@on_terms
def h_softmax(
    x: TensorLike,
    batch_size: int | Variable,
    n_outputs: int,
    n_classes: int,
    n_outputs_per_class: int,
    W1: TensorLike,
    b1: TensorLike,
    W2: TensorLike,
    b2: TensorLike,
    target: TensorLike | None = None,
) -> TensorVariable:
    """Softmax in two levels, for many outputs: of the classes, then of the outputs of a class.

    `W1` has shape (features, classes), `W2` (classes, features, outputs of a class). With `target`, one output for
    each row, only its probability is computed, as a column, from `n_classes + n_outputs_per_class` numbers a row.

    >>> import numpy as np, termgraph.tensor as T
    >>> x, W1, W2 = np.ones((1, 1)), np.zeros((1, 2)), np.zeros((2, 1, 3))
    >>> T.nnet.h_softmax(x, 1, 5, 2, 3, W1, np.zeros(2), W2, np.zeros((2, 3)), target=[4]).eval().round(3)
    array([[0.167]])
    """
    x, W1, b1, W2, b2 = map(as_tensor, (x, W1, b1, W2, b2))
    classes = softmax(products.dot(x, W1) + b1, axis=-1)
    if target is None:
        within = softmax(products.tensordot(x, W2, axes=((1,), (1,))) + b2, axis=-1)  # row, class, output
        both = shaping.dimshuffle(classes, 0, 1, "x") * within
        return shaping.reshape(both, (batch_size, n_classes * n_outputs_per_class))[:, :n_outputs]
    target = shaping.ravel(as_tensor(target))
    which, place = target // n_outputs_per_class, target % n_outputs_per_class
    within = softmax(products.batched_dot(x, W2[which]) + b2[which], axis=-1)
    rows = creation.arange(batch_size)
    return shaping.dimshuffle(classes[rows, which] * within[rows, place], 0, "x")


@on_terms
def confusion_matrix(actual: TensorLike, pred: TensorLike) -> list[TensorVariable]:
    """How often each actual value (a row) was predicted as each value (a column); and the values, in order.

    >>> import termgraph.tensor as T
    >>> counts, values = T.nnet.confusion_matrix([2, 0, 2, 2, 0, 1], [0, 0, 2, 2, 0, 2])
    >>> counts.eval()
    array([[2, 0, 0],
           [0, 0, 1],
           [1, 0, 2]])
    """
    actual, pred = as_tensor(actual), as_tensor(pred)
    for what, v in (("actual", actual), ("pred", pred)):
        if v.ndim != 1:
            raise ValueError(f"{what} must be a vector, {v} has {v.ndim} dimensions")
    order = sorting.unique(joining.concatenate([actual, pred]))
    row, column = (sorting.searchsorted(order, v) for v in (actual, pred))
    counted = ew.logical_and(ew.eq(order[row], actual), ew.eq(order[column], pred))  # NaN is no value
    n = order.shape[0]
    none = creation.zeros((n, n), "int64")
    return [indexing.inc_subtensor(none[row, column], elemwise.cast(counted, "int64")), order]


logsoftmax, swish, logsigmoid = log_softmax, silu, log_sigmoid
hardswish, hardtanh, softshrink, hardshrink, tanhshrink = hard_swish, hard_tanh, soft_shrink, hard_shrink, tanh_shrink
__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "batch_normalization", "batch_normalization_test", "batch_normalization_train", "bilinear", "bilinear_upsampling",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "binary_crossentropy", "categorical_crossentropy",
    "causal_conv1d", "cdist", "celu", "channel_shuffle", "confusion_matrix", "conv1d", "conv2d",
    "conv2d_grad_wrt_inputs", "conv2d_grad_wrt_weights", "conv2d_transpose", "conv3d", "conv3d_grad_wrt_inputs",
    "conv3d_grad_wrt_weights", "conv_prices", "cosine_embedding_loss", "cosine_similarity", "cross_entropy",
    "crossentropy_categorical_1hot", "crossentropy_softmax_1hot", "crossentropy_softmax_1hot_with_bias",
    "crossentropy_softmax_argmax_1hot_with_bias", "crossentropy_softmax_max_and_argmax_1hot", "ctc_loss",
    "dot_product_attention", "dropout", "elu", "embedding", "embedding_bag", "fold", "frac_bilinear_upsampling",
    "fractional_max_pool2d", "fractional_max_pool3d", "gaussian_nll_loss", "gelu", "glu", "grid_sample", "group_norm",
    "gumbel_softmax", "h_softmax", "hard_shrink", "hard_sigmoid", "hard_swish", "hard_tanh", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "images2neibs", "instance_norm",
    "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear", "local_response_normalization",
    "log_sigmoid", "log_softmax", "logmeanexp", "logsigmoid", "logsoftmax", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
    "mish", "mse_loss", "multi_head_attention_forward", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "neibs2images", "nll_loss", "normalize", "pairwise_distance", "pdist",
    "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "pool_2d", "pool_3d", "prelu", "reduce_window", "relu",
    "relu6", "rms_norm", "rrelu", "scaled_dot_product_attention", "selu", "separable_conv2d", "separable_conv3d",
    "sigmoid", "sigmoid_binary_crossentropy", "silu", "smooth_l1_loss", "soft_margin_loss", "soft_shrink", "softmax",
    "softmax_with_bias", "softmin", "softplus", "softshrink", "softsign", "sparse_plus", "sparse_sigmoid",
    "squareplus", "standardize", "swish", "tanh", "tanh_shrink", "tanhshrink", "threshold", "triplet_margin_loss",
    "triplet_margin_with_distance_loss", "ultra_fast_sigmoid", "unfold",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


globals()["__getattr__"] = refuse_in(".nnet")  # type checkers shall not believe that any name is there
