"""T.linalg: linear algebra with numpy.linalg's names, over any leading (batch) dimensions.

Decompositions are ops; norms, powers and products are composed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from termgraph.tensor.creation import diagonal as _diagonal
from termgraph.tensor.creation import eye, zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.factors import (
    circulant,
    companion,
    hankel,
    lu,
    lu_factor,
    lu_solve,
    pivot_to_permutation,
    polar,
    schur,
    solve_circulant,
    solve_continuous_lyapunov,
    solve_discrete_lyapunov,
    solve_sylvester,
    toeplitz,
)
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import length, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.norms import cond, matrix_norm, norm, vector_norm
from termgraph.tensor.products import cross, kron, matmul, outer, tensordot, vecdot
from termgraph.tensor.reductions import all as all_over
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.selecting import take_along_axis
from termgraph.tensor.shaping import atleast_2d, broadcast_to, dimshuffle, matrix_transpose, ravel, reshape, squeeze
from termgraph.tensor.sorting import argsort, sort
from termgraph.tensor.structured import checked_on_error as _on_error
from termgraph.tensor.structured import matmul_toeplitz, solve_banded, solve_toeplitz, solveh_banded
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import finfo, promote
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import linalg as ops
from termgraph.terms.ops.shapes import normal_axis
from termgraph.terms.types import shape_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from termgraph.tensor.likes import AxisLike, DTypeLike, TensorLike
    from termgraph.tensor.variable import TensorVariable

LinAlgError = np.linalg.LinAlgError
STRUCTURES = ("gen", "sym", "her", "pos")
TRANSPOSITIONS = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}
UNKNOWN = 64  # what an unknown length counts for when multi_dot chooses its order


# ---------------------------------------------------------------------- equations
def _with_columns(b: TensorLike) -> tuple[Any, bool]:
    """The right side as a matrix; a vector becomes one column."""
    b = as_tensor(b)
    return (dimshuffle(b, 0, "x"), True) if b.ndim == 1 else (b, False)


@on_terms
def solve(a: TensorLike, b: TensorLike, assume_a: str = "gen", on_error: str = "raise") -> TensorVariable:
    """The solution x of a @ x = b; b is a vector if it has one dimension, else (a batch of) matrices.

    `assume_a` promises more about a: "sym" symmetric, "her" Hermitian, "pos" positive definite. A singular matrix
    raises LinAlgError when the function runs; with `on_error="nan"` its solution is NaN.

    >>> import termgraph.tensor as T
    >>> T.linalg.solve(T.dmatrix("a"), T.dvector("b")).type
    TensorType(float64, (?,))
    """
    if assume_a not in STRUCTURES:
        raise ValueError(f"solve: assume_a must be one of {', '.join(STRUCTURES)}, got {assume_a!r}")
    columns, vector = _with_columns(b)
    x = ops.solve(a, columns, assume_a=assume_a, on_error=_on_error("solve", on_error))
    return squeeze(x, -1) if vector else x


@on_terms
def solve_triangular(
    a: TensorLike,
    b: TensorLike,
    lower: bool = False,
    trans: Any = 0,
    unit_diagonal: bool = False,
    on_error: str = "raise",
) -> TensorVariable:
    """The solution of a @ x = b for a triangular matrix, of which only that triangle is read.

    `trans` solves with the transposed (1, "T") or conjugate transposed (2, "C") matrix; `unit_diagonal` takes the
    diagonal to be ones. A zero on the diagonal raises LinAlgError; with `on_error="nan"` the solution is NaN.
    """
    if trans not in TRANSPOSITIONS:
        raise ValueError(f"solve_triangular: trans must be 0 ('N'), 1 ('T') or 2 ('C'), got {trans!r}")
    columns, vector = _with_columns(b)
    params = {"lower": bool(lower), "trans": TRANSPOSITIONS[trans], "unit_diagonal": bool(unit_diagonal)}
    x = ops.solve_triangular(a, columns, **params, on_error=_on_error("solve_triangular", on_error))
    return squeeze(x, -1) if vector else x


@on_terms
def cho_solve(c_and_lower: Any, b: TensorLike, on_error: str = "raise") -> TensorVariable:
    """The solution of a @ x = b from the Cholesky factor of a: cho_solve((factor, lower), b)."""
    c, lower = c_and_lower
    first, second = ("N", "C") if lower else ("C", "N")
    inner = solve_triangular(c, b, lower, first, on_error=on_error)
    return solve_triangular(c, inner, lower, second, on_error=on_error)


@on_terms
def cho_factor(a: TensorLike, lower: bool = False) -> list:
    """[factor, lower] for `cho_solve`. The other triangle of the factor is 0 (in SciPy it is not defined).

    >>> import termgraph.tensor as T
    >>> a = T.constant([[4.0, 2.0], [2.0, 3.0]])
    >>> T.linalg.cho_solve(T.linalg.cho_factor(a), [8.0, 8.0]).eval()
    array([1., 2.])
    """
    return [cholesky(a, lower), bool(lower)]


@on_terms
def lstsq(a: TensorLike, b: TensorLike, rcond: float | None = None) -> list:
    """Least squares: solution, residuals, rank and singular values."""
    columns, vector = _with_columns(b)
    x, *rest = ops.lstsq(a, columns, rcond=None if rcond is None else float(rcond))
    return [squeeze(x, -1) if vector else x, *rest]


@on_terms
def inv(a: TensorLike) -> TensorVariable:
    """The inverse of a square matrix; `solve` is faster and more exact if it is to be multiplied with something."""
    return ops.inv(a)


@on_terms
def pinv(
    a: TensorLike, rcond: float | None = None, hermitian: bool = False, *, rtol: float | None = None
) -> TensorVariable:
    """The Moore-Penrose inverse. Singular values below `rcond` (or `rtol`) times the largest count as 0."""
    if rtol is not None:
        if rcond is not None:
            raise ValueError(f"pinv: rcond={rcond} and rtol={rtol} mean the same; give one of them")
        rcond = rtol
    return ops.pinv(a, rcond=None if rcond is None else float(rcond), hermitian=bool(hermitian))


# ---------------------------------------------------------------------- decompositions
@on_terms
def cholesky(
    a: TensorLike, lower: bool = True, on_error: str = "raise", *, upper: bool | None = None
) -> TensorVariable:
    """The lower triangular L with L @ conj(L.T) = a, or the upper U with conj(U.T) @ U = a.

    `upper=True` is NumPy's way to write `lower=False`.

    A matrix that is not positive definite raises LinAlgError when the function runs. With `on_error="nan"` the result
    is NaN instead, which samplers and line searches take for a step too far.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> a = T.dmatrix("a")
    >>> tg.function([a], T.linalg.cholesky(a, on_error="nan"))([[1.0, 2.0], [2.0, 1.0]])
    array([[nan, nan],
           [nan, nan]])
    """
    lower = bool(lower) if upper is None else not upper
    return ops.cholesky(a, lower=lower, on_error=_on_error("cholesky", on_error))


@overload
def qr(a: TensorLike, mode: Literal["r"]) -> TensorVariable: ...
@overload
def qr(a: TensorLike, mode: Literal["reduced", "complete"] = "reduced") -> list[TensorVariable]: ...
@on_terms
def qr(a: TensorLike, mode: str = "reduced") -> Any:
    """Q (orthonormal columns) and R (upper triangular) with Q @ R = a; only R for mode "r"."""
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    q, r = ops.qr(a, mode="complete" if mode == "complete" else "reduced")
    return r if mode == "r" else [q, r]


@on_terms
def svd(a: TensorLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> TensorVariable:
    """u, s and vh with (u * s) @ vh = a, singular values descending; only s if not `compute_uv`.

    Of a `hermitian` matrix they are made of its eigenvalues and vectors, which is faster.
    """
    if hermitian:
        return _svd_hermitian(as_tensor(a), compute_uv)
    return ops.svd(a, full_matrices=bool(full_matrices)) if compute_uv else ops.svdvals(a)


def _svd_hermitian(a: TensorVariable, compute_uv: bool) -> Any:
    """By eigenvalues: their sizes, descending; their signs go to the vectors on the right."""
    if not compute_uv:
        return sort(ew.abs_(ops.eigvalsh(a)), -1)[..., ::-1]
    w, u = ops.eigh(a)
    order = argsort(ew.abs_(w), -1)[..., ::-1]
    w = take_along_axis(w, order, -1)
    u = take_along_axis(u, order[..., None, :], -1)
    v = u * cast(ew.switch(ew.lt(w, 0), -1, 1), w.dtype)[..., None, :]
    return [u, ew.abs_(w), matrix_transpose(ew.conj(v))]


@on_terms
def svdvals(a: TensorLike) -> TensorVariable:
    """The singular values, descending."""
    return ops.svdvals(a)


def _lower(triangle: str) -> bool:
    if triangle not in ("L", "U", "l", "u"):
        raise ValueError(f"UPLO must be 'L' or 'U', got {triangle!r}")
    return triangle in "Ll"


@on_terms
def eigh(a: TensorLike, UPLO: str = "L") -> list:
    """Eigenvalues (ascending) and eigenvectors (columns) of a Hermitian matrix, of which one triangle is read."""
    return ops.eigh(a, lower=_lower(UPLO))


@on_terms
def eigvalsh(a: TensorLike, UPLO: str = "L") -> TensorVariable:
    """Eigenvalues of a Hermitian matrix, ascending."""
    return ops.eigvalsh(a, lower=_lower(UPLO))


@on_terms
def eig(a: TensorLike) -> list:
    """Eigenvalues and eigenvectors of any square matrix; always complex, also where the imaginary parts are 0."""
    return ops.eig(a)


@on_terms
def eigvals(a: TensorLike) -> TensorVariable:
    """Eigenvalues of any square matrix; always complex."""
    return ops.eigvals(a)


# ---------------------------------------------------------------------- numbers of a matrix
@on_terms
def det(a: TensorLike) -> TensorVariable:
    """The determinant."""
    return ops.det(a)


@on_terms
def slogdet(a: TensorLike) -> list:
    """Sign and logarithm of the absolute value of the determinant, without overflow."""
    return ops.slogdet(a)


@on_terms
def matrix_rank(a: TensorLike, tol: Any = None, hermitian: bool = False, rtol: Any = None) -> TensorVariable:
    """How many singular values exceed `tol` (by default the largest one times max(shape) times the dtype's epsilon)."""
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank takes one of tol, a number, and rtol, a share of the largest singular value")
    a = as_tensor(a)
    if a.ndim < 2:
        return cast(ew.logical_not(_all_zero(a)), "int64")
    s = ew.abs_(ops.eigvalsh(a)) if hermitian else ops.svdvals(a)
    if tol is None:
        if rtol is None:
            longest = ew.maximum(*[as_tensor(length(a, d)) for d in (-2, -1)])
            rtol = cast(longest, s.dtype) * as_tensor(finfo(s.dtype).eps)
        largest = sort(s, -1)[..., -1:] if hermitian else s[..., :1]  # none in an empty matrix, whose rank is 0
        tol = sum_over(largest, axis=-1) * rtol
    tol = as_tensor(tol)
    return sum_over(ew.gt(s, dimshuffle(tol, *range(tol.ndim), "x")), axis=-1)


def _all_zero(a: TensorLike) -> Any:
    return all_over(ew.eq(a, 0))


@on_terms
def trace(a: TensorLike, offset: int = 0, dtype: DTypeLike = None) -> TensorVariable:
    """The sum of the diagonal of the last two dimensions."""
    return sum_over(diagonal(a, offset), axis=-1, dtype=dtype)


@on_terms
def diagonal(a: TensorLike, offset: int = 0) -> TensorVariable:
    """The diagonal of the last two dimensions."""
    return _diagonal(a, offset, -2, -1)


# ---------------------------------------------------------------------- products and functions of matrices
@on_terms
def matrix_power(a: TensorLike, n: int) -> TensorVariable:
    """The matrix multiplied with itself n times; the inverse for negative n, the identity for 0."""
    if hasattr(n, "term") or isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"matrix_power: n must be an integer known while building, got {n!r}")
    a, n = as_tensor(a), n.__index__()
    if a.ndim < 2 or None not in a.type.shape[-2:] and a.type.shape[-1] != a.type.shape[-2]:
        raise ShapeError(f"matrix_power needs square matrices, got shape {shape_text(a.type.shape)}")
    if n == 0:
        unit = eye(length(a, -1), dtype=a.type.dtype)
        return broadcast_to(unit, [length(a, d) for d in range(a.ndim)]) if a.ndim > 2 else unit
    square, found = ops.inv(a) if n < 0 else a, None
    for k, bit in enumerate(reversed(bin(abs(n))[2:])):
        square = matmul(square, square) if k else square
        if bit == "1":
            found = square if found is None else matmul(found, square)
    return found  # type: ignore[return-value]


