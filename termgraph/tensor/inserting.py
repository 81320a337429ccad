"""Elements put into arrays and taken out of them, as in NumPy: insert, delete, append, trim_zeros; put, place, putmask.

What changes its argument in NumPy gives the changed array, as everything here does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.tensor.creation import arange, ones, zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.indexing import set_subtensor
from termgraph.tensor.joining import concatenate, flip
from termgraph.tensor.lengths import as_lengths, length, length_operands, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, ShapeLike, TensorLike
from termgraph.tensor.reductions import any as any_over
from termgraph.tensor.reductions import axes_of, cumsum
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.selecting import within
from termgraph.tensor.shaping import broadcast_to, dimshuffle, moveaxis, on_axis, ravel, reshape
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor, pad_rank
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import shaping as shape_ops
from termgraph.terms.ops.shapes import at_axis


@on_terms
def delete(arr: TensorLike, obj: Any, axis: int | None = None) -> TensorVariable:
    """The array without some places of an axis (None: of the flattened array): an integer, a slice, integers or a mask.

    >>> import termgraph.tensor as T
    >>> T.delete([10, 20, 30, 40], [0, -1]).eval()
    array([20, 30])
    """
    x, axis = on_axis(arr, axis)
    n = length(x, axis)
    if isinstance(n, int) and not isinstance(obj, Variable):
        kept = np.delete(np.arange(n), obj)
        return x[at_axis(axis, slice(0, 0) if kept.size == 0 else kept)]
    if isinstance(obj, (list, tuple)) and not obj:
        return x
    place: Any = obj if isinstance(obj, slice) else as_tensor(obj)
    if not isinstance(place, slice) and place.ndim == 1 and place.type.dtype == "bool":
        return x[at_axis(axis, ew.logical_not(place))]  # the index checks its length
    if isinstance(place, slice) or place.ndim or place.type.kind not in "iu":  # and refuses what is no integer
        return x[at_axis(axis, set_subtensor(ones((n,), "bool")[place], False))]
    if isinstance(obj, Variable):
        others = arange(n - 1)
        return x[at_axis(axis, others + (others >= arange(n)[place]))]
    k = int(obj)
    left = [x[at_axis(axis, slice(None, k))], x[at_axis(axis, slice(k + 1 if k != -1 else n, None))]]
    told = "delete: an index is out of bounds: {0} elements would be left where {1} should be"
    return _long(concatenate(left, axis), axis, n - 1, told)


@on_terms
def insert(arr: TensorLike, obj: Any, values: TensorLike, axis: int | None = None) -> TensorVariable:
    """The array with `values` before a place of an axis (None: of the flattened array), or each before one of several.

    Several places are integers that are known when the graph is built. A single one may be symbolic; beyond the ends of
    the array it stands for these.

    >>> import termgraph.tensor as T
    >>> T.insert([1, 2, 3], 1, 9).eval(), T.insert([1, 2, 3], [0, 3], [7, 8]).eval()
    (array([1, 9, 2, 3]), array([7, 1, 2, 3, 8]))
    """
    x, axis = on_axis(arr, axis)
    n = length(x, axis)
    places: list[Any]
    if isinstance(obj, Variable):
        places, single = [obj], obj.ndim == 0
        if not single or obj.type.kind not in "iu":
            raise TypeError(f"insert: the place must be an integer, or known integers, got {obj} of type {obj.type}")
    else:
        places, single = _known_places(obj, n)
    rows = _numbers(values, x, "insert")
    rows = cast(pad_rank(rows, max(x.ndim, rows.ndim)), x.type.dtype)
    if single:
        rows = moveaxis(rows, 0, axis)
    count = length(rows, axis) if len(places) == 1 else len(places)
    rows = broadcast_to(rows, [count if d == axis else length(x, d) for d in range(x.ndim)])
    if len(places) == 1:
        before, after = _cut(x, axis, places[0])
        return concatenate([before, rows, after], axis)
    parts, rest, done = [], x, 0
    for k in sorted(range(len(places)), key=places.__getitem__):
        before, rest = _cut(rest, axis, places[k] - done)
        parts += [before, rows[at_axis(axis, slice(k, k + 1))]]
        done = places[k]
    return concatenate([*parts, rest], axis)


@on_terms
def append(arr: TensorLike, values: TensorLike, axis: int | None = None) -> TensorVariable:
    """The values behind an array along an axis (None: both flattened first).

    >>> import termgraph.tensor as T
    >>> T.append([[1, 2]], 3).eval()
    array([1, 2, 3])
    """
    return concatenate([as_tensor(arr), as_tensor(values)], axis)


@on_terms
def trim_zeros(filt: TensorLike, trim: str = "fb", axis: AxisLike = None) -> TensorVariable:
    """An array without the zeros at its front ("f") and back ("b"), along axes (all by default): values say how long.

    >>> import termgraph.tensor as T
    >>> T.trim_zeros([0, 0, 1, 0, 2, 0]).eval()
    array([1, 0, 2])
    """
    x = as_tensor(filt)
    if not isinstance(trim, str) or trim.lower() not in ("f", "b", "fb", "bf"):
        raise ValueError(f"trim_zeros: trim must be 'f', 'b' or 'fb', got {trim!r:.60}")
    there = ew.neq(x, 0)
    for d in axes_of(axis, x.ndim):
        kept = any_over(there, tuple([k for k in range(x.ndim) if k != d]))
        start = zeros_in_front(kept) if "f" in trim.lower() else None
        n = length(x, d)
        stop = n - zeros_in_front(flip(kept)) if "b" in trim.lower() else None
        x = x[at_axis(d, slice(start, stop))]
    return x


def zeros_in_front(x: TensorVariable) -> TensorVariable:
    """How many elements of a vector stand before the first that is not 0."""
    return sum_over(cast(ew.eq(cumsum(ew.neq(x, 0)), 0), "int64"))


def _known_places(obj: Any, n: Any) -> tuple[list[int], bool]:
    """The places as integers from 0 on, and whether it was one by itself, which alone may count from an unknown end."""
    if isinstance(obj, slice):
        if not isinstance(n, int):
            raise ValueError(
                "insert: a slice says how many places there are only where the length of the axis is known"
            )
        obj = np.arange(*obj.indices(n))
    given = np.asarray(obj)
    if given.dtype == bool:
        given = np.flatnonzero(given)
    if given.dtype.kind not in "iu" and given.size or given.ndim > 1:
        raise TypeError(f"insert: places must be integers, got {obj!r:.60}")
    places = [int(k) for k in given.ravel()]
    if isinstance(n, int):
        for k in places:
            if not -n <= k <= n:
                raise IndexError(f"insert: index {k} is out of bounds for an axis of {n} elements")
        places = [k + n if k < 0 else k for k in places]
    elif len(places) > 1 and min(places) < 0:
        raise ValueError("insert: several places count from the end only where the length of the axis is known")
    return places, given.ndim == 0


def _cut(x: TensorVariable, axis: int, place: Any) -> tuple[TensorVariable, TensorVariable]:
    """What is before a place of an axis, and what is after it; an error in the call if the axis ends earlier."""
    before, after = x[at_axis(axis, slice(None, place))], x[at_axis(axis, slice(place, None))]
    if isinstance(place, Variable):
        return before, after  # which counts from either end: slices stop where the array does
    told = "insert: an index is out of bounds: the axis has {0} elements up to it where it needs {1}"
    if place < 0:
        return before, _long(after, axis, -place, told)
    return _long(before, axis, place, told), after


def _long(x: TensorVariable, axis: int, n: Any, told: str) -> TensorVariable:
    """The array, promised to have n elements along an axis: an error with this text in the call if it has not."""
    if x.type.shape[axis] is not None and isinstance(n, int):
        return x  # counted already
    known = tuple([d == axis for d in range(x.ndim)])
    return shape_ops.specify_shape(x, as_tensor(n), known=known, told=told)


# ---------------------------------------------------------------------- other elements in their place
@on_terms
def resize(a: TensorLike, new_shape: ShapeLike) -> TensorVariable:
    """An array of another shape with the elements of `a` in order, again from the first one where they do not suffice.

    >>> import termgraph.tensor as T
    >>> T.resize([1, 2, 3], (2, 4)).eval()
    array([[1, 2, 3, 1],
           [2, 3, 1, 2]])
    """
    shape = as_lengths(new_shape, "new_shape")
    length_operands(shape)  # none may be negative
    return reshape(_repeated(ravel(as_tensor(a)), product(shape)), shape)


def _repeated(flat: TensorVariable, count: Any) -> TensorVariable:
    """As many elements as are asked for, from the first one again where there are fewer; zeros where there are none.

    Whole copies, then a part of one: a remainder for each element would take ten times as long.
    """
    n = length(flat, 0)
    if isinstance(count, int) and isinstance(n, int) and n > 0 and count <= n:
        return flat[:count]
    times = 0 if isinstance(n, int) and n == 0 else count // ew.maximum(n, 1)
    whole = ravel(broadcast_to(dimshuffle(flat, "x", 0), (times, n)))
    none = ew.maximum(1 - as_tensor(n), 0)
    return concatenate([whole, flat[: count - times * n], zeros((count * none,), flat.dtype)])


@on_terms
def put(a: TensorLike, ind: TensorLike, v: TensorLike, mode: str = "raise") -> TensorVariable:
    """The array with values at places that count through all its elements; `v` begins again where it is too short.

    `mode` says what becomes of places outside: 'raise' refuses them, 'wrap' counts on from the other end, 'clip' takes
    the nearest.

    >>> import termgraph.tensor as T
    >>> T.put([0, 1, 2, 3], [0, 2], [-4, -5]).eval()
    array([-4,  1, -5,  3])
    """
    a, places = as_tensor(a), ravel(as_tensor(ind))
    flat, values = ravel(a), _elements(v, a, "put")
    if values.type.shape == (0,):
        return a  # as in NumPy
    new = _repeated(_some(values, "put"), length(places, 0))
    places = cast(places, "int64") if places.type.shape == (0,) or places.type.dtype == "bool" else places
    return reshape(set_subtensor(flat[within(places, length(flat, 0), mode)], new), lengths(a))


@on_terms
def place(arr: TensorLike, mask: TensorLike, vals: TensorLike) -> TensorVariable:
    """The array with `vals`, one after the other and again from the first, where `mask` is not zero.

    >>> import termgraph.tensor as T
    >>> T.place([1, 2, 3, 4], [0, 1, 1, 1], [44, 55]).eval()
    array([ 1, 44, 55, 44])
    """
    arr = as_tensor(arr)
    mask, values = _as_many(mask, arr, "place"), _elements(vals, arr, "place")
    every = _repeated(_some(values, "place"), product(lengths(arr)))
    turn = ew.maximum(reshape(cumsum(cast(ravel(mask), "int64")), lengths(arr)) - 1, 0)
    return ew.switch(mask, every[turn], arr)


@on_terms
def putmask(a: TensorLike, mask: TensorLike, values: TensorLike) -> TensorVariable:
    """The array with elements of `values` where `mask` is not zero: those at the same place, counted through all.

    `values` begins again where it is too short.

    >>> import termgraph.tensor as T
    >>> T.putmask([0, 1, 2, 3], [0, 1, 0, 1], [-1, -2, -3]).eval()
    array([ 0, -2,  2, -1])
    """
    a = as_tensor(a)
    mask, values = _as_many(mask, a, "putmask"), _elements(values, a, "putmask")
    if values.type.shape == (0,):
        return a  # as in NumPy
    return ew.switch(mask, resize(_some(values, "putmask"), lengths(a)), a)


def _elements(values: TensorLike, a: TensorVariable, who: str) -> TensorVariable:
    """Values one after the other, as elements of an array."""
    v = ravel(_numbers(values, a, who))
    if v.type.kind == "c" and a.type.kind != "c":
        raise TypeError(f"{who}: complex values do not fit an array of dtype {a.dtype}; take T.real(values)")
    return cast(v, a.dtype)


def _numbers(values: TensorLike, a: TensorVariable, who: str) -> Any:
    """Values as a variable. Python's numbers are refused if they do not fit the dtype of the array, as in NumPy."""
    if not _all_real(values):
        return as_tensor(values)
    try:
        return as_tensor(np.asarray(values, dtype=a.type.np_dtype))
    except (OverflowError, ValueError) as error:
        raise type(error)(f"{who}: {error}") from None


