"""SparseType: matrices of which only some elements are stored, as SciPy's CSR and CSC hold them.

Such a matrix is four arrays: `data` and `indices` hold the stored elements and the column (CSC: row) of each, `indptr`
where each row (CSC: column) begins, and the shape. SciPy is imported when a value is met.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.terms.dtypes import can_cast, kind_of, numpy_dtype
from termgraph.terms.errors import TypeMismatch
from termgraph.terms.hashing import stable_hash
from termgraph.terms.types import Shape, TensorType, Type, describe_value, dtype_name, shape_text

sparse = lazy("scipy.sparse")

FORMATS = ("csr", "csc")
INDEX = "int32"  # the dtype of `indices` and `indptr`, which is what SciPy uses up to 2^31 elements
_INDEX = np.dtype(INDEX)
_MOST = np.iinfo(INDEX).max
_UNKNOWN = (None, None)


class SparseType(Type):
    """A sparse matrix of one format ("csr" or "csc") and dtype. Equal types are the same object.

    >>> from termgraph.terms.sparse import SparseType
    >>> SparseType("csr", "float64")
    SparseType(csr, float64, (?, ?))
    """

    __slots__ = ("_hash", "dtype", "format", "kind", "np_dtype", "shape")
    _table: dict[tuple[Any, ...], SparseType] = {}
    ndim = 2
    dtype: str
    format: str
    kind: str
    np_dtype: np.dtype
    shape: tuple[int | None, ...]
    _hash: int

    def __new__(cls, format: str = "csr", dtype: str = "float64", shape: Shape = _UNKNOWN) -> SparseType:
        if format not in FORMATS:
            raise ValueError(f"the format of a sparse matrix is one of {', '.join(map(repr, FORMATS))}, got {format!r}")
        kept = TensorType(dtype, shape)
        if kept.ndim != 2:
            raise ValueError(f"a sparse matrix has two dimensions, got shape {shape_text(kept.shape)}")
        if kept.dtype in ("float16", "bfloat16"):
            raise TypeError(f"SciPy has no sparse matrices of {kept.dtype}; use float32")
        key = (format, kept.dtype, kept.shape)
        found = cls._table.get(key)
        if found is None:
            found = object.__new__(cls)
            found.format, found.dtype, found.shape = key
            found.np_dtype = numpy_dtype(kept.dtype)
            found.kind = kind_of(found.np_dtype)
            found._hash = stable_hash("sparse", *key)
            found = cls._table.setdefault(key, found)
        return found

    @property
    def _h(self) -> int:
        return self._hash

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """Sparse matrices do not broadcast."""
        return (False, False)

    def clone(self, format: str | None = None, dtype: Any = None, shape: Any = None) -> SparseType:
        """The same type with some fields changed."""
        return SparseType(format or self.format, dtype or self.dtype, self.shape if shape is None else shape)

    def accepts(self, other: Type) -> bool:
        """Whether every value of type `other` is a value of this type."""
        return self is other or (
            isinstance(other, SparseType)
            and (self.format, self.dtype) == (other.format, other.dtype)
            and all(a is None or a == b for a, b in zip(self.shape, other.shape))
        )

    # ------------------------------------------------------------------ values
    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return `value` as a matrix of this type; raise TypeError saying what was expected and given."""
        if self.shape == _UNKNOWN and value.__class__ is _empty(self.format).__class__:  # what most calls give
            if value.dtype is self.np_dtype and _is_plain(value):
                return value
        if not is_sparse_value(value):
            raise TypeMismatch(
                f"expected a SciPy sparse matrix ({self}), got {describe_value(value)}; "
                f"convert it: scipy.sparse.{self.format}_matrix(value)"
            )
        if value.format != self.format:
            if strict or not allow_downcast:
                raise TypeMismatch(
                    f"expected a sparse matrix in format {self.format!r} ({self}), got format {value.format!r}; "
                    f"convert it: value.to{self.format}()"
                )
            value = value.asformat(self.format)
        if value.ndim != 2:
            raise TypeMismatch(f"expected a sparse matrix ({self}), got {value.ndim} dimensions")
        value = with_plain_arrays(self._to_dtype(value, strict, allow_downcast))
        for axis, (want, got) in enumerate(zip(self.shape, value.shape)):
            if want is not None and want != got:
                raise TypeMismatch(f"expected length {want} in dimension {axis} ({self}), got shape {value.shape}")
        return value

    def _to_dtype(self, value: Any, strict: bool, allow_downcast: bool | None) -> Any:
        if value.dtype == self.np_dtype:
            return value if value.dtype.isnative else value.astype(self.np_dtype)
        if not strict and (can_cast(value.dtype, self.np_dtype, "safe") or allow_downcast):
            return value.astype(self.np_dtype)
        raise TypeMismatch(
            f"cannot store a sparse matrix of dtype {value.dtype} in {self}"
            + (" (strict)" if strict else " without losing precision")
            + f"; convert it: value.astype({self.dtype!r})"
        )

    def values_eq(self, a: Any, b: Any) -> bool:
        """Same shape and dtype, the same elements stored in the same places; NaN equals NaN."""
        a, b = in_order(a), in_order(b)
        return _same_pattern(a, b) and a.dtype == b.dtype and _arrays_equal(a.data, b.data)

    def values_eq_approx(
        self, a: np.ndarray, b: np.ndarray, rtol: float | None = None, atol: float | None = None, **_: Any
    ) -> bool:
        """Same shape, and elements equal up to the rounding of this dtype, stored or not."""
        if a.shape != b.shape:
            return False
        data = TensorType.of(self.dtype, (None,))
        a, b = in_order(a), in_order(b)
        if _same_pattern(a, b):
            return data.values_eq_approx(a.data, b.data, rtol, atol)
        difference = in_order(a - b).data
        bound = max([float(np.abs(m.data).max(initial=0)) for m in (a, b)])
        return data.values_eq_approx(difference + np.asarray(bound, self.dtype), np.full_like(difference, bound))

    def __repr__(self) -> str:
        return f"SparseType({self.format}, {self.dtype}, {shape_text(self.shape)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (SparseType, (self.format, self.dtype, self.shape))

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


