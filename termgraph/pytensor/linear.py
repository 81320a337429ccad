"""Linear algebra and Blockwise: what fails gives NaN, as in PyTensor, so that samplers reject the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph.pytensor.conversion import CONVERTERS, Conversion, cast, converts, out_type, row_of, unread

if TYPE_CHECKING:
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    from termgraph.tensor.variable import TensorVariable

L = T.linalg


# ---------------------------------------------------------------------- products
@converts("Dot BatchedDot Dot22")
def _dot(c: Conversion, node: Apply, x: TensorVariable, y: TensorVariable) -> Any:
    dtype = out_type(node).dtype
    product = T.matmul if x.type.ndim > 2 else T.dot
    return product(cast(x, dtype), cast(y, dtype))


@converts("KroneckerProduct")
def _kron(c: Conversion, node: Apply, x: TensorVariable, y: TensorVariable) -> Any:
    return cast(T.kron(x, y), out_type(node).dtype) if x.type.ndim == y.type.ndim == 2 else NotImplemented


@converts("Convolve1d")
def _convolve(c: Conversion, node: Apply, x: TensorVariable, y: TensorVariable, full: TensorVariable) -> Any:
    """All overlaps or the whole ones; which of the two may be known in the call only, as in gradients."""
    x, y = [cast(v, out_type(node).dtype) for v in (x, y)]
    if isinstance(full, tg.Constant):
        return T.convolve(x, y, "full" if full.data else "valid")
    around = T.zeros((T.switch(full, T.shape(y)[0] - 1, 0),), dtype=x.type.dtype)
    return T.convolve(T.concatenate([around, x, around]), y, "valid")


# ---------------------------------------------------------------------- factors and solutions
def _columns(node: Apply, op: Op, b: TensorVariable, solve: Callable) -> Any:
    """A solution for right sides that are vectors (in batches) or matrices."""
    return T.squeeze(solve(T.expand_dims(b, -1)), -1) if op.b_ndim == 1 else solve(b)


@converts("Cholesky", reads="lower on_error check_finite")
def _cholesky(c: Conversion, node: Apply, a: TensorVariable) -> Any:
    on_error = getattr(_core(node), "on_error", "nan")
    return L.cholesky(a, lower=_core(node).lower, on_error=on_error)


@converts("SolveTriangular", reads="lower unit_diagonal b_ndim trans check_finite")
def _solve_triangular(c: Conversion, node: Apply, a: TensorVariable, b: TensorVariable) -> Any:
    op = _core(node)
    trans = getattr(op, "trans", 0)
    return _columns(node, op, b, lambda b: L.solve_triangular(a, b, op.lower, trans, op.unit_diagonal, on_error="nan"))


@converts("CholeskySolve", reads="lower b_ndim check_finite")
def _cho_solve(c: Conversion, node: Apply, factor: TensorVariable, b: TensorVariable) -> Any:
    op = _core(node)
    return _columns(node, op, b, lambda b: L.cho_solve((factor, op.lower), b, on_error="nan"))


@converts("Solve", reads="assume_a lower b_ndim check_finite")
def _solve(c: Conversion, node: Apply, a: TensorVariable, b: TensorVariable) -> Any:
    op = _core(node)
    if op.assume_a == "pos":
        factor = L.cholesky(a, lower=op.lower, on_error="nan")
        return _columns(node, op, b, lambda b: L.cho_solve((factor, op.lower), b, on_error="nan"))
    if op.assume_a in ("sym", "her"):  # one triangle is read
        triangle = T.tril(a) if op.lower else T.triu(a)
        rest = T.matrix_transpose(T.tril(a, -1) if op.lower else T.triu(a, 1))
        a = triangle + (T.conj(rest) if op.assume_a == "her" else rest)
    return _columns(node, op, b, lambda b: L.solve(a, b, on_error="nan"))


@converts("LUFactor")
def _lu_factor(c: Conversion, node: Apply, a: TensorVariable) -> Any:
    packed, pivots = L.lu_factor(a)
    singular = T.any(T.eq(L.diagonal(packed), 0), axis=-1)
    nan = T.constant(np.asarray(np.nan, packed.type.dtype))
    return [T.switch(T.shape_padright(singular, 2), nan, packed), cast(pivots, "int32")]


@converts("LU", reads="permute_l p_indices")
def _lu(c: Conversion, node: Apply, a: TensorVariable) -> Any:
    *order, low, upper = L.lu(a, _core(node).permute_l, _core(node).p_indices)
    return [*[cast(T.real(p), node.outputs[0].type.dtype) for p in order], low, upper]


converts("PivotToPermutations", reads="inverse")(
    lambda c, node, p: L.pivot_to_permutation(p, inverse=_core(node).inverse)
)
converts("MatrixInverse")(lambda c, node, a: L.inv(a))
converts("MatrixPinv", reads="hermitian")(lambda c, node, a: L.pinv(a, hermitian=_core(node).hermitian))
converts("Det")(lambda c, node, a: L.det(a))
converts("SLogDet")(lambda c, node, a: L.slogdet(a))
converts("Expm")(lambda c, node, a: L.expm(a))
converts("Eig")(lambda c, node, a: L.eig(a))


@converts("Eigh", reads="lower UPLO driver")
def _eigh(c: Conversion, node: Apply, a: TensorVariable, *others: TensorVariable) -> Any:
    return NotImplemented if others else L.eigh(a, _triangle(node))


@converts("EighGrad", reads="UPLO")
def _eigh_slope(
    c: Conversion,
    node: Apply,
    a: TensorVariable,
    w: TensorVariable,
    v: TensorVariable,
    gw: TensorVariable,
    gv: TensorVariable,
) -> Any:
    """Up to 2.x an op of its own: the gradient by our rules."""
    values, vectors = L.eigh(a, node.op.UPLO)
    return tg.grad(None, a, known_grads={values: gw, vectors: gv})


@converts("Eigvalsh", reads="lower")
def _eigvalsh(c: Conversion, node: Apply, a: TensorVariable, *others: TensorVariable) -> Any:
    return NotImplemented if others else L.eigvalsh(a, _triangle(node))


def _triangle(node: Apply) -> str:
    op = _core(node)
    return getattr(op, "UPLO", None) or ("L" if op.lower else "U")


@converts("SVD", reads="full_matrices compute_uv")
def _svd(c: Conversion, node: Apply, a: TensorVariable) -> Any:
    return L.svd(a, _core(node).full_matrices, _core(node).compute_uv)


def _core(node: Apply) -> Any:
    """The op itself, or what a Blockwise repeats."""
    return getattr(node.op, "core_op", node.op)


# Those that take leading dimensions as they are; everything else is repeated by vmap.
BATCHED = frozenset(
    ("Cholesky", "SolveTriangular", "CholeskySolve", "Solve", "MatrixInverse", "MatrixPinv", "Det", "SLogDet", "Eigh",
     "Eigvalsh", "Eig", "SVD", "Expm", "LU", "LUFactor", "PivotToPermutations")
)  # fmt: skip


# ---------------------------------------------------------------------- Blockwise
@converts("Blockwise", reads="core_op signature")
def _blockwise(c: Conversion, node: Apply, *xs: TensorVariable) -> Any:
    core = node.op.core_op
    name, row = type(core).__name__, row_of(core)
    if row is None or unread(core, row[1]):
        return NotImplemented
    if name == "Dot":
        dtype = out_type(node).dtype
        return T.matmul(*[cast(x, dtype) for x in xs])
    if name in BATCHED:
        return CONVERTERS[name][0](c, node, *xs)
    if name == "ARange":
        return _ranges(core, xs)
    return _mapped(c, row[0], node.op._create_dummy_core_node(node.inputs), node.op.batch_ndim(node), list(xs))


def _ranges(core: Op, xs: tuple) -> Any:
    """Ranges of one length, which PyTensor promises: vmap could not know."""
    start, stop, step = T.broadcast_arrays(*[cast(x, core.dtype) for x in xs])
    first, last, by = [x[(0,) * x.type.ndim] for x in (start, stop, step)]
    return T.expand_dims(start, -1) + T.expand_dims(step, -1) * T.arange(0, last - first, by, dtype=core.dtype)


def _mapped(c: Conversion, row: Callable, core: Op, depth: int, xs: list[Any]) -> Any:
    """The core for each item of the leading `depth` dimensions; those of length 1 are shared by all."""
    if depth == 0:
        return row(c, core, *xs)
    shared = [x.type.shape[0] == 1 for x in xs]
    rest = [T.squeeze(x, 0) if one else x for x, one in zip(xs, shared)]
    if all(shared):
        found = _mapped(c, row, core, depth - 1, rest)
        several = isinstance(found, (list, tuple))
        return found if found is NotImplemented else [T.expand_dims(f, 0) for f in (found if several else [found])]
    impossible = False

    def one(*items: TensorVariable) -> Any:
        nonlocal impossible
        found = _mapped(c, row, core, depth - 1, list(items))
        impossible = found is NotImplemented
        return items[0] if impossible else found

    made = tg.vmap(one, in_axes=tuple([None if s else 0 for s in shared]))(*rest)
    return NotImplemented if impossible else made
