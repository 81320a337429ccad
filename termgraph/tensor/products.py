"""Products of arrays: dot, matmul, tensordot, outer, kron, cross, ... with NumPy's names and meaning.

All end in the ops `dot` (vectors and matrices), `matmul` (batches of matrices) and `mul`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor.contraction import arrange, contract
from termgraph.tensor.creation import diagonal
from termgraph.tensor.joining import concatenate, stack
from termgraph.tensor.lengths import length, product
from termgraph.tensor.lifting import on_terms, pattern_form
from termgraph.tensor.operators import _is_operand
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.shaping import dimshuffle, moveaxis, ravel, reshape, specify_shape, squeeze
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import linalg as ops
from termgraph.terms.ops.shapes import normal_axis
from termgraph.terms.types import shape_text

if TYPE_CHECKING:
    from termgraph.tensor.likes import DTypeLike, TensorLike
    from termgraph.tensor.variable import TensorVariable


@on_terms
@pattern_form(ops.dot)
def dot(a: Any, b: Any) -> TensorVariable:
    """The inner product of vectors, the product of matrices; beyond that, last of `a` with second to last of `b`.

    >>> import termgraph.tensor as T
    >>> T.dot(T.tensor("a", dtype="float32", shape=(2, 3)), T.fvector("b")).type
    TensorType(float32, (2,))
    """
    if getattr(a, "own_operators", False) or getattr(b, "own_operators", False):
        return a @ b
    a, b = as_tensor(a), as_tensor(b)
    if a.ndim == 0 or b.ndim == 0:
        return ew.mul(a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return ops.dot(a, b)
    return tensordot(a, b, [[a.ndim - 1], [max(b.ndim - 2, 0)]])


@on_terms
@pattern_form(ops.matmul)
def matmul(a: Any, b: Any) -> TensorVariable:
    """The matrix product `a @ b`: dimensions before the last two are batches, which broadcast.

    >>> import termgraph.tensor as T
    >>> T.matmul(T.dtensor3("a"), T.dmatrix("b")).type
    TensorType(float64, (?, ?, ?))
    """
    if getattr(a, "own_operators", False) or getattr(b, "own_operators", False):
        return a @ b
    a, b = as_tensor(a), as_tensor(b)
    for i, v in enumerate((a, b)):
        if v.ndim == 0:
            raise ValueError(f"matmul: operand {i} ({v}) has no dimensions; multiply by a number with *")
    if a.ndim <= 2 and b.ndim <= 2:
        return ops.dot(a, b)
    ops.check_contraction("matmul", a.type.shape, b.type.shape)
    wide_a = dimshuffle(a, "x", 0) if a.ndim == 1 else a
    wide_b = dimshuffle(b, 0, "x") if b.ndim == 1 else b
    made = ops.matmul(wide_a, wide_b)
    return squeeze(made, -2 if a.ndim == 1 else -1) if a.ndim == 1 or b.ndim == 1 else made


def _axis_pairs(
    axes: Any, a: TensorVariable, b: TensorVariable, name: str, first: int = 0
) -> tuple[list[int], list[int]]:
    """The dimensions of `a` and of `b` to sum over: the last and the first few, or two lists."""
    if isinstance(axes, np.ndarray):
        axes = axes.tolist()  # one list of axes for each operand, or a number
    if hasattr(axes, "__index__") and not isinstance(axes, bool):
        n = axes.__index__()
        if not 0 <= n <= min(a.ndim, b.ndim) - first:
            raise ValueError(f"{name}: cannot sum over {n} dimensions of arrays with {a.ndim} and {b.ndim}")
        return list(range(a.ndim - n, a.ndim)), list(range(first, first + n))
    try:
        in_a, in_b = [[p] if hasattr(p, "__index__") else list(p) for p in axes]
    except (TypeError, ValueError):
        raise TypeError(f"{name}: axes must be an integer or two lists of integers, got {axes!r}") from None
    if len(in_a) != len(in_b):
        raise ValueError(f"{name}: axes pair {len(in_a)} dimensions with {len(in_b)}")
    return [normal_axis(p, a.ndim) for p in in_a], [normal_axis(p, b.ndim) for p in in_b]


def _paired(
    a: TensorVariable, b: TensorVariable, in_a: list[int], in_b: list[int], name: str, batch: int = 0
) -> TensorVariable:
    """Contraction of the paired dimensions, the first `batch` of both being batch dimensions."""
    for d, e in (*zip(in_a, in_b), *zip(range(batch), range(batch))):
        n, m = a.type.shape[d], b.type.shape[e]
        if n is not None and m is not None and n != m and not (d < batch and 1 in (n, m)):
            raise ShapeError(
                f"{name}: shapes {shape_text(a.type.shape)} and {shape_text(b.type.shape)} do not fit: "
                f"dimension {d} of the first has length {n}, dimension {e} of the second {m}"
            )
    la: list[Any] = [f"a{d}" for d in range(a.ndim)]
    lb: list[Any] = [f"b{d}" for d in range(b.ndim)]
    for k, (d, e) in enumerate(zip(in_a, in_b)):
        la[d] = lb[e] = f"s{k}"
    for d in range(batch):
        la[d] = lb[d] = f"t{d}"
    keep = [k for k in (*la, *lb) if k[0] != "s"]
    made, labels = contract(a, la, b, lb, keep)
    return arrange(made, labels, list(dict.fromkeys(keep)))


@on_terms
def tensordot(a: TensorLike, b: TensorLike, axes: int | Sequence[int | Sequence[int]] = 2) -> TensorVariable:
    """The sum of products over some dimensions: the last `axes` of `a` with the first of `b`, or two lists of them.

    >>> import termgraph.tensor as T
    >>> T.tensordot(T.dtensor3("a"), T.dmatrix("b"), [[0], [1]]).type
    TensorType(float64, (?, ?, ?))
    """
    a, b = as_tensor(a), as_tensor(b)
    return _paired(a, b, *_axis_pairs(axes, a, b, "tensordot"), "tensordot")


@on_terms
def batched_tensordot(x: TensorLike, y: TensorLike, axes: int | Sequence[Any] = 2) -> TensorVariable:
    """`tensordot` for each item of the first dimension of both; listed axes count from that dimension."""
    x, y = as_tensor(x), as_tensor(y)
    if min(x.ndim, y.ndim) == 0:
        raise ValueError("batched_tensordot: both arrays need a first (batch) dimension")
    in_x, in_y = _axis_pairs(axes, x, y, "batched_tensordot", first=1)
    if 0 in in_x or 0 in in_y:
        raise ValueError(f"batched_tensordot: axes {axes} name dimension 0, which is the batch dimension")
    return _paired(x, y, in_x, in_y, "batched_tensordot", batch=1)


@on_terms
def batched_dot(a: TensorLike, b: TensorLike) -> TensorVariable:
    """`dot` for each item of the first dimension of both.

    >>> import termgraph.tensor as T
    >>> T.batched_dot(T.dtensor3("a"), T.dmatrix("b")).type
    TensorType(float64, (?, ?))
    """
    a, b = as_tensor(a), as_tensor(b)
    if min(a.ndim, b.ndim) == 0:
        raise ValueError("batched_dot: both arrays need a first (batch) dimension")
    if a.ndim == 1 or b.ndim == 1:
        return _paired(a, b, [], [], "batched_dot", batch=1)
    return _paired(a, b, [a.ndim - 1], [max(b.ndim - 2, 1)], "batched_dot", batch=1)


# ---------------------------------------------------------------------- vectors
@on_terms
def outer(a: TensorLike, b: TensorLike) -> TensorVariable:
    """All products of an element of `a` and one of `b`, as a matrix."""
    return ew.mul(dimshuffle(ravel(a), 0, "x"), dimshuffle(ravel(b), "x", 0))


@on_terms
def inner(a: TensorLike, b: TensorLike) -> TensorVariable:
    """The sum of products over the last dimensions."""
    a, b = as_tensor(a), as_tensor(b)
    if a.ndim == 0 or b.ndim == 0:
        return ew.mul(a, b)
    return _paired(a, b, [a.ndim - 1], [b.ndim - 1], "inner")


@on_terms
def vdot(a: TensorLike, b: TensorLike) -> TensorVariable:
    """The inner product of the flattened arrays, the first one conjugated."""
    a, b = ravel(a), ravel(b)
    return ops.dot(ew.conj(a) if a.type.kind == "c" else a, b)


@on_terms
def vecdot(a: TensorLike, b: TensorLike, axis: int = -1) -> TensorVariable:
    """The inner products of vectors along an axis, the first ones conjugated."""
    a, b = as_tensor(a), as_tensor(b)
    terms = ew.mul(ew.conj(a) if a.type.kind == "c" else a, b)
    return sum_over(terms, axis=axis, dtype=terms.type.dtype)


@on_terms
def matvec(x1: TensorLike, x2: TensorLike) -> TensorVariable:
    """Matrices times vectors: those of the last dimensions, the others are broadcast.

    >>> import termgraph.tensor as T
    >>> T.matvec([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]).eval()
    array([[1., 3.],
           [2., 4.]])
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim > 2 and _summed(x1) and _summed(x2):  # many small matrices: a call of BLAS for each takes longer
        return sum_over(ew.mul(x1, dimshuffle(x2, *range(x2.ndim - 1), "x", x2.ndim - 1)), -1)
    return matmul(x1, dimshuffle(x2, *range(x2.ndim), "x"))[..., 0]