def type_of_value(value: Any) -> SparseType:
    """The type of a SciPy matrix, its lengths left open."""
    if value.format not in FORMATS:
        raise TypeError(
            f"sparse matrices are kept in the formats csr and csc, got format {value.format!r}; "
            "convert it: value.tocsr()"
        )
    return SparseType(value.format, dtype_name(value.dtype))


def is_sparse_value(value: object) -> bool:
    """Whether a value is one of SciPy's sparse matrices or arrays, of any format."""
    scipy_sparse = sys.modules.get("scipy.sparse")  # without it there is no such value
    return scipy_sparse is not None and bool(scipy_sparse.issparse(value))


def with_plain_arrays(value: Any) -> Any:
    """The matrix with indices of dtype int32 and no room after its stored elements: the same one if it is so."""
    if _is_plain(value):
        return value
    n = int(value.indptr[-1])
    if max(n, *value.shape) > _MOST:
        raise TypeMismatch(
            f"a sparse matrix of shape {value.shape} with {n} stored elements needs indices of 64 bits; "
            "they are kept in 32 bits, up to 2147483647 elements: split the matrix"
        )
    arrays = (value.data[:n], value.indices[:n].astype(INDEX), value.indptr.astype(INDEX))
    return type(value)(arrays, shape=value.shape, copy=False)


def _is_plain(value: Any) -> bool:
    indices, indptr = value.indices, value.indptr
    if indices.dtype != _INDEX or indptr.dtype != _INDEX:
        return False
    return bool(len(indices) == len(value.data) == indptr.item(-1))


def matrix_of(
    format: str, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray | tuple[Any, ...]
) -> Any:
    """SciPy's matrix on these arrays, without copying them; what does not fit together raises ValueError.

    SciPy's constructor takes longer than most functions of a small matrix: it is for what does not fit as it is.
    """
    empty = _empty(format)
    rows, columns = shape.tolist() if isinstance(shape, np.ndarray) else map(int, shape)
    major = rows if format == "csr" else columns
    if (
        0 <= rows <= _MOST
        and 0 <= columns <= _MOST
        and indices.dtype == _INDEX == indptr.dtype
        and indptr.shape == (major + 1,)
        and data.shape == indices.shape == (indptr.item(-1),)
        and not indptr.item(0)
    ):
        made = with_arrays(empty, data, indices, indptr)
        made._shape = (rows, columns)
        return made
    return type(empty)((data, indices, indptr), shape=(rows, columns), copy=False)


def with_arrays(value: Any, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> Any:
    """A matrix like another one on other arrays, which fit together."""
    made = object.__new__(value.__class__)
    made.__dict__ = fields = value.__dict__.copy()
    fields["data"], fields["indices"], fields["indptr"] = data, indices, indptr
    return made


@functools.cache
def _empty(format: str) -> Any:
    """SciPy's matrix of no elements."""
    return (sparse.csr_matrix if format == "csr" else sparse.csc_matrix)((0, 0))


def in_order(value: Any) -> Any:
    """The matrix with the elements of each row in order and each stored once: a copy, unless it is so already."""
    if value.has_canonical_format:
        return value
    value = value.copy()
    value.sum_duplicates()
    return value


def _same_pattern(a: Any, b: Any) -> bool:
    same = a.format == b.format and a.shape == b.shape
    return same and np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def _arrays_equal(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.array_equal(a, b, equal_nan=kind_of(a.dtype) in "fc"))
