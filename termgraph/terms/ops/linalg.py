"""Products and linear algebra on the last one or two dimensions; leading dimensions are batches that broadcast.

Meanings are NumPy's and SciPy's, `LinAlgError` included. Integers are computed in float64 except in products; matrices
on the right of a solve always have two dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from termgraph._lazy import lazy
from termgraph.terms.dtypes import HALVES, kind_of, name_of, promote, real_part
from termgraph.terms.errors import ShapeError
from termgraph.terms.evaluate import check_broadcast
from termgraph.terms.op import OPS, Infer, Meaning, Op
from termgraph.terms.ops.cores import steady
from termgraph.terms.ops.precision import in_single
from termgraph.terms.ops.shapes import Source, broadcast_shapes, require_tensor, same_length
from termgraph.terms.types import TensorType, TupleType, Type, shape_text

if TYPE_CHECKING:
    from termgraph.terms.term import AnyTerm

scipy_linalg, lapack = lazy("scipy.linalg"), lazy("termgraph.terms.lapack")


class BatchedOp(Op):
    """An op on the last `core` dimensions of each operand, whose leading dimensions broadcast."""

    core: tuple[int, ...] = (2,)

    def runtime_check(self, types: Sequence[Type], values: Sequence[Any]) -> None:
        """A batch length that was not known to be 1 must not stretch (the rule of broadcasting)."""
        if len(values) > 1:
            lead = [v.ndim - c for v, c in zip(values, self.core, strict=True)]
            static = [t.shape[:n] for t, n in zip(types, lead, strict=True)]  # type: ignore[attr-defined]
            check_broadcast(self.name, static, [v.shape[:n] for v, n in zip(values, lead, strict=True)])


def _linalg(
    name: str, infer: Infer, meaning: Meaning, core: tuple[int, ...] = (2,), kind: str = "linalg", **spec: Any
) -> Op:
    op = OPS[name] = BatchedOp(name, arity=len(core), infer=infer, meaning=meaning, core=core, kind=kind, **spec)
    return op


def _decomposition(name: str, infer: Infer, meaning: Meaning, core: tuple[int, ...] = (2,), **spec: Any) -> Op:
    """One that NumPy's LAPACK computes: of short matrices with the same bits on any number of cores."""
    return _linalg(name, infer, steady(meaning), core, **spec)


# ---------------------------------------------------------------------- products
def _product_dtype(a: TensorType, b: TensorType) -> str:
    return name_of(promote(a.np_dtype, b.np_dtype))


def _not_aligned(name: str, a: Sequence[Any], b: Sequence[Any], n: int, m: int) -> str:
    return (
        f"{name}: shapes {shape_text(tuple(a))} and {shape_text(tuple(b))} do not fit: the last dimension of the first "
        f"({n}) and the {'only' if len(b) == 1 else 'second to last'} of the second ({m}) must be equal"
    )


def check_contraction(name: str, a: Sequence[Any], b: Sequence[Any]) -> None:
    """Refuse shapes whose contracted lengths differ; unknown lengths pass."""
    n, m = a[-1], b[-2] if len(b) > 1 else b[-1]
    if n is not None and m is not None and n != m:
        raise ShapeError(_not_aligned(name, a, b, n, m))


def _infer_dot(a: Type, b: Type) -> TensorType:
    left, right = require_tensor(a, "operand 0 of dot"), require_tensor(b, "operand 1 of dot")
    for i, t in enumerate((left, right)):
        if t.ndim not in (1, 2):
            raise TypeError(f"dot takes vectors and matrices, operand {i} has {t.ndim} dimensions ({t})")
    check_contraction("dot", left.shape, right.shape)
    shape = left.shape[:-1] + (right.shape[1:] if right.ndim == 2 else ())
    return TensorType.of(_product_dtype(left, right), shape)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = np.asarray(a), np.asarray(b)
    check_contraction("dot", a.shape, b.shape)
    return np.asarray(np.dot(a, b))


