"""Factors of matrices and equations that LAPACK solves by them, as SciPy has them; leading dimensions are batches.

They run by their meanings, between compiled programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.terms.dtypes import promote
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops.linalg import (
    _as_lapack,
    _decomposition,
    _linalg,
    _matrix,
    _shorter,
    _square_side,
    lapack_dtype,
)
from termgraph.terms.ops.shapes import broadcast_shapes, require_tensor, same_length
from termgraph.terms.types import TensorType, TupleType, Type

scipy_linalg, lapack = lazy("scipy.linalg"), lazy("termgraph.terms.lapack")


def _each(function: Callable[..., tuple[Any, ...]], *operands: np.ndarray) -> tuple[np.ndarray, ...]:
    """A function of single matrices, which gives new arrays, over the leading dimensions, which broadcast."""
    if all(a.ndim == 2 for a in operands):
        return function(*operands)
    batch = np.broadcast_shapes(*[a.shape[:-2] for a in operands])
    wide = [np.broadcast_to(a, batch + a.shape[-2:]) for a in operands]
    some = 0 not in batch
    found = [function(*[a[i] for a in wide]) for i in np.ndindex(*batch)] if some else [
        function(*[np.zeros(a.shape[-2:], a.dtype) for a in operands])
    ]  # fmt: skip
    made = []
    for parts in zip(*found):
        stacked = np.stack(parts) if some else np.empty((0, *parts[0].shape), parts[0].dtype)
        made.append(stacked.reshape(batch + parts[0].shape))
    return tuple(made)


# ---------------------------------------------------------------------- LU
def _infer_lu(a: Type) -> TupleType:
    t = _matrix("lu_factor", a)
    dtype = lapack_dtype("lu_factor", t)
    return TupleType((TensorType.of(dtype, t.shape), TensorType.of("int64", (*t.shape[:-2], _shorter(t)))))


def _lu(a: np.ndarray) -> tuple[np.ndarray, ...]:
    def one(a: np.ndarray) -> tuple[Any, ...]:
        if 0 in a.shape:
            return a.copy(), np.zeros(0, np.int64)
        getrf = scipy_linalg.get_lapack_funcs("getrf", (a,))
        lu, pivots, _ = getrf(a)  # a zero on the diagonal is the caller's: SciPy warns, and goes on
        return lu, pivots.astype(np.int64)

    return _each(one, _as_lapack(a))


lu_factor = _linalg(
    "lu_factor", _infer_lu, _lu, nout=2,
    doc="L (below the diagonal, with ones on it) and U in one matrix, and with which row each row was swapped.",
)  # fmt: skip


def _infer_columns(a: Type) -> TupleType:
    t = _matrix("lu_columns", a, square=True)
    n = _square_side(t)
    return TupleType((TensorType.of(_doubled("lu_columns", t), (*t.shape[:-2], n, n)),
                      TensorType.of("int64", (*t.shape[:-2], n))))  # fmt: skip


def _doubled(name: str, *types: TensorType) -> str:
    """The dtype of what NumPy solves in double precision; others are cast before."""
    dtype = lapack_dtype(name, *types)
    if dtype not in ("float64", "complex128"):
        raise TypeError(f"{name} works in double precision, got {dtype}")
    return dtype


def _columns(a: np.ndarray) -> tuple[np.ndarray, ...]:
    if a.shape[-2] != a.shape[-1]:
        raise ShapeError(f"the matrix has {a.shape[-2]} rows and {a.shape[-1]} columns, but must be square")
    return _each(lapack.factor, _as_lapack(a))


lu_columns = _decomposition(
    "lu_columns", _infer_columns, _columns, nout=2,
    doc="L and U of a matrix as LAPACK leaves them, column after column, and its pivots: what `lu_solve` reads.",
)  # fmt: skip


def _infer_lu_solve(columns: Type, pivots: Type, b: Type, **_: object) -> TensorType:
    left, right = _matrix("lu_solve", columns, square=True), _matrix("lu_solve", b)
    swaps = require_tensor(pivots, "operand 1 of lu_solve")
    n = same_length(_square_side(left), right.shape[-2], "rows of the factors and of the right side of lu_solve")
    batch = broadcast_shapes([left.shape[:-2], swaps.shape[:-1], right.shape[:-2]], "batch dimensions of lu_solve")
    return TensorType.of(_doubled("lu_solve", left, right), (*batch, n, right.shape[-1]))


def _lu_solve(columns: np.ndarray, pivots: np.ndarray, b: np.ndarray, *, trans: str, on_error: str) -> np.ndarray:
    columns, b = _as_lapack(columns), _as_lapack(b)
    dtype, n = promote(columns, b), columns.shape[-1]
    if columns.shape[-2:] != (n, n) or pivots.shape[-1:] != (n,) or b.shape[-2] != n:
        raise ShapeError(f"the matrix has {columns.shape[-2]} rows, the right side has {b.shape[-2]}")

    def one(columns: np.ndarray, swaps: np.ndarray, b: np.ndarray) -> tuple[Any, ...]:
        if (np.diagonal(columns) == 0).any() and b.size:
            if on_error != "nan":
                raise np.linalg.LinAlgError("Singular matrix")
            return (np.full(b.shape, np.nan, dtype),)
        return (lapack.solve_by(columns.astype(dtype, copy=False), swaps[:, 0], b.astype(dtype, copy=False), trans),)

    if 0 in (batch := np.broadcast_shapes(columns.shape[:-2], pivots.shape[:-1], b.shape[:-2])):
        return np.zeros((*batch, *b.shape[-2:]), dtype)
    if columns.ndim == b.ndim == 2:
        return np.asarray(one(columns, pivots[:, None], b)[0])
    return _each(one, columns, pivots[..., None], b)[0]


lu_solve = _decomposition(
    "lu_solve", _infer_lu_solve, _lu_solve, (2, 1, 2), params={"trans": "N", "on_error": "raise"},
    doc="x with a @ x = b from `lu_columns(a)`, as LAPACK's gesv finds it (a.T @ x = b for trans='T').",
)  # fmt: skip


def _infer_order(pivots: Type) -> TensorType:
    t = require_tensor(pivots, "operand of pivots_to_order")
    if t.ndim < 1 or t.kind not in "iu":
        raise TypeError(f"pivot_to_permutation takes vectors of whole numbers, as lu_factor gives them, got {t}")
    return TensorType.of("int64", t.shape)


def _order(pivots: np.ndarray) -> np.ndarray:
    order = np.empty(pivots.shape, np.int64)
    for at in np.ndindex(*pivots.shape[:-1]):
        row = list(range(pivots.shape[-1]))
        for i, k in enumerate(pivots[at].tolist()):
            row[i], row[k] = row[k], row[i]
        order[at] = row
    return order


pivots_to_order = _linalg(
    "pivots_to_order", _infer_order, _order, (1,),
    doc="The permutation that swaps of rows make: a[order] has the rows as they are after the swaps.",
)  # fmt: skip


# ---------------------------------------------------------------------- other factors
def _infer_polar(a: Type) -> TupleType:
    t = _matrix("polar", a)
    dtype = lapack_dtype("polar", t)
    return TupleType((TensorType.of(dtype, t.shape), TensorType.of(dtype, (*t.shape[:-2], t.shape[-1], t.shape[-1]))))


polar = _linalg(
    "polar", _infer_polar,
    lambda a: _each(lambda a: scipy_linalg.polar(a) if a.size else (a.copy(), a.T @ a), _as_lapack(a)),
    nout=2, doc="u and p with u @ p = a, where p is Hermitian and has no negative eigenvalues.",
)  # fmt: skip


def _infer_schur(a: Type) -> TupleType:
    t = _matrix("schur", a, square=True)
    found = TensorType.of(lapack_dtype("schur", t), (*t.shape[:-2], *[_square_side(t)] * 2))
    return TupleType((found, found))


schur = _linalg(
    "schur", _infer_schur,
    lambda a: _each(lambda a: scipy_linalg.schur(a) if a.size else (a.copy(), a.copy()), _as_lapack(a)),
    nout=2, doc="t and z with z @ t @ z^H = a, where z is unitary and t triangular, of real matrices in blocks.",
)  # fmt: skip


# ---------------------------------------------------------------------- equations
def _infer_sylvester(a: Type, b: Type, q: Type) -> TensorType:
    left, right = _matrix("solve_sylvester", a, square=True), _matrix("solve_sylvester", b, square=True)
    given = _matrix("solve_sylvester", q)
    sides = []
    for t, axis, name in ((left, -2, "rows"), (right, -1, "columns")):
        try:
            sides.append(same_length(_square_side(t), given.shape[axis], name))
        except ShapeError:
            raise ShapeError(
                f"solve_sylvester: of a @ x + x @ b = q, q must have as many rows as a and as many columns as b; got "
                f"{left}, {right} and {given}"
            ) from None
    batch = broadcast_shapes([t.shape[:-2] for t in (left, right, given)], "batch dimensions of solve_sylvester")
    return TensorType.of(lapack_dtype("solve_sylvester", left, right, given), (*batch, *sides))


def _lyapunov(a: np.ndarray, adjoint: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The x with a @ x + x @ adjoint = q, as `solve_sylvester` finds it: one Schur form is that of both matrices."""
    r, u = scipy_linalg.schur(a)
    back = u.conj().T
    f = back @ q @ u
    y, scale, _ = scipy_linalg.get_lapack_funcs("trsyl", (r, f))(r, r, f, tranb="C")
    found: np.ndarray = u @ (scale * y) @ back
    return found


def _sylvester(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> Any:
    operands = [_as_lapack(v) for v in (a, b, q)]
    dtype = np.result_type(*operands)

    def one(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> tuple[Any, ...]:
        if not q.size:
            return (q.astype(dtype),)
        solve = _lyapunov if np.array_equal(b, a.conj().T) else scipy_linalg.solve_sylvester
        # of one dtype: a complex right side would take the blocks of a real Schur form for a triangle, in SciPy too
        x: np.ndarray = solve(*[v.astype(dtype, copy=False) for v in (a, b, q)])
        return (x,)

    return _each(one, *operands)[0]


solve_sylvester = _linalg(
    "solve_sylvester", _infer_sylvester, _sylvester, (2, 2, 2), doc="The x with a @ x + x @ b = q."
)
