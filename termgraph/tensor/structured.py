"""Equations whose matrix has a structure, with scipy.linalg's names, for T.linalg: bands of diagonals, Toeplitz."""

from __future__ import annotations

from typing import TYPE_CHECKING

from termgraph._lazy import lazy
from termgraph.tensor.creation import zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate, flip
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.shaping import expand_dims, squeeze
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import structured as ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable
    from termgraph.terms.op import Op

convolving, fourier = lazy("termgraph.tensor.convolving"), lazy("termgraph.tensor.fft")
ON_ERROR = ("raise", "nan")


def checked_on_error(name: str, on_error: str) -> str:
    if on_error not in ON_ERROR:
        raise ValueError(f"{name}: on_error must be 'raise' or 'nan', got {on_error!r}")
    return on_error


def _solved(op: Op, matrix: Sequence[TensorLike], b: TensorLike, **params: object) -> TensorVariable:
    """The solution for b, a vector if it has one dimension, else (batches of) matrices."""
    b = as_tensor(b)
    found = op(*matrix, expand_dims(b, -1) if b.ndim == 1 else b, **params)
    return squeeze(found, -1) if b.ndim == 1 else found


@on_terms
def solve_banded(l_and_u: Sequence[int], ab: TensorLike, b: TensorLike, on_error: str = "raise") -> TensorVariable:
    """The solution x of a @ x = b for a matrix a that is 0 but for l diagonals below and u above the main one.

    `ab` has a row for each diagonal, the highest first: `ab[u + i - j, j]` is `a[i, j]`, and what lies outside of a is
    not read. b is a vector if it has one dimension, else (a batch of) matrices. It is solved by Gauss's elimination
    with partial pivoting inside the bands, in n * (l + u + 1) numbers of memory and about n * l * (l + u) steps; the
    full matrix is never made. A singular matrix raises LinAlgError when the function runs; with `on_error="nan"` its
    solution is NaN.

    >>> import termgraph.tensor as T
    >>> T.linalg.solve_banded((1, 1), [[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 1.0, 0.0]], [5.0, 6.0, 5.0]).eval()
    array([1., 1., 1.])
    """
    try:
        lower, upper = [n.__index__() for n in l_and_u]
    except (TypeError, ValueError, AttributeError):
        raise TypeError(
            f"solve_banded: l_and_u must be two integers, how many diagonals lie below and above the main one, got "
            f"{l_and_u!r}"
        ) from None
    if lower < 0 or upper < 0:
        raise ValueError(f"solve_banded: l_and_u must not be negative, got {(lower, upper)}")
    return _solved(
        ops.solve_banded, [ab], b, lower=lower, upper=upper, on_error=checked_on_error("solve_banded", on_error)
    )


@on_terms
def solveh_banded(ab: TensorLike, b: TensorLike, lower: bool = False, on_error: str = "raise") -> TensorVariable:
    """The solution x of a @ x = b for a positive definite matrix a with some diagonals, of which one triangle is given.

    `ab` has a row for each diagonal: the main one is the last, and above it are those that lie above it
    (`ab[-1 + i - j, j]` is `a[i, j]`); with `lower` it is the first, and the others lie below (`ab[i - j, j]`). It is
    solved by Cholesky's factors inside the bands, in n numbers of memory for each diagonal; the full matrix is never
    made. A matrix that is not positive definite raises LinAlgError when the function runs; with `on_error="nan"` its
    solution is NaN.

    >>> import termgraph.tensor as T
    >>> T.linalg.solveh_banded([[0.0, 1.0, 1.0], [4.0, 4.0, 4.0]], [5.0, 6.0, 5.0]).eval()
    array([1., 1., 1.])
    """
    return _solved(ops.solveh_banded, [ab], b, lower=bool(lower), on_error=checked_on_error("solveh_banded", on_error))


# ---------------------------------------------------------------------- one number along each diagonal
def _doubled(x: TensorVariable) -> TensorVariable:
    return cast(x, "complex128" if x.type.kind == "c" else "float64")


def _column_and_row(name: str, c_or_cr: TensorLike | tuple[TensorLike, TensorLike]) -> list[TensorVariable]:
    """The first column and the first row, of which the first element is not read, in double precision."""
    if not isinstance(c_or_cr, tuple):
        c = as_tensor(c_or_cr)
        given = [c, ew.conj(c) if c.type.kind == "c" else c]
    elif len(c_or_cr) == 2:
        given = [as_tensor(v) for v in c_or_cr]
    else:
        raise ValueError(
            f"{name}: the first argument must be c, the first column, or (c, r), got {len(c_or_cr)} arrays"
        )
    for v in given:
        if not v.ndim:
            raise ShapeError(f"{name}: the first column and row must be vectors (or batches of them), got {v.type}")
    return [_doubled(v) for v in given]


