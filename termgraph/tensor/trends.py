"""Trends and envelopes of signals with scipy.signal's names, for T.signal: detrend, hilbert."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from termgraph.tensor.creation import arange
from termgraph.tensor.elemwise import cast
from termgraph.tensor.fft import irfft, rfft
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import at_least, length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.reductions import mean
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.shaping import moveaxis
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import HALVES
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import normal_axis


def signal_of(name: str, x: TensorLike, axis: int) -> tuple[TensorVariable, int]:
    """Floats or complex numbers, with the time last."""
    x = as_tensor(x)
    if not x.ndim:
        raise ValueError(f"{name} takes arrays of one dimension at least, {x} has none")
    axis = normal_axis(axis, x.ndim)
    return moveaxis(x if x.type.kind in "fc" else cast(x, "float64"), axis, -1), axis


@on_terms
def detrend(data: TensorLike, axis: int = -1, type: str = "linear", bp: int | Sequence[int] = 0) -> TensorVariable:
    """The signal less its mean ("constant"), or less the line that fits it best, between break points `bp`.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.signal.detrend([1.0, 2.0, 4.0, 5.0]).eval().round(9)
    array([ 0.1, -0.3,  0.3, -0.1])
    """
    if type not in ("linear", "constant", "l", "c"):
        raise ValueError(f"detrend: type must be linear or constant, got {type!r}")
    x, axis = signal_of("detrend", data, axis)
    if type[0] == "c":
        return moveaxis(x - mean(x, axis=-1, keepdims=True), -1, axis)
    x = cast(x, "float64") if x.type.dtype in HALVES else x  # as SciPy
    n = length(x, x.ndim - 1)
    ends = sorted({0, *np.atleast_1d(bp).tolist()})
    if isinstance(n, int) and ends[-1] > n:
        raise ValueError(f"detrend: break points must lie within the {n} elements, got {bp!r}")
    x = at_least(x, -1, int(ends[-1]), f"detrend: break points must lie within the elements, got {bp!r}")
    parts = [x[..., start:stop] for start, stop in zip(ends, [*ends[1:], n]) if start != stop]
    parts = [_less_a_line(p) for p in parts]
    return moveaxis(concatenate(parts, axis=-1) if len(parts) > 1 else parts[0], -1, axis)


def _less_a_line(x: TensorVariable) -> TensorVariable:
    n = length(x, x.ndim - 1)
    real = np.zeros(0, x.type.np_dtype).real.dtype.name
    at = cast(arange(n), real) - (cast(as_tensor(n), real) - 1) / 2
    centred = x - mean(x, axis=-1, keepdims=True)
    size = ew.maximum(sum_over(ew.sqr(at)), np.finfo(real).tiny)  # one element has no slope
    return centred - at * (sum_over(centred * at, axis=-1, keepdims=True) / size)


@on_terms
def hilbert(x: TensorLike, N: int | None = None, axis: int = -1) -> TensorVariable:
    """The analytic signal: x and, as imaginary part, its Hilbert transform; of N points, if that is given.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.signal.hilbert([0.0, 1.0, 0.0, -1.0]).eval().imag
    array([-1.,  0.,  1.,  0.])
    """
    x, axis = signal_of("hilbert", x, axis)
    if x.type.kind == "c":
        raise TypeError(f"hilbert takes real numbers, {x} is {x.type}")
    n = length(x, x.ndim - 1) if N is None else N
    half = rfft(x, n)
    place = arange(length(half, half.ndim - 1))
    turned = ew.gt(place, 0) & ew.lt(2 * place, n)  # by a quarter; what has no other frequency as its partner is real
    imag = irfft(ew.switch(turned, half * np.asarray(-1j, half.type.dtype), np.asarray(0, half.type.dtype)), n)
    return moveaxis(ew.complex_(x if N is None else irfft(half, n), imag), -1, axis)