def _infer_matmul(a: Type, b: Type) -> TensorType:
    left, right = require_tensor(a, "operand 0 of matmul"), require_tensor(b, "operand 1 of matmul")
    for i, t in enumerate((left, right)):
        if t.ndim < 2:
            raise TypeError(f"matmul takes (batches of) matrices, operand {i} has {t.ndim} dimensions ({t})")
    check_contraction("matmul", left.shape, right.shape)
    batch = broadcast_shapes([left.shape[:-2], right.shape[:-2]], "batch dimensions of matmul")
    return TensorType.of(_product_dtype(left, right), (*batch, left.shape[-2], right.shape[-1]))


def _matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = np.asarray(a), np.asarray(b)
    check_contraction("matmul", a.shape, b.shape)
    result: np.ndarray = np.matmul(a, b)
    return result


def _length_of_dot(t: AnyTerm, axis: int) -> Source:
    x, y = t.args
    return (x, axis) if axis < x.type.ndim - 1 else (y, y.type.ndim - 1)


dot = OPS["dot"] = Op(
    "dot", arity=2, infer=_infer_dot, meaning=_dot, kind="linalg", length_from=_length_of_dot,
    doc="Product of vectors and matrices.",
)  # fmt: skip
matmul = _linalg("matmul", _infer_matmul, _matmul, (2, 2), doc="Matrix product over broadcast batch dimensions.")


# ---------------------------------------------------------------------- typing of decompositions
def lapack_dtype(name: str, *types: TensorType) -> str:
    """The dtype LAPACK works in: single precision stays, integers become double."""
    half = next((t.dtype for t in types if t.dtype in HALVES), None)
    if half is not None:
        raise TypeError(f"{name} is not defined for {half}; cast to float32 first")
    return promote(*[t.np_dtype if t.kind in "fc" else np.float64 for t in types]).name


def _matrix(name: str, type_: Type, square: bool = False) -> TensorType:
    t = require_tensor(type_, f"operand of {name}")
    if t.ndim < 2:
        raise TypeError(f"{name} needs a matrix (or a batch of them), got {t} with {t.ndim} dimensions")
    if square:
        n, m = t.shape[-2:]
        if n is not None and m is not None and n != m:
            raise ShapeError(f"{name} needs square matrices, got shape {shape_text(t.shape)}")
    return t


def _square_side(t: TensorType) -> int | None:
    return same_length(t.shape[-1], t.shape[-2], "sides of a square matrix")


def _infer_square(name: str, *, core: bool) -> Infer:
    def infer(a: Type, **_: object) -> TensorType:
        t = _matrix(name, a, square=True)
        n = _square_side(t)
        return TensorType.of(lapack_dtype(name, t), (*t.shape[:-2], n, n) if core else t.shape[:-2])

    return infer


def _infer_pinv(a: Type, **_: object) -> TensorType:
    t = _matrix("pinv", a)
    return TensorType.of(lapack_dtype("pinv", t), (*t.shape[:-2], t.shape[-1], t.shape[-2]))


def _infer_solve(name: str) -> Infer:
    def infer(a: Type, b: Type, **_: object) -> TensorType:
        left, right = _matrix(name, a, square=True), _matrix(name, b)
        n = _square_side(left)
        if n is not None and right.shape[-2] not in (n, None):
            raise ShapeError(
                f"{name}: a matrix of shape {shape_text(left.shape)} and a right side of shape "
                f"{shape_text(right.shape)} do not fit: {n} against {right.shape[-2]} rows"
            )
        batch = broadcast_shapes([left.shape[:-2], right.shape[:-2]], f"batch dimensions of {name}")
        rows = n if n is not None else right.shape[-2]
        return TensorType.of(lapack_dtype(name, left, right), (*batch, rows, right.shape[-1]))

    return infer


def _shorter(t: TensorType) -> int | None:
    n, m = t.shape[-2:]
    return None if n is None or m is None else min(n, m)


def _infer_slogdet(a: Type) -> TupleType:
    t = _matrix("slogdet", a, square=True)
    dtype = lapack_dtype("slogdet", t)
    return TupleType((TensorType.of(dtype, t.shape[:-2]), TensorType.of(real_part(dtype), t.shape[:-2])))


def _infer_qr(a: Type, *, mode: str) -> TupleType:
    t = _matrix("qr", a)
    n, m = t.shape[-2:]
    inner = n if mode == "complete" else _shorter(t)
    dtype = lapack_dtype("qr", t)
    return TupleType((TensorType.of(dtype, (*t.shape[:-1], inner)), TensorType.of(dtype, (*t.shape[:-2], inner, m))))


