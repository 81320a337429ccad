"""Signals filtered between a higher rate and a lower one: zeros put in, a filter, and only some results kept.

Leading dimensions are batches that broadcast.
"""

from __future__ import annotations

import math

import numpy as np

from termgraph._lazy import lazy
from termgraph.terms.dtypes import promote
from termgraph.terms.ops.linalg import _linalg
from termgraph.terms.ops.shapes import broadcast_shapes, require_tensor
from termgraph.terms.types import TensorType, Type

scipy_signal = lazy("scipy.signal")
NO_FILTER = "upfirdn: the filter has no elements"


def places(n: int, k: int, up: int, down: int) -> int:
    """How many results n samples and a filter of k numbers have."""
    return max(n * up + k - up - 1 + down, 0) // down


def _infer(x: Type, h: Type, *, up: int, down: int) -> TensorType:
    signal, taps = require_tensor(x, "operand 0 of upfirdn"), require_tensor(h, "operand 1 of upfirdn")
    dtype = promote(signal.np_dtype, taps.np_dtype).name
    if dtype not in ("float32", "float64") or not signal.ndim or not taps.ndim:
        raise TypeError(f"upfirdn takes vectors (or batches of them) of float32 or float64, got {signal} and {taps}")
    n, k = signal.shape[-1], taps.shape[-1]
    if k == 0:
        raise ValueError(NO_FILTER)
    batch = broadcast_shapes([signal.shape[:-1], taps.shape[:-1]], "batch dimensions of upfirdn")
    return TensorType.of(dtype, (*batch, None if n is None or k is None else places(n, k, up, down)))


def _meaning(x: np.ndarray, h: np.ndarray, *, up: int, down: int) -> np.ndarray:
    x, h = np.asarray(x), np.asarray(h)
    dtype, n, k = promote(x, h), x.shape[-1], h.shape[-1]
    if not k:
        raise ValueError(NO_FILTER)
    batch = np.broadcast_shapes(x.shape[:-1], h.shape[:-1])
    out = np.zeros((*batch, places(n, k, up, down)), dtype)
    lines, filters = (np.broadcast_to(v, (*batch, v.shape[-1])).astype(dtype, copy=False) for v in (x, h))
    for i in np.ndindex(*batch if n else (0,)):
        out[i] = scipy_signal.upfirdn(filters[i], lines[i], up, down)
    return out


upfirdn = _linalg(
    "upfirdn", _infer, _meaning, (1, 1), kind="resampling", params={"up": 1, "down": 1},
    doc="Every down-th element of the convolution of h with x, between whose elements there are up - 1 zeros.",
)  # fmt: skip


def _infer_slope(x: Type, g: Type, h: Type, *, up: int, down: int) -> TensorType:
    signal, results, taps = [require_tensor(t, f"operand {k} of upfirdn_slope") for k, t in enumerate((x, g, h))]
    dtype = promote(signal.np_dtype, results.np_dtype).name
    if dtype not in ("float32", "float64") or not (signal.ndim and results.ndim and taps.ndim):
        raise TypeError(f"upfirdn_slope takes vectors of floats or batches of them, got {signal}, {results} and {taps}")
    batch = broadcast_shapes([t.shape[:-1] for t in (signal, results, taps)], "batch dimensions of upfirdn_slope")
    return TensorType.of(dtype, (*batch, taps.shape[-1]))


def _slope(x: np.ndarray, g: np.ndarray, h: np.ndarray, *, up: int, down: int) -> np.ndarray:
    """Number `m * down - s * up` of the filter takes part in result m, m + round and so on, where it meets sample s,
    s + apart and so on.
    """
    both = math.gcd(up, down)
    turn, apart = up // both, down // both
    k, dtype = h.shape[-1], promote(x, g)
    batch = np.broadcast_shapes(x.shape[:-1], g.shape[:-1], h.shape[:-1])
    x, g = (np.broadcast_to(v, (*batch, v.shape[-1])).astype(dtype, copy=False) for v in (x, g))
    out = np.zeros((*batch, k), dtype)
    for s in range(apart):
        for m in range(-(-s * up // down), (k - 1 + s * up) // down + 1):
            samples, results = x[..., s::apart], g[..., m::turn]
            n = min(samples.shape[-1], results.shape[-1])
            out[..., m * down - s * up] = np.einsum("...i,...i", samples[..., :n], results[..., :n])
    return out


upfirdn_slope = _linalg(
    "upfirdn_slope", _infer_slope, _slope, (1, 1, 1), kind="resampling", params={"up": 1, "down": 1},
    doc="What the filter of `upfirdn` gets from the cotangent g of its results; of h only the length is read.",
)  # fmt: skip