@on_terms
def multi_dot(arrays: Sequence[Any]) -> TensorVariable:
    """The product of two or more matrices (first and last may be vectors), in the cheapest order for known lengths."""
    items = [as_tensor(a) for a in arrays]
    if len(items) < 2:
        raise ValueError(f"multi_dot needs at least two arrays, got {len(items)}")
    for i, a in enumerate(items):
        if a.ndim != 2 and not (a.ndim == 1 and i in (0, len(items) - 1)):
            raise ValueError(f"multi_dot: array {i} has {a.ndim} dimensions; only the first and last may be vectors")
    sizes = [_or_guess(items[0].type.shape[0]) if items[0].ndim == 2 else 1]
    sizes += [_or_guess(a.type.shape[0]) for a in items[1:]]
    sizes.append(_or_guess(items[-1].type.shape[1]) if items[-1].ndim == 2 else 1)
    return _in_order(items, sizes)


@on_terms
def matrix_dot(*arrays: TensorLike) -> TensorVariable:
    """The product of matrices that are given one by one: `multi_dot`, also of one.

    >>> import termgraph.tensor as T
    >>> T.linalg.matrix_dot([[1, 2]], [[3], [4]], [[5]]).eval()
    array([[55]])
    """
    return multi_dot(arrays) if len(arrays) != 1 else as_tensor(arrays[0])


