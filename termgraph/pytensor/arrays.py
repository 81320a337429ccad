"""Ops on arrays that are not element-wise: reductions, shapes, joining, making, sorting, checks. One row each.

A row gets the conversion, PyTensor's node and the operands. Properties that it reads are named in its head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph.pytensor.conversion import Conversion, cast, converts, is_constant, known_value, out_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytensor.graph.basic import Apply
    from pytensor.graph.basic import Variable as PyTensorVariable

    from termgraph.tensor.likes import ShapeLike, TensorLike
    from termgraph.tensor.variable import TensorVariable

# ---------------------------------------------------------------------- reductions
TOTALS = {"Add": T.sum, "Mul": T.prod}
EXTREMES = {"AND": T.all, "OR": T.any, "Maximum": T.max, "Minimum": T.min}


@converts("CAReduce Max Min", reads="scalar_op axis dtype acc_dtype upcast_discrete_output no_zeros_in_input initial")
def _reduce(c: Conversion, node: Apply, x: TensorVariable) -> Any:
    op, dtype = node.op, out_type(node).dtype
    kind = type(op.scalar_op).__name__
    axis = tuple(range(x.type.ndim)) if op.axis is None else tuple(op.axis)
    if kind == "MulWithoutZeros" and not axis and x.type.ndim:
        return cast(x, dtype)  # nothing is multiplied, and what is 0 stays
    if kind == "MulWithoutZeros":
        kind, x = "Mul", T.switch(T.eq(x, 0), T.ones((), dtype=x.type.dtype), x)
    if kind in TOTALS:
        return cast(TOTALS[kind](cast(x, getattr(op, "acc_dtype", None) or dtype), axis=axis), dtype)
    if kind not in EXTREMES or (kind in ("AND", "OR") and x.type.dtype != "bool"):  # the latter bit by bit
        return NotImplemented
    if getattr(op, "initial", False):
        x = _never_empty(x, axis, op.initial_value(dtype))
    return cast(EXTREMES[kind](x, axis=axis), dtype)


def _never_empty(x: TensorVariable, axis: tuple[int, ...], value: TensorVariable) -> Any:
    """The array with one more row, of the value that an empty one has as its extreme, where it may be empty."""
    for d in axis:
        if not x.type.shape[d]:
            row = [1 if e == d else n for e, n in enumerate(_lengths(x))]
            x = T.concatenate([x, T.alloc(T.constant(np.asarray(value, x.type.dtype)), *row)], axis=d)
    return x


def _along(f: Callable[..., TensorVariable]) -> Any:
    """An op with one axis, or None for all elements."""

    def row(c: Conversion, node: Apply, x: TensorLike) -> Any:
        axis = node.op.axis
        axis = tuple(axis) if isinstance(axis, (tuple, list)) else axis
        return cast(f(x, axis=axis), out_type(node).dtype)

    return row


converts("Softmax", reads="axis")(_along(T.softmax))
converts("LogSoftmax", reads="axis")(_along(T.log_softmax))


@converts("LogSumExp", reads="axis")
def _logsumexp(c: Conversion, node: Apply, x: TensorVariable) -> Any:
    axis = None if node.op.axis is None else tuple(np.atleast_1d(node.op.axis).tolist())
    kept = out_type(node).ndim == x.type.ndim and x.type.ndim > 0
    return T.logsumexp(x, axis=axis, keepdims=kept)


@converts("SoftmaxGrad", reads="axis")
def _softmax_grad(c: Conversion, node: Apply, dy: TensorVariable, sm: TensorVariable) -> Any:
    return dy * sm - T.sum(dy * sm, axis=node.op.axis, keepdims=True) * sm


@converts("Argmax", reads="axis")
def _argmax(c: Conversion, node: Apply, x: TensorVariable, *_: object) -> Any:
    axes = node.op.axis
    if axes is None or len(axes) == x.type.ndim:
        return T.argmax(x)
    rest = [d for d in range(x.type.ndim) if d not in axes]
    front = T.dimshuffle(x, *rest, *axes)
    return T.argmax(T.reshape(front, (*[x.shape[d] for d in rest], -1)), axis=-1)


@converts("CumOp", reads="axis mode")
def _cumulative(c: Conversion, node: Apply, x: object) -> Any:
    f = {"add": T.cumsum, "mul": T.cumprod}[node.op.mode]
    return cast(f(cast(x, out_type(node).dtype), axis=node.op.axis), out_type(node).dtype)


# ---------------------------------------------------------------------- shapes
converts("DimShuffle", reads="input_ndim input_broadcastable new_order")(
    lambda c, node, x: T.dimshuffle(x, *node.op.new_order)
)
converts("TensorFromScalar ScalarFromTensor DeepCopyOp ViewOp TypeCastingOp CpuContiguous ContextsView")(
    lambda c, node, x: x
)
converts("Shape")(lambda c, node, x: T.shape(x))
converts("Shape_i", reads="i")(lambda c, node, x: T.shape_i(x, node.op.i))
converts("Unbroadcast", reads="axes")(lambda c, node, x: T.unbroadcast(x, *node.op.axes))
converts("MakeVector", reads="dtype")(lambda c, node, *xs: _vector(xs, node.op.dtype))
converts("JoinDims", reads="start_axis n_axes")(
    lambda c, node, x: (
        T.reshape(x, [*_lengths(x)[: node.op.start_axis], -1, *_lengths(x)[node.op.start_axis + node.op.n_axes :]])
        if node.op.n_axes and 0 not in x.type.shape
        else NotImplemented
    )
)
converts("SplitDims", reads="axis")(
    lambda c, node, x, shape: T.reshape(
        x,
        [
            *_lengths(x)[: node.op.axis],
            *_elements(node.inputs[1], shape, out_type(node).ndim - x.type.ndim + 1),
            *_lengths(x)[node.op.axis + 1 :],
        ],
    )
)


def _vector(xs: Sequence[TensorVariable], dtype: str) -> Any:
    return T.stack([cast(x, dtype) for x in xs]) if xs else T.zeros((0,), dtype=dtype)


def _lengths(x: TensorVariable) -> list[Any]:
    return [x.shape[d] if n is None else n for d, n in enumerate(x.type.shape)]


def _elements(asked: PyTensorVariable, vector: Any, n: int) -> list[Any]:
    """The elements of a vector of lengths: numbers where they are known, -1 among them."""
    if is_constant(asked):
        return [int(k) for k in asked.data]
    parts = _parts_of(asked) or [None] * n
    return [vector[i] if k is None else k for i, k in enumerate(parts)]


def _parts_of(asked: PyTensorVariable) -> list[int | None] | None:
    """The elements of a vector of lengths as far as they are known: -1 may stand among others that are computed."""
    asked = _origin(asked)
    if is_constant(asked):
        return [int(k) for k in asked.data]
    owner, kind = asked.owner, type(getattr(asked.owner, "op", None)).__name__
    if kind == "MakeVector":
        return [_number(v) for v in owner.inputs]
    if kind == "Join":
        vectors = owner.inputs if hasattr(owner.op, "axis") else owner.inputs[1:]
        parts = [_parts_of(v) for v in vectors]
        return None if any(p is None for p in parts) else [k for p in parts if p is not None for k in p]
    n = asked.type.shape[0]
    return None if n is None else [None] * n


def _number(v: PyTensorVariable) -> int | None:
    v = _origin(v)
    return int(v.data) if is_constant(v) else None


def _origin(v: PyTensorVariable) -> Any:
    """What a length is before its casts: the -1 of `x.flatten(2)` is a number of 8 bits."""
    while v.owner is not None:
        op = v.owner.op
        if type(getattr(op, "scalar_op", op)).__name__ not in ("Cast", "SpecifyShape"):
            break
        v = v.owner.inputs[0]
    return v


@converts("Reshape", reads="ndim")
def _reshape(c: Conversion, node: Apply, x: TensorVariable, shape: ShapeLike) -> Any:
    known = out_type(node).shape
    asked = _elements(node.inputs[1], shape, node.op.ndim)
    lengths = [a if k is None else int(k) for k, a in zip(known, asked)]
    return T.reshape(x, _counted(x, lengths) if _origin(node.inputs[1]).owner is None else lengths)


def _counted(x: TensorVariable, lengths: Sequence[int | TensorVariable]) -> list[Any]:
    """The lengths of a vector that is given in each call, in which -1 stands for what is left."""
    given = T.stack([cast(T.as_tensor(n), "int64") for n in lengths]) if lengths else None
    if given is None or all(isinstance(n, int) for n in lengths):
        return list(lengths)
    left = T.size(x) // T.maximum(T.prod(T.switch(T.lt(given, 0), 1, given)), 1)
    return [n if isinstance(n, int) else T.switch(T.lt(n, 0), left, n) for n in lengths]


@converts("SpecifyShape")
def _specify_shape(c: Conversion, node: Apply, x: object, *lengths: TensorVariable) -> Any:
    static = [None if n is None else int(v.data) if is_constant(v) else n for v, n in zip(node.inputs[1:], lengths)]
    return T.specify_shape(x, tuple(static))


# ---------------------------------------------------------------------- making and joining
@converts("Alloc")
def _alloc(c: Conversion, node: Apply, value: object, *lengths: TensorVariable) -> Any:
    return T.alloc(value, *[n if k is None else int(k) for k, n in zip(out_type(node).shape, lengths)])


@converts("AllocEmpty", reads="dtype")
def _empty(c: Conversion, node: Apply, *lengths: TensorVariable) -> Any:
    return T.zeros([n if k is None else int(k) for k, n in zip(out_type(node).shape, lengths)], dtype=node.op.dtype)


@converts("Join", reads="axis")
def _join(c: Conversion, node: Apply, *xs: TensorVariable) -> Any:
    axis, xs = _axis_of(node, xs, first=0)
    if axis is None:
        return NotImplemented
    return T.concatenate([cast(x, out_type(node).dtype) for x in xs], axis=axis)


@converts("Split", reads="len_splits axis")
def _split(c: Conversion, node: Apply, x: object, *rest: TensorVariable) -> Any:
    axis, (lengths,) = _axis_of(node, rest, first=1)
    if axis is None:
        return NotImplemented
    known = known_value(node.inputs[-1], lengths)
    if known is not None:
        return T.split(x, np.cumsum(known)[:-1].tolist(), axis=axis)
    return T.split(x, lengths, node.op.len_splits, axis=axis)


def _axis_of(node: Apply, operands: Any, first: int) -> tuple[int | None, Any]:
    """The axis, a property or an operand by PyTensor's version, and the other operands."""
    if hasattr(node.op, "axis"):
        return node.op.axis, operands
    known = known_value(node.inputs[first], operands[0])
    return (None if known is None else int(known)), operands[1:]


