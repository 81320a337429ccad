"""Windows for spectra and filters, with NumPy's names: hanning, hamming, blackman, bartlett, kaiser; phases by unwrap.

All are composed of other functions. The length of a window may be symbolic, and so may the beta of `kaiser`.
"""

from __future__ import annotations

import math
from typing import Any

from termgraph.tensor.creation import arange
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.reductions import cumsum
from termgraph.tensor.sorting import diff
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import kind_of, numpy_dtype
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import at_axis, normal_axis


def _places(M: TensorLike, who: str) -> Any:
    """From -1 to 1 in M equal steps; 0 where there is one, nothing where there are none."""
    M = as_tensor(M)
    if M.ndim or M.type.kind not in "iu":
        raise TypeError(f"{who}: the number of points must be an integer, got {M} of type {M.type}")
    M = cast(M, "int64")
    return arange(1 - M, M, 2) / ew.maximum(M - 1, 1)


@on_terms
def hanning(M: TensorLike) -> TensorVariable:
    """The Hann window of M points: half a cosine wave above zero, 0 at both ends.

    >>> import termgraph.tensor as T
    >>> T.hanning(5).eval()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return 0.5 + 0.5 * ew.cos(math.pi * _places(M, "hanning"))


@on_terms
def hamming(M: TensorLike) -> TensorVariable:
    """The Hamming window of M points: as `hanning`, but 0.08 at both ends.

    >>> import termgraph.tensor as T
    >>> T.hamming(3).eval()
    array([0.08, 1.  , 0.08])
    """
    return 0.54 + 0.46 * ew.cos(math.pi * _places(M, "hamming"))


@on_terms
def blackman(M: TensorLike) -> TensorVariable:
    """The Blackman window of M points: three terms of a cosine series.

    >>> import termgraph.tensor as T
    >>> T.blackman(5).eval().round(2) + 0.0
    array([0.  , 0.34, 1.  , 0.34, 0.  ])
    """
    x = math.pi * _places(M, "blackman")
    return 0.42 + 0.5 * ew.cos(x) + 0.08 * ew.cos(2 * x)


@on_terms
def bartlett(M: TensorLike) -> TensorVariable:
    """The Bartlett window of M points: a triangle, 0 at both ends.

    >>> import termgraph.tensor as T
    >>> T.bartlett(5).eval()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return 1 - ew.abs_(_places(M, "bartlett"))


@on_terms
def kaiser(M: TensorLike, beta: TensorLike) -> TensorVariable:
    """The Kaiser window of M points, narrower as `beta` grows; it has a gradient by `beta`.

    >>> import termgraph.tensor as T
    >>> T.kaiser(3, 0.0).eval()
    array([1., 1., 1.])
    """
    beta = as_tensor(beta)
    return ew.i0(beta * ew.sqrt(1 - ew.sqr(_places(M, "kaiser")))) / ew.i0(beta)


@on_terms
def unwrap(
    p: TensorLike, discont: TensorLike | None = None, axis: int = -1, *, period: Any = 2 * math.pi
) -> TensorVariable:
    """Phases without jumps: neighbours that differ by more than half a `period` are moved by whole periods.

    Jumps below `discont` stay, if that is more than half a period. Whole numbers with a whole period stay whole.

    >>> import termgraph.tensor as T
    >>> T.unwrap([0, 1, 2, -1, 0], period=4).eval()
    array([0, 1, 2, 3, 4])
    """
    p = as_tensor(p)
    axis = normal_axis(axis, p.ndim)
    jump = diff(p, axis=axis)
    dtype = (jump + period).type.dtype  # a Python number leaves float32 what it is
    whole = kind_of(numpy_dtype(dtype)) in "iu"
    high = period // 2 if whole else period / 2
    moved = ew.mod(jump + high, period) - high
    both = ew.eq(moved, -high) & (jump > 0) & ew.eq(2 * high, period)  # half a period: as well up as down
    moved = ew.switch(both, high, moved)
    correction = ew.switch(ew.abs_(jump) < (period / 2 if discont is None else discont), 0, moved - jump)
    first, rest = at_axis(axis, slice(None, 1)), at_axis(axis, slice(1, None))
    moves = cumsum(correction, axis=axis)
    return concatenate([cast(p[first], dtype), cast(p[rest] + moves, dtype)], axis)


__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser", "unwrap"]
