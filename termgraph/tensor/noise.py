"""What draws numbers while a network is trained, for T.nnet: dropout, its kin, and Gumbel's softmax."""

from __future__ import annotations

import numpy as np

from termgraph.tensor.creation import arange, zeros_like
from termgraph.tensor.distributions import Distributions
from termgraph.tensor.elemwise import cast
from termgraph.tensor.layers import not_above_zero
from termgraph.tensor.lengths import length
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.reductions import argmax, softmax
from termgraph.tensor.shaping import expand_dims, moveaxis
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import gradmarks
from termgraph.terms.ops.shapes import normal_axis

SELU_FLOOR = -1.7580993408473766  # selu(-inf)


def dropout(x: TensorLike, p: float, rng: Distributions) -> TensorVariable:
    """Each element is 0 with probability p, else divided by 1 - p, so that its mean stays: for training, not for use.

    `rng` is a random stream; the function draws anew at each call.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> f = tg.function([], T.nnet.dropout(np.ones(1000), 0.2, T.random.RandomStream(seed=1)))
    >>> values = f()
    >>> np.unique(values).tolist(), bool(abs((values == 0).mean() - 0.2) < 0.05)
    ([0.0, 1.25], True)
    """
    x = _of_floats("dropout", x)
    _check_chance("dropout", p)
    _check_stream("dropout", rng)
    if p in (0, 1):
        return x if p == 0 else zeros_like(x)
    dropped = ew.lt(rng.uniform(size=x.shape, dtype="float32"), p)
    return ew.switch(dropped, np.asarray(0, x.type.np_dtype), ew.mul(x, np.asarray(1 / (1 - p), x.type.np_dtype)))


def alpha_dropout(x: TensorLike, p: float, rng: Distributions) -> TensorVariable:
    """Each element is selu's lowest value with probability p; then moved so that mean 0 and variance 1 stay so.

    For networks of `selu`, in training.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> f = tg.function([], T.nnet.alpha_dropout(np.zeros(1000), 0.5, T.random.RandomStream(seed=1)))
    >>> np.unique(f().round(3)).tolist()
    [-0.779, 0.779]
    """
    x = _of_floats("alpha_dropout", x)
    _check_chance("alpha_dropout", p)
    _check_stream("alpha_dropout", rng)
    if p in (0, 1):
        return x if p == 0 else zeros_like(x)
    scale = ((1 - p) * (1 + p * SELU_FLOOR**2)) ** -0.5
    shift = -scale * p * SELU_FLOOR
    lowest = np.asarray(scale * SELU_FLOOR + shift, x.type.np_dtype)
    dropped = ew.lt(rng.uniform(size=x.shape, dtype="float32"), p)
    return ew.switch(dropped, lowest, x * np.asarray(scale, x.type.np_dtype) + np.asarray(shift, x.type.np_dtype))


def rrelu(
    x: TensorLike, lower: float = 1 / 8, upper: float = 1 / 3, rng: Distributions | None = None
) -> TensorVariable:
    """x above 0; below, x times a slope drawn for each element from `lower` to `upper`, or their mean without `rng`.

    >>> import termgraph.tensor as T
    >>> T.nnet.rrelu([-4.0, 4.0], 0.25, 0.75).eval()
    array([-2.,  4.])
    """
    x = _of_floats("rrelu", x)
    if not lower <= upper:
        raise ValueError(f"rrelu: lower must not be above upper, got {lower} and {upper}")
    if rng is not None:
        _check_stream("rrelu", rng)
    slope = (lower + upper) / 2 if rng is None else rng.uniform(lower, upper, size=x.shape, dtype=x.type.dtype)
    return ew.switch(ew.gt(x, 0), x, not_above_zero(x) * slope)


def gumbel_softmax(
    logits: TensorLike, rng: Distributions, tau: float = 1.0, hard: bool = False, axis: int = -1
) -> TensorVariable:
    """The softmax of logits and Gumbel's noise, divided by `tau`: a draw of a class, with a gradient.

    With `hard` it is 1 for the class drawn and 0 for others, with the gradient of the softmax (straight through).

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> rng = T.random.RandomStream(seed=1)
    >>> f = tg.function([], T.nnet.gumbel_softmax(np.log([[0.9, 0.1]] * 1000), rng, hard=True).mean(axis=0))
    >>> bool(abs(f()[0] - 0.9) < 0.05)
    True
    """
    x = _of_floats("gumbel_softmax", logits)
    _check_stream("gumbel_softmax", rng)
    if isinstance(tau, (int, float)) and not tau > 0:
        raise ValueError(f"gumbel_softmax: tau must be above 0, got {tau!r}")
    axis = normal_axis(axis, x.ndim)
    soft = softmax((x + rng.gumbel(size=x.shape, dtype=x.type.dtype)) / tau, axis=axis)
    if not hard:
        return soft
    best = moveaxis(ew.eq(expand_dims(argmax(soft, axis=axis), -1), arange(length(x, axis))), -1, axis)
    return cast(best, soft.type.dtype) + (soft - gradmarks.zero_grad(soft))


def _of_floats(who: str, x: TensorLike) -> TensorVariable:
    x = as_tensor(x)
    if x.type.kind != "f":
        raise TypeError(f"{who} takes floats, got {x} of type {x.type}")
    return x


def _check_chance(who: str, p: float) -> None:
    if not isinstance(p, (int, float)) or isinstance(p, bool) or not 0 <= p <= 1:
        raise ValueError(f"{who}: p, the probability of 0, must be a number from 0 to 1, got {p!r}")


def _check_stream(who: str, rng: Distributions) -> None:
    if not hasattr(rng, "uniform"):
        raise TypeError(f"{who}: rng must be a random stream, T.random.RandomStream(seed), got {rng!r}")