def _summed(x: TensorVariable) -> bool:
    """Whether products with it may be added up one by one: floats of an ordinary size whose last length is not 1."""
    return x.type.dtype in ("float32", "float64") and x.ndim > 0 and x.type.shape[-1] != 1


@on_terms
def vecmat(x1: TensorLike, x2: TensorLike) -> TensorVariable:
    """Vectors, conjugated, times matrices: those of the last dimensions, the others are broadcast.

    >>> import termgraph.tensor as T
    >>> T.vecmat([[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]]).eval()
    array([[1., 2.],
           [3., 4.]])
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x2.ndim > 2 and _summed(x1) and _summed(x2):
        return sum_over(ew.mul(dimshuffle(x1, *range(x1.ndim), "x"), x2), -2)
    rows = dimshuffle(x1, *range(x1.ndim - 1), "x", x1.ndim - 1)
    return matmul(ew.conj(rows) if x1.type.kind == "c" else rows, x2)[..., 0, :]


@on_terms
def kron(a: Any, b: TensorLike) -> TensorVariable:
    """The Kronecker product: blocks of `b` scaled by the elements of `a`."""
    a, b = as_tensor(a), as_tensor(b)
    rank = max(a.ndim, b.ndim)
    pad = [dimshuffle(v, *["x"] * (rank - v.ndim), *range(v.ndim)) for v in (a, b)]
    order_a = [p for d in range(rank) for p in (d, "x")]
    order_b = [p for d in range(rank) for p in ("x", d)]
    blocks = ew.mul(dimshuffle(pad[0], *order_a), dimshuffle(pad[1], *order_b))
    return reshape(blocks, [product([length(v, d) for v in pad]) for d in range(rank)])


@on_terms
def cross(
    a: TensorLike, b: TensorLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> TensorVariable:
    """The vector product of vectors of length 3, held along an axis of each array."""
    if axis is not None:
        axisa = axisb = axisc = axis
    u, v = _last_three(a, axisa, "first"), _last_three(b, axisb, "second")
    shifted = [(u[..., i], v[..., j], u[..., j], v[..., i]) for i, j in ((1, 2), (2, 0), (0, 1))]
    made = stack([ew.sub(ew.mul(p, q), ew.mul(r, s)) for p, q, r, s in shifted], axis=-1)
    return made if axisc == -1 else moveaxis(made, -1, axisc)


def _last_three(x: TensorLike, axis: int, which: str) -> TensorVariable:
    x = as_tensor(x)
    x = moveaxis(x, normal_axis(axis, x.ndim), -1)
    n = x.type.shape[-1]
    if n is None:
        return specify_shape(x, *[None] * (x.ndim - 1), 3)
    if n != 3:
        raise ShapeError(f"cross: vectors must have length 3, the {which} ones have {n}; append zeros to shorter ones")
    return x


@on_terms
def trace(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None) -> TensorVariable:
    """The sum of a diagonal; for more than two dimensions, of the matrices along axis1 and axis2."""
    return sum_over(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


# ---------------------------------------------------------------------- the operator @
@on_terms
def cov(
    m: TensorLike,
    y: TensorLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: TensorLike | None = None,
    aweights: TensorLike | None = None,
    dtype: DTypeLike = None,
) -> TensorVariable:
    """The covariances of variables that are the rows of `m` (columns where not `rowvar`); `y` holds more of them.

    `fweights` says how often each observation is counted, `aweights` how much it weighs. The sums are divided by
    their number less `ddof`, by default 1, or 0 with `bias`. They are made in float64 (complex128), or `dtype`.
    One variable has a variance, a number; if only a call says that there is one row, it is in a matrix of 1x1.

    >>> import termgraph.tensor as T
    >>> T.cov([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).eval()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    x = _observations(m, rowvar, dtype)
    if y is not None:
        x = concatenate([x, _observations(y, rowvar, dtype)], axis=0)
    lost = (0 if bias else 1) if ddof is None else ddof
    weights = [ew.cast(as_tensor(w), dtype=x.type.dtype) for w in (fweights, aweights) if w is not None]
    real = np.empty(0, x.type.np_dtype).real.dtype.name  # numbers of elements must not widen the sums
    if not weights:
        count = ew.cast(length(x, 1), dtype=real)
        x = ew.sub(x, dimshuffle(sum_over(x, axis=1) / count, 0, "x"))
        return _number_or_matrix(dot(x, conj_transpose(x)) / ew.maximum(count - lost, 0))
    w = weights[0] if len(weights) == 1 else ew.mul(*weights)
    total = sum_over(w)
    x = ew.sub(x, dimshuffle(dot(x, w) / total, 0, "x"))
    again = 1 if aweights is None else sum_over(ew.mul(w, weights[-1])) / total
    return _number_or_matrix(dot(ew.mul(x, w), conj_transpose(x)) / ew.maximum(total - again * lost, 0))


def _observations(m: TensorLike, rowvar: bool, dtype: DTypeLike) -> TensorVariable:
    """Variables as rows of a float matrix."""
    x = as_tensor(m)
    if x.ndim > 2:
        raise ValueError(f"cov takes vectors and matrices, {x} has {x.ndim} dimensions")
    x = ew.cast(x, dtype=dtype or ("complex128" if x.type.kind == "c" else "float64"))
    if x.ndim < 2:
        return dimshuffle(x, "x", *range(x.ndim)) if x.ndim else dimshuffle(x, "x", "x")
    return x if rowvar else dimshuffle(x, 1, 0)


def conj_transpose(x: Any) -> Any:
    """A matrix transposed, its complex elements conjugated."""
    return ew.conj(dimshuffle(x, 1, 0)) if x.type.kind == "c" else dimshuffle(x, 1, 0)


def _number_or_matrix(found: TensorVariable) -> TensorVariable:
    """One variable has a variance, which is a number."""
    return squeeze(found) if found.type.shape == (1, 1) else found


def _matmul(self: Any, other: object) -> TensorVariable:
    return matmul(self, other) if _is_operand(other) else NotImplemented


def _rmatmul(self: Any, other: object) -> Any:
    return matmul(other, self) if _is_operand(other) else NotImplemented


METHODS = {"dot": dot, "trace": trace, "__matmul__": _matmul, "__rmatmul__": _rmatmul}
__all__ = [
    "batched_dot", "batched_tensordot", "cov", "cross", "dot", "inner", "kron", "matmul", "matvec", "outer",
    "tensordot", "trace", "vdot", "vecdot", "vecmat",
]  # fmt: skip
