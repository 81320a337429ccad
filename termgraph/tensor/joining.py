"""Putting arrays together and apart: stack, concatenate, split, tile, repeat, flip, roll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor.creation import arange
from termgraph.tensor.lengths import as_length, as_lengths, length, length_operands, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.reductions import axes_of, cumsum, to_dtype
from termgraph.tensor.shaping import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    dimshuffle,
    moveaxis,
    on_axis,
    ravel,
    reshape,
    specify_shape,
    swapaxes,
    transpose,
)
from termgraph.tensor.variable import is_plain_number
from termgraph.tensor.wrap import as_tensor, side_by_side
from termgraph.terms.dtypes import can_cast, promote
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import shaping as ops
from termgraph.terms.ops.assume import required
from termgraph.terms.ops.shapes import normal_axis
from termgraph.terms.ops.sorting import searchsorted
from termgraph.terms.term import Const
from termgraph.terms.types import dtype_name

if TYPE_CHECKING:
    from termgraph.tensor.likes import AxisLike, DTypeLike, TensorLike
    from termgraph.tensor.variable import TensorVariable


CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def _arrays(xs: TensorLike, name: str, dtype: DTypeLike = None, casting: str = "same_kind") -> list:
    """The operands as variables of one dtype: their common one, or one that `casting` allows to make of each."""
    if not isinstance(xs, (list, tuple)):
        raise TypeError(f"{name} takes a list or tuple of arrays, got {type(xs).__name__} {xs!r:.60}")
    if not xs:
        raise ValueError(f"{name} needs at least one array")
    if casting not in CASTINGS:
        raise ValueError(f"{name}: casting must be one of {', '.join(CASTINGS)}, got {casting!r}")
    arrays = [as_tensor(x) for x in xs]
    common = promote(*[a.type.np_dtype for a in arrays]).name if dtype is None else dtype_name(dtype)
    for i, a in enumerate(arrays):
        if not can_cast(a.type.dtype, common, casting):
            raise TypeError(
                f"{name}: casting={casting!r} makes no {common} of {a.type.dtype}, the dtype of argument {i}"
            )
    return [to_dtype(a, common) for a in arrays]


# ---------------------------------------------------------------------- together
@on_terms
def concatenate(
    arrays: Any, axis: int | None = 0, *, dtype: DTypeLike = None, casting: str = "same_kind"
) -> TensorVariable:
    """Arrays concatenated along an existing axis (flattened first if `axis` is None)."""
    xs = _arrays(arrays, "concatenate", dtype, casting)
    if axis is None:
        xs, axis = [ravel(x) for x in xs], 0
    if xs[0].ndim == 0:
        raise ValueError("concatenate: arrays without dimensions cannot be joined; use stack")
    return ops.join(*xs, axis=normal_axis(axis, xs[0].ndim)) if len(xs) > 1 else xs[0]


@on_terms
def join(axis: int, *arrays: TensorLike) -> TensorVariable:
    """Arrays concatenated along `axis`: Theano's order of arguments for `concatenate`."""
    return concatenate(arrays, axis)


@on_terms
def stack(
    arrays: TensorLike, axis: AxisLike = 0, *more: Any, dtype: DTypeLike = None, casting: str = "same_kind"
) -> TensorVariable:
    """Arrays of one shape put side by side along a new axis; of one array, its parts along the first axis.

    >>> import termgraph.tensor as T
    >>> T.stack([T.dvector("a"), T.dvector("b")]).type
    TensorType(float64, (2, ?))
    """
    if not isinstance(arrays, (list, tuple)):
        if not more and is_plain_number(axis) and as_tensor(arrays).ndim:
            whole = as_tensor(arrays)
            return moveaxis(_arrays([whole], "stack", dtype, casting)[0], 0, normal_axis(axis, whole.ndim))
        arrays, axis = (arrays, axis, *more), 0  # Theano's stack(a, b, c)
    xs = _arrays(arrays, "stack", dtype, casting)
    return side_by_side(xs, normal_axis(axis, xs[0].ndim + 1))


@on_terms
def vstack(arrays: TensorLike, *, dtype: DTypeLike = None, casting: str = "same_kind") -> TensorVariable:
    """Arrays stacked as rows: along the first axis, vectors being rows."""
    return concatenate([atleast_2d(x) for x in _arrays(arrays, "vstack", dtype, casting)], 0)


@on_terms
def hstack(arrays: TensorLike, *, dtype: DTypeLike = None, casting: str = "same_kind") -> TensorVariable:
    """Arrays side by side: along the second axis, vectors along the first."""
    xs = [atleast_1d(x) for x in _arrays(arrays, "hstack", dtype, casting)]
    return concatenate(xs, 0 if xs[0].ndim == 1 else 1)


@on_terms
def dstack(arrays: TensorLike) -> TensorVariable:
    """Arrays stacked along the third axis."""
    return concatenate([atleast_3d(x) for x in _arrays(arrays, "dstack")], 2)


