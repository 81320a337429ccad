"""Arithmetic of sparse matrices: between them, with arrays and numbers; sums, scalings, diagonals, conversions.

Written on the arrays that a matrix consists of, so that gradients and compiled code are those of arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import termgraph.tensor
from termgraph.sparse.parts import Parts, as_index, parts, pointers
from termgraph.sparse.variable import as_sparse_variable, is_sparse
from termgraph.tensor.checks import Assert
from termgraph.tensor.likes import AxisLike, DTypeLike, TensorLike
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.terms.dtypes import promote
from termgraph.terms.ops import sparse as ops
from termgraph.terms.ops.shapes import normal_axis

T: Any = termgraph.tensor


# ---------------------------------------------------------------------- from and to arrays
def dense_from_sparse(s: TensorLike) -> TensorVariable:
    """The whole matrix as an array; elements that are stored twice are added.

    >>> import scipy.sparse, termgraph as tg
    >>> s = tg.sparse.csr_matrix("s")
    >>> tg.function([s], tg.sparse.dense_from_sparse(s))(scipy.sparse.csr_matrix([[0.0, 2.0]]))
    array([[0., 2.]])
    """
    p = parts(s)
    return ops.csm_dense(p.data, p.indices, p.indptr, p.shape[0], p.shape[1], format=p.format)


def csr_from_dense(x: TensorLike) -> Variable:
    """The elements of an array that are not zero, in format CSR. Its gradient reaches these elements only."""
    return _from_dense(x, "csr")


def csc_from_dense(x: TensorLike) -> Variable:
    """The elements of an array that are not zero, in format CSC. Its gradient reaches these elements only."""
    return _from_dense(T.as_tensor(x).T, "csr", turned=True)


def _from_dense(x: TensorLike, format: str, turned: bool = False) -> Variable:
    x = T.as_tensor(x)
    if x.ndim != 2:
        raise TypeError(f"only a matrix can be made sparse, got {x.type}")
    rows, columns = T.nonzero(x)
    counts = T.bincount(rows, minlength=x.shape[0])
    p = Parts(format, x[rows, columns], as_index(columns), pointers(counts), T.stack([x.shape[0], x.shape[1]]))
    return (p.turned if turned else p).matrix


def csr_from_csc(s: TensorLike) -> Variable:
    """The same matrix in format CSR."""
    return parts(s).to("csr").matrix


def csc_from_csr(s: TensorLike) -> Variable:
    """The same matrix in format CSC."""
    return parts(s).to("csc").matrix


def cast(s: Any, dtype: DTypeLike) -> Variable:
    """The same matrix in another dtype."""
    p = parts(s)
    return p.with_data(T.cast(p.data, dtype))


def transpose(s: TensorLike) -> Variable:
    """The transpose, in the other format: no element is moved."""
    return parts(s).turned.matrix


# ---------------------------------------------------------------------- sums of matrices
def neg(s: TensorLike) -> Variable:
    """-s"""
    p = parts(s)
    return p.with_data(-p.data)


def add(x: TensorLike, y: TensorLike) -> Variable:
    """x + y: sparse if both are, else dense. A matrix of the other format is converted to that of x."""
    if is_sparse(x) and is_sparse(y):
        return _add_sparse(parts(x), parts(y))
    s, dense = _mixed("add", x, y)
    if dense.ndim == 0:
        raise TypeError("a sparse matrix plus a number is dense; to add to stored elements only, use structured_add")
    p = parts(s)
    whole = _whole(T.cast(dense, promote(p.data.type.np_dtype, dense.type.np_dtype).name), p)
    return T.inc_subtensor(whole[p.places], p.data)


def sub(x: Any, y: Any) -> Variable:
    """x - y"""
    first, second = [v if is_sparse(v) else T.as_tensor(v) for v in (x, y)]
    common = promote(first.type.np_dtype, second.type.np_dtype).name  # the negative of 3 is 253 in uint8
    return add(first, neg(cast(second, common)) if is_sparse(second) else -T.cast(second, common))


def _add_sparse(p: Parts, q: Parts) -> Variable:
    q = q.to(p.format)
    if _same_places(p, q):
        return p.with_data(p.data + q.data)
    shape = _same_shape("add", p, q)
    dtype = promote(p.data.type.np_dtype, q.data.type.np_dtype).name
    return _joined(p, q, dtype, shape, both=False)


def _joined(p: Parts, q: Parts, dtype: str, shape: Any, both: bool) -> Variable:
    """The sum of two matrices in one format, or their product where both store elements."""
    one, two = [(T.cast(m.data, dtype), m.indices, m.indptr) for m in (p, q)]
    data, indices, indptr = ops.csm_joined(*one, *two, shape[1 - p.major], both=both)
    n = indptr[-1]
    return Parts(p.format, data[:n], indices[:n], indptr, shape).matrix


def _same_places(p: Parts, q: Parts) -> bool:
    """Whether both patterns are the same expressions."""
    same = [(p.indices, q.indices), (p.indptr, q.indptr), (p.shape, q.shape)]
    return p.format == q.format and all(a.term is b.term for a, b in same)


def _same_shape(name: str, p: Parts, q: Parts) -> TensorVariable:
    same = T.all(T.eq(p.shape, q.shape))
    return _checked(f"sparse.{name}: the matrices must have the same shape")(p.shape, same)


def _checked(message: str) -> Callable:
    return Assert(message)


def _mixed(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """The sparse operand and the dense one."""
    if not is_sparse(x) and not is_sparse(y):
        raise TypeError(f"sparse.{name}: one operand must be sparse, got {x} and {y}")
    s, dense = (x, y) if is_sparse(x) else (y, x)
    dense = T.as_tensor(dense)
    if dense.ndim > 2:
        raise TypeError(f"sparse.{name}: an array with {dense.ndim} dimensions does not fit a sparse matrix")
    return as_sparse_variable(s), dense


def _whole(x: TensorVariable, p: Parts) -> Any:
    """An array in the full shape of a matrix."""
    if x.ndim == 2 and 1 not in x.type.shape:
        return T.specify_shape(x, (p.shape[0], p.shape[1]))
    return T.alloc(x, p.shape[0], p.shape[1])


# ---------------------------------------------------------------------- products of elements
def mul(x: TensorLike, y: TensorLike) -> Variable:
    """x * y, element by element: sparse. An array has the matrix's shape, or broadcasts as in NumPy."""
    if is_sparse(x) and is_sparse(y):
        return _mul_sparse(parts(x), parts(y))
    s, dense = _mixed("mul", x, y)
    return _at_places(lambda a, b: a * b, parts(s), dense)


