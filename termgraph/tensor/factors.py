"""LU, polar and Schur factors, equations of Sylvester and Lyapunov, and matrices made of vectors: part of T.linalg."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.tensor.checks import CheckAndRaise
from termgraph.tensor.creation import arange, eye, tril, triu, zeros_like
from termgraph.tensor.elemwise import cast
from termgraph.tensor.indexing import set_subtensor
from termgraph.tensor.joining import concatenate, flip
from termgraph.tensor.lengths import length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.products import kron, matmul
from termgraph.tensor.reductions import max as max_over
from termgraph.tensor.selecting import inverse_permutation, take_along_axis
from termgraph.tensor.shaping import (
    broadcast_to,
    dimshuffle,
    expand_dims,
    matrix_transpose,
    moveaxis,
    ravel,
    reshape,
    squeeze,
)
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import factors as ops
from termgraph.terms.ops import linalg as plain
from termgraph.terms.types import shape_text

if TYPE_CHECKING:
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable

fourier = lazy("termgraph.tensor.fft")
DIRECT = 10  # equations of Lyapunov with fewer rows than this are one system of equations


def _adjoint(a: TensorVariable) -> TensorVariable:
    return matrix_transpose(ew.conj(a) if a.type.kind == "c" else a)


# ---------------------------------------------------------------------- LU
@on_terms
def lu_factor(a: TensorLike) -> list:
    """[lu, pivots] for `lu_solve`: L below the diagonal of the first (its own is ones) and U; row i was swapped with
    row `pivots[i]`, one after the other.

    >>> import termgraph.tensor as T
    >>> [v.eval() for v in T.linalg.lu_factor([[1.0, 2.0], [4.0, 4.0]])]
    [array([[4.  , 4.  ],
           [0.25, 1.  ]]), array([1, 1])]
    """
    return ops.lu_factor(a)


@on_terms
def lu(a: TensorLike, permute_l: bool = False, p_indices: bool = False) -> list:
    """[P, L, U] with P @ L @ U = a: a permutation, L lower triangular with ones on the diagonal, U upper triangular.

    `permute_l` gives [P @ L, U], and `p_indices` an index for the rows of L in the place of P: `L[p] @ U` is a.

    >>> import termgraph.tensor as T
    >>> [v.eval().tolist() for v in T.linalg.lu([[1.0, 2.0], [4.0, 4.0]])]
    [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.25, 1.0]], [[4.0, 4.0], [0.0, 1.0]]]
    """
    a = as_tensor(a)
    packed, pivots = ops.lu_factor(a)
    n, m = a.type.shape[-2:]
    rows, shorter = length(packed, -2), pivots.shape[-1]
    low = tril(packed[..., :shorter], -1) + eye(rows, shorter, dtype=packed.type.dtype)
    upper = triu(packed[..., :shorter, :])
    if n is None or m is None or n > m:
        pivots = concatenate([pivots, _rest_of(pivots, rows)], -1) if n != m or n is None else pivots
    back = pivot_to_permutation(pivots)
    if p_indices and not permute_l:
        return [back, low, upper]
    if permute_l:
        index = broadcast_to(expand_dims(back, -1), [length(low, d) for d in range(low.ndim)])
        return [take_along_axis(low, index, -2), upper]
    order = ew.eq(expand_dims(back, -1), arange(rows))
    return [cast(order, ew.real(packed).type.dtype), low, upper]


def _rest_of(pivots: TensorVariable, rows: Any) -> TensorVariable:
    """Rows behind the last pivot, which are swapped with themselves."""
    k = pivots.shape[-1]
    rest = arange(k, rows, dtype="int64")
    return broadcast_to(rest, [*[length(pivots, d) for d in range(pivots.ndim - 1)], as_tensor(rows) - k])


@on_terms
def pivot_to_permutation(p: TensorLike, inverse: bool = False) -> TensorVariable:
    """The permutation that the pivots of `lu_factor` stand for: `(L @ U)[p]` is a; with `inverse` `a[p]` is L @ U.

    >>> import termgraph.tensor as T
    >>> T.linalg.pivot_to_permutation([1, 2, 2]).eval()
    array([2, 0, 1])
    """
    order = ops.pivots_to_order(p)
    return order if inverse else inverse_permutation(order)


@on_terms
def lu_solve(lu_and_piv: Any, b: TensorLike, trans: Any = 0, on_error: str = "raise") -> TensorVariable:
    """The solution of a @ x = b from the factors of a, `lu_solve(lu_factor(a), b)`; `trans` as in `solve_triangular`.

    >>> import termgraph.tensor as T
    >>> T.linalg.lu_solve(T.linalg.lu_factor([[1.0, 2.0], [4.0, 4.0]]), [3.0, 8.0]).eval()
    array([1., 1.])
    """
    packed, pivots = lu_and_piv
    trans = {0: "N", 1: "T", 2: "C"}.get(trans, trans)
    if trans not in ("N", "T", "C"):
        raise ValueError(f"lu_solve: trans must be 0 ('N'), 1 ('T') or 2 ('C'), got {trans!r}")
    b = as_tensor(b)
    columns = expand_dims(b, -1) if b.ndim == 1 else b
    order = pivot_to_permutation(pivots, inverse=trans == "N")
    first = {"lower": True, "unit_diagonal": True, "trans": trans, "on_error": on_error}
    second = {"lower": False, "trans": trans, "on_error": on_error}
    if trans == "N":
        found = plain.solve_triangular(packed, _rows(columns, order), **first)
        found = plain.solve_triangular(packed, found, **second)
    else:
        found = plain.solve_triangular(packed, plain.solve_triangular(packed, columns, **second), **first)
        found = _rows(found, order)
    return squeeze(found, -1) if b.ndim == 1 else found


def _rows(x: TensorVariable, order: TensorVariable) -> TensorVariable:
    """Rows of (batches of) matrices in another order."""
    if order.ndim == 1:
        return x[..., order, :]
    batch = [length(order, d) for d in range(order.ndim - 1)]
    wide = broadcast_to(x, [*batch, length(x, -2), length(x, -1)]) if x.ndim <= order.ndim + 1 else x
    index = expand_dims(order, -1)
    index = dimshuffle(index, *["x"] * (wide.ndim - index.ndim), *range(index.ndim))
    return take_along_axis(wide, broadcast_to(index, [length(wide, d) for d in range(wide.ndim)]), -2)


# ---------------------------------------------------------------------- other factors
@on_terms
def polar(a: TensorLike, side: str = "right") -> list:
    """[u, p] with u @ p = a (p @ u for `side="left"`): u has orthonormal columns or rows, p no negative eigenvalues.

    >>> import termgraph.tensor as T
    >>> [v.eval().round(6).tolist() for v in T.linalg.polar([[0.0, -2.0], [3.0, 0.0]])]
    [[[0.0, -1.0], [1.0, 0.0]], [[3.0, 0.0], [0.0, 2.0]]]
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar: side must be 'right' or 'left', got {side!r}")
    if side == "right":
        return ops.polar(a)
    u, p = ops.polar(_adjoint(as_tensor(a)))
    return [_adjoint(u), p]


