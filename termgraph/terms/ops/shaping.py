"""Ops about shape: reshape, alloc, lengths, joining, ranges, diagonals.

Lengths are positional int64 scalars, so that shapes can be computed; constant lengths become static lengths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.terms.dtypes import promote
from termgraph.terms.errors import ShapeError
from termgraph.terms.evaluate import check_broadcast
from termgraph.terms.op import CONST, define
from termgraph.terms.ops.shapes import IS_GIVEN, Source, as_first, as_given, require_tensor, same_length, with_axes
from termgraph.terms.types import Axes, TensorType, Type, dtype_name, shape_text

if TYPE_CHECKING:
    from termgraph.terms.leaves import Const
    from termgraph.terms.term import AnyTerm


# ---------------------------------------------------------------------- lengths as arguments
def static_scalar(term: Any) -> Any:
    """The Python number of a constant 0-d term, else None."""
    return term.scalar if term.op is CONST and term.type.ndim == 0 else None


def _scalar_type(name: str, what: str, term: AnyTerm) -> TensorType:
    type_ = require_tensor(term.type, f"{what} of {name}")
    if type_.ndim != 0:
        raise TypeError(f"{what} of {name} must be a scalar, got {type_}")
    return type_


def static_lengths(name: str, terms: Sequence[Any]) -> tuple[int | None, ...]:
    """The static lengths that length arguments stand for."""
    lengths = []
    for i, term in enumerate(terms):
        if _scalar_type(name, f"length {i}", term).kind not in "iu":
            raise TypeError(f"length {i} of {name} must be an integer, got {term.type}")
        n = static_scalar(term)
        if n is not None and n < 0:
            raise ShapeError(f"length {i} of {name} must not be negative, got {n}")
        lengths.append(n)
    return tuple(lengths)


def _run_time_lengths(lengths: Sequence[Any]) -> tuple[int, ...]:
    return tuple([int(n) for n in lengths])


def _total(shape: Sequence[int | None]) -> int | None:
    return None if None in shape else math.prod(shape)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- reshape and alloc
def _infer_reshape(x: AnyTerm, *lengths: Const | AnyTerm) -> TensorType:
    tensor = require_tensor(x.type, "operand of reshape")
    shape = static_lengths("reshape", lengths)
    have, asked = _total(tensor.shape), _total(shape)
    if have is not None and asked is None and shape.count(None) == 1:
        rest = math.prod([n for n in shape if n is not None])
        if rest and have % rest == 0:
            shape = tuple([have // rest if n is None else n for n in shape])
            asked = have
        elif rest:
            asked = -1
    if have is not None and asked is not None and have != asked:
        raise ShapeError(
            f"cannot reshape {shape_text(tensor.shape)} ({have} elements) to {shape_text(shape)}: the number of "
            "elements must stay the same"
        )
    return TensorType.of(tensor.dtype, shape)


def _reshape(x: np.ndarray, *lengths: np.ndarray) -> np.ndarray:
    shape = _run_time_lengths(lengths)
    x = np.asarray(x)
    if min(shape, default=0) < 0 or math.prod(shape) != x.size:
        raise ShapeError(f"cannot reshape an array of shape {x.shape} ({x.size} elements) to {shape}")
    return x.reshape(shape)


reshape = define(
    "reshape",
    range_from="any",
    infer=_infer_reshape,
    meaning=_reshape,
    kind="shape",
    length_from=as_given,
    by_value=True,
    view=0,
    doc="The same elements, in row-major order, in another shape: reshape(x, *lengths).",
)


def _infer_alloc(value: AnyTerm, *lengths: Const | AnyTerm) -> TensorType:
    tensor = require_tensor(value.type, "value of alloc")
    shape = static_lengths("alloc", lengths)
    if tensor.ndim > len(shape):
        raise ShapeError(f"alloc: the value has {tensor.ndim} dimensions, only {len(shape)} lengths are given")
    lead = len(shape) - tensor.ndim
    out = list(shape)
    for d, n in enumerate(tensor.shape):
        if n in (1, None):
            continue
        if shape[lead + d] not in (n, None):
            raise ShapeError(
                f"alloc: a value of shape {shape_text(tensor.shape)} does not broadcast to {shape_text(shape)}"
            )
        out[lead + d] = n
    return TensorType.of(tensor.dtype, tuple(out))


def _alloc(value: np.ndarray, *lengths: np.ndarray) -> np.ndarray:
    shape = _run_time_lengths(lengths)
    try:
        return np.broadcast_to(value, shape).copy()
    except ValueError:
        raise ShapeError(f"alloc: a value of shape {np.shape(value)} does not broadcast to {shape}") from None


def _check_alloc(types: Sequence[Type], values: Sequence[Any]) -> None:
    """A length of the value that was not known to be 1 must not stretch (the rule of broadcasting)."""
    static, shape = types[0].shape, _run_time_lengths(values[1:])  # type: ignore[attr-defined]
    _none_negative("alloc", shape)
    check_broadcast("alloc", [static, shape], [values[0].shape, shape])


alloc = define(
    "alloc",
    range_from="any",
    infer=_infer_alloc,
    meaning=_alloc,
    kind="shape",
    length_from=as_given,
    by_value=True,
    runtime_check=_check_alloc,
    doc="The value broadcast to a shape: alloc(value, *lengths).",
)


def _infer_empty(*lengths: Const | AnyTerm, dtype: str) -> TensorType:
    return TensorType.of(dtype, static_lengths("empty", lengths))


def _check_empty(types: Sequence[Type], values: Sequence[Any]) -> None:
    _none_negative("empty", _run_time_lengths(values))


def _none_negative(op: str, shape: tuple[int, ...]) -> None:
    if min(shape, default=0) < 0:
        raise ShapeError(f"{op}: lengths must not be negative, got {shape}")


empty = define(
    "empty",
    infer=_infer_empty,
    meaning=lambda *lengths, dtype: np.zeros(_run_time_lengths(lengths), dtype),
    runtime_check=_check_empty,
    kind="source",
    length_from=lambda t, axis: (t.args[axis], IS_GIVEN),
    by_value=True,
    params={"dtype": "float64"},
    doc="An array whose elements nobody asks for, as a result of a function only: in C they are not written.",
)


# ---------------------------------------------------------------------- lengths as results
def _infer_shape_i(x: Type, *, axis: int) -> TensorType:
    with_axes("shape_i", x, axis)
    return TensorType.of("int64", ())


shape_i = define(
    "shape_i",
    range_from="itself",
    infer=_infer_shape_i,
    meaning=lambda x, *, axis: np.asarray(np.shape(x)[axis], dtype="int64"),
    kind="length",
    params={"axis": 0},
    doc="The length of one dimension.",
)


def _infer_make_vector(*items: Type, dtype: str) -> TensorType:
    for i, t in enumerate(items):
        if require_tensor(t, f"item {i} of make_vector").ndim != 0:
            raise TypeError(f"item {i} of make_vector must be a scalar, got {t}")
    return TensorType.of(dtype_name(dtype), (len(items),))


def _make_vector(*items: np.ndarray, dtype: str) -> np.ndarray:
    return np.array([np.asarray(i).astype(dtype) for i in items], dtype=dtype)


make_vector = define(
    "make_vector",
    range_from="every",
    infer=_infer_make_vector,
    meaning=_make_vector,
    kind="join",
    params={"dtype": "int64"},
    doc="A vector of scalars.",
)


def _known_flags(known: tuple[bool, ...], ndim: int) -> tuple[bool, ...]:
    if not isinstance(known, tuple) or len(known) != ndim:
        raise TypeError(f"specify_shape: known must have one bool per dimension ({ndim}), got {known!r}")
    return known


def _infer_specify_shape(x: AnyTerm, *lengths: Const | AnyTerm, known: tuple[bool, ...], told: str) -> TensorType:
    tensor = require_tensor(x.type, "operand of specify_shape")
    flags = _known_flags(known, tensor.ndim)
    if len(lengths) != sum(map(bool, flags)):
        raise TypeError(f"specify_shape: known={flags} asks for {sum(flags)} lengths, got {len(lengths)}")
    given = iter(static_lengths("specify_shape", lengths))
    shape = tuple([
        same_length(n, next(given), f"specify_shape: dimension {d}") if flag else n
        for d, (n, flag) in enumerate(zip(tensor.shape, flags, strict=True))
    ])  # fmt: skip
    return TensorType.of(tensor.dtype, shape)


def _specify_shape(x: np.ndarray, *lengths: np.ndarray, known: tuple[bool, ...], told: str) -> np.ndarray:
    given = iter(_run_time_lengths(lengths))
    for d, (n, flag) in enumerate(zip(x.shape, known, strict=True)):
        if flag and n != (want := next(given)):
            text = told or f"specify_shape: dimension {d} has length {{0}}, {{1}} was promised (shape {x.shape})"
            raise ShapeError(text.format(n, want))
    return x


def _promised(t: AnyTerm, axis: int) -> Source:
    known = t.op.params["known"]
    return (t.args[1 + sum(known[:axis])], IS_GIVEN) if known[axis] else (t.args[0], axis)


specify_shape = define(
    "specify_shape",
    infer=_infer_specify_shape,
    meaning=_specify_shape,
    kind="shape",
    length_from=_promised,
    by_value=True,
    params={"known": (), "told": ""},
    view=0,
    doc="The same array, whose lengths are promised (checked at run time): specify_shape(x, *lengths, known=flags). "
    "Where a promise is broken, `told` is said of the length and the one promised, {0} and {1}.",
)


def _infer_unbroadcast(x: Type, *, axis: Axes) -> TensorType:
    tensor = with_axes("unbroadcast", x, *axis)
    return TensorType.of(tensor.dtype, tuple([None if d in axis else n for d, n in enumerate(tensor.shape)]))


unbroadcast = define(
    "unbroadcast",
    infer=_infer_unbroadcast,
    meaning=lambda x, *, axis: np.asarray(x),
    kind="shape",
    length_from=as_first,
    params={"axis": ()},
    view=0,
    doc="The same array, whose lengths along some axes are no longer known.",
)


# ---------------------------------------------------------------------- joining
def _infer_join(*xs: Type, axis: int) -> TensorType:
    tensors = [require_tensor(t, f"operand {i} of join") for i, t in enumerate(xs)]
    if not tensors:
        raise TypeError("join needs at least one array")
    first = tensors[0]
    for i, t in enumerate(tensors):
        if t.ndim != first.ndim:
            raise TypeError(f"join: operand {i} has {t.ndim} dimensions, operand 0 has {first.ndim}; ranks must agree")
    if not 0 <= axis < first.ndim:
        raise ValueError(f"join: axis {axis} is out of range for arrays with {first.ndim} dimensions")
    shape: list[int | None] = list(first.shape)
    for i, t in enumerate(tensors[1:], 1):
        for d, n in enumerate(t.shape):
            if d != axis:
                shape[d] = same_length(shape[d], n, f"join along axis {axis}: operand {i} differs in dimension {d}")
    along = [t.shape[axis] for t in tensors]
    shape[axis] = None if None in along else sum(along)  # type: ignore[arg-type]
    return TensorType.of(promote(*[t.np_dtype for t in tensors]).name, tuple(shape))


def _join(*xs: np.ndarray, axis: int) -> np.ndarray:
    try:
        return np.concatenate(xs, axis=axis, dtype=promote(*[np.asarray(x).dtype for x in xs]), casting="unsafe")
    except ValueError:
        shapes = " and ".join(str(np.shape(x)) for x in xs)
        raise ShapeError(f"join along axis {axis}: arrays of shapes {shapes} differ in another dimension") from None


join = define(
    "join",
    range_from="every",
    infer=_infer_join,
    meaning=_join,
    kind="join",
    length_from=lambda t, axis: None if axis == t.op.params["axis"] else (t.args[0], axis),
    params={"axis": 0},
    doc="Arrays concatenated along an existing axis.",
)


# ---------------------------------------------------------------------- ranges
def range_length(start: int, stop: int, step: int) -> int:
    """How many elements `arange(start, stop, step)` has."""
    if step == 0:
        raise ValueError("arange: step must not be zero")
    return max(0, math.ceil((stop - start) / step))


def _infer_arange(start: AnyTerm, stop: AnyTerm, step: AnyTerm, *, dtype: str) -> TensorType:
    for what, term in (("start", start), ("stop", stop), ("step", step)):
        if _scalar_type("arange", what, term).kind == "c":
            raise TypeError(f"arange: {what} must be a real number, got {term.type}")
    if dtype_name(dtype) == "bool":
        raise TypeError("arange has no booleans; use an integer dtype")
    parts = [static_scalar(start), static_scalar(stop), static_scalar(step)]
    length = None if None in parts else range_length(*parts)
    return TensorType.of(dtype_name(dtype), (length,))


def _arange(start: Any, stop: Any, step: Any, *, dtype: str) -> Any:
    if step == 0:
        raise ValueError("arange: step must not be zero")
    return np.arange(start[()], stop[()], step[()], dtype=dtype)


arange = define(
    "arange",
    range_from="itself",
    infer=_infer_arange,
    meaning=_arange,
    kind="source",
    by_value=True,
    params={"dtype": "int64"},
    doc="start, start + step, ... up to but not including stop.",
)


def _infer_eye(n: AnyTerm, m: AnyTerm, k: AnyTerm, *, dtype: str) -> TensorType:
    shape = static_lengths("eye", (n, m))
    if _scalar_type("eye", "k", k).kind not in "iu":
        raise TypeError(f"eye: k must be an integer, got {k.type}")
    return TensorType.of(dtype_name(dtype), shape)


eye = define(
    "eye",
    infer=_infer_eye,
    meaning=lambda n, m, k, *, dtype: np.eye(int(n), int(m), int(k), dtype=dtype),
    kind="source",
    length_from=lambda t, axis: (t.args[axis], IS_GIVEN),
    by_value=True,
    params={"dtype": "float64"},
    doc="An n by m matrix with ones on the k-th diagonal.",
)


# ---------------------------------------------------------------------- diagonals
def diagonal_length(n: int | None, m: int | None, offset: int) -> int | None:
    """The length of the diagonal of an n by m matrix."""
    if n is None or m is None:
        return 0 if 0 in (n, m) else None
    return max(0, min(n, m - offset) if offset >= 0 else min(n + offset, m))


def _infer_diagonal(x: Type, *, offset: int) -> TensorType:
    tensor = require_tensor(x, "operand of diagonal")
    if tensor.ndim < 2:
        raise TypeError(f"diagonal needs an array with at least 2 dimensions, got {tensor}")
    return TensorType.of(
        tensor.dtype, (*tensor.shape[:-2], diagonal_length(tensor.shape[-2], tensor.shape[-1], offset))
    )


diagonal = define(
    "diagonal",
    infer=_infer_diagonal,
    meaning=lambda x, *, offset: np.diagonal(x, offset, -2, -1),
    kind="shape",
    params={"offset": 0},
    view=0,
    doc="The diagonal of the last two dimensions, as the last dimension of the result.",
)


def _infer_alloc_diag(x: Type, *, offset: int) -> TensorType:
    tensor = require_tensor(x, "operand of alloc_diag")
    if tensor.ndim < 1:
        raise TypeError(f"alloc_diag needs an array with at least 1 dimension, got {tensor}")
    n = tensor.shape[-1]
    side = None if n is None else n + abs(offset)
    return TensorType.of(tensor.dtype, (*tensor.shape[:-1], side, side))


def _alloc_diag(x: np.ndarray, *, offset: int) -> np.ndarray:
    n = x.shape[-1]
    side = n + abs(offset)
    out = np.zeros((*x.shape[:-1], side, side), x.dtype)
    i = np.arange(n)
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return out


alloc_diag = define(
    "alloc_diag",
    infer=_infer_alloc_diag,
    meaning=_alloc_diag,
    kind="other",
    params={"offset": 0},
    doc="Zero matrices with the last dimension of the operand on a diagonal: the dual of diagonal.",
)
