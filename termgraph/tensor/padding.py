"""pad: arrays made longer at both ends of their axes, as numpy.pad.

One axis after the other; every mode that repeats elements reads them through an index vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.tensor.creation import arange, linspace
from termgraph.tensor.joining import concatenate, flip
from termgraph.tensor.lengths import as_length, length, length_operands, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.quantiles import median
from termgraph.tensor.reductions import max as most_of
from termgraph.tensor.reductions import mean, to_dtype
from termgraph.tensor.reductions import min as least_of
from termgraph.tensor.selecting import take
from termgraph.tensor.shaping import broadcast_to, expand_dims
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import shaping as ops


@on_terms
def pad(
    x: TensorLike,
    pad_width: int | Sequence[int | Sequence[int]] | dict[int, Any],
    mode: str = "constant",
    constant_values: int | Sequence[int | Sequence[int]] = 0,
    end_values: int | Sequence[int | Sequence[int]] = 0,
    stat_length: int | Sequence[int | Sequence[int]] | None = None,
    reflect_type: str = "even",
) -> TensorVariable:
    """The array with `pad_width` elements added before and after each axis.

    Modes: constant (`empty` is the same, of zeros), edge, reflect, symmetric, wrap, linear_ramp, and maximum, mean,
    median and minimum of the `stat_length` elements at that end (None: of all). `pad_width` is a number, a pair, a pair
    per axis, or a dictionary of axes. What is reflected is also mirrored at the value of the edge where `reflect_type`
    is "odd".

    >>> import termgraph.tensor as T
    >>> T.pad(T.tensor("x", dtype="float64", shape=(3,)), (1, 2), mode="edge").type
    TensorType(float64, (6,))
    >>> T.pad([1.0, 2.0, 4.0], 2, "reflect", reflect_type="odd").eval()
    array([-2.,  0.,  1.,  2.,  4.,  6.,  7.])
    """
    x = as_tensor(x)
    if mode not in _MODES:
        raise ValueError(f"pad: unknown mode {mode!r}; known modes: {', '.join(_MODES)}")
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {reflect_type!r}")
    one = (_ODD if reflect_type == "odd" and mode in _ODD else _MODES)[mode]
    if one is not _MODES[mode] and x.type.kind == "b":
        raise TypeError(f"pad: reflect_type='odd' takes numbers, got {x} of type {x.type}")
    if isinstance(pad_width, dict):
        pad_width = _by_axis(pad_width, x.ndim)
    widths = _pairs(pad_width, x.ndim, "pad_width")
    told = {"constant": constant_values, "linear_ramp": end_values} | dict.fromkeys(_STATISTICS, stat_length)
    values = _pairs(told.get(mode, 0), x.ndim, "values" if mode not in _STATISTICS else "stat_length")
    for axis, (width, value) in enumerate(zip(widths, values, strict=True)):
        before, after = (as_length(w, f"pad_width[{axis}]") for w in width)
        for w in (before, after):
            if isinstance(w, int) and w < 0:
                raise ValueError(f"pad: pad_width must not be negative, got {w} for axis {axis}")
        if (before, after) != (0, 0):
            x = one(x, axis, before, after, value)
    return x


def _by_axis(widths: dict[int, Any], ndim: int) -> list:
    """Widths by axis as one for each axis: none where the dictionary has none."""
    found: list[Any] = [(0, 0)] * ndim
    for axis, width in widths.items():
        if not -ndim <= axis < ndim:
            raise ValueError(f"pad: axis {axis} is out of range for an array with {ndim} dimensions")
        found[axis] = tuple(width) if isinstance(width, (list, tuple, np.ndarray)) else (width, width)
    return found


def _pairs(value: Any, ndim: int, what: str) -> list[tuple]:
    """A (before, after) pair per axis from NumPy's spellings: v, (v,), (b, a), ((b, a),), ((b, a), ...)."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return [(value, value)] * ndim
    if value and not [v for v in value if not isinstance(v, (list, tuple, np.ndarray))]:
        rows = [_pair(tuple(v), what) for v in value]
        if len(rows) not in (1, ndim):
            raise ValueError(f"pad: {what} has {len(rows)} pairs for an array with {ndim} dimensions")
        return rows * ndim if len(rows) == 1 else rows
    return [_pair(tuple(value), what)] * ndim


def _pair(row: tuple, what: str) -> tuple:
    if len(row) not in (1, 2):
        raise ValueError(f"pad: {what} takes one number or a (before, after) pair per axis, got {row}")
    return row * 2 if len(row) == 1 else row


def _block(x: TensorVariable, axis: int, n: TensorLike, value: int) -> TensorVariable:
    """An array like `x`, but of length n along the axis, filled with a value."""
    shape = lengths(x)
    shape[axis] = n
    return ops.alloc(as_tensor(value, dtype=x.type.dtype), *length_operands(shape))


def _pad_constant(x: TensorVariable, axis: int, before: int, after: int, value: tuple) -> TensorVariable:
    return concatenate([_block(x, axis, before, value[0]), x, _block(x, axis, after, value[1])], axis)