@on_terms
def column_stack(arrays: TensorLike) -> TensorVariable:
    """Vectors as columns of a matrix; matrices as they are."""
    xs = _arrays(arrays, "column_stack")
    return concatenate([transpose(atleast_2d(x)) if x.ndim < 2 else x for x in xs], 1)


# ---------------------------------------------------------------------- copies
@on_terms
def tile(x: TensorLike, reps: int | Sequence[int] | TensorVariable, ndim: int | None = None) -> TensorVariable:
    """The array repeated as a whole, `reps` times along each axis."""
    x = as_tensor(x)
    times = as_lengths(reps, "reps", ndim)
    rank = max(x.ndim, len(times))
    times = [1] * (rank - len(times)) + times
    have = [1] * (rank - x.ndim) + lengths(x)
    axes = ["x"] * (rank - x.ndim) + list(range(x.ndim))
    if not [n for n in times if not isinstance(n, int) or n != 1]:
        return dimshuffle(x, *axes)
    apart = dimshuffle(x, *[a for axis in axes for a in ("x", axis)])
    spread = [n for pair in zip(times, have, strict=True) for n in pair]
    return reshape(
        ops.alloc(apart, *length_operands(spread)), [product([n, m]) for n, m in zip(times, have, strict=True)]
    )


@on_terms
def repeat(x: Any, repeats: Any, axis: int | None = None) -> TensorVariable:
    """Each element repeated: `repeats` times, or as often as an integer vector says for its place along `axis`."""
    x, axis = on_axis(x, axis)
    if np.ndim(repeats) == 1 if not hasattr(repeats, "term") else as_tensor(repeats).ndim == 1:
        return _repeat_each(x, as_tensor(repeats), axis)
    times = as_length(repeats, "repeats")
    have = lengths(x)
    apart = dimshuffle(x, *range(axis + 1), "x", *range(axis + 1, x.ndim))
    spread = ops.alloc(apart, *length_operands([*have[: axis + 1], times, *have[axis + 1 :]]))
    return reshape(spread, [*have[:axis], product([have[axis], times]), *have[axis + 1 :]])


def _repeat_each(x: TensorVariable, repeats: TensorVariable, axis: int) -> TensorVariable:
    known = repeats.term.value if isinstance(repeats.term, Const) else None
    if known is not None and np.any(known < 0):
        raise ValueError(f"repeat: repeats must not be negative, got {known}")
    if repeats.type.shape == (1,) and x.type.shape[axis] != 1:
        return repeat(x, repeats[0], axis)
    ends = cumsum(reshape(repeats, [length(x, axis)]))  # refuses at run time what is no number for each element
    if known is None and repeats.type.kind == "i":  # a sum of numbers that are fine is negative beyond 64 bits
        fine = ew.logical_and(ew.ge(reshape(repeats, [length(x, axis)]), 0), ew.ge(ends, 0))
        ends = required(ends, fine, message="repeat: repeats must not be negative, nor add up to 2**63 or more")
    return x[(slice(None),) * axis + (searchsorted(ends, arange(repeats.sum()), side="right"),)]


# ---------------------------------------------------------------------- apart
def _part(x: Any, axis: int, start: int | None, stop: int | None, step: TensorVariable | None = None) -> Any:
    """`x[:, ..., start:stop:step]` along one axis."""
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


