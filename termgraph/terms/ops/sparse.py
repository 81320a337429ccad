"""Ops of sparse matrices: taking one apart into arrays, making one of arrays, and what SciPy does on its patterns.

A pattern is `indices` and `indptr` of a compressed matrix; *major* is the dimension that is compressed (the rows of
CSR, the columns of CSC), *minor* the other. Everything else is written with ops on the arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.terms.dtypes import promote
from termgraph.terms.errors import ShapeError
from termgraph.terms.op import Meaning, Op, define
from termgraph.terms.ops.shapes import require_tensor, same_length
from termgraph.terms.sparse import INDEX, SparseType, matrix_of
from termgraph.terms.types import TensorType, TupleType, Type

Lengths = tuple[Any, ...]  # numbers, or arrays of no dimension
_BLOCK = 1 << 20  # how many products of a sampled product are held at once
_VECTOR = TensorType.of(INDEX, (None,))


# ---------------------------------------------------------------------- apart and together
_sparse_op = functools.partial(define, kind="sparse")


def _part(name: str, type_of: Callable[[SparseType], TensorType], meaning: Meaning, doc: str) -> Op:
    def infer(s: Type) -> TensorType:
        if not isinstance(s, SparseType):
            raise TypeError(f"{name} takes a sparse matrix, got {s}")
        return type_of(s)

    return _sparse_op(name, infer=infer, meaning=meaning, view=0, doc=doc)


csm_data = _part(
    "csm_data",
    lambda s: TensorType.of(s.dtype, (None,)),
    lambda s: s.data,
    "The stored elements of a sparse matrix, in the order in which they are stored.",
)
csm_indices = _part(
    "csm_indices",
    lambda s: _VECTOR,
    lambda s: s.indices,
    "The column of each stored element of a CSR matrix; the row, for CSC.",
)
csm_indptr = _part(
    "csm_indptr",
    lambda s: _VECTOR,
    lambda s: s.indptr,
    "Where each row of a CSR matrix begins among the stored elements, and the end; each column, for CSC.",
)
csm_shape = _part(
    "csm_shape",
    lambda s: TensorType.of("int64", (2,)),
    lambda s: np.asarray(s.shape, dtype=np.int64),
    "The two lengths of a sparse matrix.",
)


def _infer_csm(data: Type, indices: Type, indptr: Type, shape: Type, *, format: str) -> SparseType:
    d = require_tensor(data, "data of a sparse matrix")
    if d.ndim != 1:
        raise TypeError(f"the data of a sparse matrix must be a vector, got {d}")
    check_pattern("a sparse matrix", indices, indptr)
    check_lengths("a sparse matrix", shape)
    same_length(d.shape[0], indices.shape[0], "data and indices of a sparse matrix")  # type: ignore[attr-defined]
    return SparseType(format, d.dtype)


def check_pattern(what: str, indices: Type, indptr: Type) -> None:
    """Refuse what cannot be the indices and indptr of a matrix."""
    for name, type_ in (("indices", indices), ("indptr", indptr)):
        t = require_tensor(type_, f"{name} of {what}")
        if t.ndim != 1 or t.dtype != INDEX:
            raise TypeError(f"the {name} of {what} must be a vector of dtype {INDEX}, got {t}")


def _stored(what: str, data: Type, indices: Type, indptr: Type) -> tuple[str, int | None]:
    """The dtype of stored elements, and how many there are."""
    d = require_tensor(data, f"the data of {what}")
    check_pattern(what, indices, indptr)
    if d.ndim != 1:
        raise TypeError(f"the data of {what} must be a vector, got {d}")
    return d.dtype, same_length(d.shape[0], require_tensor(indices, "indices").shape[0], what)


def check_lengths(what: str, shape: Type) -> None:
    """Refuse what cannot be the shape of a matrix."""
    t = require_tensor(shape, f"shape of {what}")
    if t.ndim != 1 or t.kind not in "iu" or t.shape[0] not in (None, 2):
        raise TypeError(f"the shape of {what} must be two integers, got {t}")


csm = _sparse_op(
    "csm",
    infer=_infer_csm,
    meaning=lambda *parts, format: matrix_of(format, *parts),
    params={"format": "csr"},
    doc="The sparse matrix with this data, indices, indptr and shape.",
)


def _infer_majors(indices: Type, indptr: Type) -> TensorType:
    check_pattern("csm_majors", indices, indptr)
    return TensorType.of(INDEX, require_tensor(indices, "indices").shape)


def _majors(indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    found = np.repeat(np.arange(len(indptr) - 1, dtype=INDEX), np.diff(indptr))
    if len(found) != len(indices):
        counted = f"counts {len(found)} elements, there are {len(indices)} indices"
        raise ShapeError(f"the indptr of a sparse matrix {counted}")
    return found


csm_majors = _sparse_op(
    "csm_majors",
    infer=_infer_majors,
    meaning=_majors,
    doc="csm_majors(indices, indptr): the row of each stored element of a CSR matrix; the column, for CSC.",
)


# ---------------------------------------------------------------------- products
def _infer_dot(data: Type, indices: Type, indptr: Type, rows: Type, x: Type, *, format: str) -> TensorType:
    d, dense = require_tensor(data, "data of a sparse matrix"), require_tensor(x, "the right operand of csm_dot")
    check_pattern("csm_dot", indices, indptr)
    n = require_tensor(rows, "the number of rows of csm_dot")
    if n.ndim or n.kind not in "iu":
        raise TypeError(f"the number of rows of csm_dot must be an integer, got {n}")
    if dense.ndim not in (1, 2):
        raise TypeError(f"a sparse matrix is multiplied with a vector or a matrix, got {dense}")
    return TensorType.of(promote(d.np_dtype, dense.np_dtype).name, (None, *dense.shape[1:]))


def _dot(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, rows: np.ndarray, x: np.ndarray, *, format: str
) -> np.ndarray:
    matrix = checked_matrix(format, data, indices, indptr, (rows, len(x)))
    dtype = promote(matrix.dtype, x.dtype)
    return np.asarray(matrix @ x.astype(dtype, copy=False)).astype(dtype, copy=False)


def checked_matrix(
    format: str, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[Any, ...]
) -> Any:
    """The matrix, or an error if an index points outside of it: SciPy's routines would read there."""
    matrix = matrix_of(format, data, indices, indptr, shape)
    minor = matrix.shape[1 if format == "csr" else 0]
    if indices.size and (indices.min() < 0 or indices.max() >= minor):
        worst = int(indices.min()) if indices.min() < 0 else int(indices.max())
        raise IndexError(f"a sparse matrix in format {format} of shape {matrix.shape} has an element at index {worst}")
    if (np.diff(indptr) < 0).any():
        raise ValueError("the indptr of a sparse matrix must not decrease")
    return matrix


