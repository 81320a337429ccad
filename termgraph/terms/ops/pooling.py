"""Pooling: the maximum or the sum of each window over the last dimensions, and the gradients of both.

What lies outside of an array counts for nothing: a window at the border has fewer elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.terms.dtypes import lowest, working_dtype
from termgraph.terms.errors import ShapeError
from termgraph.terms.op import OPS, Op
from termgraph.terms.ops.shapes import require_tensor
from termgraph.terms.ops.shaping import static_lengths
from termgraph.terms.types import TensorType, Type

POOL, MAX_GRAD, SUM_GRAD = "pool", "pool_max_grad", "pool_sum_grad"
# `short`: along an axis that is shorter than a window there are none; else that is an error
WINDOWS: dict[str, Any] = {"size": (), "stride": (), "pad": (), "ignore_border": True, "short": False}


def window_places(
    n: Any, k: int, s: int, p: int, whole: bool, most: Callable[..., Any], floor: Callable[..., Any]
) -> Any:
    """How many windows there are along n elements; with `whole` only those that lie in the array and its padding.

    Lengths may be symbolic: `most(a, b)` is then their maximum, `floor(a, b)` their quotient.
    """
    if whole:
        return floor(n + (2 * p - k), s) + 1
    if s >= k:
        return floor(n + (s - 1), s)
    return floor(most(n - 1 - k + s, 0), s) + 1


def places(name: str, lengths: Sequence[int], p: dict[str, Any]) -> tuple[int, ...]:
    """The lengths of the result."""
    out = []
    for d, (n, k, s, pad) in enumerate(zip(lengths, p["size"], p["stride"], p["pad"], strict=True)):
        if p["ignore_border"] and not p["short"] and n + 2 * pad < k:
            raise ShapeError(
                f"{name}: a window of {k} elements does not fit into pooled dimension {d} of length {n}, padding "
                "included; use smaller windows, or ignore_border=False"
            )
        out.append(max(window_places(n, k, s, pad, p["ignore_border"], max, lambda a, b: a // b), 0))
    return tuple(out)


def _pooled_shape(name: str, x: TensorType, p: dict[str, Any]) -> tuple[int | None, ...]:
    n = len(p["size"])
    if x.ndim < n:
        raise TypeError(f"{name} takes arrays of at least {n} dimensions, got {x}")
    known = [None if m is None else places(name, (m,), _axis(p, d))[0] for d, m in enumerate(x.shape[x.ndim - n :])]
    return (*x.shape[: x.ndim - n], *known)


def _axis(p: dict[str, Any], d: int) -> dict[str, Any]:
    """The windows along one of the pooled dimensions."""
    return {**{k: (p[k][d],) for k in ("size", "stride", "pad")}, **{k: p[k] for k in ("ignore_border", "short")}}


def _infer_pool(x: TensorType, **p: Any) -> TensorType:
    x = require_tensor(x, "operand of pool")
    return TensorType.of(x.dtype, _pooled_shape(POOL, x, p))


def _infer_max_grad(x: TensorType, y: TensorType, g: TensorType, **p: Any) -> TensorType:
    x, y, g = [require_tensor(t, f"operand {k} of {MAX_GRAD}") for k, t in enumerate((x, y, g))]
    wanted = _pooled_shape(MAX_GRAD, x, p)
    for t in (y, g):
        if t.ndim != x.ndim or any(None not in (m, n) and m != n for m, n in zip(t.shape, wanted)):
            raise ShapeError(f"{MAX_GRAD}: pooling {x} gives the shape {wanted}, not that of {t}")
    return TensorType.of(g.dtype, x.shape)


def _infer_sum_grad(g: Any, *lengths: Type, **p: Any) -> TensorType:
    g = require_tensor(g.type, f"operand 0 of {SUM_GRAD}")
    shape = static_lengths(SUM_GRAD, lengths)
    for d, (m, n) in enumerate(zip(g.shape[g.ndim - len(shape) :], shape)):
        if m is not None and n is not None and (wanted := places(SUM_GRAD, (n,), _axis(p, d))) != (m,):
            raise ShapeError(f"{SUM_GRAD}: pooling {n} elements gives {wanted[0]} windows, not the {m} of {g}")
    return TensorType.of(g.dtype, (*g.shape[: g.ndim - len(shape)], *shape))


# ---------------------------------------------------------------------- meaning
def _taps(
    x: np.ndarray, p: dict[str, Any], fill: int, counts: Sequence[int]
) -> tuple[np.ndarray, list[Any], tuple[Any, ...]]:
    """The array with room around it, the place of each tap's elements in there, and where the array is in it."""
    n, spatial = len(p["size"]), x.shape[x.ndim - len(p["size"]) :]
    geometry = list(zip(counts, p["size"], p["stride"], p["pad"], spatial))
    widths = [(b, max((m - 1) * s + k - b - length, 0)) for m, k, s, b, length in geometry]
    wide = np.pad(x, [(0, 0)] * (x.ndim - n) + widths, constant_values=fill)
    slices = []
    for tap in np.ndindex(tuple(p["size"])):
        steps = [slice(t, t + (m - 1) * s + 1 if m else t, s) for t, (m, _, s, _, _) in zip(tap, geometry)]
        slices.append((Ellipsis, *steps))
    inner = (Ellipsis, *[slice(b, b + length) for (b, _), length in zip(widths, spatial)])
    return wide, slices, inner


