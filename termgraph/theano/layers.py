"""theano.tensor.nnet and .signal where they are not termgraph's: old keywords, neighbourhoods.

May import the tensor language.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import termgraph.tensor as T
from termgraph.config import config
from termgraph.tensor import nnet, signal
from termgraph.tensor.convolution import conv3d as native_conv3d
from termgraph.tensor.likes import BorderMode, Operand, ShapeLike, TensorLike
from termgraph.tensor.variable import TensorVariable
from termgraph.theano.shapes import border_mode_to_pad

conv3d_grad_wrt_inputs, conv3d_grad_wrt_weights = nnet.conv3d_grad_wrt_inputs, nnet.conv3d_grad_wrt_weights
separable_conv2d, separable_conv3d = nnet.separable_conv2d, nnet.separable_conv3d
bilinear_upsampling, frac_bilinear_upsampling = nnet.bilinear_upsampling, nnet.frac_bilinear_upsampling
images2neibs, neibs2images = nnet.images2neibs, nnet.neibs2images


def ctc(activations: TensorLike, labels: TensorLike, input_lengths: TensorLike) -> TensorVariable:
    """The loss of CTC; labels that are negative are none, class 0 is the blank."""
    return nnet.ctc_loss(activations, labels, input_lengths)


def ctc_available() -> bool:
    """Whether the loss can be computed: nothing has to be installed for it."""
    return True


# ---------------------------------------------------------------------- softmax: of a vector it is a row
def _rows(x: TensorLike) -> Any:
    x = T.as_tensor(x)
    if x.ndim > 2:
        raise ValueError(f"softmax takes a vector or a matrix, {x} has {x.ndim} dimensions")
    return T.dimshuffle(x, "x", 0) if x.ndim == 1 else x


def softmax(c: TensorLike) -> Any:
    """The softmax of each row; of a vector, a matrix of one row."""
    return nnet.softmax(_rows(c), axis=-1)


def logsoftmax(c: TensorLike) -> Any:
    """The logarithm of softmax."""
    return nnet.log_softmax(_rows(c), axis=-1)


def softmax_with_bias(x: Operand, b: Operand) -> Any:
    """softmax of x + b."""
    return softmax(T.as_tensor(x) + b)


def crossentropy_softmax_max_and_argmax_1hot_with_bias(x: Operand, b: Operand, y_idx: Operand, **_: object) -> list:
    """Losses, softmax, largest probabilities and their labels, of x + b."""
    return nnet.crossentropy_softmax_max_and_argmax_1hot(T.as_tensor(x) + b, y_idx)


def prepend_scalar_to_each_row(val: TensorLike | None, mat: TensorLike) -> Any:
    """The matrix with a first column that is one number."""
    mat = T.as_tensor(mat)
    return T.concatenate([T.alloc(T.cast(val, mat.dtype), mat.shape[0], 1), mat], axis=1)


def prepend_0_to_each_row(mat: TensorLike) -> Any:
    """The matrix with a first column of zeros."""
    return prepend_scalar_to_each_row(0.0, mat)


def prepend_1_to_each_row(mat: TensorLike) -> Any:
    """The matrix with a first column of ones."""
    return prepend_scalar_to_each_row(1.0, mat)


# ---------------------------------------------------------------------- convolutions
def _shape(*given: Any) -> Any:
    """The first shape that is given, constants among its lengths as numbers."""
    found = next((s for s in given if s is not None), None)
    if found is None:
        return None
    return tuple([int(n.data) if isinstance(n, T.Constant) else n for n in found])


def conv2d(
    input: TensorLike, filters: TensorLike, input_shape: ShapeLike = None, filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid", subsample: Sequence[int] = (1, 1), filter_flip: bool = True,
    image_shape: ShapeLike = None, filter_dilation: Sequence[int] = (1, 1), num_groups: int = 1, unshared: bool = False,
    **kwargs: Any,
) -> TensorVariable:  # fmt: skip
    """Images convolved with filters; `image_shape` is the old name of `input_shape`."""
    _no_more(kwargs, unshared)
    return nnet.conv2d(
        input, filters, _shape(input_shape, image_shape), _shape(filter_shape), border_mode, tuple(subsample),
        filter_flip, tuple(filter_dilation), num_groups,
    )  # fmt: skip


def _no_more(kwargs: dict, unshared: bool = False) -> None:
    if unshared:
        raise NotImplementedError("unshared convolutions (a filter for each place) are not there: use images2neibs")
    if kwargs:
        warnings.warn(f"conv: {sorted(kwargs)} make no difference here", stacklevel=3)


def old_conv2d(
    input: TensorLike, filters: TensorLike, image_shape: ShapeLike = None, filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid", subsample: Sequence[int] = (1, 1), **kwargs: Any,
) -> Any:  # fmt: skip
    """theano.tensor.nnet.conv.conv2d; what was about how it is computed makes no difference."""
    return nnet.conv2d(input, filters, _shape(image_shape), _shape(filter_shape), border_mode, tuple(subsample))


def conv3d(
    input: TensorLike, filters: TensorLike, input_shape: ShapeLike = None, filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid", subsample: Sequence[int] = (1, 1, 1), filter_flip: bool = True,
    filter_dilation: Sequence[int] = (1, 1, 1), num_groups: int = 1,
) -> Any:  # fmt: skip
    """Volumes convolved with filters."""
    return native_conv3d(
        input, filters, _shape(input_shape), _shape(filter_shape), border_mode, tuple(subsample), filter_flip,
        tuple(filter_dilation), num_groups,
    )  # fmt: skip


def signal_conv2d(
    input: TensorLike,
    filters: TensorLike,
    image_shape: ShapeLike = None,
    filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid",
    subsample: Sequence[int] = (1, 1),
    **kwargs: Any,
) -> Any:
    """theano.tensor.signal.conv.conv2d: each image of a stack with each filter of another, no channels."""
    x, w = T.as_tensor(input), T.as_tensor(filters)
    for v in (x, w):
        if v.ndim not in (2, 3):
            raise ValueError(f"expected a matrix or a stack of matrices, {v} has {v.ndim} dimensions")
    images, kernels = (T.dimshuffle(v, "x" if v.ndim == 2 else 0, "x", v.ndim - 2, v.ndim - 1) for v in (x, w))
    found = nnet.conv2d(images, kernels, border_mode=border_mode, subsample=tuple(subsample))
    if w.ndim == 2:
        found = found[:, 0]
    return found[0] if x.ndim == 2 else found


def conv3d2d(
    signals: TensorLike,
    filters: TensorLike,
    signals_shape: ShapeLike = None,
    filters_shape: ShapeLike = None,
    border_mode: BorderMode = "valid",
) -> Any:
    """theano.tensor.nnet.conv3d2d.conv3d: signals (batch, time, channel, height, width), filters alike."""
    modes = (border_mode,) * 3 if isinstance(border_mode, (str, int)) else tuple(border_mode)
    if len(set(modes)) != 1:
        raise NotImplementedError("conv3d: one border mode for all three dimensions")
    order = (0, 2, 1, 3, 4)
    found = native_conv3d(T.dimshuffle(signals, *order), T.dimshuffle(filters, *order), border_mode=modes[0])
    return T.dimshuffle(found, *order)


def _with_unshared(function: Callable[..., Any], known: int) -> Callable[..., Any]:
    """A function of `known` arguments with one more, Theano's `unshared`: filters of each place's own, which are not
    there.
    """

    @functools.wraps(function)
    def call(*args: object, unshared: bool = False, **named: object) -> Any:
        _no_more({}, unshared or any(args[known:]))
        return function(*args[:known], **named)

    return call


conv2d_transpose, conv2d_grad_wrt_inputs, conv2d_grad_wrt_weights = (
    _with_unshared(f, 9) for f in (nnet.conv2d_transpose, nnet.conv2d_grad_wrt_inputs, nnet.conv2d_grad_wrt_weights)
)
causal_conv1d = _with_unshared(nnet.causal_conv1d, 8)


def bilinear_kernel_1D(ratio: int, normalize: bool = True) -> Any:
    """Weights of linear interpolation between points that are `ratio` apart: 1, 2, ..., ratio, ..., 2, 1."""
    rise = np.arange(1, ratio + 1)
    kernel = np.concatenate([rise, rise[-2::-1]]).astype(config.floatX)
    return T.constant(kernel / ratio if normalize else kernel)


def bilinear_kernel_2D(ratio: int, normalize: bool = True) -> Any:
    """The outer product of `bilinear_kernel_1D` with itself."""
    return T.outer(bilinear_kernel_1D(ratio, normalize), bilinear_kernel_1D(ratio, normalize))


# ---------------------------------------------------------------------- pooling
def pool_2d(
    input: TensorLike,
    ws: ShapeLike = None,
    ignore_border: bool | None = None,
    stride: ShapeLike = None,
    pad: ShapeLike = (0, 0),
    mode: str = "max",
    ds: tuple[Any, ...] | None = None,
    st: tuple[Any, ...] | None = None,
    padding: tuple[Any, ...] | None = None,
) -> Any:
    """Pooling with Theano's keywords, the old ones (`ds`, `st`, `padding`) among them."""
    return _pool(2, input, ws, ignore_border, stride, pad, mode, ds, st, padding)


