"""Convolutions made of others, for T.nnet: along time without looking ahead, and channel by channel first."""

from __future__ import annotations

from termgraph.tensor.convolution import conv1d, conv2d, conv3d
from termgraph.tensor.lengths import as_lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import BorderMode, ShapeLike, TensorLike
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor


@on_terms
def causal_conv1d(
    input: TensorLike, filters: TensorLike, filter_shape: ShapeLike = None, input_shape: ShapeLike = None,
    subsample: int = 1, filter_flip: bool = True, filter_dilation: int = 1, num_groups: int = 1,
) -> TensorVariable:  # fmt: skip
    """`conv1d` along time in which no result depends on what comes later: zeros are added before the first element.

    The length of the filters has to be known: by their type, or by `filter_shape`.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.nnet.causal_conv1d(np.arange(4.0).reshape(1, 1, 4), np.ones((1, 1, 2))).eval()
    array([[[0., 1., 3., 5.]]])
    """
    w = as_tensor(filters)
    known = w.type.shape[-1] if filter_shape is None and w.ndim == 3 else None
    taps = known if filter_shape is None else as_lengths(filter_shape, "filter_shape", 3)[-1]
    if not isinstance(taps, int):
        raise ValueError(f"causal_conv1d: the length of the filters {w} ({w.type}) is not known; give filter_shape")
    before = filter_dilation * (taps - 1)
    return conv1d(
        input, w, input_shape, filter_shape, ((before, 0),), subsample, filter_flip, filter_dilation, num_groups
    )


@on_terms
def separable_conv2d(
    input: TensorLike, depthwise_filters: TensorLike, pointwise_filters: TensorLike, num_channels: int,
    input_shape: ShapeLike = None, depthwise_filter_shape: ShapeLike = None, pointwise_filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid", subsample: ShapeLike = (1, 1), filter_flip: bool = True,
    filter_dilation: ShapeLike = (1, 1),
) -> TensorVariable:  # fmt: skip
    """Each of `num_channels` channels by filters of its own, then all of them joined by filters of one element.

    `depthwise_filters` are (filters, 1, rows, columns), their number a multiple of the channels; `pointwise_filters`
    (results, filters, 1, 1).

    >>> import numpy as np, termgraph.tensor as T
    >>> x, deep, point = np.ones((1, 2, 3, 3)), np.ones((2, 1, 3, 3)), np.array([1.0, 2.0]).reshape(1, 2, 1, 1)
    >>> T.nnet.separable_conv2d(x, deep, point, num_channels=2).eval()
    array([[[[27.]]]])
    """
    each = conv2d(
        input, depthwise_filters, input_shape, depthwise_filter_shape, border_mode, subsample, filter_flip,
        filter_dilation, num_channels,
    )  # fmt: skip
    return conv2d(each, pointwise_filters, filter_shape=pointwise_filter_shape, filter_flip=filter_flip)


@on_terms
def separable_conv3d(
    input: TensorLike, depthwise_filters: TensorLike, pointwise_filters: TensorLike, num_channels: int,
    input_shape: ShapeLike = None, depthwise_filter_shape: ShapeLike = None, pointwise_filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid", subsample: ShapeLike = (1, 1, 1), filter_flip: bool = True,
    filter_dilation: ShapeLike = (1, 1, 1),
) -> TensorVariable:  # fmt: skip
    """`separable_conv2d` of volumes (batch, channels, and three dimensions).

    >>> import numpy as np, termgraph.tensor as T
    >>> x, deep, point = np.ones((1, 1, 2, 2, 2)), np.ones((1, 1, 2, 2, 2)), np.full((1, 1, 1, 1, 1), 3.0)
    >>> T.nnet.separable_conv3d(x, deep, point, num_channels=1).eval().ravel()
    array([24.])
    """
    each = conv3d(
        input, depthwise_filters, input_shape, depthwise_filter_shape, border_mode, subsample, filter_flip,
        filter_dilation, num_channels,
    )  # fmt: skip
    return conv3d(each, pointwise_filters, filter_shape=pointwise_filter_shape, filter_flip=filter_flip)