def _filled_by(f: Callable[..., TensorVariable]) -> Any:
    return lambda c, node, *given: f(*_numbers(node, given), dtype=node.op.dtype)


converts("ARange", reads="dtype")(_filled_by(T.arange))
converts("Eye", reads="dtype")(_filled_by(T.eye))
converts("Tri", reads="dtype")(_filled_by(T.tri))
converts("FillDiagonal")(lambda c, node, x, value: T.fill_diagonal(x, value))
converts("Bartlett")(lambda c, node, n: T.bartlett(n))


@converts("FillDiagonalOffset")
def _fill_offset(c: Conversion, node: Apply, x: TensorVariable, value: TensorVariable, offset: TensorVariable) -> Any:
    rows, columns = T.arange(x.shape[0]), T.arange(x.shape[1])
    return T.switch(T.eq(columns - T.expand_dims(rows, 1), offset), value, x)


def _numbers(node: Apply, given: Sequence[TensorVariable]) -> list[Any]:
    """Operands, as plain numbers where they are constant, so that lengths are known."""
    known = [known_value(v, x) for v, x in zip(node.inputs, given)]
    return [x if k is None else k.item() for k, x in zip(known, given)]


@converts("ExtractDiag", reads="offset axis1 axis2")
def _diagonal(c: Conversion, node: Apply, x: object) -> Any:
    return T.diagonal(x, node.op.offset, node.op.axis1, node.op.axis2)


