"""Savitzky and Golay's filter with scipy.signal's names, for T.signal: polynomials fitted to windows of a signal."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import at_least, length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.neighbourhoods import convolve1d
from termgraph.tensor.products import matmul
from termgraph.tensor.shaping import moveaxis
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops.shapes import normal_axis

MODES = ("mirror", "constant", "nearest", "interp", "wrap")
USES = ("conv", "dot")


@on_terms
def savgol_coeffs(
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: TensorLike = 1.0,
    pos: float | None = None,
    use: str = "conv",
) -> TensorVariable:
    """The weights by which a window gives the value, or a derivative, of the polynomial that is fitted to it.

    `pos` is the place in the window that is asked for, the middle by default; numbers lie `delta` apart, which may be
    a variable. Weights for `use="conv"` are in the order of convolutions, for "dot" in that of the window.

    >>> import termgraph.tensor as T
    >>> T.signal.savgol_coeffs(5, 2).eval().round(3)
    array([-0.086,  0.343,  0.486,  0.343, -0.086])
    """
    who = "savgol_coeffs"
    window, degree, deriv = _known(who, window_length, polyorder, deriv)
    at = (window - 1) / 2 if pos is None else float(pos)
    if not 0 <= at < window:
        raise ValueError(f"{who}: pos must be at least 0 and less than window_length ({window}), got {pos!r}")
    if use not in USES:
        raise ValueError(f"{who}: use must be 'conv' or 'dot', got {use!r}")
    weights = _weights(window, degree, deriv, at)
    return _of_steps(weights[::-1] if use == "conv" else weights, delta, deriv)


@on_terms
def savgol_filter(
    x: TensorLike,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: TensorLike = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: TensorLike = 0.0,
) -> TensorVariable:
    """A signal whose elements are those of polynomials fitted to the windows around them, or derivatives of these.

    With mode "interp" the first and the last window have polynomials that give all elements up to the ends; the
    others are modes of `T.ndimage.convolve1d`, which say what lies outside. The result is of float32 for float32, and
    otherwise of float64.

    >>> import termgraph.tensor as T
    >>> T.signal.savgol_filter([1.0, 4.0, 9.0, 16.0, 25.0, 36.0], 5, 2, deriv=1).eval().round(6)
    array([ 2.,  4.,  6.,  8., 10., 12.])
    """
    who, x = "savgol_filter", as_tensor(x)
    window, degree, deriv = _known(who, window_length, polyorder, deriv)
    if mode not in MODES:
        raise ValueError(f"{who}: mode must be one of {', '.join(MODES)}, got {mode!r}")
    if x.type.kind == "c":
        raise TypeError(f"{who} takes real numbers, got {x.type}; filter T.real(x) and T.imag(x)")
    if not x.ndim:
        raise ValueError(f"{who} takes arrays of one dimension at least, {x} has none")
    axis = normal_axis(axis, x.ndim)
    x = x if x.type.dtype in ("float32", "float64") else cast(x, "float64")
    weights = _weights(window, degree, deriv, (window - 1) / 2)[::-1].copy()
    if mode != "interp":
        return _of_steps(convolve1d(x, weights, axis, mode, cval), delta, deriv)
    rows = moveaxis(x, axis, -1)
    told = f"{who}: with mode='interp' x must have at least {window} elements along the axis"
    n = length(rows, -1)
    if isinstance(n, int) and n < window:
        raise ValueError(f"{told}, it has {n}: take a smaller window_length, or another mode")
    rows, half = at_least(rows, -1, window, told), window // 2
    ends = np.stack([_weights(window, degree, deriv, at) for at in range(window)], axis=1)
    first, last = ends[:, :half], ends[:, window - half :]  # some are large, and their sum is not
    first = cast(matmul(cast(rows[..., :window], "float64"), first), x.type.dtype)
    last = cast(matmul(cast(rows[..., -window:], "float64"), last), x.type.dtype)
    middle = convolve1d(rows, weights, -1, "constant")[..., half : length(rows, -1) - half]
    return _of_steps(moveaxis(concatenate([first, middle, last], -1), -1, axis), delta, deriv)


def _known(who: str, *numbers: Any) -> list[int]:
    """The lengths and degrees that say what the weights are, which are known when the graph is made."""
    found = []
    for name, given in zip(("window_length", "polyorder", "deriv"), numbers):
        try:
            found.append(operator.index(given))
        except TypeError:
            raise TypeError(f"{who}: {name} must be an integer that is known, got {given!r}") from None
    window, degree, deriv = found
    if window < 1:
        raise ValueError(f"{who}: window_length must be positive, got {window}")
    if not 0 <= degree < window:
        raise ValueError(f"{who}: polyorder must be less than window_length ({window}) and not negative, got {degree}")
    if deriv < 0:
        raise ValueError(f"{who}: deriv must not be negative, got {deriv}")
    return found


def _weights(window: int, degree: int, deriv: int, at: float) -> np.ndarray:
    """What each element of a window adds to a derivative, at a place, of the polynomial that is nearest to all."""
    if deriv > degree:
        return np.zeros(window)
    powers = np.vander(np.arange(window) - at, degree + 1, increasing=True)
    return np.linalg.pinv(powers)[deriv] * math.factorial(deriv)


def _of_steps(found: Any, delta: TensorLike, deriv: int) -> TensorVariable:
    """Derivatives by places that lie `delta` apart."""
    found = as_tensor(found)
    if not deriv or (isinstance(delta, (int, float)) and delta == 1):
        return found
    step = as_tensor(delta)
    if step.ndim:
        raise ValueError(f"delta must be one number, got {step.type}")
    return found / cast(step, found.type.dtype) ** deriv
