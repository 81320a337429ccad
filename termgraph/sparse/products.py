"""Matrix products with a sparse operand. Gradients with respect to a sparse matrix are those of its stored elements."""

from __future__ import annotations

from typing import Any

import termgraph.tensor
from termgraph.sparse.basic import multiplied
from termgraph.sparse.parts import Parts, parts
from termgraph.sparse.variable import as_sparse_variable, is_sparse
from termgraph.tensor.checks import Assert
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.terms.dtypes import promote
from termgraph.terms.ops import sparse as ops

T: Any = termgraph.tensor


def dot(x: Any, y: Any) -> Variable:
    """The matrix product of two operands of which one is sparse, or both; sparse if both are, else dense.

    >>> import scipy.sparse, termgraph as tg, termgraph.tensor as T
    >>> s, x = tg.sparse.csr_matrix("s"), T.dvector("x")
    >>> f = tg.function([s, x], tg.sparse.dot(s, x))
    >>> f(scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]]), [3.0, 4.0])
    array([8., 3.])
    """
    if is_sparse(x) and is_sparse(y):
        return _sparse_times_sparse(parts(x), parts(y))
    if is_sparse(x):
        return multiplied(parts(x), _dense(y))
    if not is_sparse(y):
        raise TypeError(f"sparse.dot: one operand must be sparse, got {x} and {y}; for arrays, use T.dot")
    x = _dense(x)
    found = multiplied(parts(y).turned, x.T)
    return found.T if x.ndim == 2 else found


def structured_dot(x: TensorLike, y: TensorLike) -> Variable:
    """As `dot`; Theano's name for the product whose gradient keeps to the stored elements, as all gradients do here."""
    return dot(x, y)


def true_dot(x: TensorLike, y: TensorLike, grad_preserves_dense: bool = True) -> Variable:
    """As `dot`; Theano's name for the product of two sparse matrices."""
    return dot(x, y)


def _dense(x: TensorLike) -> TensorVariable:
    x = T.as_tensor(x)
    if x.ndim not in (1, 2):
        raise TypeError(f"sparse.dot: a sparse matrix is multiplied with a vector or a matrix, got {x.type}")
    return x


def _sparse_times_sparse(p: Parts, q: Parts) -> Variable:
    """In the format of the first. Each element of p meets all elements in the row of q that its column names."""
    q = q.to(p.format)
    if p.format == "csc":  # (p q)' = q' p'
        return _rows_times_rows(q.turned, p.turned).turned.matrix
    return _rows_times_rows(p, q).matrix


def _rows_times_rows(p: Parts, q: Parts) -> Parts:
    rows = _checked_inner(p, q)
    dtype = promote(p.data.type.np_dtype, q.data.type.np_dtype).name
    one, two = T.cast(p.data, dtype), T.cast(q.data, dtype)
    met = T.sum(T.cast(q.indptr[rows + 1] - q.indptr[rows], "int64"))
    data, indices, indptr = ops.csm_multiplied(one, rows, p.indptr, two, q.indices, q.indptr, q.shape[1], met)
    n = indptr[-1]
    return Parts("csr", data[:n], indices[:n], indptr, T.stack([p.shape[0], q.shape[1]]))


def _checked_inner(p: Parts, q: Parts) -> TensorVariable:
    same = T.eq(p.shape[1], q.shape[0])
    return Assert("sparse.dot: the columns of the first matrix must be as many as the rows of the second")(
        p.indices, same
    )


def sampling_dot(x: TensorLike, y: TensorLike, p: TensorLike) -> Variable:
    """p * dot(x, y.T), computed only where the sparse matrix p stores an element: x[i] . y[j] for each."""
    p = parts(as_sparse_variable(p))
    x, y = T.as_tensor(x), T.as_tensor(y)
    if x.ndim != 2 or y.ndim != 2:
        raise TypeError(f"sparse.sampling_dot takes two matrices, got {x.type} and {y.type}")
    rows, columns = p.places
    return p.with_data(p.data * ops.csm_sample(rows, columns, x, y))


__all__ = ["dot", "sampling_dot", "structured_dot", "true_dot"]