def _pad_by_statistic(name: str, statistic: Any) -> Callable:
    """A mode that repeats one number for each row: of the first elements before them, of the last ones behind."""

    def pad_one(x: TensorVariable, axis: int, before: Any, after: Any, lengths_of_parts: tuple) -> TensorVariable:
        _not_empty(x, axis)

        def block(part: Any, n: Any) -> TensorVariable:
            found = statistic(x[(slice(None),) * axis + (part,)], axis=axis, keepdims=True)
            if x.type.kind in "iu" and found.type.kind == "f":
                found = ew.round_(found)
            shape = lengths(x)
            shape[axis] = n
            return broadcast_to(to_dtype(found, x.type.dtype), shape)

        for n in lengths_of_parts:
            if n is not None and n < (1 if name in ("maximum", "minimum") else 0):
                raise ValueError(f"pad: of a stat_length of {n} elements there is no {name}")
        first, last = [slice(None) if n is None else n for n in lengths_of_parts]
        head = first if isinstance(first, slice) else slice(None, first)
        tail = last if isinstance(last, slice) else slice(-last, None) if last else slice(0, 0)
        return concatenate([block(head, before), x, block(tail, after)], axis)

    return pad_one


def _pad_ramp(x: TensorVariable, axis: int, before: TensorLike, after: TensorLike, value: tuple) -> Any:
    def ramp(end: Any, edge: int, n: Any) -> Any:
        stop = x[(slice(None),) * axis + (edge,)]
        return linspace(to_dtype(as_tensor(end), x.type.dtype), stop, n, endpoint=False, dtype=x.type.dtype, axis=axis)

    _not_empty(x, axis)
    return concatenate([ramp(value[0], 0, before), x, flip(ramp(value[1], -1, after), axis)], axis)


def _not_empty(x: Any, axis: int) -> None:
    if x.type.shape[axis] == 0:
        raise ValueError(f"pad: axis {axis} of {x} is empty; it can only be padded with mode 'constant'")


def _pad_by(place: Callable) -> Callable:
    """A mode that reads position `place(i, n)` of the old axis for position i (which may be negative, or beyond)."""

    def pad_one(x: TensorLike, axis: int, before: TensorLike, after: TensorLike, value: tuple) -> TensorVariable:
        _not_empty(x, axis)
        n = length(x, axis)

        def read(start: Any, stop: Any) -> TensorVariable:
            """The elements at the positions from start to stop, which lie outside."""
            if isinstance(n, int) and isinstance(start, int) and isinstance(stop, int):
                return take(x, place(np.arange(start, stop), n, np.where, np.minimum, np.maximum), axis=axis)
            return take(x, place(arange(start, stop), n, ew.switch, ew.minimum, ew.maximum), axis=axis)

        start = -before if isinstance(before, int) else ew.neg(before)
        return concatenate([read(start, 0), x, read(n, n + after)], axis)  # most of it is a copy

    return pad_one


def _edge(i: TensorLike, n: int, choose: Callable, least: Callable, most: Callable) -> np.ndarray:
    return most(least(i, n - 1), 0)


def _wrap(i: TensorVariable, n: TensorVariable, choose: Callable, least: Callable, most: Callable) -> Any:
    return i % n


def _symmetric(i: TensorVariable, n: TensorVariable, choose: Callable, least: Callable, most: Callable) -> Any:
    inside = i % (2 * n)
    return choose(inside < n, inside, 2 * n - 1 - inside)


def _reflect(i: TensorVariable, n: TensorVariable, choose: Callable, least: Callable, most: Callable) -> Any:
    inside = i % most(2 * n - 2, 1)  # one element reflects into itself
    return choose(inside < n, inside, 2 * n - 2 - inside)


def _pad_odd(place: Callable, once: int) -> Callable:
    """A mode that also mirrors values at those of the ends; the ends themselves are repeated unless `once`."""

    def pad_one(x: TensorVariable, axis: int, before: Any, after: Any, value: tuple) -> TensorVariable:
        _not_empty(x, axis)
        n, dtype = length(x, axis), x.type.dtype
        low, high = [expand_dims(x[(slice(None),) * axis + (k,)], axis) for k in (0, -1)]
        along = [d for d in range(x.ndim) if d != axis]

        def read(start: Any, stop: Any) -> TensorVariable:
            i = arange(start, stop)
            period = ew.maximum(2 * n - 2 * once, 1)
            found = take(x, place(i, n, ew.switch, ew.minimum, ew.maximum), axis=axis)
            turned, turns = [expand_dims(v, along) for v in (i % period >= n, i // period)]
            straight = ew.switch(turned, 2 * high - found, found)
            return to_dtype(straight + to_dtype(2 * turns, dtype) * (high - low), dtype)

        start = -before if isinstance(before, int) else ew.neg(before)
        return concatenate([read(start, 0), x, read(n, n + after)], axis)

    return pad_one


_STATISTICS = {"maximum": most_of, "mean": mean, "median": median, "minimum": least_of}
_MODES: dict[str, Callable] = {
    "constant": _pad_constant, "edge": _pad_by(_edge), "empty": _pad_constant, "linear_ramp": _pad_ramp,
    **{name: _pad_by_statistic(name, statistic) for name, statistic in _STATISTICS.items()},
    "reflect": _pad_by(_reflect), "symmetric": _pad_by(_symmetric), "wrap": _pad_by(_wrap),
}  # fmt: skip
_ODD = {"reflect": _pad_odd(_reflect, 1), "symmetric": _pad_odd(_symmetric, 0)}

__all__ = ["pad"]