@converts("AllocDiag", reads="offset axis1 axis2")
def _alloc_diag(c: Conversion, node: Apply, x: TensorVariable) -> Any:
    op = node.op
    n = x.type.shape[-1] if x.type.shape[-1] is not None else x.shape[-1]
    i = T.arange(n)
    full = T.switch(T.eq(T.expand_dims(i, 1), i), T.expand_dims(x, -1), T.zeros((), dtype=x.type.dtype))
    if op.offset:
        rows, columns = max(0, -op.offset), max(0, op.offset)
        lead = [(0, 0)] * (x.type.ndim - 1)
        full = T.pad(full, [*lead, (rows, columns), (columns, rows)])
    return T.moveaxis(full, (-2, -1), (op.axis1, op.axis2))


@converts("BlockDiagonal", reads="n_inputs")
def _block_diagonal(c: Conversion, node: Apply, *blocks: TensorVariable) -> Any:
    dtype = out_type(node).dtype
    rows = []
    for i, block in enumerate(blocks):
        row = [
            cast(block, dtype) if j == i else T.zeros((block.shape[0], other.shape[1]), dtype=dtype)
            for j, other in enumerate(blocks)
        ]
        rows.append(T.concatenate(row, axis=1))
    return T.concatenate(rows, axis=0)


@converts("Repeat", reads="axis")
def _repeat(c: Conversion, node: Apply, x: object, repeats: TensorVariable) -> Any:
    return T.repeat(x, repeats, axis=node.op.axis)