@on_terms
def schur(a: TensorLike, output: str = "real") -> list:
    """[t, z] with z @ t @ z^H = a: z is unitary, t upper triangular, where a real matrix has pairs of complex
    eigenvalues in blocks of two. `output="complex"` gives a triangle in any case.

    >>> import termgraph.tensor as T
    >>> [v.eval().tolist() for v in T.linalg.schur([[2.0, 1.0], [0.0, 3.0]])]
    [[[2.0, 1.0], [0.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]]]
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur: output must be 'real' or 'complex', got {output!r}")
    a = as_tensor(a)
    if output == "complex" and a.type.kind != "c":
        a = cast(a, "complex64" if a.type.dtype == "float32" else "complex128")
    return ops.schur(a)


# ---------------------------------------------------------------------- equations
@on_terms
def solve_sylvester(a: TensorLike, b: TensorLike, q: TensorLike) -> TensorVariable:
    """The x with a @ x + x @ b = q.

    >>> import termgraph.tensor as T
    >>> T.linalg.solve_sylvester([[1.0]], [[2.0]], [[6.0]]).eval()
    array([[2.]])
    """
    return ops.solve_sylvester(a, b, q)


@on_terms
def solve_continuous_lyapunov(a: TensorLike, q: TensorLike) -> TensorVariable:
    """The x with a @ x + x @ a^H = q.

    >>> import termgraph.tensor as T
    >>> T.linalg.solve_continuous_lyapunov([[1.0]], [[6.0]]).eval()
    array([[3.]])
    """
    a = as_tensor(a)
    return ops.solve_sylvester(a, _adjoint(a), q)


@on_terms
def solve_discrete_lyapunov(a: TensorLike, q: TensorLike, method: str | None = None) -> TensorVariable:
    """The x with a @ x @ a^H - x + q = 0.

    `method="direct"` solves one system with a row for each element of x, "bilinear" a continuous equation, for which
    -1 may be no eigenvalue of a; by default fewer than ten rows, where their number is known, are solved directly.

    >>> import termgraph.tensor as T
    >>> T.linalg.solve_discrete_lyapunov([[0.5]], [[3.0]]).eval()
    array([[4.]])
    """
    if method not in (None, "direct", "bilinear"):
        raise ValueError(f"solve_discrete_lyapunov: method must be 'direct', 'bilinear' or None, got {method!r}")
    a, q = as_tensor(a), as_tensor(q)
    n = a.type.shape[-1]
    if method is None:
        method = "direct" if n is not None and n < DIRECT and a.ndim == q.ndim == 2 else "bilinear"
    if method == "direct":
        if a.ndim != 2 or q.ndim != 2:
            raise ShapeError("solve_discrete_lyapunov: method='direct' takes single matrices; use method='bilinear'")
        count = length(a, 0)
        both = kron(a, ew.conj(a) if a.type.kind == "c" else a)
        system = eye(count * count if isinstance(count, int) else as_tensor(count) * count, dtype=both.dtype) - both
        columns = dimshuffle(ravel(q), 0, "x")
        return reshape(plain.solve(system, columns, assume_a="gen", on_error="raise"), (count, count))
    unit = eye(length(a, -1), dtype=a.type.dtype if a.type.kind in "fc" else "float64")
    behind = plain.inv(_adjoint(a) + unit)
    b = matmul(_adjoint(a) - unit, behind)
    c = matmul(matmul(plain.inv(a + unit), q), behind) * 2
    return ops.solve_sylvester(_adjoint(b), b, -c)


# ---------------------------------------------------------------------- matrices made of vectors
def _vector(name: str, x: TensorLike) -> Any:
    x = as_tensor(x)
    if x.ndim != 1:
        raise ShapeError(f"{name} takes vectors, got shape {shape_text(x.type.shape)}; flatten it with T.ravel")
    return x


def _along_diagonals(column: Any, after: Any, width: Any) -> Any:
    """The matrix of a first column, given from below, and what follows its first element in the first row."""
    n = length(column, 0)
    rows, columns = dimshuffle(arange(n), 0, "x"), dimshuffle(arange(width), "x", 0)
    return concatenate([column, after], 0)[columns - rows + as_tensor(n) - 1]


@on_terms
def toeplitz(c: TensorLike, r: TensorLike | None = None) -> TensorVariable:
    """The matrix that is constant along its diagonals, with first column c and first row r (of which r[0] is not
    read); without r the conjugate of c.

    >>> import termgraph.tensor as T
    >>> T.linalg.toeplitz([1, 2, 3], [1, 4]).eval()
    array([[1, 4],
           [2, 1],
           [3, 2]])
    """
    c = _vector("toeplitz", c)
    r = (ew.conj(c) if c.type.kind == "c" else c) if r is None else _vector("toeplitz", r)
    return _along_diagonals(flip(c, 0), r[1:], length(r, 0))


@on_terms
def hankel(c: TensorLike, r: TensorLike | None = None) -> TensorVariable:
    """The matrix that is constant along its anti-diagonals, with first column c and last row r (of which r[0] is not
    read); without r zeros.

    >>> import termgraph.tensor as T
    >>> T.linalg.hankel([1, 2, 3]).eval()
    array([[1, 2, 3],
           [2, 3, 0],
           [3, 0, 0]])
    """
    c = _vector("hankel", c)
    r = zeros_like(c) if r is None else _vector("hankel", r)
    rows, columns = dimshuffle(arange(length(c, 0)), 0, "x"), dimshuffle(arange(length(r, 0)), "x", 0)
    return concatenate([c, r[1:]], 0)[rows + columns]


@on_terms
def circulant(c: TensorLike) -> TensorVariable:
    """The square matrix with first column c, each column being the one before turned by one place.

    >>> import termgraph.tensor as T
    >>> T.linalg.circulant([1, 2, 3]).eval()
    array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]])
    """
    c = _vector("circulant", c)
    return _along_diagonals(flip(c, 0), flip(c[1:], 0), length(c, 0))


@on_terms
def solve_circulant(
    c: TensorLike,
    b: TensorLike,
    singular: str = "raise",
    tol: TensorLike | None = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> TensorVariable:
    """The solution of C @ x = b for the circulant matrix C with first column c, by Fourier transforms.

    c lies along `caxis`, b along `baxis`, x along `outaxis`; other axes broadcast. A matrix with a frequency that is
    not larger than `tol` (by default n * 2.2e-16 of the largest one) raises LinAlgError, or with
    `singular="lstsq"` these frequencies of x are 0.

    >>> import termgraph.tensor as T
    >>> T.linalg.solve_circulant([2.0, 1.0, 0.0], [4.0, 5.0, 6.0]).eval().round(9)
    array([1., 2., 2.])
    """
    c, b = as_tensor(c), as_tensor(b)
    if singular not in ("raise", "lstsq"):
        raise ValueError(f"solve_circulant: singular must be 'raise' or 'lstsq', got {singular!r}")
    if not c.ndim or not b.ndim:
        raise ShapeError(f"solve_circulant takes vectors or more, got {c.type} and {b.type}")
    c, b = moveaxis(c, caxis, -1), moveaxis(b, baxis, -1)
    n, m = c.type.shape[-1], b.type.shape[-1]
    if n is not None and m is not None and n != m:
        raise ShapeError(f"solve_circulant: c has {n} elements along its axis, b has {m}")
    real = c.type.kind != "c" and b.type.kind != "c"
    there = fourier.rfft if real else fourier.fft
    of_c, of_b = there(c), there(b)
    size = ew.abs_(of_c)
    if tol is None:
        rounding = np.finfo("float64").eps  # as SciPy, for single precision, too
        tol = max_over(size, axis=-1, keepdims=True) * cast(length(c, -1), size.type.dtype) * rounding
    small = ew.le(size, tol)
    if singular == "raise":
        of_c = _regular(of_c, ew.logical_not(small))
        found = of_b / of_c
    else:
        found = ew.switch(small, 0, of_b / ew.switch(small, 1, of_c))
    back = fourier.irfft(found, length(b, -1)) if real else fourier.ifft(found)
    return moveaxis(back, -1, outaxis)


_regular = CheckAndRaise(np.linalg.LinAlgError, "solve_circulant: the circulant matrix is singular, or nearly so")


@on_terms
def companion(a: TensorLike) -> TensorVariable:
    """The matrix whose characteristic polynomial has the coefficients a, the highest first.

    >>> import termgraph.tensor as T
    >>> T.linalg.companion([1.0, -10.0, 31.0, -30.0]).eval()
    array([[ 10., -31.,  30.],
           [  1.,   0.,   0.],
           [  0.,   1.,   0.]])
    """
    a = _vector("companion", a)
    if a.type.shape[0] is not None and a.type.shape[0] < 2:
        raise ValueError(f"companion: a polynomial needs two coefficients at least, got {a.type.shape[0]}")
    first = ew.true_div(ew.neg(a[1:]), a[0])
    return set_subtensor(eye(length(first, 0), k=-1, dtype=first.type.dtype)[0], first)
