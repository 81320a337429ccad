"""Indexing ops: reading and replacing parts of an array.

Their parameter `index` has one entry per leading dimension: an int or "?" (an integer operand) drops the dimension,
`("s", start, stop, step)` slices it, each part an int, None or "?"; "a" takes it at an integer array operand.
Operands for "?" and "a" follow in the order they are named. Dimensions not mentioned are taken whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from termgraph.terms.dtypes import can_cast, is_bfloat16
from termgraph.terms.errors import ShapeError
from termgraph.terms.evaluate import check_broadcast
from termgraph.terms.op import OPS, Meaning, Op, define
from termgraph.terms.ops.shapes import as_first, broadcast_shapes, require_tensor
from termgraph.terms.types import Shape, TensorType, TupleType, Type, shape_text

FULL = ("s", None, None, None)
SCATTERS = ("scatter_set", "scatter_add", "scatter_mul", "scatter_max", "scatter_min")


# ---------------------------------------------------------------------- typing
def check_static_index(i: int, axis: int, length: int | None) -> None:
    """Refuse an integer index that cannot be in range."""
    if length is not None and not -length <= i < length:
        raise IndexError(f"index {i} is out of bounds for axis {axis} of length {length}")


def slice_length(part: tuple[Any, ...], n: int | None) -> int | None:
    """Length of `range(n)[start:stop:step]`, as far as it is known while building."""
    _, start, stop, step = part
    if step == 0:
        raise ValueError("a slice step cannot be zero")
    if part == FULL:
        return n
    if n is None or "?" in part[1:]:
        return 0 if step in (None, 1) and _surely_empty(start, stop) else None
    return len(range(*slice(start, stop, step).indices(n)))


def _surely_empty(start: int | str | None, stop: int | str | None) -> bool:
    """Whether a forward slice with these bounds is empty whatever the length."""
    if isinstance(start, int) and isinstance(stop, int):
        return start >= stop and (start < 0) == (stop < 0)
    return stop == 0


def _operand(name: str, types: Iterator[Type], what: str) -> TensorType:
    try:
        found = require_tensor(next(types), f"{what} of {name}")
    except StopIteration:
        raise TypeError(f"{name}: the index names more operands than were given") from None
    if found.kind not in "iu":
        raise TypeError(f"{name}: {what} must be integers, got dtype {found.dtype}")
    return found


def indexed_shape(name: str, x: TensorType, index: tuple[Any, ...], operands: tuple[Type, ...]) -> Shape:
    """The static shape of `x[index]`, NumPy's placement of array indices included."""
    if len(index) > x.ndim:
        raise IndexError(f"{name}: {len(index)} indices for an array with {x.ndim} dimensions")
    types = iter(operands)
    kept: list[int | None] = []
    arrays: list[Shape] = []
    place, last = 0, -1
    together = True
    for axis, part in enumerate(index):
        n = x.shape[axis]
        if part == "a":
            arrays.append(_operand(name, types, "an index array").shape)
            if len(arrays) == 1:
                place = len(kept)
            elif last != axis - 1:
                together = False
            last = axis
        elif isinstance(part, tuple):
            for p in part[1:]:
                if p == "?":
                    _require_scalar(name, _operand(name, types, "a slice bound"))
            kept.append(slice_length(part, n))
        elif part == "?":
            _require_scalar(name, _operand(name, types, "an index"))
        else:
            check_static_index(part, axis, n)
    if next(types, None) is not None:
        raise TypeError(f"{name}: more operands than the index {index} names")
    rest = (*kept, *x.shape[len(index) :])
    if not arrays:
        return rest
    common = broadcast_shapes(arrays, "index arrays")
    at = place if together else 0
    return (*rest[:at], *common, *rest[at:])


def _require_scalar(name: str, type_: TensorType) -> None:
    if type_.ndim:
        raise TypeError(f"{name}: a single index must have no dimensions, got {type_}")


def _infer_read(name: str, arrays: bool) -> Callable[..., Any]:
    def infer(x: Type, *operands: Type, index: tuple[Any, ...]) -> TensorType:
        tensor = require_tensor(x, f"operand 0 of {name}")
        _check_entries(name, index, arrays)
        return TensorType.of(tensor.dtype, indexed_shape(name, tensor, index, operands))

    return infer


