"""Normalization for T.nnet: by the statistics of a batch (in training and in use), and by neighbouring channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.tensor.elemwise import cast
from termgraph.tensor.lengths import length, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.reductions import count, mean, var
from termgraph.tensor.shaping import addbroadcast, dimshuffle, patternbroadcast, squeeze
from termgraph.tensor.signal import pool_2d
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew


# ---------------------------------------------------------------------- by the batch
@on_terms
def batch_normalization(
    inputs: TensorLike, gamma: TensorLike, beta: TensorLike, mean: TensorLike, std: TensorLike, mode: str = "low_mem"
) -> TensorVariable:
    """`(inputs - mean) * gamma / std + beta`, with parameters that broadcast as they are.

    >>> import termgraph.tensor as T
    >>> T.nnet.batch_normalization(T.as_tensor([[1.0, 2.0]]), [2.0, 2.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5]).eval()
    array([[1., 4.]])
    """
    if mode not in ("low_mem", "high_mem"):
        raise ValueError(f"batch_normalization: mode must be 'low_mem' or 'high_mem', got {mode!r}")
    x, gamma, beta, centre, spread = map(as_tensor, (inputs, gamma, beta, mean, std))
    return (x - centre) * (gamma / spread) + beta


@on_terms
def batch_normalization_train(
    inputs: Any, gamma: Any, beta: Any, axes: str | Sequence[int] = "per-activation", epsilon: float = 1e-4,
    running_average_factor: float = 0.1, running_mean: Any = None, running_var: Any = None,
) -> tuple:  # fmt: skip
    """Inputs normalized by their own mean and variance: the result, the mean, and one over the deviation.

    `axes` are those to average over: 'per-activation' is the first, 'spatial' all but the second (channels), or give
    their numbers. The other parameters have all dimensions, or those that are left. With `running_mean` and
    `running_var` two more results are their new values: a `running_average_factor` of the batch's, the rest of the
    old. PyTorch's `batch_norm(x, m, v, weight, bias, True, momentum, eps)` is this with `axes='spatial'`.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> x = T.tensor4("x")
    >>> y, mean, invstd = T.nnet.batch_normalization_train(x, np.ones(3), np.zeros(3), axes="spatial")
    >>> y.ndim, mean.type.shape
    (4, (1, None, 1, 1))
    """
    x = as_tensor(inputs)
    axes, order = _axes(axes, x.ndim)
    _check(epsilon, running_mean, running_var)
    given = [v for v in (gamma, beta, running_mean, running_var) if v is not None]
    spread = _spread(given, x.ndim, axes, order)
    rows, few, flat = _in_rows(x, axes)
    low, middle = mean(rows, few, keepdims=True), var(rows, few, keepdims=True)
    inverse = ew.reciprocal(ew.sqrt(middle + np.asarray(epsilon, x.dtype)))
    gamma, beta = (flat(v) for v in spread[:2])
    result = ((rows - low) * (gamma * inverse) + beta).reshape([length(x, d) for d in range(x.ndim)])
    whole = [*range(rows.ndim), *["x"] * (x.ndim - rows.ndim)]
    centre, variance, scale = (dimshuffle(v, *whole) for v in (low, middle, inverse))
    if running_mean is None:
        return result, centre, scale
    m = cast(as_tensor(count(x, axes)), x.dtype)
    factor = cast(as_tensor(running_average_factor), x.dtype)
    averages = (
        spread[2] * (1 - factor) + centre * factor,
        spread[3] * (1 - factor) + (m / (m - 1)) * variance * factor,
    )
    return result, centre, scale, *[_back(a, v, axes) for a, v in zip(averages, given[2:], strict=True)]


@on_terms
def batch_normalization_test(
    inputs: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    var: Any,
    axes: str | Sequence[int] = "per-activation",
    epsilon: float = 1e-4,
) -> TensorVariable:
    """Inputs normalized by a mean and a variance that are given; for the rest see `batch_normalization_train`.

    >>> import termgraph.tensor as T
    >>> T.nnet.batch_normalization_test(T.as_tensor([[1.0, 2.0]]), [1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [1.0, 4.0]).ndim
    2
    """
    x = as_tensor(inputs)
    axes, order = _axes(axes, x.ndim)
    _check(epsilon, None, None)
    gamma, beta, centre, variance = _spread([gamma, beta, mean, var], x.ndim, axes, order)
    return (x - centre) * (gamma * ew.reciprocal(ew.sqrt(variance + np.asarray(epsilon, x.dtype)))) + beta


def _in_rows(x: TensorVariable, axes: tuple) -> tuple[Any, tuple, Callable]:
    """An array whose last dimensions are one where all are averaged over: sums of long rows are faster than of short.

    Also the axes of it, and what brings parameters of all dimensions to its own.
    """
    first = x.ndim
    while first - 1 in axes:
        first -= 1
    if x.ndim - first < 2:
        return x, axes, lambda v: v
    kept = [length(x, d) for d in range(first)]
    rows = x.reshape([*kept, product([length(x, d) for d in range(first, x.ndim)])])
    return rows, (*[a for a in axes if a < first], first), lambda v: dimshuffle(v, *range(first + 1))


def _axes(axes: str | Sequence[int], ndim: int) -> tuple[tuple[int, ...], list]:
    """The axes to normalize over, and how a parameter that skips these is brought to all dimensions."""
    if axes == "per-activation":
        axes = (0,)
    elif axes == "spatial":
        axes = (0, *range(2, ndim))
    elif not isinstance(axes, Sequence) or isinstance(axes, str):
        raise ValueError(f"batch normalization: axes must be 'per-activation', 'spatial' or numbers, got {axes!r}")
    axes = tuple(sorted([int(a) % ndim for a in axes]))
    left = iter(range(ndim))
    return axes, ["x" if d in axes else next(left) for d in range(ndim)]


def _spread(values: Sequence[Any], ndim: int, axes: tuple, order: list) -> list:
    found = []
    for v in map(as_tensor, values):
        if v.ndim not in (ndim, ndim - len(axes)):
            raise ValueError(f"batch normalization: {v} has {v.ndim} dimensions, expected {ndim} or {ndim - len(axes)}")
        found.append(addbroadcast(v, *axes) if v.ndim == ndim else dimshuffle(v, *order))
    return found


def _back(average: TensorVariable, like: TensorVariable, axes: tuple) -> TensorVariable:
    """A running average in the dimensions of what it replaces."""
    like = as_tensor(like)
    return patternbroadcast(average, like.broadcastable) if like.ndim == average.ndim else squeeze(average, axes)


def _check(epsilon: float, running_mean: TensorVariable | None, running_var: TensorVariable | None) -> None:
    if epsilon < 1e-5:
        raise ValueError(f"batch normalization: epsilon must be at least 1e-5, got {epsilon}")
    if (running_mean is None) != (running_var is None):
        raise ValueError("batch normalization: give running_mean and running_var, or neither")


# ---------------------------------------------------------------------- by neighbouring channels
@on_terms
def local_response_normalization(
    x: TensorLike, n: int = 5, k: float = 2.0, alpha: float = 1e-4, beta: float = 0.75
) -> TensorVariable:
    """`x / (k + alpha * s) ** beta`, where s is the sum of the squares of n neighbouring channels.

    Images are (batch, channels, ...). The constants are AlexNet's. Beyond the first and the last channel there are
    zeros. PyTorch's `local_response_norm(x, n, a, b, k)` averages the squares: there `alpha` is `a / n`.

    >>> import termgraph.tensor as T
    >>> x = T.as_tensor([[[1.0], [2.0], [3.0]]])
    >>> T.nnet.local_response_normalization(x, n=3, k=0.0, alpha=1.0, beta=1.0).eval().ravel().round(3)
    array([0.2  , 0.143, 0.231])
    """
    x = as_tensor(x)
    if not hasattr(n, "__index__") or isinstance(n, bool) or n < 1:
        raise ValueError(f"local_response_normalization: n must be a number of channels, at least 1, got {n!r}")
    if x.ndim < 2 or x.type.kind != "f":
        raise TypeError(
            f"local_response_normalization takes floating-point images (batch, channels, ...), got {x} of type {x.type}"
        )
    if 0 in x.type.shape:
        return x
    channels, places = length(x, 1), product([length(x, d) for d in range(2, x.ndim)])
    squares = ew.sqr(x).reshape([length(x, 0), channels, places])
    sums = pool_2d(squares, (n, 1), ignore_border=True, stride=(1, 1), pad=(n // 2, 0), mode="sum")
    sums = sums[:, :channels].reshape([length(x, d) for d in range(x.ndim)])
    number = np.dtype(x.dtype).type if x.dtype != "bfloat16" else float
    return x * (sums * number(alpha) + number(k)) ** number(-beta)