def _or_guess(n: int | None) -> int:
    return UNKNOWN if n is None else n


def _in_order(items: list, sizes: list[int]) -> TensorVariable:
    """The product by the classic table of cheapest bracketings; item i is sizes[i] by sizes[i + 1]."""
    made: dict[tuple[int, int], tuple[int, Any]] = {(i, i): (0, a) for i, a in enumerate(items)}
    for width in range(1, len(items)):
        for i in range(len(items) - width):
            j = i + width

            def cost(k: int, i: int = i, j: int = j) -> int:
                return made[i, k][0] + made[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1]

            best = min(range(i, j), key=cost)
            made[i, j] = cost(best), (made[i, best][1], made[best + 1, j][1])

    def product(tree: Any) -> Any:  # as deep as the list is long, no deeper
        return matmul(product(tree[0]), product(tree[1])) if isinstance(tree, tuple) else tree

    return product(made[0, len(items) - 1][1])


@on_terms
def expm(a: TensorLike) -> TensorVariable:
    """The matrix exponential."""
    return ops.expm(a)


@on_terms
def sqrtm(a: TensorLike) -> TensorVariable:
    """The square root of a matrix: sqrtm(a) @ sqrtm(a) = a. A real matrix whose root is not real is an error.

    >>> import termgraph.tensor as T
    >>> T.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]).eval()
    array([[2., 0.],
           [0., 3.]])
    """
    return ops.sqrtm(a)