multiply = mul


def true_div(s: TensorLike, y: TensorLike) -> Variable:
    """s / y for a number or an array y: sparse. Elements that are not stored stay 0."""
    if is_sparse(y):
        raise TypeError("division by a sparse matrix divides by zeros; divide by sparse.dense_from_sparse(y) if meant")
    return _at_places(lambda a, b: a / b, parts(s), T.as_tensor(y))


def _at_places(f: Callable, p: Parts, dense: TensorVariable) -> Variable:
    """f of each stored element and the element of an array in the same place."""
    if dense.ndim == 0:
        return p.with_data(f(p.data, dense))
    if dense.ndim == 1:
        dense = dense.dimshuffle("x", 0)
    wide = [n != 1 for n in dense.type.shape]
    lengths = [n if is_wide else 1 for n, is_wide in zip((p.shape[0], p.shape[1]), wide)]
    index = tuple([at if is_wide else 0 for at, is_wide in zip(p.places, wide)])
    return p.with_data(f(p.data, T.specify_shape(dense, lengths)[index]))


def _mul_sparse(p: Parts, q: Parts) -> Variable:
    """Where both store an element, their product."""
    q = q.to(p.format)
    shape = _same_shape("mul", p, q)
    dtype = promote(p.data.type.np_dtype, q.data.type.np_dtype).name
    return _joined(p, q, dtype, shape, both=True)