# ---------------------------------------------------------------------- order and search
def _sorted_along(node: Apply, x: object, axis: Any = None) -> tuple[Any, int] | None:
    if len(node.inputs) == 1:
        return x, node.op.axis
    if is_constant(node.inputs[1]) and node.inputs[1].data is None:
        return T.ravel(x), 0
    known = known_value(node.inputs[1], axis)
    return None if known is None else (x, int(known))


@converts("SortOp", reads="kind order axis")
def _sort(c: Conversion, node: Apply, *operands: object) -> Any:
    found = _sorted_along(node, *operands)
    return T.sort(*found) if found else NotImplemented


@converts("ArgSortOp", reads="kind order axis")
def _argsort(c: Conversion, node: Apply, *operands: object) -> Any:
    found = _sorted_along(node, *operands)
    return cast(T.argsort(*found), out_type(node).dtype) if found else NotImplemented


@converts("SearchsortedOp", reads="side")
def _searchsorted(
    c: Conversion, node: Apply, x: TensorVariable, v: TensorVariable, sorter: TensorVariable | None = None
) -> Any:
    x = x if sorter is None else x[sorter]
    return cast(T.searchsorted(x, v, side=node.op.side), out_type(node).dtype)


@converts("Nonzero")
def _nonzero(c: Conversion, node: Apply, x: TensorVariable) -> Any:
    return list(T.nonzero(x))


@converts("UnravelIndex", reads="order")
def _unravel(c: Conversion, node: Apply, i: TensorVariable, dims: ShapeLike) -> Any:
    known = known_value(node.inputs[1], dims)
    if node.op.order != "C" or known is None:
        return NotImplemented
    return list(T.unravel_index(i, tuple(int(n) for n in known)))


@converts("RavelMultiIndex", reads="mode order")
def _ravel(c: Conversion, node: Apply, *operands: TensorVariable) -> Any:
    *places, dims = operands
    lengths = _elements(node.inputs[-1], dims, len(places))
    return cast(T.ravel_multi_index(places, lengths, mode=node.op.mode, order=node.op.order), out_type(node).dtype)


@converts("Unique", reads="return_index return_inverse return_counts axis")
def _unique(c: Conversion, node: Apply, x: TensorVariable) -> Any:
    op = node.op
    asked = {"return_index": op.return_index, "return_inverse": op.return_inverse, "return_counts": op.return_counts}
    made = T.unique(x, **asked, axis=op.axis)
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    return [  # PyTensor's inverse is one row
        T.ravel(m) if m.type.ndim > v.type.ndim else m for m, v in zip(made, node.outputs)
    ]


@converts("PermuteRowElements", reads="inverse")
def _permute(c: Conversion, node: Apply, x: TensorVariable, y: TensorVariable, *_: object) -> Any:
    inverse = node.op.inverse if hasattr(node.op, "inverse") else bool(getattr(node.inputs[2], "data", 1))
    if x.type.ndim != 1 or y.type.ndim != 1 or inverse:
        return NotImplemented
    return x[y]


@converts("Choose", reads="mode")
def _choose(c: Conversion, node: Apply, a: TensorVariable, choices: TensorVariable) -> Any:
    if not isinstance(choices.type, tg.TensorType) or node.op.mode != "raise":
        return NotImplemented
    return T.choose(a, choices)


# ---------------------------------------------------------------------- checks and choices
# PyMC's checks of parameters are errors, minus infinity or nothing, as the conversion was told. The modes learn it from
# the rewritings that PyMC names in its query (`linker.TellWhatChecksBecome`).
@converts("CheckAndRaise", reads="msg exc_type can_be_replaced_by_ninf")
def _check(c: Conversion, node: Apply, x: TensorVariable, *conditions: TensorVariable) -> Any:
    if getattr(node.op, "can_be_replaced_by_ninf", False) and c.checks == "minus infinity":
        for condition in conditions:
            x = T.switch(T.all(condition), x, T.constant(np.array(-np.inf, x.dtype)))
        return x
    if type(node.op).__name__ == "CheckParameterValue" and c.checks == "none":
        return x
    return T.CheckAndRaise(node.op.exc_type, node.op.msg)(x, *conditions)


@converts("IfElse", reads="n_outs")
def _ifelse(c: Conversion, node: Apply, condition: TensorVariable, *sides: TensorVariable) -> Any:
    n = node.op.n_outs
    return tg.ifelse(condition, list(sides[:n]), list(sides[n:]))


@converts("OpFromGraph", reads="fgraph")
def _graph(c: Conversion, node: Apply, *xs: TensorVariable) -> Any:
    return c.inner(node.op.fgraph, xs)