def _infer_write(name: str, arrays: bool) -> Callable[..., Any]:
    def infer(x: Type, y: Type, *operands: Type, index: tuple[Any, ...]) -> TensorType:
        tensor = require_tensor(x, f"operand 0 of {name}")
        value = require_tensor(y, f"operand 1 of {name}")
        _check_entries(name, index, arrays)
        target = indexed_shape(name, tensor, index, operands)
        check_fits(name, value.shape, target)
        if not can_cast(value.np_dtype, tensor.np_dtype, "same_kind"):
            raise TypeError(
                f"{name}: values of dtype {value.dtype} do not fit an array of dtype {tensor.dtype} "
                f"without loss; cast them explicitly: T.cast(values, {tensor.dtype!r})"
            )
        return tensor

    return infer


def _check_entries(name: str, index: tuple[Any, ...], arrays: bool) -> None:
    for part in index:
        if type(part) is tuple:
            known = len(part) == 4 and part[0] == "s"
        else:
            known = part == "a" if arrays else part == "?" or type(part) is int
        if not known:
            raise TypeError(f"{name}: {part!r} is not an index entry")


def check_fits(name: str, value: Shape, target: Shape) -> None:
    """Refuse values that cannot be broadcast to the indexed part."""
    pairs = zip(reversed(value), reversed(target), strict=False)
    if len(value) > len(target) or any(v not in (1, None) and t is not None and v != t for v, t in pairs):
        raise ShapeError(
            f"{name}: values of shape {shape_text(value)} do not fit the indexed part of shape {shape_text(target)}"
        )


