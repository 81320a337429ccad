"""Systems of equations whose matrix has a structure: bands along the diagonal, or one number along each diagonal.

Matrices are never written out; leading dimensions are batches, and right sides have two dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.terms.dtypes import promote
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops.linalg import _as_lapack, _linalg, _matrix, lapack_dtype
from termgraph.terms.ops.shapes import broadcast_shapes, require_tensor
from termgraph.terms.types import TensorType, Type, shape_text

scipy_linalg = lazy("scipy.linalg")

NOT_POSITIVE = "leading minor {0} of the matrix is not positive"


def _each(one: Callable[..., np.ndarray], on_error: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A function of a matrix and its right sides over the leading dimensions; NaN where it fails, if that was asked."""
    dtype = promote(a, b)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left, right = (np.broadcast_to(v, batch + v.shape[-2:]).astype(dtype, copy=False) for v in (a, b))
    out = np.empty(right.shape, dtype)
    for i in np.ndindex(*batch if b.shape[-2] and b.shape[-1] else (0,)):
        try:
            out[i] = one(left[i], right[i])
        except np.linalg.LinAlgError:
            if on_error != "nan":
                raise
            out[i] = np.nan
    return out


def _infer_bands(name: str, count: Callable[..., int | None]) -> Callable[..., TensorType]:
    def infer(ab: Type, b: Type, **params: Any) -> TensorType:
        left, right = _matrix(name, ab), _matrix(name, b)
        bands, n = left.shape[-2:]
        wanted = count(**params)
        if bands is not None and wanted is not None and bands != wanted:
            raise ShapeError(BANDS[name].format(bands, wanted))
        rows = right.shape[-2]
        if n is not None and rows is not None and n != rows:
            raise ShapeError(
                f"{name}: bands of shape {shape_text(left.shape)} and a right side of shape "
                f"{shape_text(right.shape)} do not fit: {n} columns against {rows} rows"
            )
        batch = broadcast_shapes([left.shape[:-2], right.shape[:-2]], f"batch dimensions of {name}")
        return TensorType.of(lapack_dtype(name, left, right), (*batch, rows if n is None else n, right.shape[-1]))

    return infer


def _check(name: str, ab: np.ndarray, b: np.ndarray, wanted: int | None) -> None:
    if wanted is not None and ab.shape[-2] != wanted:
        raise ShapeError(BANDS[name].format(ab.shape[-2], wanted))
    if not ab.shape[-2]:
        raise ShapeError(NO_BANDS)
    if ab.shape[-1] != b.shape[-2]:
        raise ShapeError(ROWS.format(ab.shape[-1], b.shape[-2]))


BANDS = {"solve_banded": "solve_banded: ab has {0} rows, and must have {1}: one for each diagonal, l + u + 1"}
ROWS = "the bands have {0} columns, the right side has {1} rows"
NO_BANDS = "solveh_banded: ab must have a row for the main diagonal, and has none"


# ---------------------------------------------------------------------- bands
def turned_bands(ab: np.ndarray, lower: int, upper: int) -> np.ndarray:
    """The bands of the transposed matrix: each diagonal begins where the other triangle's does."""
    out, n = np.zeros(ab.shape, ab.dtype), ab.shape[1]
    for k in range(-lower, upper + 1):  # the diagonal k above the main one
        if (size := n - abs(k)) > 0:
            first, then = (k, 0) if k > 0 else (0, -k)
            out[lower + k, then : then + size] = ab[upper - k, first : first + size]
    return out


def _solve_banded(ab: np.ndarray, b: np.ndarray, *, lower: int, upper: int, trans: str, on_error: str) -> np.ndarray:
    ab, b = _as_lapack(ab), _as_lapack(b)
    _check("solve_banded", ab, b, lower + upper + 1)
    low = upper if trans == "T" else lower

    def one(ab: np.ndarray, b: np.ndarray) -> np.ndarray:
        if trans == "T":
            ab = turned_bands(ab, lower, upper)
        (gbsv,) = scipy_linalg.get_lapack_funcs(("gbsv",), (ab, b))
        room = np.zeros((low + len(ab), ab.shape[1]), ab.dtype)
        room[low:] = ab
        _, _, found, info = gbsv(low, lower + upper - low, room, b, overwrite_ab=True)
        if info:
            raise np.linalg.LinAlgError("Singular matrix")
        return np.asarray(found)

    return _each(one, on_error, ab, b)