def _infer_svd(a: Type, *, full_matrices: bool) -> TupleType:
    t = _matrix("svd", a)
    batch, (n, m), k = t.shape[:-2], t.shape[-2:], _shorter(t)
    left, right = (n, m) if full_matrices else (k, k)
    dtype = lapack_dtype("svd", t)
    s = TensorType.of(real_part(dtype), (*batch, k))
    return TupleType((TensorType.of(dtype, (*batch, n, left)), s, TensorType.of(dtype, (*batch, right, m))))


def _infer_svdvals(a: Type) -> TensorType:
    t = _matrix("svdvals", a)
    return TensorType.of(real_part(lapack_dtype("svdvals", t)), (*t.shape[:-2], _shorter(t)))


def _infer_eigvals(name: str, real: bool) -> Infer:
    def infer(a: Type, **_: object) -> TensorType:
        t = _matrix(name, a, square=True)
        dtype = lapack_dtype(name, t)
        wanted = real_part(dtype) if real else _complex_of(dtype)
        return TensorType.of(wanted, (*t.shape[:-2], _square_side(t)))

    return infer


def _complex_of(dtype: str) -> str:
    return {"float32": "complex64", "float64": "complex128"}.get(dtype, dtype)


def _infer_eig(name: str, real: bool) -> Infer:
    values = _infer_eigvals(name, real)

    def infer(a: Type, **params: Any) -> TupleType:
        t, w = _matrix(name, a, square=True), values(a, **params)
        n = _square_side(t)
        dtype = lapack_dtype(name, t)
        return TupleType((w, TensorType.of(dtype if real else _complex_of(dtype), (*t.shape[:-2], n, n))))

    return infer


def _infer_lstsq(a: Type, b: Type, *, rcond: float | None) -> TupleType:
    left, right = _matrix("lstsq", a), _matrix("lstsq", b)
    if left.ndim != 2 or right.ndim != 2:
        raise TypeError(f"lstsq takes two matrices without batch dimensions, got {left} and {right}")
    same_length(left.shape[0], right.shape[0], "lstsq: rows of the matrix and of the right side")
    dtype = lapack_dtype("lstsq", left, right)
    real = real_part(dtype)
    return TupleType((
        TensorType.of(dtype, (left.shape[1], right.shape[1])), TensorType.of(real, (None,)),
        TensorType.of("int64", ()), TensorType.of(real, (_shorter(left),)),
    ))  # fmt: skip


# ---------------------------------------------------------------------- meaning
def _as_lapack(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x)
    return x if kind_of(x.dtype) in "fc" else x.astype(np.float64)