# ---------------------------------------------------------------------- meaning
def numpy_index(index: tuple[Any, ...], operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index as NumPy takes it. The final Ellipsis keeps results arrays, also when no dimension is left."""
    values = iter(operands)

    def part(p: int | str | None) -> int | str | None:
        return int(next(values)) if p == "?" else p

    key: list[Any] = []
    for entry in index:
        if isinstance(entry, tuple):
            start, stop, step = [part(p) for p in entry[1:]]
            key.append(slice(start, stop, step))
        else:
            key.append(next(values) if entry == "a" else part(entry))
    return (*key, ...)


def _subtensor(x: np.ndarray, *operands: np.ndarray, index: tuple[Any, ...]) -> np.ndarray:
    result: np.ndarray = np.asarray(x)[numpy_index(index, operands)]
    return result


def _gather(x: np.ndarray, *operands: np.ndarray, index: tuple[Any, ...]) -> np.ndarray:
    found = np.asarray(x)[numpy_index(index, operands)]
    result: np.ndarray = found if any(np.ndim(v) for v in operands) else found.copy()  # 0-d index arrays give a view
    return result


def _set(x: np.ndarray, y: np.ndarray, *operands: np.ndarray, index: tuple[Any, ...]) -> np.ndarray:
    out = np.array(x)
    out[numpy_index(index, operands)] = y
    return out


def _inc(x: np.ndarray, y: np.ndarray, *operands: np.ndarray, index: tuple[Any, ...]) -> np.ndarray:
    out = np.array(x)
    part = out[numpy_index(index, operands)]
    if is_bfloat16(out.dtype):
        y = np.asarray(y).astype(out.dtype)
    np.add(part, y, out=part, casting="same_kind")
    return out


def _folded_in(ufunc: np.ufunc) -> Meaning:
    def scatter(x: np.ndarray, y: np.ndarray, *operands: np.ndarray, index: tuple[Any, ...]) -> np.ndarray:
        out = np.array(x)
        ufunc.at(out, numpy_index(index, operands), np.asarray(y).astype(out.dtype, copy=False))
        return out

    return scatter


class IndexOp(Op):
    """An op with the parameter `index`. `lead` operands (the array, the values) precede those the index names."""

    lead: int = 1

    def runtime_check(self, types: Sequence[Type], values: Sequence[Any]) -> None:
        """A length of an index array or of the values that was not known to be 1 must not stretch."""
        static = [t.shape for t in types]  # type: ignore[attr-defined]
        shapes = [np.shape(v) for v in values]
        arrays = [i for i in range(self.lead, len(values)) if shapes[i]]
        if arrays:
            check_broadcast(f"index arrays of {self.name}", [static[i] for i in arrays], [shapes[i] for i in arrays])
        if self.lead == 2 and any(n == 1 and known != 1 for n, known in zip(shapes[1], static[1], strict=True)):
            key = numpy_index(self.params["index"], tuple(values[2:]))
            target = np.broadcast_to(np.empty((), np.int8), shapes[0])[key].shape
            check_broadcast(f"values of {self.name}", [static[1], target], [shapes[1], target])


def _index_op(name: str, infer: Callable[..., Any], meaning: Meaning, doc: str, **extra: Any) -> IndexOp:
    arrays = name == "gather" or name in SCATTERS
    op = IndexOp(
        name,
        arity=None,
        length_from=as_first if infer is _infer_write else None,
        infer=infer(name, arrays),
        meaning=meaning,
        kind="index",
        params={"index": ()},
        lead=1 if infer is _infer_read else 2,
        doc=doc,
        **extra,
    )
    OPS[name] = op
    return op


subtensor = _index_op(
    "subtensor", _infer_read, _subtensor, "x[index] for integers and slices: a view of x.", view=0, range_from="any"
)
set_subtensor = _index_op(
    "set_subtensor", _infer_write, _set, "x with x[index] replaced by y (basic indexing).", range_from="any"
)
inc_subtensor = _index_op("inc_subtensor", _infer_write, _inc, "x with y added to x[index] (basic indexing).")
gather = _index_op("gather", _infer_read, _gather, "x[index] with integer arrays in the index.", range_from="any")
scatter_set = _index_op("scatter_set", _infer_write, _set, "x with x[index] replaced by y (integer arrays).")
scatter_add = _index_op(
    "scatter_add", _infer_write, _folded_in(np.add), "x with y added to x[index], repeated places adding up."
)
scatter_mul = _index_op(
    "scatter_mul", _infer_write, _folded_in(np.multiply), "x with x[index] times y, repeated places all being factors."
)
scatter_max = _index_op(
    "scatter_max", _infer_write, _folded_in(np.maximum), "x with the larger of x[index] and y, of all repeated places."
)
scatter_min = _index_op(
    "scatter_min", _infer_write, _folded_in(np.minimum), "x with the smaller of x[index] and y, of all repeated places."
)


# ---------------------------------------------------------------------- nonzero
def _infer_nonzero(mask: Type, *lengths: Type) -> TupleType:
    tensor = require_tensor(mask, "operand of nonzero")
    if tensor.ndim == 0:
        raise TypeError("nonzero of an array without dimensions has no index; compare with T.neq(x, 0) instead")
    if lengths and len(lengths) != tensor.ndim:
        raise TypeError(f"nonzero: {len(lengths)} lengths for a mask with {tensor.ndim} dimensions")
    for n in lengths:
        _require_scalar("nonzero", _operand("nonzero", iter((n,)), "a length"))
    return TupleType([TensorType.of("int64", (None,))] * tensor.ndim)


MASK_LENGTH = (
    "boolean index has length {0} in dimension {axis}, but the indexed axis has length {1}; a mask must have the "
    "lengths of the axes it selects from"
)


def _nonzero(mask: np.ndarray, *lengths: np.ndarray) -> tuple[np.ndarray, ...]:
    mask = np.asarray(mask)
    for axis, n in enumerate(lengths):
        if mask.shape[axis] != n:
            raise IndexError(MASK_LENGTH.format(mask.shape[axis], int(n), axis=axis))
    found = mask.nonzero() if mask.ndim == 1 or mask.size < MANY else _by_dimension(np.flatnonzero(mask), mask.shape)
    return tuple(i.astype(np.int64, copy=False) for i in found)


MANY = 1000  # elements from which NumPy's search, which keeps an index of each dimension, takes longer than divisions


AT_ONCE = (
    8192  # places that are divided at once: more memory of its own malloc would give back to the system every time
)


def _by_dimension(places: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """An index per dimension for places in row-major order, whose array becomes one of them.

    Below 2**52 a quotient of floats, cut off, is that of the integers: rounding does not bring it to the next one.
    """
    found: list[np.ndarray] = []
    quotient, whole = np.empty(AT_ONCE), np.empty(AT_ONCE, np.int64)
    for n in shape[:0:-1]:
        rows = np.empty_like(places)
        for k in range(0, len(places), AT_ONCE):
            some, of = rows[k : k + AT_ONCE], places[k : k + AT_ONCE]
            np.copyto(some, np.divide(of, n, out=quotient[: len(of)]), casting="unsafe")
            of -= np.multiply(some, n, out=whole[: len(of)])
        found.append(places)
        places = rows
    return (places, *found[::-1])


nonzero = define(
    "nonzero",
    infer=_infer_nonzero,
    meaning=_nonzero,
    kind="index",
    nout=-1,
    doc="Where the array is true, one index array per dimension. Further operands: the lengths it must have.",
)