def _pool(x: np.ndarray, *, kind: str, **p: Any) -> np.ndarray:
    x = np.asarray(x)
    wide = x.astype(working_dtype(x.dtype), copy=False)
    counts = places(POOL, x.shape[x.ndim - len(p["size"]) :], p)
    around, taps, _ = _taps(wide, p, lowest(wide.dtype) if kind == "max" else 0, counts)
    out = around[taps[0]].copy()
    for tap in taps[1:]:
        out = np.maximum(out, around[tap]) if kind == "max" else out + around[tap]
    result: np.ndarray = out.astype(x.dtype, copy=False)
    return result


def _max_grad(x: np.ndarray, y: np.ndarray, g: np.ndarray, **p: Any) -> np.ndarray:
    x, y, g = np.asarray(x), np.asarray(y), np.asarray(g)
    counts = places(MAX_GRAD, x.shape[x.ndim - len(p["size"]) :], p)
    if y.shape[y.ndim - len(counts) :] != counts or g.shape != y.shape:
        raise ShapeError(f"{MAX_GRAD}: pooling gives the lengths {counts}, got {y.shape} and {g.shape}")
    around, taps, inner = _taps(x, p, 0, counts)
    out = np.zeros(around.shape, working_dtype(g.dtype))
    for tap in taps:
        out[tap] += np.where(around[tap] == y, g, 0).astype(out.dtype)
    result: np.ndarray = out[inner].astype(g.dtype, copy=False)
    return result


def _sum_grad(g: np.ndarray, *lengths: np.ndarray, **p: Any) -> np.ndarray:
    g = np.asarray(g)
    n = len(lengths)
    counts = places(SUM_GRAD, [int(m) for m in lengths], p)
    if g.shape[g.ndim - n :] != counts:
        raise ShapeError(f"{SUM_GRAD}: pooling gives the lengths {counts}, got {g.shape}")
    out, taps, inner = _taps(
        np.zeros((*g.shape[: g.ndim - n], *map(int, lengths)), working_dtype(g.dtype)), p, 0, counts
    )
    for tap in taps:
        out[tap] += g
    result: np.ndarray = out[inner].astype(g.dtype, copy=False)
    return result


pool = OPS[POOL] = Op(
    POOL, arity=1, infer=_infer_pool, meaning=_pool, kind="pool", params={"kind": "max", **WINDOWS},
    doc="The maximum or sum of each window over the last dimensions; a window at the border has fewer elements.",
)  # fmt: skip
pool_max_grad = OPS[MAX_GRAD] = Op(
    MAX_GRAD, arity=3, infer=_infer_max_grad, meaning=_max_grad, kind="pool", params=WINDOWS,
    doc="An array, its maxima over windows, a cotangent: each element gets the sum over the windows it is largest in.",
)  # fmt: skip
pool_sum_grad = OPS[SUM_GRAD] = Op(
    SUM_GRAD, arity=None, infer=_infer_sum_grad, meaning=_sum_grad, kind="pool", by_value=True, params=WINDOWS,
    doc="A cotangent of sums over windows, and lengths: each element gets the sum over the windows it lies in.",
)  # fmt: skip