def _all_real(values: Any) -> bool:
    """Whether it is a real number of Python's, or lists of such numbers."""
    todo = [values]
    while todo:
        v = todo.pop()
        if isinstance(v, (list, tuple)):
            todo += v
        elif type(v) not in (int, float, bool):
            return False
    return not isinstance(values, (list, tuple)) or len(values) > 0


def _some(values: TensorVariable, who: str) -> TensorVariable:
    """The values, of which there has to be one."""
    told = f"{who}: there are no values to put into the array"
    if values.type.shape == (0,):
        raise ValueError(told)
    n = length(values, 0)
    return values if isinstance(n, int) else _long(values, 0, ew.maximum(n, 1), told)


def _as_many(mask: TensorLike, a: TensorVariable, who: str) -> TensorVariable:
    """Truth values in the shape of the array: there have to be as many as elements."""
    mask = as_tensor(mask)
    sizes = [product(list(v.type.shape)) if None not in v.type.shape else None for v in (mask, a)]
    if None not in sizes and sizes[0] != sizes[1]:
        raise ValueError(f"{who}: mask and array must have as many elements, got {sizes[0]} and {sizes[1]}")
    return ew.neq(mask if mask.type.shape == a.type.shape and sizes[1] else reshape(mask, lengths(a)), 0)


__all__ = ["append", "delete", "insert", "place", "put", "putmask", "resize", "trim_zeros"]
