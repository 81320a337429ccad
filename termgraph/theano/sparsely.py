"""theano.sparse: names and old spellings that termgraph.sparse does not have. May import sparse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import termgraph.sparse as sparse
import termgraph.tensor as T
from termgraph.tensor.likes import TensorLike
from termgraph.theano.standins import Made, StandIn, op_class, stand_in

sp: Any = sparse  # whose names are put together when it is imported
sparse_formats, enable_sparse = ["csc", "csr"], True
int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
float_dtypes, complex_dtypes = ["float16", "float32", "float64"], ["complex64", "complex128"]
integer_dtypes = int_dtypes + uint_dtypes
continuous_dtypes = float_dtypes + complex_dtypes
discrete_dtypes = ["bool", *integer_dtypes]
all_dtypes = discrete_dtypes + continuous_dtypes


def _matrix(function: Callable, dtype: str) -> Callable:
    return lambda name=None: function(name, dtype=dtype)


csc_dmatrix, csr_dmatrix = _matrix(sp.csc_matrix, "float64"), _matrix(sp.csr_matrix, "float64")
csc_fmatrix, csr_fmatrix = _matrix(sp.csc_matrix, "float32"), _matrix(sp.csr_matrix, "float32")


def CSM(format: str, kmap: TensorLike | None = None) -> Any:
    """What makes a matrix of this format from data, indices, indptr and shape."""
    return sp.CSC if format == "csc" else sp.CSR


def _caster(dtype: str) -> Callable:
    return lambda x: sp.cast(x, dtype)


bcast, wcast, icast, lcast, fcast, dcast, ccast, zcast = map(
    _caster, ("int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128")
)


# ---------------------------------------------------------------------- parts
def get_item_list(x: Any, index: TensorLike) -> Any:
    """The rows of some numbers."""
    return x[index]


def get_item_2lists(x: TensorLike, ind1: TensorLike, ind2: TensorLike) -> Any:
    """The elements at pairs of positions."""
    return sp.dense_from_sparse(x)[ind1, ind2]


def get_item_2d(x: Any, index: Any) -> Any:
    """A part of the matrix."""
    return x[index]


def get_item_scalar(x: Any, index: Any) -> Any:
    """One element."""
    return x[index]


# ---------------------------------------------------------------------- sums, products, comparisons
add_s_s, add_s_d = sp.add, sp.add
mul_s_s, mul_s_d, mul_s_v = sp.mul, sp.mul, sp.mul


def structured_add_s_v(x: TensorLike, y: TensorLike) -> Any:
    """The matrix with a row added to what is stored."""
    return sp.add(x, sp.mul(sp.sp_ones_like(x), y))


structured_add = structured_add_s_v


def _compared(name: str) -> Callable:
    """A comparison of matrices, element by element: a sparse matrix of truth values as int8, as Theano gives it."""

    def apply(x: Any, y: TensorLike) -> Any:
        dense = [sp.dense_from_sparse(v) if sp.is_sparse(v) else T.as_tensor(v) for v in (x, y)]
        found = T.cast(getattr(T, name)(*dense), "int8")
        both = sp.is_sparse(x) and sp.is_sparse(y)
        return (sp.csc_from_dense if x.type.format == "csc" else sp.csr_from_dense)(found) if both else found

    apply.__name__ = name
    return apply


eq, neq, lt, gt, le, ge = map(_compared, ("eq", "neq", "lt", "gt", "le", "ge"))
equal_s_s = equal_s_d = eq
not_equal_s_s = not_equal_s_d = neq
less_than_s_s = less_than_s_d = lt
greater_than_s_s = greater_than_s_d = gt
less_equal_s_s = less_equal_s_d = le
greater_equal_s_s = greater_equal_s_d = ge


def usmm(alpha: TensorLike, x: TensorLike, y: TensorLike, z: TensorLike) -> Any:
    """alpha * dot(x, y) + z."""
    return alpha * sp.structured_dot(x, y) + z


def construct_sparse_from_list(x: TensorLike, values: TensorLike, ilist: TensorLike) -> Any:
    """A matrix of the shape of x with these rows, the others zero."""
    full = T.set_subtensor(T.zeros_like(x)[ilist], values)
    return sp.csc_from_dense(full)


# ---------------------------------------------------------------------- of what is stored
def _stored(function: Callable) -> Callable:
    """A function of 0 that is 0, on the stored elements."""

    def apply(x: Any, *more: Any) -> Any:
        data, indices, indptr, shape = sp.csm_properties(x)
        make = sp.CSC if x.type.format == "csc" else sp.CSR
        return make(function(data, *more), indices, indptr, shape)

    return apply


_names = ("sin", "tan", "arcsin", "arctan", "sinh", "arcsinh", "tanh", "arctanh", "rint", "sgn", "ceil", "floor",
          "log1p", "expm1", "deg2rad", "rad2deg", "trunc", "sqr", "sqrt", "conj")  # fmt: skip
for _name in _names:
    globals()[_name] = getattr(sp, _name, None) or _stored(getattr(T, _name))
structured_sigmoid, structured_exp, structured_log = map(_stored, (T.sigmoid, T.exp, T.log))
structured_pow, structured_minimum, structured_maximum = map(_stored, (T.pow, T.minimum, T.maximum))


# ---------------------------------------------------------------------- classes of ops
def _class(name: str, function: Callable | None = None) -> StandIn:
    return op_class(name, "", (lambda *_, **__: Made(function)) if function else None)


(
    CSMProperties, DenseFromSparse, SparseFromDense, Transpose, Neg, ColScaleCSC, RowScaleCSC, SpSum, Diag,
    SquareDiagonal, EnsureSortedIndices, AddSS, AddSD, StructuredAddSV, MulSS, MulSD, MulSV, HStack, VStack, Remove0,
    TrueDot, StructuredDot, SamplingDot, Dot, Usmm, ConstructSparseFromList, GetItemList, GetItem2Lists, GetItem2d,
    GetItemScalar, EqualSS, EqualSD, NotEqualSS, NotEqualSD, LessThanSS, LessThanSD, GreaterThanSS, GreaterThanSD,
    LessEqualSS, LessEqualSD, GreaterEqualSS, GreaterEqualSD,
) = (
    _class(name, function)
    for name, function in (
        ("CSMProperties", sp.csm_properties), ("DenseFromSparse", sp.dense_from_sparse),
        ("SparseFromDense", sp.csr_from_dense), ("Transpose", sp.transpose), ("Neg", sp.neg),
        ("ColScaleCSC", sp.col_scale), ("RowScaleCSC", sp.row_scale), ("SpSum", sp.sp_sum), ("Diag", sp.diag),
        ("SquareDiagonal", sp.square_diagonal), ("EnsureSortedIndices", sp.ensure_sorted_indices), ("AddSS", add_s_s),
        ("AddSD", add_s_d), ("StructuredAddSV", structured_add_s_v), ("MulSS", mul_s_s), ("MulSD", mul_s_d),
        ("MulSV", mul_s_v), ("HStack", sp.hstack), ("VStack", sp.vstack), ("Remove0", sp.remove0),
        ("TrueDot", sp.true_dot), ("StructuredDot", sp.structured_dot), ("SamplingDot", sp.sampling_dot),
        ("Dot", sp.dot), ("Usmm", usmm), ("ConstructSparseFromList", construct_sparse_from_list),
        ("GetItemList", get_item_list), ("GetItem2Lists", get_item_2lists), ("GetItem2d", get_item_2d),
        ("GetItemScalar", get_item_scalar), ("EqualSS", equal_s_s), ("EqualSD", equal_s_d),
        ("NotEqualSS", not_equal_s_s), ("NotEqualSD", not_equal_s_d), ("LessThanSS", less_than_s_s),
        ("LessThanSD", less_than_s_d), ("GreaterThanSS", greater_than_s_s), ("GreaterThanSD", greater_than_s_d),
        ("LessEqualSS", less_equal_s_s), ("LessEqualSD", less_equal_s_d), ("GreaterEqualSS", greater_equal_s_s),
        ("GreaterEqualSD", greater_equal_s_d),
    )
)  # fmt: skip
Cast = stand_in("Cast", lambda op: False, lambda out_type: Made(_caster(out_type)))
__all__ = [n for n in dict(globals()) if not n.startswith("_") and n not in (
    "annotations", "Callable", "Any", "sp", "sparse", "T", "Made", "op_class", "stand_in")]  # fmt: skip