def _batched(function: Callable[..., Any], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Apply a function of two matrices over broadcast batch dimensions."""
    a, b = _as_lapack(a), _as_lapack(b)
    dtype = promote(a, b)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.empty((*batch, a.shape[-1], b.shape[-1]), dtype)
    wide_a, wide_b = np.broadcast_to(a, batch + a.shape[-2:]), np.broadcast_to(b, batch + b.shape[-2:])
    for i in np.ndindex(*batch):
        out[i] = function(wide_a[i], wide_b[i]) if wide_a[i].size and wide_b[i].size else 0
    return out


def _check_solve(name: str, a: np.ndarray, b: np.ndarray) -> None:
    if a.shape[-1] != a.shape[-2] or a.shape[-1] != b.shape[-2]:
        raise ShapeError(f"{name}: shapes {a.shape} and {b.shape} do not fit; needed: (..., n, n) and (..., n, k)")


def _or_nan(function: Callable[..., Any], on_error: str) -> Callable[..., Any]:
    """The function of matrices or, with on_error "nan", one that gives NaN where the function fails."""
    if on_error != "nan":
        return function

    def forgiving(*matrices: np.ndarray) -> np.ndarray:
        try:
            result: np.ndarray = function(*matrices)
            return result
        except np.linalg.LinAlgError:
            return np.full_like(matrices[-1], np.nan)

    return forgiving


def _cholesky(a: np.ndarray, *, lower: bool, on_error: str) -> np.ndarray:
    a = _as_lapack(a)
    if on_error != "nan" or a.ndim < 2:
        return np.linalg.cholesky(a, upper=not lower)
    one = _or_nan(lambda p: np.linalg.cholesky(p, upper=not lower), on_error)
    out = np.empty_like(a)
    for i in np.ndindex(*a.shape[:-2]):
        out[i] = one(a[i])
    return out


def _solve(a: np.ndarray, b: np.ndarray, *, assume_a: str, on_error: str) -> np.ndarray:
    a, b = _as_lapack(a), _as_lapack(b)
    _check_solve("solve", a, b)
    if assume_a == "gen":
        return np.linalg.solve(a, b) if on_error != "nan" else _batched(_or_nan(np.linalg.solve, on_error), a, b)
    return _batched(
        _or_nan(lambda p, q: scipy_linalg.solve(p, q, assume_a=assume_a, check_finite=False), on_error), a, b
    )


def _solve_triangular(
    a: np.ndarray, b: np.ndarray, *, lower: bool, trans: str, unit_diagonal: bool, on_error: str
) -> np.ndarray:
    a, b = _as_lapack(a), _as_lapack(b)
    _check_solve("solve_triangular", a, b)

    def one(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        result: np.ndarray = scipy_linalg.solve_triangular(
            p, q, trans=trans, lower=lower, unit_diagonal=unit_diagonal, check_finite=False
        )
        return result

    return _batched(_or_nan(one, on_error), a, b)


def _eigvals(a: np.ndarray) -> np.ndarray:
    w = np.linalg.eigvals(a)
    return w.astype(_complex_of(w.dtype.name), copy=False)


def _eig(a: np.ndarray) -> tuple[np.ndarray, ...]:
    w, v = np.linalg.eig(a)
    return w.astype(_complex_of(w.dtype.name), copy=False), v.astype(_complex_of(v.dtype.name), copy=False)


NOT_FINITE_LSTSQ = "lstsq needs finite numbers; an operand has infinite or NaN elements"


def _lstsq(a: np.ndarray, b: np.ndarray, *, rcond: float | None) -> tuple[np.ndarray, ...]:
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise np.linalg.LinAlgError(NOT_FINITE_LSTSQ)
    x, residuals, rank, s = np.linalg.lstsq(_as_lapack(a), _as_lapack(b), rcond=rcond)
    return x, residuals, np.asarray(rank, dtype=np.int64), s


def _expm(a: np.ndarray) -> np.ndarray:
    result: np.ndarray = scipy_linalg.expm(_as_lapack(a))
    return result


def _sqrtm(a: np.ndarray) -> np.ndarray:
    a = _as_lapack(a)
    roots = np.empty(a.shape, a.dtype)
    for k in np.ndindex(a.shape[:-2]):
        root = np.asarray(scipy_linalg.sqrtm(a[k]))
        if root.dtype.kind == "c" and a.dtype.kind != "c":
            if root.imag.any():
                raise np.linalg.LinAlgError("sqrtm: the matrix has no real square root; cast it to complex128 first")
            root = root.real
        roots[k] = root
    return roots


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function on numbers LAPACK takes."""

    def meaning(a: np.ndarray, **params: Any) -> Any:
        found = function(_as_lapack(a), **params)
        return tuple([np.asarray(f) for f in found]) if isinstance(found, tuple) else np.asarray(found)

    return meaning


NOT_FINITE = "SVD did not converge: the matrix has infinite or NaN elements"


def _decomposed(name: str, numpys: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function, or the loop behind it that computes in single precision where this is computed so."""

    in_double = _plain(numpys)

    def meaning(a: np.ndarray, **params: Any) -> Any:
        found = in_single(name, _as_lapack(a), params)
        return in_double(a, **params) if found is None else found if len(found) > 1 else found[0]

    return meaning


def _qr(a: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """NumPy's function, or what it calls, which computes in single precision where it does not."""
    a = _as_lapack(a)
    q, r = np.linalg.qr(a, mode) if a.dtype.char in "dD" else lapack.qr(a, mode)  # type: ignore[call-overload]
    return q, r


def _of_finite(function: Callable[..., Any]) -> Callable[..., Any]:
    """`_plain` for functions that iterate over singular values: LAPACK may do so for ever if one is infinite."""

    plain = _plain(function)

    def meaning(a: np.ndarray, **params: Any) -> Any:
        if not np.isfinite(a).all():
            raise np.linalg.LinAlgError(NOT_FINITE)
        return plain(a, **params)

    return meaning


def _triangle(lower: bool) -> Literal["L", "U"]:
    return "L" if lower else "U"


solve = _decomposition(
    "solve",
    _infer_solve("solve"),
    _solve,
    (2, 2),
    params={"assume_a": "gen", "on_error": "raise"},
    doc="x with a @ x = b; b is a matrix.",
)
solve_triangular = _linalg(
    "solve_triangular",
    _infer_solve("solve_triangular"),
    _solve_triangular,
    (2, 2),
    params={"lower": False, "trans": "N", "unit_diagonal": False, "on_error": "raise"},
    doc="x with a @ x = b for a triangular a (transposed for trans='T', conjugated too for 'C'); b is a matrix.",
)
inv = _decomposition("inv", _infer_square("inv", core=True), _plain(np.linalg.inv), doc="The inverse of a matrix.")
pinv = _decomposition(
    "pinv",
    _infer_pinv,
    _of_finite(lambda a, rcond, hermitian: np.linalg.pinv(a, rcond, hermitian=hermitian)),
    params={"rcond": None, "hermitian": False},
    doc="The Moore-Penrose inverse; singular values below rcond times the largest count as 0.",
)
det = _decomposition("det", _infer_square("det", core=False), _plain(np.linalg.det), doc="The determinant.")
slogdet = _decomposition(
    "slogdet", _infer_slogdet, _plain(np.linalg.slogdet), nout=2, doc="Sign and log of the absolute determinant."
)
cholesky = _decomposition(
    "cholesky",
    _infer_square("cholesky", core=True),
    _cholesky,
    params={"lower": True, "on_error": "raise"},
    doc="The triangular L with L @ conj(L.T) = a (lower), or U with conj(U.T) @ U = a; reads that triangle of a.",
)
qr = _decomposition("qr", _infer_qr, _qr, nout=2, params={"mode": "reduced"}, doc="Q and R with Q @ R = a.")
svd = _decomposition(
    "svd",
    _infer_svd,
    _of_finite(_decomposed("svd", np.linalg.svd)),
    nout=3,
    params={"full_matrices": True},
    doc="u, s, vh with (u * s) @ vh = a.",
)
svdvals = _decomposition(
    "svdvals", _infer_svdvals, _of_finite(_decomposed("svdvals", np.linalg.svdvals)), doc="Singular values, descending."
)
eigh = _decomposition(
    "eigh",
    _infer_eig("eigh", real=True),
    _decomposed("eigh", lambda a, lower: np.linalg.eigh(a, _triangle(lower))),
    nout=2,
    params={"lower": True},
    doc="Eigenvalues, ascending, and eigenvectors of a Hermitian matrix, of which one triangle is read.",
)
eigvalsh = _decomposition(
    "eigvalsh",
    _infer_eigvals("eigvalsh", real=True),
    _decomposed("eigvalsh", lambda a, lower: np.linalg.eigvalsh(a, _triangle(lower))),
    params={"lower": True},
    doc="Eigenvalues of a Hermitian matrix, ascending.",
)
eig = _decomposition(
    "eig",
    _infer_eig("eig", real=False),
    _decomposed("eig", _eig),
    nout=2,
    doc="Complex eigenvalues and eigenvectors of any square matrix.",
)
eigvals = _decomposition(
    "eigvals",
    _infer_eigvals("eigvals", real=False),
    _decomposed("eigvals", _eigvals),
    doc="Complex eigenvalues of any square matrix.",
)
lstsq = _decomposition(
    "lstsq",
    _infer_lstsq,
    _lstsq,
    (2, 2),
    nout=4,
    params={"rcond": None},
    doc="Least squares: solution, residuals, rank, singular values.",
)
expm = _linalg("expm", _infer_square("expm", core=True), _expm, doc="The matrix exponential.")
sqrtm = _linalg("sqrtm", _infer_square("sqrtm", core=True), _sqrtm, doc="The square root of a matrix.")