csm_dot = _sparse_op(
    "csm_dot",
    infer=_infer_dot,
    meaning=_dot,
    params={"format": "csr"},
    doc="csm_dot(data, indices, indptr, n, x): the sparse matrix of n rows and len(x) columns times x.",
)


def _infer_sample(indices: Type, rows: Type, x: Type, y: Type) -> TensorType:
    a, b = require_tensor(x, "operand 2 of csm_sample"), require_tensor(y, "operand 3 of csm_sample")
    places = [require_tensor(t, "the places of csm_sample") for t in (indices, rows)]
    if any(t.ndim != 1 or t.kind not in "iu" for t in places):
        raise TypeError(f"csm_sample: places must be vectors of integers, got {places[0]} and {places[1]}")
    if a.ndim != b.ndim or a.ndim not in (1, 2):
        raise TypeError(f"csm_sample takes two vectors or two matrices, got {a} and {b}")
    n = same_length(places[0].shape[0], places[1].shape[0], "csm_sample")
    return TensorType.of(promote(a.np_dtype, b.np_dtype).name, (n,))


def _sample(i: np.ndarray, j: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.ndim == 1:
        result: np.ndarray = x[i] * y[j]
        return result
    if x.shape[1] != y.shape[1]:
        raise ShapeError(f"csm_sample: rows of lengths {x.shape[1]} and {y.shape[1]} have no inner product")
    out = np.empty(len(i), promote(x.dtype, y.dtype))
    step = max(1, _BLOCK // max(1, x.shape[1]))
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        np.einsum("ij,ij->i", x[i[part]], y[j[part]], out=out[part])
    return out


csm_sample = _sparse_op(
    "csm_sample",
    infer=_infer_sample,
    meaning=_sample,
    doc="csm_sample(i, j, x, y): the inner products of the rows x[i] and y[j], one for each pair of places.",
)


# ---------------------------------------------------------------------- patterns
def _infer_switch(indices: Type, indptr: Type, minor: Type) -> TupleType:
    check_pattern("csm_switch", indices, indptr)
    n = require_tensor(indices, "indices").shape
    return TupleType((TensorType.of(INDEX, n), TensorType.of(INDEX, n), _VECTOR))


def _switch(indices: np.ndarray, indptr: np.ndarray, minor: np.ndarray) -> tuple[np.ndarray, ...]:
    _checked_majors(indices, indptr, int(minor))
    order = np.arange(len(indices), dtype=INDEX)
    other = checked_matrix("csr", order, indices, indptr, (len(indptr) - 1, minor)).tocsc()
    return tuple(a.astype(INDEX, copy=False) for a in (other.data, other.indices, other.indptr))


csm_switch = _sparse_op(
    "csm_switch",
    infer=_infer_switch,
    meaning=_switch,
    nout=3,
    doc="csm_switch(indices, indptr, minor length): the pattern in the other format, after the order of the elements.",
)


def _infer_sorted(indices: Type, indptr: Type, minor: Type) -> TupleType:
    check_pattern("csm_sorted", indices, indptr)
    return TupleType([TensorType.of(INDEX, require_tensor(indices, "indices").shape)] * 2)


def _sorted(indices: np.ndarray, indptr: np.ndarray, minor: np.ndarray) -> tuple[np.ndarray, ...]:
    order = np.lexsort((indices, _checked_majors(indices, indptr, int(minor)))).astype(INDEX)
    return order, indices[order]


csm_sorted = _sparse_op(
    "csm_sorted",
    infer=_infer_sorted,
    meaning=_sorted,
    nout=2,
    doc="csm_sorted(indices, indptr, minor length): places of the elements that bring rows in order; indices then.",
)


def _infer_moved(name: str, *more: TensorType) -> Callable[..., TupleType]:
    def infer(data: Type, indices: Type, indptr: Type, minor: Type) -> TupleType:
        dtype, n = _stored(name, data, indices, indptr)
        return TupleType((TensorType.of(dtype, (n,)), TensorType.of(INDEX, (n,)), *more))

    return infer


def _moved(order_of: Callable[..., Any], data: np.ndarray, *pattern: np.ndarray) -> tuple[np.ndarray, ...]:
    order, *rest = order_of(*pattern)
    return data[order], *rest


csm_ordered = _sparse_op(
    "csm_ordered",
    infer=_infer_moved("csm_ordered"),
    meaning=functools.partial(_moved, _sorted),
    nout=2,
    doc="csm_ordered(data, indices, indptr, minor length): data and indices with the elements of each row in order.",
)


csm_switched = _sparse_op(
    "csm_switched",
    infer=_infer_moved("csm_switched", _VECTOR),
    meaning=functools.partial(_moved, _switch),
    nout=3,
    doc="csm_switched(data, indices, indptr, minor length): data, indices and indptr in the other format.",
)


SPARE = 8  # places for elements that have none in a product, in turn: sums in one place would wait for each other


def _infer_merged(one: Type, one_ends: Type, two: Type, two_ends: Type, minor: Type, *, both: bool) -> TupleType:
    check_pattern("csm_merged", one, one_ends)
    check_pattern("csm_merged", two, two_ends)
    (n,), (m,) = require_tensor(one, "indices").shape, require_tensor(two, "indices").shape
    room = n if both else None if n is None or m is None else n + m
    (p,), (q,) = require_tensor(one_ends, "indptr").shape, require_tensor(two_ends, "indptr").shape
    pointers = same_length(p, q, "csm_merged")
    return TupleType([TensorType.of(INDEX, (length,)) for length in (n, m, room, pointers)])


def _merged(
    one: np.ndarray, one_ends: np.ndarray, two: np.ndarray, two_ends: np.ndarray, minor: np.ndarray, *, both: bool
) -> tuple[np.ndarray, ...]:
    if len(one_ends) != len(two_ends):
        raise ShapeError(
            f"the matrices must have the same shape: their indptr have lengths {len(one_ends)} and {len(two_ends)}"
        )
    majors = [_checked_majors(i, ends, int(minor)) for i, ends in ((one, one_ends), (two, two_ends))]
    keys = np.concatenate([m.astype(np.int64) * int(minor) + i for m, i in zip(majors, (one, two))])
    found, at = np.unique(keys, return_inverse=True)
    if both:
        shared = np.isin(found, keys[: len(one)]) & np.isin(found, keys[len(one) :])
        spare = np.concatenate([np.arange(n) for n in (len(one), len(two))]) % SPARE
        at, found = np.where(shared[at], np.cumsum(shared)[at] + SPARE - 1, spare), found[shared]
    indices = np.zeros(len(one) + (0 if both else len(two)), INDEX)
    indices[: len(found)] = found % max(int(minor), 1)
    counts = np.bincount(found // max(int(minor), 1), minlength=len(one_ends) - 1)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return at[: len(one)].astype(INDEX), at[len(one) :].astype(INDEX), indices, indptr.astype(INDEX)


def _checked_majors(indices: np.ndarray, indptr: np.ndarray, minor: int) -> np.ndarray:
    """The row of each element; an error if an element lies outside of the matrix."""
    checked_matrix("csr", indices, indices, indptr, (len(indptr) - 1, minor))
    return _majors(indices, indptr)


csm_merged = _sparse_op(
    "csm_merged",
    infer=_infer_merged,
    meaning=_merged,
    nout=4,
    params={"both": False},
    doc="csm_merged(indices, indptr, indices, indptr, minor length): the pattern of a sum of two matrices, each "
    "element once and in order, and where their elements are in it. With `both`, of a product: places count from 8, "
    "and those before are of elements which only one of them has. The indices are followed by zeros.",
)


def _infer_kept(mask: Type, data: Type, indices: Type, indptr: Type) -> TupleType:
    m = require_tensor(mask, "the mask of csm_kept")
    if m.ndim != 1 or m.dtype != "bool":
        raise TypeError(f"the mask of csm_kept must be a vector of dtype bool, got {m}")
    dtype, stored = _stored("csm_kept", data, indices, indptr)
    n = same_length(m.shape[0], stored, "csm_kept")
    ends = require_tensor(indptr, "indptr").shape
    return TupleType((TensorType.of(dtype, (n,)), TensorType.of(INDEX, (n,)), TensorType.of(INDEX, ends)))


def _kept(mask: np.ndarray, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> tuple[np.ndarray, ...]:
    if not len(mask) == len(data) == len(indices):
        raise ShapeError(f"csm_kept: lengths {len(mask)}, {len(data)} and {len(indices)} differ")
    _majors(mask, indptr)
    found = np.flatnonzero(mask)
    out = np.zeros_like(data), np.zeros(len(mask), INDEX)
    for to, x in zip(out, (data, indices)):
        to[: len(found)] = x[found]
    before = np.concatenate([[0], np.cumsum(mask)])
    return *out, before[indptr].astype(INDEX)


csm_kept = _sparse_op(
    "csm_kept",
    infer=_infer_kept,
    meaning=_kept,
    nout=3,
    doc="csm_kept(mask, data, indices, indptr): the elements that stay: data, indices and indptr. Data and indices are "
    "followed by zeros.",
)


def _common_dtype(name: str, one: Type, two: Type) -> str:
    """The dtype of the elements of two matrices."""
    a, b = (require_tensor(t, f"data of {name}") for t in (one, two))
    if a.ndim != 1 or b.ndim != 1 or a.dtype != b.dtype:
        raise TypeError(f"{name} takes the data of two matrices of one dtype, got {a} and {b}")
    return a.dtype


def _infer_beside(
    one: Type, one_at: Type, one_ends: Type, two: Type, two_at: Type, two_ends: Type, width: Type
) -> TupleType:
    dtype = _common_dtype("csm_beside", one, two)
    indices = _infer_merged(one_at, one_ends, two_at, two_ends, width, both=False).types[2]
    return TupleType((TensorType.of(dtype, indices.shape), indices))  # type: ignore[attr-defined]


def _beside(*parts: np.ndarray) -> tuple[np.ndarray, ...]:
    one, one_at, one_ends, two, two_at, two_ends, width = parts
    if len(one_ends) != len(two_ends):
        lengths = f"their indptr have lengths {len(one_ends)} and {len(two_ends)}"
        raise ShapeError(f"matrices side by side must have as many rows (CSC: columns): {lengths}")
    order = np.argsort(np.concatenate([_majors(one, one_ends), _majors(two, two_ends)]), kind="stable")
    return tuple(np.concatenate(v)[order] for v in ((one, two), (one_at, (two_at + width).astype(INDEX))))


csm_beside = _sparse_op(
    "csm_beside",
    infer=_infer_beside,
    meaning=_beside,
    nout=2,
    doc="csm_beside(data, indices, indptr, data, indices, indptr, minor length of the first): data and indices of two "
    "matrices side by side, each row that of the first and then that of the second.",
)


def _infer_joined(
    one: Type, one_at: Type, one_ends: Type, two: Type, two_at: Type, two_ends: Type, minor: Type, *, both: bool
) -> TupleType:
    dtype = _common_dtype("csm_joined", one, two)
    *_, indices, indptr = _infer_merged(one_at, one_ends, two_at, two_ends, minor, both=both).types
    return TupleType((TensorType.of(dtype, indices.shape), indices, indptr))  # type: ignore[attr-defined]


def _joined(one: np.ndarray, *patterns: np.ndarray, both: bool) -> tuple[np.ndarray, ...]:
    one_at, one_ends, two, two_at, two_ends, minor = patterns
    at, at_two, indices, indptr = _merged(one_at, one_ends, two_at, two_ends, minor, both=both)
    sums = [np.zeros(len(indices) + (SPARE if both else 0), one.dtype) for _ in range(2)]
    np.add.at(sums[0], at, one)
    np.add.at(sums[1 if both else 0], at_two, two)
    return sums[0][SPARE:] * sums[1][SPARE:] if both else sums[0], indices, indptr


csm_joined = _sparse_op(
    "csm_joined",
    infer=_infer_joined,
    meaning=_joined,
    nout=3,
    params={"both": False},
    doc="csm_joined(data, indices, indptr, data, indices, indptr, minor length): the sum of two matrices, each element "
    "once and in order: data, indices and indptr. With `both`, their product where both have elements. Data and "
    "indices are followed by zeros.",
)


def _infer_multiplied(
    one: Type, one_at: Type, one_ends: Type, two: Type, two_at: Type, two_ends: Type, minor: Type, room: Type
) -> TupleType:
    dtype = _common_dtype("csm_multiplied", one, two)
    check_pattern("csm_multiplied", one_at, one_ends)
    check_pattern("csm_multiplied", two_at, two_ends)
    rows = require_tensor(one_ends, "indptr").shape
    return TupleType((TensorType.of(dtype, (None,)), _VECTOR, TensorType.of(INDEX, rows)))


def _multiplied(one: np.ndarray, *patterns: np.ndarray) -> tuple[np.ndarray, ...]:
    one_at, one_ends, two, two_at, two_ends, minor, room = patterns
    majors = _checked_majors(one_at, one_ends, len(two_ends) - 1)
    _checked_majors(two_at, two_ends, int(minor))
    counts = np.diff(two_ends)[one_at]
    begins = np.concatenate([[0], np.cumsum(counts)])
    if begins[-1] != room:
        raise ShapeError(f"two sparse matrices have {begins[-1]} products of elements, not {room}")
    which = np.repeat(np.arange(len(one)), counts)
    where = np.arange(begins[-1]) - begins[which] + two_ends[one_at][which]
    ends = np.concatenate([[0], np.cumsum(np.bincount(majors[which], minlength=len(one_ends) - 1))]).astype(INDEX)
    nothing = np.zeros(0, one.dtype), np.zeros(0, INDEX), np.zeros_like(ends)
    return _joined(one[which] * two[where], two_at[where], ends, *nothing, minor, both=False)


csm_multiplied = _sparse_op(
    "csm_multiplied",
    infer=_infer_multiplied,
    meaning=_multiplied,
    nout=3,
    doc="csm_multiplied(data, indices, indptr, data, indices, indptr, minor length, n): the matrix product of two "
    "matrices whose elements meet n times: data, indices and indptr, each element once and in order. Data and indices "
    "are followed by zeros.",
)


# ---------------------------------------------------------------------- arrays of a whole matrix
def _infer_dense(data: Type, indices: Type, indptr: Type, rows: Type, columns: Type, *, format: str) -> TensorType:
    return TensorType.of(_stored("csm_dense", data, indices, indptr)[0], (None, None))


def _dense(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, *shape: np.ndarray, format: str) -> np.ndarray:
    matrix = checked_matrix(format, data, indices, indptr, tuple(map(int, shape)))
    _majors(indices, indptr)
    return np.asarray(matrix.toarray())


def _infer_diagonal(data: Type, indices: Type, indptr: Type, n: Type) -> TensorType:
    return TensorType.of(_stored("csm_diagonal", data, indices, indptr)[0], (None,))


def _diagonal(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, n: np.ndarray) -> np.ndarray:
    out, majors = np.zeros(int(n), data.dtype), _majors(indices, indptr)
    if len(indptr) <= n:
        raise ShapeError(f"a diagonal of {n} elements of a matrix with {len(indptr) - 1} rows")
    there = np.flatnonzero((majors == indices) & (indices < n))
    np.add.at(out, indices[there], data[there])
    return out


csm_dense = _sparse_op(
    "csm_dense",
    infer=_infer_dense,
    meaning=_dense,
    params={"format": "csr"},
    doc="csm_dense(data, indices, indptr, rows, columns): all elements as an array, those stored twice added up.",
)
csm_diagonal = _sparse_op(
    "csm_diagonal",
    infer=_infer_diagonal,
    meaning=_diagonal,
    doc="csm_diagonal(data, indices, indptr, n): the first n elements of the diagonal.",
)