@on_terms
def split(x: Any, indices_or_sections: Any, n_splits: int | None = None, axis: int = 0) -> list:
    """Parts of an array along an axis: NumPy's `split(x, 3)` or `split(x, [2, 5])`, Theano's
    `split(x, splits_size, n_splits, axis)` with a vector of lengths.
    """
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    if n_splits is not None:
        return _split_sizes(x, indices_or_sections, n_splits, axis)
    if hasattr(indices_or_sections, "__index__") and not hasattr(indices_or_sections, "term"):
        return _split_equal(x, indices_or_sections.__index__(), axis)
    cuts = as_lengths(indices_or_sections, "indices") if len(indices_or_sections) else []
    bounds = [None, *cuts, None]
    return [_part(x, axis, a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]


def _split_equal(x: TensorVariable, parts: int, axis: int) -> list:
    n = length(x, axis)
    if parts <= 0:
        raise ValueError(f"split: the number of sections must be positive, got {parts}")
    if not isinstance(n, int):
        sizes = [ew.floor_div(n, parts)] * parts
        whole = dimshuffle(x, axis, *[d for d in range(x.ndim) if d != axis])
        rest = lengths(whole)[1:]
        pieces = reshape(whole, [parts, sizes[0], *rest])  # refuses at run time what does not divide
        order = [*range(1, axis + 1), 0, *range(axis + 1, x.ndim)]
        return [dimshuffle(pieces[i], *order) for i in range(parts)]
    if n % parts:
        raise ValueError(
            f"split: {n} elements along axis {axis} do not divide into {parts} equal parts; use array_split"
        )
    return [_part(x, axis, i * (n // parts), (i + 1) * (n // parts)) for i in range(parts)]


def _split_sizes(x: object, sizes: int | Sequence[int] | TensorVariable, n_splits: int, axis: int) -> list:
    parts = as_lengths(sizes, "splits_size", n_splits)
    if len(parts) != n_splits:
        raise ValueError(f"split: {len(parts)} lengths were given for n_splits={n_splits} parts")
    known = not [p for p in parts if not isinstance(p, int)]
    if known and isinstance(length(x, axis), int) and sum(parts) != length(x, axis):
        raise ValueError(f"split: lengths {parts} add up to {sum(parts)}, axis {axis} has {length(x, axis)}")
    out, start = [], 0
    for size in parts:
        out.append(_part(x, axis, start, start + size))
        start = start + size
    return out


@on_terms
def array_split(x: TensorLike, indices_or_sections: int | Sequence[int] | TensorVariable, axis: int = 0) -> list:
    """Parts of an array along an axis, nearly equal where they cannot be equal."""
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    if not hasattr(indices_or_sections, "__index__") or hasattr(indices_or_sections, "term"):
        return split(x, indices_or_sections, axis=axis)
    parts, n = indices_or_sections.__index__(), length(x, axis)
    if parts <= 0:
        raise ValueError(f"array_split: the number of sections must be positive, got {parts}")
    each, extra = (n // parts, n % parts)
    least = ew.minimum if not isinstance(n, int) else min
    bounds = [i * each + least(extra, i) for i in range(parts + 1)]
    return [_part(x, axis, a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]


@on_terms
def vsplit(x: TensorLike, indices_or_sections: int | Sequence[int] | TensorVariable) -> list:
    """`split` along the first axis."""
    return split(x, indices_or_sections, axis=0)


@on_terms
def hsplit(x: TensorLike, indices_or_sections: int | Sequence[int] | TensorVariable) -> list:
    """`split` along the second axis (the first of a vector)."""
    x = as_tensor(x)
    return split(x, indices_or_sections, axis=0 if x.ndim == 1 else 1)


@on_terms
def dsplit(x: TensorLike, indices_or_sections: int | Sequence[int] | TensorVariable) -> list:
    """`split` along the third axis."""
    return split(x, indices_or_sections, axis=2)


@on_terms
def unstack(x: TensorLike, axis: int = 0) -> list:
    """The slices along an axis of known length."""
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    n = length(x, axis)
    if not isinstance(n, int):
        raise TypeError(f"unstack: the length of axis {axis} of {x} is not known while building the graph")
    return [x[(slice(None),) * axis + (i,)] for i in range(n)]


# ---------------------------------------------------------------------- order along axes
@on_terms
def flip(x: TensorLike, axis: AxisLike = None) -> TensorVariable:
    """The array backwards along axes (all of them by default)."""
    x = as_tensor(x)
    axes = axes_of(axis, x.ndim)
    return x[tuple([slice(None, None, -1) if d in axes else slice(None) for d in range(x.ndim)])] if axes else x


@on_terms
def flipud(x: TensorLike) -> TensorVariable:
    """The array backwards along the first axis."""
    return flip(x, 0)


@on_terms
def fliplr(x: TensorLike) -> TensorVariable:
    """The array backwards along the second axis."""
    return flip(x, 1)


@on_terms
def roll(x: TensorLike, shift: Any, axis: AxisLike = None) -> TensorVariable:
    """Elements moved along axes by `shift` places; what leaves at one end comes in at the other."""
    x = as_tensor(x)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), lengths(x))
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    shifts = list(shift) if isinstance(shift, (list, tuple, np.ndarray)) else [shift]
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(axes) == 1:
        axes = axes * len(shifts)
    if len(axes) != len(shifts):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    for s, a in zip(shifts, axes, strict=True):
        x = _roll_one(x, as_length(s, "roll: shift"), normal_axis(a, x.ndim))
    return x


def _roll_one(x: TensorVariable, shift: int, axis: int) -> TensorVariable:
    n = length(x, axis)
    if isinstance(n, int):
        if n == 0:
            return x
        cut = n - shift % n
    else:
        cut = n - ew.mod(shift, ew.maximum(n, 1))
    if isinstance(cut, int) and cut % n == 0:
        return x
    turned = concatenate([_part(x, axis, cut, None), _part(x, axis, None, cut)], axis)
    if isinstance(n, int):
        return turned
    return specify_shape(turned, [n if d == axis else None for d in range(x.ndim)])  # else lengths of lengths grow


@on_terms
def rot90(x: TensorLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> TensorVariable:
    """The array turned by k quarter turns in the plane of two axes."""
    x = as_tensor(x)
    a, b = (normal_axis(d, x.ndim, "axes") for d in axes)
    if a == b:
        raise ValueError(f"rot90: axes must differ, got {tuple(axes)}")
    turns = k % 4
    if turns == 2:
        return flip(flip(x, a), b)
    if turns == 1:
        return swapaxes(flip(x, b), a, b)
    return flip(swapaxes(x, a, b), b) if turns == 3 else x


__all__ = [
    "array_split", "column_stack", "concatenate", "dsplit", "dstack", "flip", "fliplr", "flipud", "hsplit", "hstack",
    "join", "repeat", "roll", "rot90", "split", "stack", "tile", "unstack", "vsplit", "vstack",
]  # fmt: skip

METHODS = {"repeat": repeat}
