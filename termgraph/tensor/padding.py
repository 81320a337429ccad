"""pad: arrays made longer at both ends of their axes, as numpy.pad.

One axis after the other; every mode that repeats elements reads them through an index vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor.creation import arange, linspace
from termgraph.tensor.joining import concatenate, flip
from termgraph.tensor.lengths import as_length, length, length_operands, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.reductions import to_dtype
from termgraph.tensor.selecting import take
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import shaping as ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable


@on_terms
def pad(
    x: TensorLike,
    pad_width: int | Sequence[int | Sequence[int]],
    mode: str = "constant",
    constant_values: int | Sequence[int | Sequence[int]] = 0,
    end_values: int | Sequence[int | Sequence[int]] = 0,
) -> TensorVariable:
    """The array with `pad_width` elements added before and after each axis.

    Modes: constant, edge, reflect, symmetric, wrap, linear_ramp. `pad_width` is a number, a pair, or a pair per axis.

    >>> import termgraph.tensor as T
    >>> T.pad(T.tensor("x", dtype="float64", shape=(3,)), (1, 2), mode="edge").type
    TensorType(float64, (6,))
    """
    x = as_tensor(x)
    if mode not in _MODES:
        raise ValueError(f"pad: unknown mode {mode!r}; known modes: {', '.join(_MODES)}")
    widths = _pairs(pad_width, x.ndim, "pad_width")
    values = _pairs(constant_values if mode == "constant" else end_values, x.ndim, "values")
    for axis, (width, value) in enumerate(zip(widths, values, strict=True)):
        before, after = (as_length(w, f"pad_width[{axis}]") for w in width)
        for w in (before, after):
            if isinstance(w, int) and w < 0:
                raise ValueError(f"pad: pad_width must not be negative, got {w} for axis {axis}")
        if (before, after) != (0, 0):
            x = _MODES[mode](x, axis, before, after, value)
    return x


def _pairs(value: Sequence | int, ndim: int, what: str) -> list[tuple]:
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


_MODES: dict[str, Callable] = {
    "constant": _pad_constant, "edge": _pad_by(_edge), "linear_ramp": _pad_ramp, "reflect": _pad_by(_reflect),
    "symmetric": _pad_by(_symmetric), "wrap": _pad_by(_wrap),
}  # fmt: skip

__all__ = ["pad"]
