"""Triangles of square matrices, packed: the elements above or below the diagonal as one vector, row after row."""

from __future__ import annotations

import numpy as np

from termgraph.terms.errors import ShapeError
from termgraph.terms.op import define
from termgraph.terms.ops.shapes import IS_GIVEN, Source, require_tensor
from termgraph.terms.ops.shaping import static_lengths
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TensorType, Type

NOT_SQUARE = "matrices of {0} rows and {1} columns are not square"
NOT_ALL = "{0} elements for a triangle of {1}"


def packed_length(side: int, strict: bool) -> int:
    """How many elements a triangle has; `strict`: without the diagonal."""
    return side * (side - 1) // 2 if strict else side * (side + 1) // 2


def _places(side: int, lower: bool, strict: bool) -> tuple[np.ndarray, np.ndarray]:
    return np.tril_indices(side, -strict) if lower else np.triu_indices(side, strict)


def _square(n: int, m: int) -> int:
    if n != m:
        raise ShapeError(NOT_SQUARE.format(n, m))
    return n


def _fits(given: int, side: int, strict: bool) -> None:
    if given != packed_length(side, strict):
        raise ShapeError(NOT_ALL.format(given, packed_length(side, strict)))


def _infer_packed(x: Type, *, lower: bool, strict: bool) -> TensorType:
    tensor = require_tensor(x, "operand of pack_triangle")
    if tensor.ndim < 2:
        raise TypeError(f"pack_triangle needs an array with at least 2 dimensions, got {tensor}")
    *batch, n, m = tensor.shape
    side = _square(n, m) if n is not None and m is not None else m if n is None else n
    return TensorType.of(tensor.dtype, (*batch, None if side is None else packed_length(side, strict)))


def _packed(x: np.ndarray, *, lower: bool, strict: bool) -> np.ndarray:
    i, j = _places(_square(*x.shape[-2:]), lower, strict)
    return x[..., i, j]


pack_triangle = define(
    "pack_triangle",
    infer=_infer_packed,
    meaning=_packed,
    kind="other",
    params={"lower": False, "strict": False},
    doc="The upper or lower triangle of square matrices as a vector, row after row; `strict` leaves out the diagonal.",
)


def _infer_unpacked(x: AnyTerm, side: AnyTerm, *, lower: bool, strict: bool) -> TensorType:
    tensor = require_tensor(x.type, "operand of unpack_triangle")
    if tensor.ndim < 1:
        raise TypeError(f"unpack_triangle needs an array with at least 1 dimension, got {tensor}")
    (n,) = static_lengths("unpack_triangle", (side,))
    if n is not None and tensor.shape[-1] is not None:
        _fits(tensor.shape[-1], n, strict)
    return TensorType.of(tensor.dtype, (*tensor.shape[:-1], n, n))


def _unpacked(x: np.ndarray, side: np.ndarray, *, lower: bool, strict: bool) -> np.ndarray:
    n = int(side)
    _fits(x.shape[-1], n, strict)
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    out[(..., *_places(n, lower, strict))] = x
    return out


def _length_of_unpacked(t: AnyTerm, axis: int) -> Source | None:
    return (t.args[1], IS_GIVEN) if axis >= t.type.ndim - 2 else (t.args[0], axis)


unpack_triangle = define(
    "unpack_triangle",
    infer=_infer_unpacked,
    meaning=_unpacked,
    kind="other",
    length_from=_length_of_unpacked,
    by_value=True,
    params={"lower": False, "strict": False},
    doc="Zero matrices of a given side with a triangle from a vector: the dual of pack_triangle.",
)