@on_terms
def block_diag(*arrays: TensorLike) -> TensorVariable:
    """The matrix with the given matrices along its diagonal and zeros elsewhere; vectors are rows.

    >>> import termgraph.tensor as T
    >>> T.linalg.block_diag([[1, 2], [3, 4]], [5]).eval()
    array([[1, 2, 0],
           [3, 4, 0],
           [0, 0, 5]])
    """
    blocks = [atleast_2d(as_tensor(a)) for a in arrays]
    if not blocks or max([b.ndim for b in blocks]) > 2:
        raise ValueError(f"block_diag takes matrices, got {[b.ndim for b in blocks]} dimensions")
    dtype = promote(*[b.type.np_dtype for b in blocks]).name
    rows = []
    for k, b in enumerate(blocks):
        parts = [zeros((length(b, 0), length(other, 1)), dtype=dtype) for other in blocks]
        rows.append(concatenate([*parts[:k], b, *parts[k + 1 :]], 1))
    return concatenate(rows, 0)


# ---------------------------------------------------------------------- equations of tensors
@on_terms
def tensorinv(a: TensorLike, ind: int = 2) -> TensorVariable:
    """The inverse of `a` as a map between the first `ind` dimensions and the others, for `tensordot`."""
    a = as_tensor(a)
    if not 0 < ind < a.ndim:
        raise ValueError(f"tensorinv: ind must be between 1 and {a.ndim - 1}, got {ind}")
    sizes = lengths(a)
    return reshape(ops.inv(reshape(a, (product(sizes[:ind]), -1))), (*sizes[ind:], *sizes[:ind]))