def pool_3d(
    input: TensorLike,
    ws: ShapeLike = None,
    ignore_border: bool | None = None,
    stride: ShapeLike = None,
    pad: ShapeLike = (0, 0, 0),
    mode: str = "max",
    ds: tuple[Any, ...] | None = None,
    st: tuple[Any, ...] | None = None,
    padding: tuple[Any, ...] | None = None,
) -> Any:
    """`pool_2d` over three dimensions."""
    return _pool(3, input, ws, ignore_border, stride, pad, mode, ds, st, padding)


def max_pool_2d(
    input: TensorLike,
    ds: ShapeLike,
    ignore_border: bool = False,
    st: ShapeLike = None,
    padding: ShapeLike = (0, 0),
    mode: str = "max",
) -> TensorVariable:
    """The old theano.tensor.signal.downsample.max_pool_2d."""
    return pool_2d(input, ds, ignore_border, st, padding, mode)


def _pool(
    n: int,
    input: TensorLike,
    ws: ShapeLike,
    ignore_border: bool | None,
    stride: ShapeLike,
    pad: ShapeLike,
    mode: str,
    ds: tuple | None,
    st: tuple | None,
    padding: tuple | None,
) -> Any:
    for new, old, names in ((ws, ds, "ws and ds"), (stride, st, "stride and st")):
        if new is not None and old is not None:
            raise ValueError(f"pool_{n}d: {names} are two names of one argument; give one of them")
    ws, stride = ds if ws is None else ws, st if stride is None else stride
    pad = pad if padding is None else padding
    if ws is None:
        raise ValueError(f"pool_{n}d: ws, the size of the windows, is missing")
    run = signal.pool_2d if n == 2 else signal.pool_3d
    return run(input, _ints(ws), bool(ignore_border), None if stride is None else _ints(stride), _ints(pad), mode)


