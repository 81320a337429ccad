"""Images made larger by linear interpolation, for T.nnet."""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from termgraph.config import config
from termgraph.tensor.creation import arange
from termgraph.tensor.elemwise import cast
from termgraph.tensor.lengths import length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.resampling import along
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor

Ratio = tuple[int, int]  # numerator and denominator


@on_terms
def bilinear_upsampling(
    input: TensorLike,
    ratio: int | None = None,
    frac_ratio: Any = None,
    batch_size: Any = None,
    num_input_channels: Any = None,
    use_1D_kernel: bool = True,
) -> TensorVariable:
    """Images (batch, channels, rows, columns) made `ratio` times as large, by linear interpolation.

    Element i comes to stand at place `i * ratio + (ratio - 1) // 2`; beyond the first and the last element is that
    element. `frac_ratio` is for `frac_bilinear_upsampling`. The other parameters are Theano's and make no difference.

    >>> import termgraph.tensor as T
    >>> T.nnet.bilinear_upsampling([[[[0.0, 4.0]]]], ratio=2).eval()
    array([[[[0., 2., 4., 4.],
             [0., 2., 4., 4.]]]])
    """
    if ratio is None and frac_ratio is not None:
        return frac_bilinear_upsampling(input, frac_ratio)
    if ratio is None or frac_ratio is not None:
        raise ValueError("bilinear_upsampling: give either ratio, a whole number, or frac_ratio")
    if not hasattr(ratio, "__index__") or isinstance(ratio, bool) or ratio < 1:
        raise ValueError(f"bilinear_upsampling: ratio must be a positive whole number, got {ratio!r}; see frac_ratio")
    return _resized("bilinear_upsampling", input, [(int(ratio), 1)] * 2)


@on_terms
def frac_bilinear_upsampling(input: TensorLike, frac_ratio: Any) -> TensorVariable:
    """Images made larger (or smaller) by a fraction: `(3, 2)` for 3/2, or one such pair each for rows and columns.

    It is `bilinear_upsampling` by the numerator, of which each denominator-th element is taken.

    >>> import termgraph.tensor as T
    >>> T.nnet.frac_bilinear_upsampling([[[[0.0, 3.0], [6.0, 9.0]]]], frac_ratio=((1, 1), (3, 2))).eval()
    array([[[[0., 1., 3.],
             [6., 7., 9.]]]])
    """
    return _resized("frac_bilinear_upsampling", input, _fractions(frac_ratio))


def _fractions(given: Any) -> list[Ratio]:
    """The ratios of rows and of columns."""
    pairs = given if isinstance(given, tuple) and all(isinstance(p, tuple) for p in given) else (given, given)
    if len(pairs) != 2 or any(not isinstance(p, tuple) or len(p) != 2 or not _positive(p) for p in pairs):
        raise ValueError(
            f"frac_bilinear_upsampling: frac_ratio must be a pair (numerator, denominator) of positive integers, or a "
            f"pair of such pairs, for rows and columns, got {given!r}"
        )
    return [(a // gcd(a, b), b // gcd(a, b)) for a, b in pairs]


def _positive(numbers: tuple) -> bool:
    return all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n > 0 for n in numbers)


def _resized(name: str, input: TensorLike, ratios: list[Ratio]) -> TensorVariable:
    x = as_tensor(input)
    if x.ndim != 4:
        raise TypeError(f"{name} takes images (batch, channels, rows, columns), {x} has {x.ndim} dimensions")
    if x.type.kind not in "fc":
        x = cast(x, config.floatX)
    for axis, ratio in zip((2, 3), ratios, strict=True):
        x = _interpolated(x, axis, ratio)
    return x


def _interpolated(x: TensorVariable, axis: int, ratio: Ratio) -> TensorVariable:
    """Along one axis: places in steps of `down / up`."""
    up, down = ratio
    if up == down == 1:
        return x
    steps = arange((length(x, axis) * up + down - 1) // down)
    return along(x, axis, steps * down - (up - 1) // 2, as_tensor(up))
