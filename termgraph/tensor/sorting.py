"""Sorting, searching and counting with NumPy's names."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from termgraph.config import config
from termgraph.tensor.creation import arange
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import DTypeLike, TensorLike
from termgraph.tensor.reductions import all as all_over
from termgraph.tensor.reductions import to_dtype
from termgraph.tensor.selecting import take_along_axis
from termgraph.tensor.shaping import broadcast_to, dimshuffle, moveaxis, on_axis, ravel, reshape, specify_shape
from termgraph.tensor.variable import Constant, TensorVariable, Variable, is_plain_number
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import HALVES, promote
from termgraph.terms.op import Op
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import sorting as ops
from termgraph.terms.ops.shapes import at_axis, normal_axis
from termgraph.terms.types import dtype_name


# ---------------------------------------------------------------------- order
def _axis(x: TensorLike, axis: int | None) -> tuple:
    x = as_tensor(x)
    return on_axis(x, None if x.ndim == 0 and axis in (-1, 0) else axis)


@on_terms
def sort(
    x: TensorLike,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> TensorVariable:
    """The elements in ascending order along an axis (None: of the flattened array), or in descending order.

    `kind` and `stable` make no difference. NaN are the last, of a descending order the first.
    """
    x, axis = _axis(x, axis)
    found = ops.sort(x, axis=axis)
    return found[(slice(None),) * axis + (slice(None, None, -1),)] if descending else found


@on_terms
def sort_complex(a: TensorLike) -> TensorVariable:
    """The array as complex numbers, sorted along the last axis by real parts, then by imaginary ones.

    >>> import termgraph.tensor as T
    >>> T.sort_complex([3, 1 + 2j, 1 + 1j]).eval()
    array([1.+1.j, 1.+2.j, 3.+0.j])
    """
    a = sort(a)
    if a.type.kind == "c":
        return a
    return ew.cast(a, dtype="complex64" if a.type.dtype in ("int8", "uint8", "int16", "uint16") else "complex128")


@on_terms
def argsort(
    x: TensorLike,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> TensorVariable:
    """The positions that sort the array along an axis. Always stable: equal elements keep their order."""
    x, axis = _axis(x, axis)
    if not descending:
        return ops.argsort(x, axis=axis)
    back = (slice(None),) * axis + (slice(None, None, -1),)
    return length(x, axis) - 1 - ops.argsort(x[back], axis=axis)[back]


@on_terms
def partition(x: TensorLike, kth: int | Sequence[int], axis: int | None = -1) -> TensorVariable:
    """The array with element `kth` of an axis where sorting puts it, those before it in order in front of it.

    On both sides elements stay in the order in which they lay (NumPy leaves it open), and of equal ones the first
    come first. NaN are the last. With several `kth` the same holds between each of them and the next.

    >>> import termgraph.tensor as T
    >>> T.partition([7, 1, 5, 3, 9], 1).eval()
    array([1, 3, 7, 5, 9])
    """
    return _at_places(ops.partition, x, kth, axis)


@on_terms
def argpartition(x: TensorLike, kth: int | Sequence[int], axis: int | None = -1) -> TensorVariable:
    """Where the elements of `partition` come from.

    >>> import termgraph.tensor as T
    >>> T.argpartition([7, 1, 5, 3, 9], 1).eval()
    array([1, 3, 0, 2, 4])
    """
    return _at_places(ops.argpartition, x, kth, axis)


def _at_places(op: Op, x: TensorLike, kth: int | Sequence[int], axis: int | None) -> TensorVariable:
    x, axis = _axis(x, axis)
    return moveaxis(op(moveaxis(x, axis, -1), _places(kth, length(x, axis), op.name)), -1, axis)


def _places(kth: int | Sequence[int], n: Any, who: str) -> TensorVariable:
    """Places along an axis of n elements as a vector; negative ones count from the end."""
    if isinstance(kth, Variable):
        if kth.type.kind not in "iu":
            raise TypeError(f"{who}: kth must be an integer or several, got {kth} of type {kth.type}")
        return arange(n)[ravel(kth)]
    places = np.asarray(kth).ravel()
    if places.dtype.kind not in "iu" and places.size:
        raise TypeError(f"{who}: kth must be an integer or several, got {kth!r:.60}")
    if not isinstance(n, int):
        return arange(n)[as_tensor(places.astype(np.int64))]
    for k in places:
        if not -n <= k < n:
            raise ValueError(f"{who}: kth {k} is out of range for an axis of {n} elements")
    return as_tensor(places.astype(np.int64) % max(n, 1))


@on_terms
def lexsort(keys: Any, axis: int = -1) -> TensorVariable:
    """The positions that sort by several keys along an axis: by the last one, and where that is equal by those before.

    `keys` are a list of arrays, or an array whose first length is known.

    >>> import termgraph.tensor as T
    >>> T.lexsort([[9, 4, 0, 4], [1, 5, 1, 4]]).eval()
    array([2, 0, 3, 1])
    """
    if not isinstance(keys, (list, tuple)):
        keys = as_tensor(keys)
        if keys.ndim == 0 or keys.type.shape[0] is None:
            raise ValueError(f"lexsort: how many keys there are is not known of {keys.type}; give a list of them")
        keys = [keys[k] for k in range(keys.type.shape[0])]
    if not keys:
        raise TypeError("lexsort: need at least one key")
    first, *others = map(as_tensor, keys)
    axis = normal_axis(axis, first.ndim)
    order = ops.argsort(first, axis=axis)
    for key in others:  # sorting is stable, so the order of what is equal stays
        order = take_along_axis(order, ops.argsort(take_along_axis(key, order, axis), axis=axis), axis)
    return order


def _check_k(k: Any) -> Any:
    if isinstance(k, Constant):
        k = int(k.data)
    if k is not None and not hasattr(k, "term") and (isinstance(k, bool) or not hasattr(k, "__index__") or k == 0):
        raise ValueError(f"topk: k must be a positive integer (k largest) or a negative one (-k smallest), got {k!r}")
    return k


@on_terms
def argtopk(
    x: TensorLike, kth: TensorLike, axis: int | None = -1, sorted: bool = True, idx_dtype: DTypeLike = "int64"
) -> TensorVariable:
    """Positions of the `kth` largest elements, largest first; of the -kth smallest, smallest first, if negative.

    Of equal elements the first comes first, NaN counts as larger than any number. There must be as many elements.
    `kth` may be symbolic (then it must be positive, and all of the axis is sorted).

    >>> import termgraph.tensor as T
    >>> T.argtopk([3, 1, 4, 1, 5], 2).eval()
    array([4, 2])
    """
    k = _check_k(kth)
    x, axis = _axis(x, axis)
    if not hasattr(k, "term"):
        places = ops.argtopk(x, axis=axis, k=operator.index(k))
    else:  # sorting the reversed array and reading backwards keeps equal elements in order
        turned = at_axis(axis, slice(None, None, -1))
        backwards = ops.argsort(x[turned], axis=axis)[turned]
        first = backwards[at_axis(axis, slice(None, k))]
        first = specify_shape(first, [k if d == axis else None for d in range(x.ndim)])  # neither longer nor negative
        places = as_tensor(length(x, axis)) - 1 - first
    return places if dtype_name(idx_dtype) == "int64" else ew.cast(places, dtype=dtype_name(idx_dtype))


@on_terms
def topk(x: TensorLike, kth: TensorLike, axis: int | None = -1, sorted: bool = True) -> TensorVariable:
    """The `kth` largest elements along an axis, largest first; if negative, the -kth smallest, smallest first.

    >>> import termgraph.tensor as T
    >>> T.topk(T.tensor("x", dtype="float64", shape=(5, 9)), 3).type
    TensorType(float64, (5, 3))
    """
    x, axis = _axis(x, axis)
    return take_along_axis(x, argtopk(x, kth, axis), axis)


@on_terms
def topk_and_argtopk(
    x: TensorLike, kth: TensorLike, axis: int | None = -1, sorted: bool = True, idx_dtype: DTypeLike = "int64"
) -> list:
    """The `kth` largest elements and their positions."""
    x, axis = _axis(x, axis)
    places = argtopk(x, kth, axis)
    return [take_along_axis(x, places, axis), ew.cast(places, dtype=dtype_name(idx_dtype))]


# ---------------------------------------------------------------------- searching
@on_terms
def searchsorted(a: Any, v: TensorLike, side: str = "left", sorter: TensorLike | None = None) -> TensorVariable:
    """Where `v` would go in the sorted vector `a`: before (`left`) or after (`right`) equal elements.

    `sorter` holds the positions that sort `a`, if it is not sorted itself.

    >>> import termgraph.tensor as T
    >>> T.searchsorted(T.dvector("edges"), T.dmatrix("x")).type
    TensorType(int64, (?, ?))
    """
    a = as_tensor(a)
    return ops.searchsorted(a if sorter is None else a[sorter], v, side=side)


@on_terms
def isin(
    element: TensorLike,
    test_elements: TensorLike,
    invert: bool = False,
    *,
    assume_unique: bool = False,
    kind: str | None = None,
) -> TensorVariable:
    """Where an element is one of `test_elements` (is not, with `invert`). NaN is none of them.

    `assume_unique` and `kind`, which say how NumPy searches, make no difference.

    >>> import termgraph.tensor as T
    >>> T.isin([1, 2, 3], [3, 1]).eval()
    array([ True, False,  True])
    """
    x, among = as_tensor(element), ravel(as_tensor(test_elements))
    common = promote(x.type.np_dtype, among.type.np_dtype).name
    wide = "uint8" if common == "bool" else "float32" if common in HALVES else common
    found = ops.isin(ravel(ew.cast(x, dtype=wide)), ew.cast(among, dtype=wide))
    found = reshape(found, x.shape, ndim=x.type.ndim)
    return ew.logical_not(found) if invert else found


@on_terms
def digitize(x: TensorLike, bins: TensorLike, right: bool = False) -> TensorVariable:
    """The number of the bin each element falls into; `bins` are ascending or descending edges."""
    x, bins = as_tensor(x), as_tensor(bins)
    side = "left" if right else "right"
    ascending = ops.searchsorted(bins, x, side=side)
    if isinstance(bins, Constant):
        edges = bins.data
        if np.all(edges[:-1] <= edges[1:]):
            return ascending
        if not np.all(edges[:-1] >= edges[1:]):
            raise ValueError(f"digitize: bins must be ascending or descending, got {edges}")
    n = as_tensor(length(bins, 0))
    descending = n - ops.searchsorted(bins[::-1], x, side=side)
    if isinstance(bins, Constant):
        return descending
    return ew.switch(all_over(ew.le(bins[:1], bins[-1:])), ascending, descending)  # no bins at all are ascending


@on_terms
def interp(
    x: TensorLike,
    xp: TensorLike,
    fp: TensorLike,
    left: TensorLike | None = None,
    right: TensorLike | None = None,
    period: TensorLike | None = None,
) -> TensorVariable:
    """Piecewise linear interpolation through the points (xp, fp); xp must be ascending, where there is no `period`.

    Outside of xp the result is `left` and `right`, by default the first and last of fp; a function with a `period`
    goes on there.

    >>> import termgraph.tensor as T
    >>> T.interp([365.0, 20.0], [0.0, 90.0, 180.0], [0.0, 1.0, 0.0], period=180.0).eval().round(6)
    array([0.055556, 0.222222])
    """
    x, xp, fp = as_tensor(x), as_tensor(xp), as_tensor(fp)
    if "c" in (x.type.kind, xp.type.kind):
        raise TypeError(f"interp: x and xp must be real numbers, got {x.type} and {xp.type}")
    x, xp = [to_dtype(v, "float64") for v in (x, xp)]
    fp = to_dtype(fp, "complex128" if fp.type.kind == "c" else "float64")
    if period is not None:
        if is_plain_number(period) and period == 0:
            raise ValueError("interp: a period must not be 0")
        x, xp, fp = _repeated(x, xp, fp, ew.abs_(to_dtype(as_tensor(period), "float64")))
        left = right = None
    last = as_tensor(length(xp, 0)) - 1
    upper = ew.clip(ops.searchsorted(xp, x, side="right"), 1, ew.maximum(last, 1))
    lower = upper - 1
    upper = ew.minimum(upper, last)

    def at(fp: TensorVariable) -> TensorVariable:
        return _on_line(x, xp[lower], xp[upper], fp[lower], fp[upper])

    inside = ew.complex_(at(ew.real(fp)), at(ew.imag(fp))) if fp.type.kind == "c" else at(fp)
    result = ew.switch(ew.lt(x, xp[0]), fp[0] if left is None else left, inside)
    result = ew.switch(ew.ge(x, xp[-1]), fp[-1], result)
    result = ew.switch(ew.gt(x, xp[-1]), fp[-1] if right is None else right, result)
    return ew.switch(ew.isnan(x), x, result)


def _on_line(
    x: TensorVariable, x0: TensorVariable, x1: TensorVariable, y0: TensorVariable, y1: TensorVariable
) -> TensorVariable:
    """The line from (x0, y0) to (x1, y1) at x; where infinite numbers make that NaN, seen from its other end."""
    width = x1 - x0
    flat = ew.eq(width, 0)  # beyond the last point only, where nobody looks
    slope = (y1 - y0) / ew.switch(flat, 1, width)
    found = y0 + slope * (x - x0)
    # x may be x0 where y1 is infinite (0 times infinity), and the slope is none between equal infinite numbers.
    otherwise = ew.switch(ew.logical_or(ew.eq(x, x0), ew.eq(y0, y1)), y0, y1 + slope * (x - x1))
    return ew.switch(ew.isnan(found), otherwise, found)


def _repeated(x: TensorVariable, xp: TensorVariable, fp: TensorVariable, period: TensorVariable) -> tuple:
    """One period of the points in ascending order, with the last one before it and the first one behind it."""
    x, xp = x % period, xp % period
    order = ops.argsort(xp, axis=0)
    xp, fp = xp[order], fp[order]
    joined = [[xp[-1:] - period, xp, xp[:1] + period], [fp[-1:], fp, fp[:1]]]
    return x, *[concatenate(parts) for parts in joined]


# ---------------------------------------------------------------------- counting
@on_terms
def bincount(x: TensorLike, weights: TensorLike | None = None, minlength: Any = 0) -> TensorVariable:
    """How often each of 0, 1, 2, ... occurs in a vector of integers, or the sum of the weights where it does.

    >>> import termgraph.tensor as T
    >>> T.bincount(T.lvector("labels"), minlength=10).type
    TensorType(int64, (?,))
    """
    if not hasattr(minlength, "term") and minlength is not None and minlength < 0:
        raise ValueError(f"bincount: minlength must not be negative, got {minlength}")
    least = as_tensor(0 if minlength is None else minlength)
    x = np.zeros(0, "int64") if isinstance(x, (list, tuple)) and not x else x  # an empty list says no dtype
    if weights is None:
        return ops.bincount(x, least)
    return ops.bincount(x, least, weights)


@overload
def unique(x: TensorLike, *, axis: int | None = None, equal_nan: bool = True) -> TensorVariable: ...
@overload
def unique(
    x: TensorLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    equal_nan: bool = True,
) -> list[TensorVariable]: ...
@on_terms
def unique(
    x: TensorLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    equal_nan: bool = True,
    *,
    sorted: bool = True,
) -> Any:
    """The distinct elements, or distinct slices along an axis; always sorted.

    With the flags also, in this order: where each first occurs, which of them each element is, how often each occurs.
    Several NaN count as one, unless `equal_nan` is False.
    """
    x = as_tensor(x)
    axis = None if axis is None else normal_axis(axis, x.ndim)
    if not (return_index or return_inverse or return_counts):
        return ops.unique(x, axis=axis, equal_nan=equal_nan)
    if not return_index and not (return_inverse and return_counts):  # where each first occurs takes a stable sort
        return [*(ops.unique_inverse if return_inverse else ops.unique_counts)(x, axis=axis, equal_nan=equal_nan)]
    values, *more = ops.unique_all(x, axis=axis, equal_nan=equal_nan)
    return [values, *[v for v, wanted in zip(more, (return_index, return_inverse, return_counts)) if wanted]]


# the array API's names: each NaN stands for itself
def unique_values(x: TensorLike) -> TensorVariable:
    """The sorted distinct elements.

    >>> import termgraph.tensor as T
    >>> T.unique_values([3, 1, 3]).eval()
    array([1, 3])
    """
    return unique(x, equal_nan=False)


def unique_counts(x: TensorLike) -> list[TensorVariable]:
    """[values, counts]: the sorted distinct elements, and how often each occurs.

    >>> import termgraph.tensor as T
    >>> [v.eval() for v in T.unique_counts([3, 1, 3])]
    [array([1, 3]), array([1, 2])]
    """
    return unique(x, return_counts=True, equal_nan=False)


def unique_inverse(x: TensorLike) -> list[TensorVariable]:
    """[values, inverse]: the sorted distinct elements, and which of them each element is, in the array's shape.

    >>> import termgraph.tensor as T
    >>> [v.eval() for v in T.unique_inverse([3, 1, 3])]
    [array([1, 3]), array([1, 0, 1])]
    """
    return unique(x, return_inverse=True, equal_nan=False)


def unique_all(x: TensorLike) -> list[TensorVariable]:
    """[values, indices, inverse, counts]: `unique` with all that it can say.

    >>> import termgraph.tensor as T
    >>> [v.eval() for v in T.unique_all([3, 1, 3])]
    [array([1, 3]), array([1, 0]), array([1, 0, 1]), array([1, 2])]
    """
    return unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)


@on_terms
def one_hot(y: TensorLike, nb_class: int, dtype: DTypeLike = None) -> TensorVariable:
    """Each integer as a vector of zeros with a one at its place: a new last dimension of length `nb_class`.

    >>> import termgraph.tensor as T
    >>> T.one_hot(T.lvector("labels"), 10, dtype="float32").type
    TensorType(float32, (?, 10))
    """
    y = as_tensor(y)
    if y.type.kind not in "iu":
        raise TypeError(f"one_hot: labels must be integers, got {y} of dtype {y.type.dtype}")
    hot = ew.eq(dimshuffle(y, *range(y.ndim), "x"), arange(nb_class))
    return ew.cast(hot, dtype=dtype_name(config.floatX if dtype is None else dtype))


# ---------------------------------------------------------------------- differences
@on_terms
def diff(
    x: TensorLike, n: int = 1, axis: int = -1, prepend: TensorLike | None = None, append: TensorLike | None = None
) -> TensorVariable:
    """Differences of neighbours along an axis, taken `n` times."""
    x = as_tensor(x)
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    axis = normal_axis(axis, x.ndim)
    ends = [_end(x, prepend, axis), x, _end(x, append, axis)]
    if n and (prepend is not None or append is not None):
        x = concatenate([e for e in ends if e is not None], axis)
    minus = ew.neq if x.type.dtype == "bool" else ew.sub
    for _ in range(n):
        x = minus(x[at_axis(axis, slice(1, None))], x[at_axis(axis, slice(None, -1))])
    return x


def _end(x: TensorVariable, value: object, axis: int) -> Any:
    """What `diff` puts before or after: a number stands for one slice of it."""
    if value is None:
        return None
    value = as_tensor(value)
    if value.ndim:
        return value
    return broadcast_to(value, [1 if d == axis else length(x, d) for d in range(x.ndim)])


@on_terms
def ediff1d(x: TensorLike, to_end: TensorLike | None = None, to_begin: TensorLike | None = None) -> TensorVariable:
    """Differences of neighbours of the flattened array, with elements to put before and after."""
    middle = diff(ravel(x))
    parts = [ravel(to_begin) if to_begin is not None else None, middle, ravel(to_end) if to_end is not None else None]
    parts = [ew.cast(p, dtype=middle.type.dtype) if p is not middle else p for p in parts if p is not None]
    return concatenate(parts) if len(parts) > 1 else middle


to_one_hot = one_hot
METHODS = {
    "sort": sort, "argsort": argsort, "argtopk": argtopk, "topk": topk,
    "searchsorted": lambda self, v, side="left", sorter=None: searchsorted(self, v, side, sorter),
}  # fmt: skip
__all__ = [
    "argpartition", "argsort", "argtopk", "bincount", "diff", "digitize", "ediff1d", "interp", "isin", "lexsort",
    "one_hot", "partition", "searchsorted", "sort", "sort_complex", "to_one_hot", "topk", "topk_and_argtopk",
    "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip
