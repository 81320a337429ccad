"""Convolutions under Theano's names, for T.nnet, and T.convolve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.tensor.elemwise import cast
from termgraph.tensor.lengths import as_lengths, at_least, length, length_operands
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import BorderMode, ShapeLike, TensorLike
from termgraph.tensor.shaping import dimshuffle, specify_shape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import promote
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.conv_prices import fits_winograd, prices
from termgraph.terms.ops.convolution import BORDERS, FORWARD
from termgraph.terms.ops.convolution import conv as conv_op
from termgraph.terms.ops.convolution import conv_grad_inputs as inputs_op
from termgraph.terms.ops.convolution import conv_grad_weights as weights_op

ALGORITHMS = ("winograd", "panels", "gemm", "direct", "fft", "cudnn")


# ---------------------------------------------------------------------- arguments as users write them
def _numbers(name: str, what: str, value: Any, n: int) -> tuple[int, ...]:
    """One positive integer per spatial dimension."""
    found = (value,) * n if hasattr(value, "__index__") else tuple(value)
    if len(found) != n or not all(
        hasattr(v, "__index__") and not isinstance(v, bool) and v.__index__() > 0 for v in found
    ):
        raise ValueError(f"{name}: {what} must be {n} positive integer{'s' * (n > 1)}, got {value!r}")
    return tuple([v.__index__() for v in found])


def _border(name: str, value: BorderMode, n: int) -> str | tuple[tuple[int, int], ...]:
    """A border mode: a word, or zeros (before, after) for each spatial dimension."""
    if isinstance(value, str):
        if value not in BORDERS:
            raise ValueError(f"{name}: border_mode must be one of {', '.join(BORDERS)}, an integer, or one integer or "
                             f"pair of them for each spatial dimension, got {value!r}")  # fmt: skip
        return value
    each: tuple[Any, ...] = (value,) * n if hasattr(value, "__index__") else tuple(value)
    pairs = [(v, v) if hasattr(v, "__index__") else tuple(v) for v in each]
    flat = [v for pair in pairs for v in pair]
    if (
        len(pairs) != n
        or any(len(pair) != 2 for pair in pairs)
        or not all(hasattr(v, "__index__") and v >= 0 for v in flat)
    ):
        raise ValueError(f"{name}: border_mode {value!r} is not {n} numbers (or pairs of numbers) of zeros to add")
    return tuple([(a.__index__(), b.__index__()) for a, b in pairs])


def parameters(
    name: str,
    n: int,
    border_mode: BorderMode,
    stride: ShapeLike,
    flip: bool,
    dilation: Any,
    groups: Any,
    algo: str | None,
) -> dict[str, Any]:
    """The parameters of the placeholders from what users write."""
    if not hasattr(groups, "__index__") or groups < 1:
        raise ValueError(f"{name}: num_groups must be a positive integer, got {groups!r}")
    if algo is not None and algo not in ALGORITHMS:
        raise ValueError(f"{name}: algo must be one of {', '.join(ALGORITHMS)} or None, got {algo!r}")
    return {
        "stride": _numbers(name, "subsample", stride, n), "border": _border(name, border_mode, n),
        "dilation": _numbers(name, "filter_dilation", dilation, n), "groups": groups.__index__(),
        "flip": bool(flip), "algo": algo,
    }  # fmt: skip


def _array(name: str, what: str, value: object, n: int, shape: Any) -> Any:
    """An operand with n spatial dimensions and the lengths the user promises."""
    x = as_tensor(value)
    if x.ndim != n + 2:
        raise TypeError(f"{name}: {what} must have {n + 2} dimensions, {x} has {x.ndim} ({x.type})")
    if shape is None:
        return x
    return specify_shape(x, *[None if m is None else as_lengths(m)[0] for m in shape])


def _convolve(name: str, n: int, input: TensorLike, filters: TensorLike, shapes: tuple, **how: Any) -> TensorVariable:
    x, w = _array(name, "input", input, n, shapes[0]), _array(name, "filters", filters, n, shapes[1])
    if how["algo"] == "fft" and None in (*x.type.shape[2:], *w.type.shape[2:]):
        raise ValueError(f"{name}: algo='fft' needs lengths that are known: give input_shape and filter_shape")
    found = conv_op(x, w, **parameters(name, n, **how))
    if how["algo"] == "winograd" and not fits_winograd(found.term.op.params, x, w):
        unknown = None in w.type.shape[2:]
        raise ValueError(
            f"{name}: algo='winograd' takes filters of 3x3 or 5x5 floating-point numbers in one group, subsample and "
            f"filter_dilation (1, 1); the filters are {w.type}" + unknown * ": give filter_shape"
        )
    return found


def conv_prices(y: Any, vectors: int | None = None) -> dict[str, float]:
    """What a convolution is expected to cost by each routine that knows it, in multiply-adds; the cheapest is used.

    `y` is the result of conv1d, conv2d or conv3d. Empty where its lengths are not known: panels are used then.
    `vectors`: bytes of a vector of the processor, 16, 32 or 64; by default the mean for 32 and 64.

    >>> import termgraph.tensor as T
    >>> x = T.tensor("x", dtype="float32", shape=(8, 64, 56, 56))
    >>> w = T.tensor("w", dtype="float32", shape=(64, 64, 3, 3))
    >>> prices = T.nnet.conv_prices(T.nnet.conv2d(x, w, border_mode="half"))
    >>> min(prices, key=prices.get)
    'winograd'
    """
    t = as_tensor(y).term
    if not t.args or t.op.family.name != FORWARD:
        raise TypeError(f"conv_prices takes the result of a convolution, got {y} of type {as_tensor(y).type}")
    how = t.op.params if vectors is None else {**t.op.params, "vectors": vectors}
    return prices(how, t.args[0].type.shape, t.args[1].type.shape, t.type.shape)


# ---------------------------------------------------------------------- forward
@on_terms
def conv2d(
    input: Any, filters: TensorLike, input_shape: ShapeLike = None, filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid", subsample: ShapeLike = (1, 1), filter_flip: bool = True,
    filter_dilation: ShapeLike = (1, 1), num_groups: int = 1, algo: str | None = None,
) -> TensorVariable:  # fmt: skip
    """Images (batch, channels, rows, columns) convolved with filters (filters, channels, rows, columns).

    `border_mode` is 'valid', 'full', 'half', 'same' (as JAX's: as many places as elements over stride), or zeros to
    add: a number, one per dimension, or pairs. `filter_flip=False` gives the correlation that other libraries call
    convolution. `algo` says how to compute it: 'winograd', 'panels', 'gemm', 'direct', 'fft' or 'cudnn'; by
    default it is chosen (see `conv_prices`).

    >>> import termgraph.tensor as T
    >>> x, w = T.tensor("x", dtype="float32", shape=(8, 3, 32, 32)), T.tensor("w", dtype="float32", shape=(16, 3, 5, 5))
    >>> T.nnet.conv2d(x, w, border_mode="half", subsample=(2, 2)).type
    TensorType(float32, (8, 16, 16, 16))
    """
    return _convolve(
        "conv2d", 2, input, filters, (input_shape, filter_shape), border_mode=border_mode, stride=subsample,
        flip=filter_flip, dilation=filter_dilation, groups=num_groups, algo=algo,
    )  # fmt: skip


@on_terms
def conv1d(
    input: TensorLike,
    filters: TensorLike,
    input_shape: ShapeLike = None,
    filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid",
    subsample: ShapeLike = 1,
    filter_flip: bool = True,
    filter_dilation: ShapeLike = 1,
    num_groups: int = 1,
    algo: str | None = None,
) -> TensorVariable:
    """`conv2d` with one spatial dimension: input (batch, channels, length), filters (filters, channels, length)."""
    return _convolve(
        "conv1d", 1, input, filters, (input_shape, filter_shape), border_mode=border_mode, stride=subsample,
        flip=filter_flip, dilation=filter_dilation, groups=num_groups, algo=algo,
    )  # fmt: skip


@on_terms
def conv3d(
    input: Any,
    filters: TensorLike,
    input_shape: ShapeLike = None,
    filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid",
    subsample: ShapeLike = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: ShapeLike = (1, 1, 1),
    num_groups: int = 1,
    algo: str | None = None,
) -> TensorVariable:
    """`conv2d` with three spatial dimensions."""
    return _convolve(
        "conv3d",
        3,
        input,
        filters,
        (input_shape, filter_shape),
        border_mode=border_mode,
        stride=subsample,
        flip=filter_flip,
        dilation=filter_dilation,
        groups=num_groups,
        algo=algo,
    )


# ---------------------------------------------------------------------- transposed
@on_terms
def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid",
    input_dilation: ShapeLike = (1, 1),
    filter_flip: bool = True,
    filter_dilation: ShapeLike = (1, 1),
    num_groups: int = 1,
    algo: str | None = None,
) -> TensorVariable:
    """The transposed convolution: what gives `output_shape` (batch, channels, rows, columns) from the result of a
    `conv2d` with stride `input_dilation` (its gradient with respect to the images).

    >>> import termgraph.tensor as T
    >>> y, w = T.tensor("y", dtype="float32", shape=(8, 16, 7, 7)), T.tensor("w", dtype="float32", shape=(16, 3, 3, 3))
    >>> T.nnet.conv2d_transpose(y, w, (8, 3, 15, 15), input_dilation=(2, 2)).type
    TensorType(float32, (8, 3, 15, 15))
    """
    return conv2d_grad_wrt_inputs(
        input, filters, output_shape, filter_shape, border_mode, input_dilation, filter_flip, filter_dilation,
        num_groups, algo,
    )  # fmt: skip


@on_terms
def conv2d_grad_wrt_inputs(
    output_grad: TensorLike,
    filters: TensorLike,
    input_shape: ShapeLike,
    filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid",
    subsample: ShapeLike = (1, 1),
    filter_flip: bool = True,
    filter_dilation: ShapeLike = (1, 1),
    num_groups: int = 1,
    algo: str | None = None,
) -> TensorVariable:
    """The gradient of a convolution with respect to its images, from that of its result."""
    how = border_mode, subsample, filter_flip, filter_dilation, num_groups, algo
    return _inputs_gradient(2, output_grad, filters, input_shape, filter_shape, how)


@on_terms
def conv3d_grad_wrt_inputs(
    output_grad: TensorLike,
    filters: TensorLike,
    input_shape: ShapeLike,
    filter_shape: ShapeLike = None,
    border_mode: BorderMode = "valid",
    subsample: ShapeLike = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: ShapeLike = (1, 1, 1),
    num_groups: int = 1,
    algo: str | None = None,
) -> TensorVariable:
    """`conv2d_grad_wrt_inputs` of volumes.

    >>> import numpy as np, termgraph.tensor as T
    >>> g, w = np.ones((1, 1, 1, 1, 1)), np.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> T.nnet.conv3d_grad_wrt_inputs(g, w, (1, 1, 2, 2, 2)).eval().ravel()      # the filter, flipped
    array([7., 6., 5., 4., 3., 2., 1., 0.])
    """
    how = border_mode, subsample, filter_flip, filter_dilation, num_groups, algo
    return _inputs_gradient(3, output_grad, filters, input_shape, filter_shape, how)


def _inputs_gradient(
    n: int, grad: TensorLike, filters: TensorLike, shape: ShapeLike, filter_shape: ShapeLike, how: tuple
) -> TensorVariable:
    name = f"conv{n}d_grad_wrt_inputs"
    known = parameters(name, n, *how)
    g, w = _array(name, "output_grad", grad, n, None), _array(name, "filters", filters, n, filter_shape)
    return inputs_op(w, g, *_spatial_lengths(name, shape, n), **known)


@on_terms
def conv2d_grad_wrt_weights(
    input: TensorLike,
    output_grad: TensorLike,
    filter_shape: ShapeLike,
    input_shape: ShapeLike = None,
    border_mode: BorderMode = "valid",
    subsample: ShapeLike = (1, 1),
    filter_flip: bool = True,
    filter_dilation: ShapeLike = (1, 1),
    num_groups: int = 1,
    algo: str | None = None,
) -> TensorVariable:
    """The gradient of a convolution with respect to its filters, from that of its result."""
    how = border_mode, subsample, filter_flip, filter_dilation, num_groups, algo
    return _weights_gradient(2, input, output_grad, filter_shape, input_shape, how)


@on_terms
def conv3d_grad_wrt_weights(
    input: TensorLike,
    output_grad: TensorLike,
    filter_shape: ShapeLike,
    input_shape: ShapeLike = None,
    border_mode: BorderMode = "valid",
    subsample: ShapeLike = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: ShapeLike = (1, 1, 1),
    num_groups: int = 1,
    algo: str | None = None,
) -> TensorVariable:
    """`conv2d_grad_wrt_weights` of volumes.

    >>> import numpy as np, termgraph.tensor as T
    >>> x, g = np.arange(8.0).reshape(1, 1, 2, 2, 2), np.ones((1, 1, 1, 1, 1))
    >>> T.nnet.conv3d_grad_wrt_weights(x, g, (1, 1, 2, 2, 2)).eval().ravel()
    array([7., 6., 5., 4., 3., 2., 1., 0.])
    """
    how = border_mode, subsample, filter_flip, filter_dilation, num_groups, algo
    return _weights_gradient(3, input, output_grad, filter_shape, input_shape, how)


def _weights_gradient(
    n: int, input: TensorLike, grad: TensorLike, shape: ShapeLike, input_shape: ShapeLike, how: tuple
) -> TensorVariable:
    name = f"conv{n}d_grad_wrt_weights"
    known = parameters(name, n, *how)
    x, g = _array(name, "input", input, n, input_shape), _array(name, "output_grad", grad, n, None)
    return weights_op(x, g, *_spatial_lengths(name, shape, n), **known)


def _spatial_lengths(name: str, shape: ShapeLike, n: int) -> list:
    """The last n of a shape, as operands; None for batch and channels is allowed."""
    given = list(shape) if isinstance(shape, Sequence) else as_lengths(shape, "shape", n + 2)
    if len(given) not in (n, n + 2):
        raise ValueError(f"{name}: a shape of {n + 2} lengths is needed (or its {n} spatial ones), got {shape!r}")
    return length_operands(as_lengths(given[-n:], "shape"))


# ---------------------------------------------------------------------- of vectors
@on_terms
def convolve(a: TensorLike, v: TensorLike, mode: str = "full") -> TensorVariable:
    """The convolution of two vectors, as numpy.convolve: mode 'full', 'same' or 'valid'.

    >>> import termgraph.tensor as T
    >>> T.convolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]).eval()
    array([0. , 1. , 2.5, 4. , 1.5])
    """
    x, w = _two_vectors("convolve", a, v, mode)
    if x.type.dtype == "bool":
        return ew.neq(convolve(cast(x, "int64"), cast(w, "int64"), mode), 0)
    return _overlap(x, w, mode, (_least(x, w) - 1) // 2)


@on_terms
def correlate(a: TensorLike, v: TensorLike, mode: str = "valid") -> TensorVariable:
    """Sums of products of two vectors for each shift of `v`, conjugated, as numpy.correlate.

    >>> import termgraph.tensor as T
    >>> T.correlate([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]).eval()
    array([3.5])
    """
    x, w = _two_vectors("correlate", a, v, mode)
    if x.type.dtype == "bool":
        return ew.neq(correlate(cast(x, "int64"), cast(w, "int64"), mode), 0)
    n, k, less = length(x, 0), length(w, 0), _least(x, w) - 1
    if isinstance(n, int) and isinstance(k, int):
        first = less - less // 2 if k > n else less // 2
    else:
        first = ew.switch(k > n, less - less // 2, less // 2)  # NumPy turns the result where v is the longer one
    return _overlap(x, ew.conj(w)[::-1], mode, first)


def _two_vectors(who: str, a: TensorLike, v: TensorLike, mode: str) -> tuple[TensorVariable, TensorVariable]:
    """Both in one dtype, with a promise that they have elements."""
    x, w = as_tensor(a), as_tensor(v)
    for what, t in (("a", x), ("v", w)):
        if t.ndim != 1 or t.type.shape == (0,):
            raise ValueError(f"{who}: {what} must be a vector with elements, got {t} of type {t.type}")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{who}: mode must be full, same or valid, got {mode!r}")
    common = promote(x.type.np_dtype, w.type.np_dtype).name
    return _not_empty(who, "first", cast(x, common)), _not_empty(who, "second", cast(w, common))


def _least(x: TensorVariable, w: TensorVariable) -> Any:
    n, k = length(x, 0), length(w, 0)
    return min(n, k) if isinstance(n, int) and isinstance(k, int) else ew.minimum(n, k)


def _overlap(x: TensorVariable, w: TensorVariable, mode: str, middle: Any) -> TensorVariable:
    """The convolution, or what a mode asks for of it: `middle` is where "same" begins."""
    n, k = length(x, 0), length(w, 0)
    known = isinstance(n, int) and isinstance(k, int)
    if known and k > n:
        x, w, n, k = w, x, k, n
    full = conv_op(
        *[dimshuffle(t, "x", "x", 0) for t in (x, w)], **parameters("convolve", 1, "full", 1, True, 1, 1, None)
    )
    if mode == "full":
        return full[0, 0]
    less, most = (k, n) if known else (ew.minimum(n, k), ew.maximum(n, k))
    return full[0, 0, less - 1 : most] if mode == "valid" else full[0, 0, middle : middle + most]


def _not_empty(who: str, which: str, x: TensorVariable) -> TensorVariable:
    """The vector, with a promise that it has elements."""
    return at_least(x, 0, 1, f"{who}: the {which} vector has no elements")


__all__ = ["convolve", "correlate"]  # of T itself; T.nnet has the others
