"""Shape and axes of arrays: reshape, dimshuffle, transpose, squeeze, broadcast_to, shape, ...

Reordering axes, and inserting or dropping those of length 1, is always one dimshuffle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from termgraph._arguments import named
from termgraph.tensor.lengths import (
    as_length,
    as_lengths,
    length,
    length_operands,
    lengths,
    lengths_vector,
    product,
    same,
)
from termgraph.tensor.lifting import on_terms, pattern_form
from termgraph.tensor.likes import AxisLike, ShapeLike, TensorLike
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import shaping as ops
from termgraph.terms.ops.basic import dimshuffle as dimshuffle_op
from termgraph.terms.ops.shapes import broadcast_shapes, normal_axes, normal_axis


# ---------------------------------------------------------------------- lengths
@on_terms
def shape(x: Any) -> TensorVariable:
    """The lengths of an array as an int64 vector; those that are known are constants.

    >>> import termgraph.tensor as T
    >>> T.shape(T.tensor("x", dtype="float64", shape=(2, 3))).data
    array([2, 3])
    """
    return lengths_vector(lengths(as_tensor(x)))


@on_terms
def size(x: Any, axis: AxisLike = None) -> TensorVariable:
    """The number of elements, or the length of one axis or the product of several, as an int64 scalar."""
    x = as_tensor(x)
    return as_tensor(product([length(x, d) for d in normal_axes(axis, x.ndim)]))


@on_terms
def shape_i(x: TensorLike, axis: int) -> TensorVariable:
    """The length of one dimension as an int64 scalar; a constant if it is known."""
    x = as_tensor(x)
    return as_tensor(length(x, normal_axis(axis, x.ndim)))


def ndim(x: Any) -> int:
    """The number of dimensions: a Python integer, always known."""
    return as_tensor(x).ndim


# ---------------------------------------------------------------------- reshape
@on_terms
@pattern_form(lambda x, newshape, ndim=None: ops.reshape(x, *newshape))
def reshape(
    x: Any,
    newshape: ShapeLike = None,
    ndim: int | None = None,
    order: str = "C",
    *,
    shape: ShapeLike = None,
    copy: bool | None = None,
) -> TensorVariable:
    """The elements in row-major order in a new shape. Lengths may be symbolic, one of them -1.

    With `order="F"` elements are read and placed column by column. "A" is "C": how an array lies in memory is not said.
    `shape` is another word for `newshape`; `copy` makes no difference.

    >>> import termgraph.tensor as T
    >>> x = T.tensor("x", dtype="float64", shape=(4, 6))
    >>> T.reshape(x, (2, -1)).type
    TensorType(float64, (2, 12))
    """
    if isinstance(ndim, str):
        ndim, order = None, ndim  # it comes third in NumPy
    if (newshape is None) == (shape is None):
        raise TypeError(f"reshape takes a new shape, got newshape={newshape!r} and shape={shape!r}")
    x = as_tensor(x)
    asked = as_lengths(shape if newshape is None else newshape, "newshape", ndim)
    if ndim is not None and ndim != len(asked):
        raise ValueError(f"reshape: ndim={ndim}, but newshape has {len(asked)} lengths")
    if not _by_columns(order, "reshape", "A"):
        return ops.reshape(x, *length_operands(_fill_in(x, asked)))
    return transpose(ops.reshape(transpose(x), *length_operands(_fill_in(x, asked)[::-1])))


def _by_columns(order: str, who: str, rows: str) -> bool:
    """Whether elements are read column by column; `rows` are the orders beside "C" that read them row by row."""
    if not isinstance(order, str) or order.upper() not in ("C", "F", *rows):
        raise ValueError(f"{who}: order must be 'C', 'F' or '{rows[0]}', got {order!r:.60}")
    return order.upper() == "F"


def _fill_in(x: TensorVariable, asked: list) -> list:
    """The lengths with -1 replaced by what is left over."""
    places = [i for i, n in enumerate(asked) if isinstance(n, int) and n == -1]
    if not places:
        return asked
    if len(places) > 1:
        raise ShapeError(f"reshape: only one length may be -1, got {asked}")
    rest = [n for i, n in enumerate(asked) if i != places[0]]
    filled = list(asked)
    filled[places[0]] = _quotient(x, rest)
    return filled


def _quotient(x: TensorVariable, rest: list) -> Any:
    """The size of `x` divided by the product of `rest`; equal lengths cancel."""
    have = lengths(x)
    left = []
    for n in rest:
        found = [i for i, m in enumerate(have) if same(n, m) and n != 0]
        if found:
            have.pop(found[0])
        else:
            left.append(n)
    total, divisor = product(have), product(left)
    if isinstance(divisor, int):
        known = product([n for n in have if isinstance(n, int)])
        if divisor == 1:
            return total
        if divisor != 0 and known % divisor == 0:
            return product([known // divisor, *[n for n in have if not isinstance(n, int)]])
        if isinstance(total, int):
            raise ShapeError(f"cannot reshape {x.type}: its {total} elements do not divide by {divisor}")
    return as_tensor(total) // divisor


@on_terms
def ravel(x: Any, order: str = "C") -> TensorVariable:
    """The elements in row-major order, in one dimension; with `order="F"` column by column ("A" and "K" are "C")."""
    x = as_tensor(x)
    x = transpose(x) if _by_columns(order, "ravel", "AK") else x
    return x if x.ndim == 1 else reshape(x, (product(lengths(x)),))


def on_axis(x: Any, axis: Any) -> tuple[TensorVariable, int]:
    """The array and one of its axes, counted from the first; without an axis the flattened array and its own."""
    x = as_tensor(x)
    return (ravel(x), 0) if axis is None else (x, normal_axis(axis, x.ndim))


@on_terms
def flatten(x: TensorLike, ndim: int = 1, order: str = "C") -> TensorVariable:
    """The array with its last dimensions merged, so that `ndim` are left; `order` is that of `ravel`."""
    if isinstance(ndim, str):
        ndim, order = 1, ndim  # it comes first in NumPy
    x, by_columns = as_tensor(x), _by_columns(order, "flatten", "AK")
    if not isinstance(ndim, int) or not 1 <= ndim <= max(x.ndim, 1):
        raise ValueError(f"flatten: ndim must be between 1 and {max(x.ndim, 1)}, got {ndim!r}")
    if x.ndim == ndim:
        return x
    if by_columns:
        x = dimshuffle(x, *range(ndim - 1), *reversed(range(ndim - 1, x.ndim)))
    have = lengths(x)
    return reshape(x, [*have[: ndim - 1], product(have[ndim - 1 :])])


# ---------------------------------------------------------------------- axes
@on_terms
@pattern_form(lambda x, *order: dimshuffle_op(x, order=_order(order)))
def dimshuffle(x: Any, *order: int | str) -> TensorVariable:
    """Dimensions in a new order; 'x' inserts one of length 1, one left out must have length 1.

    >>> import termgraph.tensor as T
    >>> T.dmatrix("m").dimshuffle(1, "x", 0).type
    TensorType(float64, (?, 1, ?))
    """
    x = as_tensor(x)
    wanted = tuple([d if d == "x" else normal_axis(d, x.ndim, "dimension of dimshuffle") for d in _order(order)])
    return x if wanted == tuple(range(x.ndim)) else dimshuffle_op(x, order=wanted)


def _order(order: tuple) -> tuple:
    return tuple(order[0]) if len(order) == 1 and isinstance(order[0], (list, tuple)) else order


@on_terms
def transpose(x: TensorLike, *order: AxisLike, axes: Sequence[int] | None = None) -> TensorVariable:
    """Dimensions in the order of `axes`, a list or one argument for each; reversed by default."""
    x = as_tensor(x)
    if order and axes is not None:
        raise TypeError("transpose: the order of dimensions is given twice, by itself and as axes=")
    axes = order if axes is None else axes
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (list, tuple))):
        axes = tuple(axes[0] or ())
    if not len(axes):
        return dimshuffle(x, *range(x.ndim)[::-1])
    places = [normal_axis(a, x.ndim) for a in axes]
    if sorted(places) != list(range(x.ndim)):
        raise ValueError(f"transpose: axes {tuple(axes)} must name each of the {x.ndim} dimensions once")
    return dimshuffle(x, *places)


@on_terms
def matrix_transpose(x: TensorLike) -> TensorVariable:
    """The last two dimensions exchanged."""
    return swapaxes(x, -1, -2)


@on_terms
def swapaxes(x: TensorLike, axis1: int, axis2: int) -> TensorVariable:
    """Two dimensions exchanged."""
    x = as_tensor(x)
    order = list(range(x.ndim))
    a, b = normal_axis(axis1, x.ndim, "axis1"), normal_axis(axis2, x.ndim, "axis2")
    order[a], order[b] = b, a
    return dimshuffle(x, *order)


@on_terms
def moveaxis(x: TensorLike, source: int | Sequence[int], destination: int | Sequence[int]) -> TensorVariable:
    """Dimensions `source` moved to the places `destination`, the others in their old order."""
    x = as_tensor(x)
    start, end = _axis_list(source, x.ndim, "source"), _axis_list(destination, x.ndim, "destination")
    if len(start) != len(end):
        raise ValueError(f"moveaxis: source {source} and destination {destination} must have the same length")
    order = [d for d in range(x.ndim) if d not in start]
    for place, d in sorted(zip(end, start, strict=True)):
        order.insert(place, d)
    return dimshuffle(x, *order)


@on_terms
def rollaxis(x: TensorLike, axis: int, start: int = 0) -> TensorVariable:
    """Dimension `axis` moved to stand before dimension `start`."""
    x = as_tensor(x)
    axis, start = normal_axis(axis, x.ndim), start + x.ndim if start < 0 else start
    return moveaxis(x, axis, start - 1 if axis < start else start)


def _axis_list(axes: AxisLike, ndim: int, what: str) -> list[int]:
    """Distinct axes in the order given."""
    listed = [normal_axis(a, ndim, what) for a in (axes if isinstance(axes, (list, tuple, range)) else (axes,))]
    if len(set(listed)) != len(listed):
        raise ValueError(f"{what} {axes} names a dimension twice")
    return listed


@on_terms
def expand_dims(x: Any, axis: AxisLike) -> TensorVariable:
    """New dimensions of length 1 at the places `axis` of the result."""
    x = as_tensor(x)
    count = len(axis) if isinstance(axis, (list, tuple)) else 1
    places = _axis_list(axis, x.ndim + count, "axis")
    left = iter(range(x.ndim))
    return dimshuffle(x, *["x" if d in places else next(left) for d in range(x.ndim + count)])


@on_terms
def squeeze(x: TensorLike, axis: AxisLike = None) -> TensorVariable:
    """Dimensions of length 1 dropped: those named, or all that are known to have length 1."""
    x = as_tensor(x)
    dropped = [d for d, n in enumerate(x.type.shape) if n == 1] if axis is None else normal_axes(axis, x.ndim)
    for d in dropped:
        if x.type.shape[d] not in (1, None):
            raise ShapeError(f"squeeze: dimension {d} of {x} has length {x.type.shape[d]}, not 1")
    return dimshuffle(x, *[d for d in range(x.ndim) if d not in dropped])


@on_terms
def shape_padleft(x: TensorLike, n_ones: int = 1) -> TensorVariable:
    """`n_ones` new dimensions of length 1 in front."""
    x = as_tensor(x)
    return dimshuffle(x, *["x"] * n_ones, *range(x.ndim))


@on_terms
def shape_padright(x: TensorLike, n_ones: int = 1) -> TensorVariable:
    """`n_ones` new dimensions of length 1 at the end."""
    x = as_tensor(x)
    return dimshuffle(x, *range(x.ndim), *["x"] * n_ones)


@on_terms
def shape_padaxis(x: TensorLike, axis: int) -> TensorVariable:
    """One new dimension of length 1 at place `axis`."""
    return expand_dims(x, axis)


@overload
def atleast_1d(array: TensorLike, /) -> TensorVariable: ...
@overload
def atleast_1d(*arrays: TensorLike) -> list[TensorVariable]: ...
@on_terms
def atleast_1d(*arrays: TensorLike) -> Any:  # one variable, or a list of them
    """The arrays with at least 1 dimension, as numpy.atleast_1d places them."""
    return _at_least(arrays, [("x",)])


@overload
def atleast_2d(array: TensorLike, /) -> TensorVariable: ...
@overload
def atleast_2d(*arrays: TensorLike) -> list[TensorVariable]: ...
@on_terms
def atleast_2d(*arrays: TensorLike) -> Any:
    """The arrays with at least 2 dimensions, as numpy.atleast_2d places them."""
    return _at_least(arrays, [("x", "x"), ("x", 0)])


@overload
def atleast_3d(array: TensorLike, /) -> TensorVariable: ...
@overload
def atleast_3d(*arrays: TensorLike) -> list[TensorVariable]: ...
@on_terms
def atleast_3d(*arrays: TensorLike) -> Any:
    """The arrays with at least 3 dimensions, as numpy.atleast_3d places them."""
    return _at_least(arrays, [("x", "x", "x"), ("x", 0, "x"), (0, 1, "x")])


def _at_least(arrays: tuple[TensorLike, ...], orders: Sequence[tuple[int | str, ...]]) -> Any:
    """The arrays, those of few dimensions shuffled in the order that stands at the number of them."""
    made = [a if a.ndim >= len(orders) else dimshuffle(a, *orders[a.ndim]) for a in map(as_tensor, arrays)]
    return made[0] if len(made) == 1 else made


# ---------------------------------------------------------------------- broadcasting
@on_terms
def broadcast_to(x: TensorLike, shape: ShapeLike) -> TensorVariable:
    """The array repeated along dimensions of length 1 (and new leading ones) to have `shape`."""
    x, wanted = as_tensor(x), as_lengths(shape)
    if tuple(wanted) == x.type.shape:
        return x
    return ops.alloc(x, *length_operands(wanted))


def common_lengths(xs: Sequence[Any]) -> list:
    """The lengths of arrays broadcast together."""
    static = broadcast_shapes([x.type.shape for x in xs])
    return [n if n is not None else _some_length(xs, d - len(static)) for d, n in enumerate(static)]


def _some_length(xs: Sequence[Any], axis: int) -> TensorVariable:
    return next(length(x, axis) for x in xs if x.ndim >= -axis and x.type.shape[axis] is None)


@on_terms
def broadcast_arrays(*xs: Any) -> list:
    """The arrays repeated to the shape they have together."""
    arrays = [as_tensor(x) for x in xs]
    together = common_lengths(arrays) if arrays else []
    return [broadcast_to(a, together) for a in arrays]


def broadcast_shape(*shapes: ShapeLike) -> list:
    """The lengths (integers, or int64 scalars) of arrays broadcast together."""
    return common_lengths([as_tensor(s) for s in shapes])


@on_terms
def specify_shape(x: Any, *shape: ShapeLike) -> TensorVariable:
    """The same array with a promise about its lengths, checked at run time; None promises nothing.

    >>> import termgraph.tensor as T
    >>> T.specify_shape(T.dmatrix("x"), (None, 3)).type
    TensorType(float64, (?, 3))
    """
    x = as_tensor(x)
    promised = _promises(shape)
    if len(promised) != x.ndim:
        raise ValueError(f"specify_shape: {len(promised)} lengths for an array with {x.ndim} dimensions ({x})")
    useful = [None if isinstance(n, int) and n == have else n for n, have in zip(promised, x.type.shape, strict=True)]
    if not [n for n in useful if n is not None]:
        return x
    known = tuple([n is not None for n in useful])
    return ops.specify_shape(x, *length_operands([n for n in useful if n is not None]), known=known)


def _promises(shape: tuple) -> list:
    if len(shape) == 1 and (isinstance(shape[0], np.ndarray) or getattr(shape[0], "ndim", 0) == 1):
        return as_lengths(shape[0])
    if len(shape) == 1 and isinstance(shape[0], (list, tuple)):
        shape = tuple(shape[0])
    return [None if n is None else as_length(n, f"shape[{i}]") for i, n in enumerate(shape)]


@on_terms
def addbroadcast(x: TensorLike, *axes: int) -> TensorVariable:
    """The array, promised to have length 1 along `axes`, so that it broadcasts there (checked at run time)."""
    x = as_tensor(x)
    places = normal_axes(axes, x.ndim)
    return specify_shape(x, tuple([1 if d in places else None for d in range(x.ndim)]))


@on_terms
def unbroadcast(x: TensorLike, *axes: int) -> TensorVariable:
    """The array, which no longer broadcasts along `axes`."""
    x = as_tensor(x)
    places = tuple([d for d in normal_axes(axes, x.ndim) if x.type.shape[d] == 1])
    return ops.unbroadcast(x, axis=places) if places else x


@on_terms
def patternbroadcast(x: TensorLike, broadcastable: Sequence[bool]) -> TensorVariable:
    """The array, broadcasting along exactly the dimensions marked True."""
    x = as_tensor(x)
    if len(broadcastable) != x.ndim:
        raise ValueError(f"patternbroadcast: {len(broadcastable)} flags for an array with {x.ndim} dimensions")
    yes = [d for d, b in enumerate(broadcastable) if b]
    return unbroadcast(addbroadcast(x, *yes), *[d for d in range(x.ndim) if d not in yes])


__all__ = [
    "addbroadcast", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shape", "broadcast_to",
    "dimshuffle", "expand_dims", "flatten", "matrix_transpose", "moveaxis", "ndim", "patternbroadcast", "ravel",
    "reshape", "rollaxis", "shape", "shape_i", "shape_padaxis", "shape_padleft", "shape_padright", "size",
    "specify_shape", "squeeze", "swapaxes", "transpose", "unbroadcast",
]  # fmt: skip


def _reshape_method(self: Any, *newshape: Any, ndim: int | None = None, order: str = "C") -> TensorVariable:
    """The elements in a new shape: `x.reshape(2, -1)` or `x.reshape((2, -1))`."""
    one = len(newshape) == 1 and (isinstance(newshape[0], (list, tuple, np.ndarray, Variable)))
    return reshape(self, newshape[0] if one else newshape, ndim, order)


_reshape_method.__name__ = "reshape"  # what errors call it
METHODS = {
    "reshape": named(_reshape_method), "dimshuffle": dimshuffle, "flatten": flatten, "ravel": ravel,
    "transpose": transpose,
    "swapaxes": swapaxes, "squeeze": squeeze, "T": property(lambda self: transpose(self)),
    "mT": property(lambda self: matrix_transpose(self)), "shape": property(lambda self: shape(self)),
    "size": property(lambda self: size(self)),
}  # fmt: skip
