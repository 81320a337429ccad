"""A sparse matrix taken apart into arrays, and made of arrays.

Everything else in this package works on `Parts`: the arrays as tensor variables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import termgraph.tensor
from termgraph.sparse.variable import as_sparse_variable
from termgraph.tensor.likes import ShapeLike, TensorLike
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.terms.ops import sparse as ops
from termgraph.terms.sparse import INDEX

T: Any = termgraph.tensor


class Parts(NamedTuple):
    """The arrays of a sparse matrix. `major` is the compressed dimension: rows (0) of CSR, columns (1) of CSC."""

    format: str
    data: Any
    indices: Any
    indptr: Any
    shape: Any

    @property
    def major(self) -> int:
        return 0 if self.format == "csr" else 1

    @property
    def minor(self) -> TensorVariable:
        """The length that is not compressed."""
        return self.shape[1 - self.major]

    @property
    def majors(self) -> TensorVariable:
        """The index of each stored element along the compressed dimension."""
        return ops.csm_majors(self.indices, self.indptr)

    @property
    def places(self) -> tuple[Any, Any]:
        """Row and column of each stored element."""
        return (self.majors, self.indices) if self.major == 0 else (self.indices, self.majors)

    @property
    def matrix(self) -> Variable:
        """The sparse variable."""
        return ops.csm(self.data, self.indices, self.indptr, self.shape, format=self.format)

    def with_data(self, data: TensorLike) -> Variable:
        """The sparse variable with other values in the same places."""
        return self._replace(data=data).matrix

    @property
    def turned(self) -> Parts:
        """The transpose: the same arrays, read in the other format."""
        return self._replace(format=OTHER[self.format], shape=self.shape[::-1])

    @property
    def switched(self) -> Parts:
        """The same matrix in the other format, the elements of each row or column in order."""
        data, indices, indptr = ops.csm_switched(self.data, self.indices, self.indptr, self.minor)
        return Parts(OTHER[self.format], data, indices, indptr, self.shape)

    @property
    def in_order(self) -> Parts:
        """The same matrix, the elements of each row (CSC: column) in order."""
        data, indices = ops.csm_ordered(self.data, self.indices, self.indptr, self.minor)
        return self._replace(data=data, indices=indices)

    @property
    def once(self) -> Parts:
        """The same matrix, each element stored once and in order: those in the same place are added up."""
        nothing = self.data[:0], self.indices[:0], T.zeros_like(self.indptr)
        data, indices, indptr = ops.csm_joined(self.data, self.indices, self.indptr, *nothing, self.minor)
        n = indptr[-1]
        return self._replace(data=data[:n], indices=indices[:n], indptr=indptr)

    def to(self, format: str) -> Parts:
        """The same matrix in a format."""
        return self if format == self.format else self.switched


OTHER = {"csr": "csc", "csc": "csr"}


def parts(s: Any) -> Parts:
    """The arrays of a sparse variable or SciPy matrix. Patterns are read where they come from."""
    s = as_sparse_variable(s)
    data = ops.csm_data(s)
    made = s.owner
    if made is not None and made.op.family is ops.csm:
        return Parts(s.term.type.format, data, *made.inputs[1:])
    return Parts(s.term.type.format, data, ops.csm_indices(s), ops.csm_indptr(s), ops.csm_shape(s))


def csm_data(s: TensorLike) -> TensorVariable:
    """The stored elements, in the order in which they are stored."""
    return parts(s).data


def csm_indices(s: TensorLike) -> TensorVariable:
    """The column (CSC: row) of each stored element, int32."""
    return parts(s).indices


def csm_indptr(s: TensorLike) -> TensorVariable:
    """Where each row (CSC: column) begins among the stored elements, and the end, int32."""
    return parts(s).indptr


def csm_shape(s: TensorLike) -> TensorVariable:
    """The two lengths, as a vector."""
    return parts(s).shape


def csm_properties(s: TensorLike) -> tuple:
    """`(data, indices, indptr, shape)` of a sparse matrix, as tensors."""
    return parts(s)[1:]


def CSR(data: TensorLike, indices: TensorLike, indptr: Any, shape: ShapeLike) -> Variable:
    """The sparse matrix in format CSR with these arrays, as `scipy.sparse.csr_matrix((data, indices, indptr), shape)`.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> f = tg.function([x], tg.sparse.CSR(x, [1, 0], [0, 1, 2], (2, 3)))
    >>> f([5.0, 6.0]).toarray()
    array([[0., 5., 0.],
           [6., 0., 0.]])
    """
    return _compressed("csr", data, indices, indptr, shape)


def CSC(data: TensorLike, indices: TensorLike, indptr: Any, shape: ShapeLike) -> Variable:
    """The sparse matrix in format CSC with these arrays."""
    return _compressed("csc", data, indices, indptr, shape)


def _compressed(
    format: str, data: TensorLike, indices: TensorLike, indptr: TensorVariable, shape: ShapeLike
) -> Variable:
    return Parts(format, T.as_tensor(data), as_index(indices), as_index(indptr), _as_shape(shape)).matrix


def as_index(x: TensorLike) -> TensorVariable:
    """Indices as sparse matrices hold them."""
    x = T.as_tensor(x)
    if x.type.kind not in "iu" and 0 not in x.type.shape:
        raise TypeError(f"the indices of a sparse matrix must be integers, got dtype {x.type.dtype}")
    return T.cast(x, INDEX)


def _as_shape(shape: ShapeLike) -> TensorVariable:
    return T.cast(T.as_tensor(list(shape) if isinstance(shape, (tuple, list)) else shape), "int64")


def pointers(counts: Any) -> TensorVariable:
    """The indptr for this many elements in each row."""
    return as_index(T.concatenate([T.zeros((1,), "int64"), T.cumsum(T.cast(counts, "int64"))]))


__all__ = ["CSC", "CSR", "csm_data", "csm_indices", "csm_indptr", "csm_properties", "csm_shape"]
