"""Ops that order and count: sort, argsort, argtopk, order_statistics, partition, searchsorted, isin, bincount, unique.

NaN counts as larger than any number, as in NumPy. `argsort` is stable, so that every backend gives the same answer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.terms.dtypes import SORTED_STABLY
from termgraph.terms.errors import ShapeError
from termgraph.terms.op import OPS, Op, define
from termgraph.terms.ops.linalg import BatchedOp
from termgraph.terms.ops.shapes import Source, as_first, broadcast_shapes, require_tensor, same_length, with_axes
from termgraph.terms.types import TensorType, TupleType, Type

_sorting_op = functools.partial(define, kind="sort")


def in_order(x: np.ndarray, axis: int | None) -> np.ndarray:
    """The elements along an axis, or all of them, in ascending order."""
    return np.sort(x, axis=axis, kind="stable" if x.dtype.name in SORTED_STABLY else None)


sort = _sorting_op(
    "sort",
    infer=lambda x, *, axis: with_axes("sort", x, axis),
    meaning=lambda x, *, axis: in_order(x, axis),
    length_from=as_first,
    params={"axis": 0},
    doc="The elements along an axis in ascending order.",
)

argsort = _sorting_op(
    "argsort",
    infer=lambda x, *, axis: TensorType.of("int64", with_axes("argsort", x, axis).shape),
    meaning=lambda x, *, axis: np.argsort(x, axis=axis, kind="stable").astype(np.int64, copy=False),
    length_from=as_first,
    params={"axis": 0},
    doc="Where the elements along an axis come from when sorted; equal elements keep their order.",
)


def _infer_argtopk(x: Type, *, axis: int, k: int) -> TensorType:
    tensor = with_axes("argtopk", x, axis)
    if type(k) is not int or k == 0:
        raise ValueError(f"argtopk: k must be positive (k largest) or negative (-k smallest), got {k!r}")
    n = tensor.shape[axis]
    if n is not None:
        _check_enough(n, k)
    return TensorType.of("int64", (*tensor.shape[:axis], abs(k), *tensor.shape[axis + 1 :]))


def too_few(n: object, k: int) -> str:
    """What the user is told of an axis that has fewer elements than are selected; `n` may be a place for the number."""
    return f"topk: the {abs(k)} {'largest' if k > 0 else 'smallest'} of an axis of {n} elements"


def _check_enough(n: int, k: int) -> None:
    if n < abs(k):
        raise ShapeError(too_few(n, k))


def _argtopk(x: np.ndarray, *, axis: int, k: int) -> np.ndarray:
    n = x.shape[axis]
    _check_enough(n, k)
    rows = np.moveaxis(x, axis, -1)
    if k < 0:
        places = np.argsort(rows, axis=-1, kind="stable")[..., :-k]
    else:  # sorting the reversed array and reading backwards keeps equal elements in order
        places = n - 1 - np.argsort(rows[..., ::-1], axis=-1, kind="stable")[..., : -k - 1 : -1]
    return np.ascontiguousarray(np.moveaxis(places, -1, axis), np.int64)


argtopk = _sorting_op(
    "argtopk",
    infer=_infer_argtopk,
    meaning=_argtopk,
    params={"axis": 0, "k": 1},
    doc="Where the k largest elements along an axis are, the largest first, or the -k smallest; of equal ones "
    "the first comes first.",
)


AT_PLACES = ("order_statistics", "partition", "argpartition")  # of rows, and of places in them


def _rows_and_places(who: str, x: Type, places: Type) -> tuple[TensorType, TensorType, tuple[int | None, ...]]:
    """Both operands, and the batch dimensions of the result."""
    rows, at = [require_tensor(t, f"operand {k} of {who}") for k, t in enumerate((x, places))]
    if not rows.ndim or not at.ndim:
        raise TypeError(f"{who}: rows and places have at least one dimension, got {rows} and {at}")
    if at.kind != "i":
        raise TypeError(f"{who}: places must be integers, got {at}")
    return rows, at, broadcast_shapes([rows.shape[:-1], at.shape[:-1]], f"batch dimensions of {who}")


def _infer_order_statistics(x: Type, places: Type) -> TensorType:
    rows, at, batch = _rows_and_places("order_statistics", x, places)
    return TensorType.of(rows.dtype, (*batch, at.shape[-1]))


def _within(x: np.ndarray, places: np.ndarray) -> None:
    n = x.shape[-1]
    for wrong in places[(places < 0) | (places >= n)]:
        raise IndexError(f"index {wrong} is out of bounds for axis {x.ndim - 1} with size {n}")


def _batches(x: np.ndarray, places: np.ndarray) -> list[np.ndarray]:
    """Rows and places with the same batch dimensions."""
    batch = np.broadcast_shapes(x.shape[:-1], places.shape[:-1])
    return [np.broadcast_to(v, (*batch, v.shape[-1])) for v in (x, places)]


def _order_statistics(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    _within(x, places)
    ordered = in_order(x, -1)
    if places.ndim == 1:
        return np.ascontiguousarray(ordered[..., places])
    rows, at = _batches(ordered, places)
    return np.take_along_axis(rows, at, axis=-1)


def _length_of_order_statistics(t: Any, axis: int) -> Source:
    x, places = t.args
    if axis == t.type.ndim - 1:
        return places, places.type.ndim - 1
    return (x, axis) if places.type.ndim == 1 else None  # else both may broadcast


def _at_places(name: str, infer: Callable[..., TensorType], meaning: Callable[..., Any], **spec: Any) -> Op:
    op = OPS[name] = BatchedOp(name, arity=2, infer=infer, meaning=meaning, core=(1, 1), kind="sort", **spec)
    return op


order_statistics = _at_places(
    "order_statistics",
    _infer_order_statistics,
    _order_statistics,
    length_from=_length_of_order_statistics,
    doc="The elements that sorting the last axis puts at places: the same for all rows, or some for each.",
)


def _infer_partition(who: str, dtype: str | None, x: Type, places: Type) -> TensorType:
    rows, _, batch = _rows_and_places(who, x, places)
    return TensorType.of(dtype or rows.dtype, (*batch, rows.shape[-1]))


def _argpartition(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    _within(x, places)
    x, places = _batches(x, places)
    order = np.argsort(x, axis=-1, kind="stable")
    marks = np.zeros(x.shape, np.min_scalar_type(2 * places.shape[-1]))  # few bits are sorted by digits
    np.put_along_axis(marks, places, 1, axis=-1)
    parts = np.empty_like(marks)  # in which part an element is: places are parts of their own
    np.put_along_axis(parts, order, 2 * np.cumsum(marks, axis=-1, dtype=marks.dtype) - marks, axis=-1)
    return np.argsort(parts, axis=-1, kind="stable").astype(np.int64, copy=False)


def _partition(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    order = _argpartition(x, places)
    return np.take_along_axis(np.broadcast_to(x, order.shape), order, axis=-1)


def _length_of_partition(t: Any, axis: int) -> Source:
    x, places = t.args
    return (x, axis - t.type.ndim + x.type.ndim) if axis == t.type.ndim - 1 or places.type.ndim == 1 else None


partition = _at_places(
    "partition",
    functools.partial(_infer_partition, "partition", None),
    _partition,
    length_from=_length_of_partition,
    doc="The rows with elements at places where sorting puts them, what is before them in order in front, as it lay.",
)

argpartition = _at_places(
    "argpartition",
    functools.partial(_infer_partition, "argpartition", "int64"),
    _argpartition,
    length_from=_length_of_partition,
    doc="Where the elements of `partition` come from; equal elements are ordered by their places.",
)


def _infer_searchsorted(a: Type, v: Type, *, side: str) -> TensorType:
    table, values = require_tensor(a, "operand 0 of searchsorted"), require_tensor(v, "operand 1 of searchsorted")
    if table.ndim != 1:
        raise TypeError(f"searchsorted: the sorted array must be a vector, got {table}")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    return TensorType.of("int64", values.shape)


searchsorted = _sorting_op(
    "searchsorted",
    infer=_infer_searchsorted,
    meaning=lambda a, v, *, side: np.asarray(np.searchsorted(a, v, side=side), dtype=np.int64),
    params={"side": "left"},
    doc="Where values would go in a sorted vector to keep it sorted: before (left) or after (right) equal elements.",
)


def _infer_isin(x: Type, among: Type) -> TensorType:
    element, table = require_tensor(x, "operand 0 of isin"), require_tensor(among, "operand 1 of isin")
    if table.ndim != 1 or table.dtype != element.dtype:
        raise TypeError(f"isin: what is looked up must be a vector of {element.dtype}, got {table}")
    return TensorType.of("bool", element.shape)


isin = _sorting_op(
    "isin",
    infer=_infer_isin,
    meaning=lambda x, among: np.asarray(np.isin(x, among)),
    length_from=as_first,
    doc="Where an element is one of those of a vector of the same dtype. NaN is none of them.",
)


# ---------------------------------------------------------------------- counting
def _infer_bincount(x: Type, minlength: Type, *weights: Type) -> TensorType:
    tensor = require_tensor(x, "operand 0 of bincount")
    if tensor.ndim != 1 or tensor.kind not in "iub":
        raise TypeError(f"bincount: the values must be a vector of integers, got {tensor}")
    least = require_tensor(minlength, "operand 1 of bincount")
    if least.ndim or least.kind not in "iu":
        raise TypeError(f"bincount: minlength must be an integer without dimensions, got {least}")
    if len(weights) > 1:
        raise TypeError(f"bincount takes values, minlength and weights, got {len(weights) + 2} operands")
    for t in weights:
        w = require_tensor(t, "operand 2 of bincount")
        if w.ndim != 1 or w.kind == "c":
            raise TypeError(f"bincount: weights must be a vector of real numbers, got {w}")
        same_length(tensor.shape[0], w.shape[0], "bincount: lengths of values and weights")
    return TensorType.of("float64" if weights else "int64", (None,))


def _bincount(x: np.ndarray, minlength: np.ndarray, *weights: np.ndarray) -> np.ndarray:
    x = np.asarray(x).astype(np.int64, copy=False)
    if minlength < 0:
        raise ValueError(f"bincount: minlength must not be negative, got {int(minlength)}")
    if weights and len(weights[0]) != len(x):
        raise ShapeError(f"bincount: {len(x)} values but {len(weights[0])} weights")
    if len(x) and x.min() < 0:
        raise ValueError(f"bincount: values must not be negative, got {x.min()} at position {x.argmin()}")
    if len(x) and x.max() > np.iinfo(np.int64).max // 8:  # for the largest of all NumPy 2.4 writes past the end
        raise MemoryError(f"bincount: no room for {int(x.max()) + 1} counts")
    counts = np.bincount(x, weights[0] if weights else None, int(minlength))
    return counts.astype(np.float64 if weights else np.int64, copy=False)


bincount = _sorting_op(
    "bincount",
    infer=_infer_bincount,
    meaning=_bincount,
    doc="How often each of 0, 1, 2, ... occurs, or the sum of its weights: bincount(x, minlength[, weights]).",
)


# ---------------------------------------------------------------------- unique
def _infer_unique_values(x: Type, axis: int | None, equal_nan: bool) -> TensorType:
    tensor = require_tensor(x, "operand of unique")
    if axis is None:
        return TensorType.of(tensor.dtype, (None,))
    with_axes("unique", x, axis)
    return TensorType.of(tensor.dtype, (*tensor.shape[:axis], None, *tensor.shape[axis + 1 :]))


def _infer_unique_parts(parts: str, x: Type, *, axis: int | None, equal_nan: bool) -> TupleType:
    values = _infer_unique_values(x, axis, equal_nan)
    tensor = require_tensor(x, "operand of unique")
    inverse = TensorType.of("int64", tensor.shape if axis is None else (tensor.shape[axis],))
    places = TensorType.of("int64", (None,))
    return TupleType((values, *[inverse if part == "inverse" else places for part in parts.split()]))


def _unique(x: object, *, axis: int | None, equal_nan: bool) -> np.ndarray:
    """Sorted, and without what equals the one before: NumPy 2.3 and later look numbers up in a table, which takes
    twelve times as long where most are distinct.
    """
    x = np.asarray(x)
    if axis is not None or x.dtype.kind not in "biuf" or x.dtype.isbuiltin != 1:
        return np.unique(x, axis=axis, equal_nan=equal_nan)
    if _is_short_range(x, ["values"]):
        return _counted(x, ())[0]
    if x.dtype.name in SORTED_STABLY and x.size > _FEW:
        return _unique_halves(x.reshape(-1), equal_nan)
    ordered = in_order(x, None)
    new = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    if equal_nan and ordered.size and ordered[-1] != ordered[-1]:
        new[np.searchsorted(ordered, ordered[-1]) + 1 :] = False  # NaN come last
    return ordered[new]


_FEW = 4096  # elements, which are sorted as fast as a table of all numbers of 16 bits is looked through


def _unique_halves(x: np.ndarray, equal_nan: bool) -> np.ndarray:
    """The distinct floats of 16 bits: negative ones, a zero, positive ones, NaN. Of equal ones the first stays."""
    there = np.zeros(1 << 16, np.bool_)
    there[x.view(np.uint16)] = True
    negative = np.flatnonzero(there[0x8001:0xFC01])[::-1] + 0x8001
    positive = np.flatnonzero(there[1:0x7C01]) + 1
    zero, nan = x[x == 0][:1], x[x != x]
    parts = [negative, zero.view(np.uint16), positive, nan[: 1 if equal_nan else None].view(np.uint16)]
    return np.concatenate(parts, dtype=np.uint16, casting="unsafe").view(x.dtype)


# So many times the elements may the range of whole numbers be: a longer table takes longer than sorting them.
_IN_TABLE = {"index": 4, "inverse": 3, "counts": 1, "values": 1}


def _is_short_range(x: np.ndarray, parts: Sequence[str]) -> bool:
    """Whether tables give these parts of whole numbers sooner than sorting does."""
    if x.dtype.kind not in "iu" or not x.size:
        return False
    return int(x.max()) - int(x.min()) < max([_IN_TABLE[part] for part in parts]) * x.size


def _counted(x: np.ndarray, parts: Sequence[str]) -> tuple[np.ndarray, ...]:
    """Parts of what `unique` can say of whole numbers from a short range: by tables, without sorting."""
    least = x.min()
    flat = (x - least).view(f"u{x.dtype.itemsize}").reshape(-1).astype(np.intp)  # differences may need the sign's bit
    counts = np.bincount(flat)
    (found,) = np.nonzero(counts)
    out = [found.astype(x.dtype) + least]
    for part in parts:
        if part == "counts":
            out.append(counts[found].astype(np.int64))
            continue
        table = np.zeros(counts.size, np.int64)
        if part == "inverse":
            table[found] = np.arange(found.size)
            out.append(table[flat].reshape(x.shape))
        else:
            table[flat[::-1]] = np.arange(x.size - 1, -1, -1)  # of several written to one place the last one stays
            out.append(table[found])
    return tuple(out)


def _unique_parts(parts: str, x: object, *, axis: int | None, equal_nan: bool) -> tuple[np.ndarray, ...]:
    """The distinct elements, and those of "index", "inverse" and "counts" that are asked for: places take longest."""
    x, asked = np.asarray(x), parts.split()
    if axis is None and _is_short_range(x, asked):
        return _counted(x, asked)
    wanted: dict[str, Any] = {f"return_{part}": True for part in asked}
    wide = x.astype(np.float32) if x.dtype.name in SORTED_STABLY else x
    found = dict(zip(["values", *asked], np.unique(wide, axis=axis, equal_nan=equal_nan, **wanted), strict=True))
    found["values"] = found["values"].astype(x.dtype, copy=False)
    if "inverse" in found:
        found["inverse"] = found["inverse"].reshape(x.shape if axis is None else (x.shape[axis],))
    return tuple([part if name == "values" else np.asarray(part, np.int64) for name, part in found.items()])


unique = _sorting_op(
    "unique",
    infer=lambda x, *, axis, equal_nan: _infer_unique_values(x, axis, equal_nan),
    meaning=_unique,
    params={"axis": None, "equal_nan": True},
    doc="The sorted distinct elements of an array (axis=None), or distinct slices along an axis.",
)


def _unique_with(name: str, parts: str, doc: str) -> Op:
    return _sorting_op(
        name,
        arity=1,
        infer=functools.partial(_infer_unique_parts, parts),
        meaning=functools.partial(_unique_parts, parts),
        nout=1 + len(parts.split()),
        params={"axis": None, "equal_nan": True},
        doc=doc,
    )


unique_all = _unique_with(
    "unique_all",
    "index inverse counts",
    "Distinct elements, where each first occurs, which of them each element is, how often each occurs.",
)
unique_counts = _unique_with("unique_counts", "counts", "Distinct elements, and how often each occurs.")
unique_inverse = _unique_with("unique_inverse", "inverse", "Distinct elements, and which of them each element is.")
