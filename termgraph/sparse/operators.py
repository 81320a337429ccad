"""Python's operators and the methods of sparse variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import termgraph.tensor
from termgraph.sparse import basic, products, structured
from termgraph.sparse.parts import parts
from termgraph.sparse.selecting import get_item
from termgraph.sparse.variable import SparseVariable, is_sparse
from termgraph.tensor.variable import TensorVariable

T: Any = termgraph.tensor


def _pow(s: TensorVariable, y: TensorVariable) -> Any:
    """s ** y for a number: elements that are not stored stay 0, so the power must be positive."""
    if not isinstance(y, (int, float, np.number)) or y <= 0:
        raise TypeError(f"a sparse matrix is raised to a positive number, got {y!r:.60}; see structured_pow")
    return structured.structured_pow(s, y)


def _number(name: str) -> Callable[..., Any]:
    def refuse(self: Any, *_: object) -> Any:
        raise TypeError(f"{name} of a sparse variable is not known while building the graph")

    return refuse


def _rdiv(self: Any, other: object) -> Any:
    raise TypeError("division by a sparse matrix divides by zeros; use sparse.dense_from_sparse(s) if that is meant")


def _matmul(x: object, y: TensorVariable) -> Any:
    if not all(is_sparse(v) or T.as_tensor(v).ndim for v in (x, y)):
        raise TypeError("@ multiplies matrices; to multiply by a number use *")
    return products.dot(x, y)


def _to_format(self: Any, format: str) -> Any:
    """The same matrix in format "csr" or "csc"."""
    if format not in ("csr", "csc"):
        raise ValueError(f"the format of a sparse matrix is 'csr' or 'csc', got {format!r}")
    return parts(self).to(format).matrix


METHODS = {
    "__add__": basic.add,
    "__radd__": lambda self, other: basic.add(other, self),
    "__sub__": basic.sub,
    "__rsub__": lambda self, other: basic.sub(other, self),
    "__mul__": basic.mul,
    "__rmul__": lambda self, other: basic.mul(other, self),
    "__truediv__": basic.true_div,
    "__rtruediv__": _rdiv,
    "__pow__": _pow,
    "__neg__": basic.neg,
    "__pos__": lambda self: self,
    "__abs__": structured.KEEP_ZERO["abs"],
    "__matmul__": _matmul,
    "__rmatmul__": lambda self, other: _matmul(other, self),
    "__getitem__": get_item,
    "__len__": _number("the length"),
    "__iter__": _number("an iteration"),
    "dot": products.dot,
    "sum": basic.sp_sum,
    "toarray": basic.dense_from_sparse,
    "todense": basic.dense_from_sparse,
    "tocsr": basic.csr_from_csc,
    "tocsc": basic.csc_from_csr,
    "asformat": _to_format,
    "transpose": basic.transpose,
    "multiply": basic.mul,
    "diagonal": basic.diag,
    "astype": basic.cast,
    **structured.KEEP_ZERO,
}
PROPERTIES = {
    "T": basic.transpose,
    "shape": lambda self: parts(self).shape,
    "data": lambda self: parts(self).data,
    "indices": lambda self: parts(self).indices,
    "indptr": lambda self: parts(self).indptr,
    "nnz": lambda self: parts(self).data.shape[0],
}


for _name, _function in METHODS.items():
    setattr(SparseVariable, _name, _function)
for _name, _getter in PROPERTIES.items():
    setattr(SparseVariable, _name, property(_getter))