@on_terms
def solve_toeplitz(
    c_or_cr: TensorLike | tuple[TensorLike, TensorLike], b: TensorLike, on_error: str = "raise"
) -> TensorVariable:
    """The solution x of a @ x = b for the matrix a that is constant along its diagonals, as `toeplitz` makes it.

    `c_or_cr` is its first column c, or (c, r) with the first row r, of which r[0] is not read; without r it is the
    conjugate of c. b is a vector if it has one dimension, else (a batch of) matrices. It is solved by Levinson's
    recursion in about n * n steps, without the full matrix, in double precision whatever the dtypes, as in SciPy. The
    recursion needs all leading minors: where one is 0 it raises LinAlgError when the function runs, or gives NaN with
    `on_error="nan"`, though the matrix itself may have an inverse; then use `solve(toeplitz(c, r), b)`.

    >>> import termgraph.tensor as T
    >>> T.linalg.solve_toeplitz(([1.0, 3.0, 6.0], [1.0, -1.0, -2.0]), [-2.0, 3.0, 10.0]).eval().round(9)
    array([1., 1., 1.])
    """
    c, r = _column_and_row("solve_toeplitz", c_or_cr)
    on_error = checked_on_error("solve_toeplitz", on_error)
    return _solved(ops.solve_toeplitz, [c, r], _doubled(as_tensor(b)), on_error=on_error)


@on_terms
def matmul_toeplitz(c_or_cr: TensorLike | tuple[TensorLike, TensorLike], x: TensorLike) -> TensorVariable:
    """`toeplitz(c, r) @ x` by Fourier transforms, without the matrix; `c_or_cr` as in `solve_toeplitz`.

    There are as many rows as c has elements, and as many columns as r has. x is a vector if it has one dimension, else
    (a batch of) matrices. It is computed in double precision, as in SciPy.

    >>> import termgraph.tensor as T
    >>> T.linalg.matmul_toeplitz(([1, 2, 3], [1, 4]), [1, 1]).eval().round(9)
    array([5., 3., 5.])
    """
    c, r = _column_and_row("matmul_toeplitz", c_or_cr)
    x = _doubled(as_tensor(x))
    if not x.ndim:
        raise ShapeError(f"matmul_toeplitz takes vectors or matrices on the right, got {x.type}")
    n, m = r.type.shape[-1], x.type.shape[-1 if x.ndim == 1 else -2]
    if n is not None and m is not None and n != m:
        raise ShapeError(f"matmul_toeplitz: the matrix has {n} columns, as r has elements, and x has {m} rows")
    axis, rows = -1 if x.ndim == 1 else -2, length(c, -1)
    if c.ndim > 1 or r.ndim > 1:  # batches of either
        c, r = [v + zeros((*lengths(w)[:-1], 1), v.type.dtype) for v, w in ((c, r), (r, c))]
    points = points_for(rows + length(r, -1))
    above = flip(r[..., 1:], -1)
    gap = zeros((*lengths(c)[:-1], points - rows - length(above, -1)), c.type.dtype)
    turned = concatenate([c, gap, above], -1)  # the first column of a circulant matrix that has this one in its corner
    turned = turned if axis == -1 else expand_dims(turned, -1)
    found = cyclic(turned, x, points, axis)
    return found[..., :rows] if axis == -1 else found[..., :rows, :]


def points_for(n: TensorLike) -> TensorLike:
    """An even number of points that a transform is fast for, at least n and 2."""
    half = max((n + 1) // 2, 1) if isinstance(n, int) else ew.maximum((as_tensor(n) + 1) // 2, 1)
    return 2 * convolving.fast_points(half)


def cyclic(a: TensorVariable, b: TensorVariable, points: TensorLike, axis: int) -> TensorVariable:
    """The cyclic convolution of an even number of points, which two arrays are filled up to."""
    if "c" not in (a.type.kind, b.type.kind):
        return fourier.irfft(fourier.rfft(a, points, axis) * fourier.rfft(b, points, axis), None, axis)
    return fourier.ifft(fourier.fft(a, points, axis) * fourier.fft(b, points, axis), None, axis)
