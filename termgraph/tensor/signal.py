"""T.signal: pooling with Theano's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.tensor.creation import arange
from termgraph.tensor.lengths import length, length_operands
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.padding import pad as pad_array
from termgraph.tensor.reductions import max as max_over
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.shaping import dimshuffle
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.convolution import windows

MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


@on_terms
def pool_2d(
    input: Any, ws: Any, ignore_border: bool = False, stride: Any = None, pad: Any = (0, 0), mode: str = "max"
) -> Any:
    """The maximum, sum or average of each window of `ws` elements over the last two dimensions.

    `stride` is the distance of windows (by default `ws`: they lie side by side). `ignore_border=True` leaves out
    windows that are not whole; only then `pad` elements may lie around: nothing for a maximum, zeros that an average
    counts ('average_inc_pad') or does not count ('average_exc_pad').

    >>> import termgraph.tensor as T
    >>> x = T.tensor("x", dtype="float32", shape=(8, 3, 7, 6))
    >>> T.signal.pool_2d(x, (2, 2)).type, T.signal.pool_2d(x, (2, 2), ignore_border=True).type
    (TensorType(float32, (8, 3, 4, 3)), TensorType(float32, (8, 3, 3, 3)))
    """
    return _pooled("pool_2d", 2, input, ws, ignore_border, stride, pad, mode)


@on_terms
def pool_3d(
    input: Any, ws: Any, ignore_border: bool = False, stride: Any = None, pad: Any = (0, 0, 0), mode: str = "max"
) -> Any:
    """`pool_2d` over the last three dimensions."""
    return _pooled("pool_3d", 3, input, ws, ignore_border, stride, pad, mode)


def _pooled(name: str, n: int, input: Any, ws: Any, ignore_border: bool, stride: Any, pad: Any, mode: str) -> Any:
    x = as_tensor(input)
    if x.ndim < n:
        raise TypeError(f"{name} takes arrays of at least {n} dimensions, {x} has {x.ndim} ({x.type})")
    if mode not in MODES:
        raise ValueError(f"{name}: mode must be one of {', '.join(MODES)}, got {mode!r}")
    if mode.startswith("average") and x.type.kind not in "fc":
        raise TypeError(f"{name}: an average of {x.type.dtype} is not a whole number; cast the array to a float first")
    sizes = _numbers(name, "ws", ws, n, 1)
    steps = sizes if stride is None else _numbers(name, "stride", stride, n, 1)
    zeros = _numbers(name, "pad", pad, n, 0)
    _check_padding(name, sizes, zeros, ignore_border)
    counts = [_count(name, d, length(x, d - n), sizes[d], steps[d], zeros[d], ignore_border) for d in range(n)]
    found = windows(_surrounded(x, counts, sizes, steps, zeros, mode), *length_operands(list(sizes)),
                    stride=steps, dilation=(1,) * n)  # fmt: skip
    axes = tuple(range(x.ndim, x.ndim + n))
    if mode == "max":
        return max_over(found, axis=axes)
    total = sum_over(found, axis=axes, dtype=x.type.dtype)
    if mode == "sum":
        return total
    inside = None if mode == "average_inc_pad" and ignore_border else zeros
    return _averaged(total, [length(x, d - n) for d in range(n)], counts, sizes, steps, inside)


def _numbers(name: str, what: str, value: Any, n: int, least: int) -> tuple[int, ...]:
    found = (value,) * n if hasattr(value, "__index__") else tuple(value) if isinstance(value, Sequence) else ()
    if len(found) != n or any(isinstance(v, bool) or not hasattr(v, "__index__") or v < least for v in found):
        raise ValueError(f"{name}: {what} must be {n} integers of at least {least}, got {value!r}")
    return tuple([v.__index__() for v in found])


def _check_padding(name: str, sizes: tuple, zeros: tuple, ignore_border: bool) -> None:
    if any(zeros) and not ignore_border:
        raise ValueError(f"{name}: pad={zeros} needs ignore_border=True")
    if any(p >= k for p, k in zip(zeros, sizes, strict=True)):
        raise ValueError(f"{name}: pad={zeros} must be smaller than the windows {sizes}, else some hold padding only")


def _count(name: str, d: int, n: Any, k: int, s: int, p: int, ignore_border: bool) -> Any:
    """How many windows there are along one dimension."""
    if ignore_border:
        if isinstance(n, int) and n + 2 * p < k:
            raise ShapeError(
                f"{name}: a window of {k} elements does not fit into pooled dimension {d} of length {n}, padding "
                "included; use smaller windows, or ignore_border=False"
            )
        return (n + 2 * p - k) // s + 1
    if s >= k:
        return -(-n // s)
    more = (n - 1 - k + s) // s
    return (max(more, 0) if isinstance(n, int) else ew.maximum(more, 0)) + 1


def _surrounded(x: Any, counts: list, sizes: tuple, steps: tuple, zeros: tuple, mode: str) -> Any:
    """The array with what lies around it, so that all windows are whole."""
    n = len(counts)
    widths: list = [(0, 0)] * (x.ndim - n)
    for d, (m, k, s, p) in enumerate(zip(counts, sizes, steps, zeros, strict=True)):
        missing = (m - 1) * s + k - p - length(x, d - n)
        widths.append((p, max(missing, 0) if isinstance(missing, int) else ew.maximum(missing, 0)))
    return pad_array(x, widths, constant_values=_lowest(x.type) if mode == "max" else 0)


def _lowest(type_: Any) -> Any:
    if type_.kind == "b":
        return False
    return -np.inf if type_.kind in "fc" else np.iinfo(type_.np_dtype).min


def _averaged(total: Any, ns: list, counts: list, sizes: tuple, steps: tuple, zeros: tuple | None) -> Any:
    """Sums divided by the number of elements in their windows; `zeros` are those around that do not count."""
    if zeros is None:
        return ew.true_div(total, np.asarray(np.prod(sizes), total.type.dtype))
    for d, (n, m, k, s, p) in enumerate(zip(ns, counts, sizes, steps, zeros, strict=True)):
        start = arange(m) * s - p
        inside = ew.sub(ew.minimum(start + k, n), ew.maximum(start, 0))
        order = [0 if e == d else "x" for e in range(len(ns))]
        total = ew.true_div(total, ew.cast(dimshuffle(inside, *order), dtype=total.type.dtype))
    return total


__all__ = ["pool_2d", "pool_3d"]