def kept(p: Parts, mask: TensorLike) -> Parts:
    """The stored elements where the mask is true."""
    data, indices, indptr = ops.csm_kept(mask, p.data, p.indices, p.indptr)
    n = indptr[-1]
    return p._replace(data=data[:n], indices=indices[:n], indptr=indptr)


# ---------------------------------------------------------------------- sums and scalings
def sp_sum(s: TensorLike, axis: AxisLike = None, sparse_grad: bool = False) -> TensorVariable:
    """The sum of all elements, or along an axis: a dense number or vector.

    Gradients are those of the stored elements, whatever `sparse_grad` says.
    """
    p = parts(s)
    if axis is None:
        return p.data.sum()
    axis = normal_axis(axis, 2)
    p = p if axis == 1 else p.turned
    ones = T.ones((p.shape[1],), p.data.sum().type.dtype)
    return ops.csm_dot(p.data, p.indices, p.indptr, p.shape[0], ones, format=p.format)


def multiplied(p: Parts, x: Any) -> TensorVariable:
    """The matrix times a dense vector or matrix of as many rows as it has columns."""
    x = T.specify_shape(x, (p.shape[1], *[None] * (x.ndim - 1)))
    return ops.csm_dot(p.data, p.indices, p.indptr, p.shape[0], x, format=p.format)


def row_scale(s: TensorLike, v: TensorLike) -> Variable:
    """Row i multiplied by v[i]."""
    return mul(s, _vector("row_scale", v).dimshuffle(0, "x"))


def col_scale(s: TensorLike, v: TensorLike) -> Variable:
    """Column j multiplied by v[j]."""
    return mul(s, _vector("col_scale", v))


def _vector(name: str, v: TensorLike) -> TensorVariable:
    v = T.as_tensor(v)
    if v.ndim != 1:
        raise TypeError(f"sparse.{name} takes a vector, got {v.type}")
    return v


def diag(s: TensorLike) -> TensorVariable:
    """The diagonal, as a dense vector."""
    p = parts(s)
    return ops.csm_diagonal(p.data, p.indices, p.indptr, T.minimum(p.shape[0], p.shape[1]))


def square_diagonal(v: TensorLike) -> Variable:
    """The square matrix in format CSC with this diagonal."""
    v = _vector("square_diagonal", v)
    n = v.shape[0]
    return Parts("csc", v, as_index(T.arange(n)), as_index(T.arange(n + 1)), T.stack([n, n])).matrix


def sp_ones_like(s: TensorLike) -> Variable:
    """Ones wherever the matrix stores an element."""
    p = parts(s)
    return p.with_data(T.ones_like(p.data))


def sp_zeros_like(s: TensorLike) -> Variable:
    """A matrix of the same shape that stores nothing."""
    p = parts(s)
    return p._replace(data=p.data[:0], indices=p.indices[:0], indptr=T.zeros_like(p.indptr)).matrix


# ---------------------------------------------------------------------- form
def ensure_sorted_indices(s: TensorLike) -> Variable:
    """The same matrix with the elements of each row (CSC: column) in order."""
    return parts(s).in_order.matrix


def sum_duplicates(s: TensorLike) -> Variable:
    """The same matrix with each element stored once, in order."""
    return parts(s).once.matrix


def remove0(s: TensorLike) -> Variable:
    """The same matrix without the zeros that it stores."""
    p = parts(s)
    return kept(p, T.neq(p.data, 0)).matrix


def clean(s: TensorLike) -> Variable:
    """The same matrix without stored zeros, the elements of each row (CSC: column) in order."""
    p = parts(s)
    return kept(p, T.neq(p.data, 0)).in_order.matrix


__all__ = [
    "add", "cast", "clean", "col_scale", "csc_from_csr", "csc_from_dense", "csr_from_csc", "csr_from_dense",
    "dense_from_sparse", "diag", "ensure_sorted_indices", "mul", "multiply", "neg", "remove0", "row_scale",
    "sp_ones_like", "sp_sum", "sp_zeros_like", "square_diagonal", "sub", "sum_duplicates", "transpose", "true_div",
]  # fmt: skip