solve_banded = _linalg(
    "solve_banded", _infer_bands("solve_banded", lambda lower, upper, **_: lower + upper + 1), _solve_banded, (2, 2),
    params={"lower": 1, "upper": 1, "trans": "N", "on_error": "raise"},
    doc="x with a @ x = b (a.T @ x = b for trans='T') for a matrix of diagonals: ab[upper + i - j, j] is a[i, j].",
)  # fmt: skip


def _solveh_banded(ab: np.ndarray, b: np.ndarray, *, lower: bool, on_error: str) -> np.ndarray:
    ab, b = _as_lapack(ab), _as_lapack(b)
    _check("solveh_banded", ab, b, None)

    def one(ab: np.ndarray, b: np.ndarray) -> np.ndarray:
        (pbsv,) = scipy_linalg.get_lapack_funcs(("pbsv",), (ab, b))
        _, found, info = pbsv(ab, b, lower=lower)
        if info:
            raise np.linalg.LinAlgError(NOT_POSITIVE.format(info))
        return np.asarray(found)

    return _each(one, on_error, ab, b)


solveh_banded = _linalg(
    "solveh_banded", _infer_bands("solveh_banded", lambda **_: None), _solveh_banded, (2, 2),
    params={"lower": False, "on_error": "raise"},
    doc="x with a @ x = b for a positive definite matrix of diagonals, of which one triangle is given: "
    "ab[i - j, j] is a[i, j] if lower, else ab[-1 + i - j, j].",
)  # fmt: skip


# ---------------------------------------------------------------------- one number along each diagonal
SINGULAR_MINOR = "Singular principal minor"
UNLIKE = (
    "solve_toeplitz: the first column, the first row and the right side must be as long as each other, got {0} and {1}"
)


def _infer_toeplitz(c: Type, r: Type, b: Type, **_: object) -> TensorType:
    column, row = [require_tensor(t, "first column and row of solve_toeplitz") for t in (c, r)]
    right = _matrix("solve_toeplitz", b)
    for t in (column, row):
        if t.ndim < 1:
            raise TypeError(f"solve_toeplitz takes vectors (or batches of them), got {t}")
    n = column.shape[-1]
    for other in (row.shape[-1], right.shape[-2]):
        if n is not None and other is not None and n != other:
            raise ShapeError(UNLIKE.format(n, other))
        n = other if n is None else n
    batch = broadcast_shapes(
        [column.shape[:-1], row.shape[:-1], right.shape[:-2]], "batch dimensions of solve_toeplitz"
    )
    dtype = lapack_dtype("solve_toeplitz", column, row, right)
    if dtype not in ("float64", "complex128"):
        raise TypeError(f"solve_toeplitz works in double precision, got {dtype}")
    return TensorType.of(dtype, (*batch, n, right.shape[-1]))


def _solve_toeplitz(c: np.ndarray, r: np.ndarray, b: np.ndarray, *, on_error: str) -> np.ndarray:
    c, r, b = _as_lapack(c), _as_lapack(r), _as_lapack(b)
    for other in (r.shape[-1], b.shape[-2]):
        if other != c.shape[-1]:
            raise ShapeError(UNLIKE.format(c.shape[-1], other))
    lead = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    both = np.stack([np.broadcast_to(v, (*lead, v.shape[-1])) for v in (c, r)], -2)

    def one(both: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(scipy_linalg.solve_toeplitz((both[0], both[1]), b, check_finite=False))

    return _each(one, on_error, both, b)


solve_toeplitz = _linalg(
    "solve_toeplitz", _infer_toeplitz, _solve_toeplitz, (1, 1, 2), params={"on_error": "raise"},
    doc="x with a @ x = b for the matrix that is constant along its diagonals, of first column c and first row r.",
)  # fmt: skip