def _ints(values: Any) -> Any:
    """Sizes as Python integers: programs give tuples, arrays and constants."""
    if isinstance(values, T.Constant):
        values = values.data
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        return int(values) if not isinstance(values, T.Variable) else values
    return tuple([_ints(v) for v in values])


def max_pool_2d_same_size(input: TensorLike, patch_size: tuple[int, int]) -> Any:
    """The array with zeros everywhere but at the maximum of each window."""
    x = T.as_tensor(input)
    most = pool_2d(x, patch_size, ignore_border=True)
    height, width = patch_size
    back = T.repeat(T.repeat(most, height, axis=-2), width, axis=-1)
    return T.switch(T.eq(x, back), x, T.zeros_like(x))


# ---------------------------------------------------------------------- sparse blocks
def sparse_block_dot(W: TensorLike, h: TensorLike, inputIdx: TensorLike, b: TensorLike, outputIdx: TensorLike) -> Any:
    """The product of chosen blocks of a matrix with blocks of a vector, added to blocks of b."""
    W, h, b = T.as_tensor(W), T.as_tensor(h), T.as_tensor(b)
    batched = h.ndim == 3
    if not batched:
        h, inputIdx, outputIdx = (T.shape_padleft(v) for v in (h, inputIdx, outputIdx))
    blocks = W[T.dimshuffle(inputIdx, 0, 1, "x"), T.dimshuffle(outputIdx, 0, "x", 1)]
    found = b[outputIdx] + (T.dimshuffle(h, 0, 1, "x", 2, "x") * blocks).sum(axis=(1, 3))
    return found if batched else found[0]


__all__ = ["border_mode_to_pad"]
