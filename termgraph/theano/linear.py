"""theano.tensor.nlinalg and .slinalg where their arguments are not termgraph's. May import the tensor language."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

import termgraph.tensor as T
from termgraph.tensor.likes import TensorLike

MATRIX_STRUCTURES = ("general", "symmetric", "lower_triangular", "upper_triangular", "hermitian", "banded", "diagonal",
                     "toeplitz")  # fmt: skip


def solve(a: TensorLike, b: TensorLike, A_structure: str = "general", lower: bool = False, **_: object) -> Any:
    """The solution of a x = b, by what is known of a."""
    if A_structure not in MATRIX_STRUCTURES:
        raise ValueError(f"solve: A_structure must be one of {', '.join(MATRIX_STRUCTURES)}, got {A_structure!r}")
    if A_structure in ("lower_triangular", "upper_triangular"):
        return T.linalg.solve_triangular(a, b, lower=A_structure == "lower_triangular")
    return T.linalg.solve(a, b, assume_a="sym" if A_structure == "symmetric" else "gen")


def solve_lower_triangular(a: TensorLike, b: TensorLike) -> Any:
    """The solution of a x = b for a lower triangle a."""
    return T.linalg.solve_triangular(a, b, lower=True)


def solve_upper_triangular(a: TensorLike, b: TensorLike) -> Any:
    """The solution of a x = b for an upper triangle a."""
    return T.linalg.solve_triangular(a, b, lower=False)


def solve_symmetric(a: TensorLike, b: TensorLike) -> Any:
    """The solution of a x = b for a symmetric a."""
    return solve(a, b, "symmetric")


def cholesky(a: TensorLike, lower: bool = True, on_error: str = "raise") -> Any:
    """The triangle whose product with its transpose is a."""
    return T.linalg.cholesky(a, lower=lower, on_error=on_error)


def eigvalsh(a: TensorLike, b: TensorLike | None = None, lower: bool = True) -> Any:
    """The eigenvalues of a symmetric matrix, or of a x = w b x."""
    if b is None or (isinstance(b, T.Constant) and b.data is None):
        return T.linalg.eigvalsh(a, "L" if lower else "U")
    half = T.linalg.solve_triangular(T.linalg.cholesky(b), a, lower=True)
    return T.linalg.eigvalsh(T.linalg.solve_triangular(T.linalg.cholesky(b), half.T, lower=True))


def eigh(a: TensorLike, UPLO: str = "L") -> list:
    """Eigenvalues and eigenvectors of a symmetric matrix."""
    return T.linalg.eigh(a, UPLO)


def matrix_dot(*args: object) -> Any:
    """The product of several matrices, from left to right."""
    return reduce(T.dot, args)


def alloc_diag(x: TensorLike) -> Any:
    """A matrix with a vector on its diagonal."""
    return T.diag(x)


def diag(x: TensorLike) -> Any:
    """The diagonal of a matrix, or a matrix with this diagonal."""
    return T.diag(x)


def trace(X: TensorLike) -> Any:
    """The sum of the diagonal."""
    return T.diagonal(X).sum()


def norm(x: TensorLike, ord: Any) -> Any:
    """A norm of a vector or matrix."""
    x = T.as_tensor(x)
    if x.ndim == 0:
        raise ValueError("norm takes a vector or a matrix, got a number")
    if x.ndim > 2:
        raise NotImplementedError(f"norm takes a vector or a matrix, {x} has {x.ndim} dimensions")
    return T.linalg.norm(x, ord)


def qr(a: TensorLike, mode: str = "reduced") -> Any:
    """The factors q and r of a matrix; r alone for mode 'r'."""
    return T.linalg.qr(a, "reduced" if mode == "economic" else mode)  # type: ignore[call-overload]


def svd(a: TensorLike, full_matrices: Any = 1, compute_uv: Any = 1) -> Any:
    """Singular values and vectors."""
    return T.linalg.svd(a, bool(full_matrices), bool(compute_uv))


def tensorsolve(a: Any, b: TensorLike, axes: Any = None) -> Any:
    """The x of tensordot(a, x, x.ndim) = b."""
    a, b = T.as_tensor(a), T.as_tensor(b)
    if axes is not None:
        rest = [d for d in range(a.ndim) if d not in tuple(axes)]
        a = T.transpose(a, [*rest, *axes])
    shape = [a.shape[d] for d in range(b.ndim, a.ndim)]
    n = T.prod(T.stack(shape))
    return T.linalg.solve(a.reshape((b.size, n)), b.flatten()).reshape(shape)


def matrix_power(M: TensorLike, n: int) -> Any:
    """A matrix multiplied n times by itself."""
    return T.linalg.matrix_power(M, n)


def lstsq(a: TensorLike, b: TensorLike, rcond: Any = None) -> list:
    """Least squares, with residuals, rank and singular values."""
    return T.linalg.lstsq(a, b, None if rcond is None else float(np.asarray(rcond)))


def kron(a: TensorLike, b: TensorLike) -> Any:
    """The Kronecker product of arrays of 2 dimensions or of one or more in all."""
    a, b = T.as_tensor(a), T.as_tensor(b)
    if a.ndim + b.ndim <= 2:
        raise TypeError(f"kron: the operands must have more than 2 dimensions together, got {a.ndim} and {b.ndim}")
    return T.kron(a, b)


def spectral_radius_bound(X: TensorLike, log2_exponent: int) -> Any:
    """A bound on the largest absolute eigenvalue: the trace of a power of X, of which the root is taken."""
    power = X
    for _ in range(log2_exponent):
        power = T.dot(power, power)
    return T.diagonal(power).sum() ** (2.0 ** (-log2_exponent))


def psd(v: TensorLike) -> Any:
    """The matrix, said to be positive definite."""
    return T.assume(v, positive_definite=True) if hasattr(T, "assume") else v
