"""Sparse variables: inputs, constants and shared variables that hold SciPy's CSR and CSC matrices.

Their operators and methods are attached by the package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from termgraph.config import config
from termgraph.tensor import sharedvar
from termgraph.tensor import variable as variable_module
from termgraph.tensor.constructors import LETTERS
from termgraph.tensor.likes import DTypeLike, ShapeLike, TensorLike
from termgraph.tensor.trace import user_site
from termgraph.tensor.variable import Constant, Variable, bare, make_input
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.sparse import SparseType, is_sparse_value, type_of_value
from termgraph.terms.term import Const


class SparseVariable(Variable):
    """A variable that holds a sparse matrix."""

    __slots__ = ()
    own_operators = True

    @property
    def format(self) -> str:
        """How the matrix is stored: "csr" or "csc"."""
        return self.term.type.format


class SparseConstant(Constant, SparseVariable):
    """A constant sparse matrix."""

    __slots__ = ()


class SparseSharedVariable(sharedvar.SharedVariable, SparseVariable):
    """A shared sparse matrix."""

    __slots__ = ()


variable_module.HANDLES[SparseType] = SparseVariable
variable_module.CONSTANTS[SparseType] = SparseConstant
sharedvar.SHARED_HANDLES[SparseType] = SparseSharedVariable


# ---------------------------------------------------------------------- inputs
def matrix(format: str, name: str | None = None, dtype: Any = None, shape: Any = (None, None)) -> Any:
    """A sparse input of a format, "csr" or "csc".

    >>> import termgraph as tg
    >>> tg.sparse.matrix("csc", "s", dtype="float32").type
    SparseType(csc, float32, (?, ?))
    """
    return make_input(SparseType(format, config.floatX if dtype is None else dtype, shape), name)


def csr_matrix(name: str | None = None, dtype: DTypeLike = None, shape: ShapeLike = (None, None)) -> Any:
    """A sparse input in SciPy's CSR format, of dtype `config.floatX` unless another is given.

    >>> import termgraph as tg
    >>> tg.sparse.csr_matrix("s").type
    SparseType(csr, float64, (?, ?))
    """
    return matrix("csr", name, dtype, shape)


def csc_matrix(name: str | None = None, dtype: DTypeLike = None, shape: ShapeLike = (None, None)) -> Variable:
    """A sparse input in SciPy's CSC format, of dtype `config.floatX` unless another is given."""
    return matrix("csc", name, dtype, shape)


def _of_dtype(format: str, dtype: str) -> Callable:
    def make(name: str | None = None, shape: ShapeLike = (None, None)) -> Any:
        return matrix(format, name, dtype, shape)

    make.__doc__ = f"A sparse input in format {format.upper()} of dtype {dtype}."
    return make


# csr_fmatrix, csc_dmatrix, ...: the letters of tensors
TYPED = {f"{format}_{x}matrix": _of_dtype(format, dtype) for format in ("csr", "csc") for x, dtype in LETTERS.items()}
for _name, _make in TYPED.items():
    _make.__name__ = _make.__qualname__ = _name
globals().update(TYPED)
EXPORTS = list(TYPED)


# ---------------------------------------------------------------------- values
def constant(value: Any, name: str | None = None) -> Variable:
    """A constant of a SciPy sparse matrix in format CSR or CSC."""
    if not is_sparse_value(value):
        raise TypeError(f"sparse.constant takes a SciPy sparse matrix, got {type(value).__name__} {value!r:.60}")
    type_ = type_of_value(value)
    return bare(SparseConstant, Const(type_.filter(value).copy(), None, type_), name, user_site())


def is_sparse(x: Any) -> bool:
    """Whether this is a sparse variable, or one of SciPy's sparse matrices."""
    return isinstance(getattr(x, "type", None), SparseType) or is_sparse_value(x)


def as_sparse_variable(x: TensorLike, name: str | None = None) -> Variable:
    """A sparse variable for a sparse variable or a SciPy matrix; dense ones are refused, see `csr_from_dense`."""
    if isinstance(getattr(x, "type", None), SparseType) and isinstance(x, Variable):
        return x
    if is_sparse_value(x):
        return constant(x, name)
    what = f"the dense variable {x}" if isinstance(x, Variable) else f"{type(x).__name__} {x!r:.60}"
    raise TypeError(f"expected a sparse variable or a SciPy sparse matrix, got {what}; see sparse.csr_from_dense(x)")


as_sparse = as_sparse_variable


def as_sparse_or_tensor_variable(x: TensorLike, name: str | None = None) -> Variable:
    """A sparse variable for what is sparse, a tensor variable for everything else."""
    return as_sparse_variable(x, name) if is_sparse(x) else as_tensor(x, name)


@sharedvar.shared_constructor
def sparse_constructor(
    value: Any, name: str | None, strict: bool, allow_downcast: bool | None, borrow: bool, **more: Any
) -> Any:
    """Shared memory for a SciPy sparse matrix."""
    if not is_sparse_value(value):
        raise TypeError("not a sparse matrix")
    if more:
        raise TypeError(f"unexpected arguments {sorted(more)}")
    type_ = type_of_value(value)
    return sharedvar.shared_of_type(type_, value if borrow else value.copy(), name, strict, allow_downcast)


__all__ = [
    "SparseConstant", "SparseSharedVariable", "SparseVariable", "as_sparse", "as_sparse_or_tensor_variable",
    "as_sparse_variable", "constant", "csc_matrix", "csr_matrix", "is_sparse", "matrix",
]  # fmt: skip