@on_terms
def tensorsolve(a: TensorLike, b: TensorLike, axes: Sequence[int] | None = None) -> TensorVariable:
    """The x with `tensordot(a, x, x.ndim) = b`; dimensions `axes` of `a` are moved to its end before.

    >>> import numpy as np, termgraph.tensor as T
    >>> a = np.arange(1.0, 17.0).reshape(2, 2, 2, 2) + np.eye(4).reshape(2, 2, 2, 2)
    >>> T.linalg.tensorsolve(a, T.tensordot(a, np.ones((2, 2)), 2)).eval().round(6)
    array([[1., 1.],
           [1., 1.]])
    """
    a, b = as_tensor(a), as_tensor(b)
    if axes is not None:
        last = [normal_axis(k, a.ndim) for k in axes]
        a = dimshuffle(a, *[d for d in range(a.ndim) if d not in last], *last)
    if not b.ndim < a.ndim:
        raise ValueError(f"tensorsolve: {a} must have more dimensions than {b}, got {a.ndim} and {b.ndim}")
    of_x = lengths(a)[b.ndim :]
    rows = reshape(a, (-1, product(of_x)))
    return reshape(ops.solve(rows, dimshuffle(ravel(b), 0, "x"), assume_a="gen", on_error="raise"), of_x)


matrix_inverse = inv
__all__ = [
    "LinAlgError", "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "companion", "cond", "cross",
    "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "expm", "hankel", "inv", "kron", "lstsq", "lu",
    "lu_factor", "lu_solve", "matmul", "matmul_toeplitz", "matrix_dot", "matrix_inverse", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "pivot_to_permutation",
    "polar", "qr", "schur", "slogdet", "solve", "solve_banded", "solve_circulant", "solve_continuous_lyapunov",
    "solve_discrete_lyapunov", "solve_sylvester", "solve_toeplitz", "solve_triangular", "solveh_banded", "sqrtm",
    "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "toeplitz", "trace", "vecdot", "vector_norm",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def _norm_of_elements(x: TensorVariable, ord: int = 2, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """The norm of all elements, or along an axis, as the method has it in Theano and PyTorch; 2 is the Euclidean one.

    >>> import numpy as np, termgraph.tensor as T
    >>> float(T.constant(np.array([[1.0, -2.0], [2.0, 4.0]])).norm().eval())
    5.0
    """
    return vector_norm(x, axis, keepdims, ord)


METHODS = {"norm": _norm_of_elements}
