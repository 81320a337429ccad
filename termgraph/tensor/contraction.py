"""Contraction of two labelled arrays: the one place where dimensions are arranged for `dot` and `matmul`.

Each dimension has a label. A label of both arrays is a batch dimension if it is kept, else it is summed over.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from termgraph.tensor.lengths import length, product
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.shaping import dimshuffle, reshape, specify_shape
from termgraph.terms.dtypes import promote
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import linalg as ops

if TYPE_CHECKING:
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable

Labels = Sequence[Any]
ROW, COLUMN = "row", "column"  # stand for a side that a batch of vectors does not have


def arrange(x: Any, labels: Labels, wanted: Labels) -> Any:
    """The dimensions of `x` in the wanted order; a label it does not have becomes a dimension of length 1."""
    order = [labels.index(k) if k in labels else "x" for k in wanted]
    return x if order == list(range(x.ndim)) else dimshuffle(x, *order)


def contract(a: TensorLike, la: Labels, b: TensorLike, lb: Labels, keep: Collection[Any]) -> tuple[Any, list]:
    """The product of two labelled arrays, summed over their common labels that are not kept; with its labels.

    Labels of one array only stay (sum over those that are not wanted before calling).
    """
    common = [k for k in la if k in lb]
    batch, summed = [k for k in common if k in keep], [k for k in common if k not in keep]
    left, right = [k for k in la if k not in lb], [k for k in lb if k not in la]
    if not summed:
        labels = [*batch, *left, *right]
        return ew.mul(arrange(a, la, labels), arrange(b, lb, labels)), labels
    b = _agree(a, la, b, lb, summed)
    if batch:
        return _batched(a, la, b, lb, (batch, left, summed, right))
    made = ops.dot(_fused(a, la, [left, summed]), _fused(b, lb, [summed, right]))
    return _unfused(made, [(k, length(a, la.index(k))) for k in left], [(k, length(b, lb.index(k))) for k in right])


def _agree(a: Any, la: Labels, b: Any, lb: Labels, summed: list) -> Any:
    """`b` with the lengths of `a` promised where several dimensions are fused: their product alone says too little."""
    if len(summed) == 1:
        return b
    promised: list[Any] = [None] * b.ndim
    for k in summed:
        n, m = a.type.shape[la.index(k)], b.type.shape[lb.index(k)]
        if n is None or m is None:
            promised[lb.index(k)] = length(a, la.index(k))
    return specify_shape(b, *promised) if any(n is not None for n in promised) else b


def _fused(x: TensorLike, labels: Labels, groups: list[list]) -> TensorVariable:
    """The dimensions in groups, each group made one dimension; an empty group none."""
    x = arrange(x, labels, [k for group in groups for k in group])
    if all(len(group) <= 1 for group in groups):
        return x
    sizes = iter([length(x, d) for d in range(x.ndim)])
    return reshape(x, [product([next(sizes) for _ in group]) for group in groups if group])


def _unfused(x: TensorVariable, *groups: list[tuple]) -> tuple[Any, list]:
    """The last dimensions of a product taken apart again."""
    sizes = [n for group in groups for _, n in group]
    labels = [k for group in groups for k, _ in group]
    return (x if len(sizes) == x.ndim else reshape(x, sizes)), labels


def _batched(a: TensorLike, la: Labels, b: TensorVariable, lb: Labels, groups: tuple) -> tuple[Any, list]:
    batch, left, summed, right = groups
    if not left and not right:
        return _row_products(a, la, b, lb, batch, summed)
    left, right = left or [ROW], right or [COLUMN]  # a missing side has length 1, and is dropped again below
    alone = [[k] for k in batch]
    made = ops.matmul(_fused(a, la, [*alone, left, summed]), _fused(b, lb, [*alone, summed, right]))
    sizes = [(k, _common_length(a, la, b, lb, k)) for k in batch]
    sides = [[(k, _length(v, labels, k)) for k in side] for v, labels, side in ((a, la, left), (b, lb, right))]
    made, labels = _unfused(made, sizes, *sides)
    kept = [k for k in labels if k not in (ROW, COLUMN)]
    return arrange(made, labels, kept), kept


def _length(x: TensorLike, labels: Labels, k: str) -> Any:
    return length(x, labels.index(k)) if k in labels else 1


def _common_length(a: TensorLike, la: Labels, b: TensorVariable, lb: Labels, k: str) -> TensorVariable:
    """The length of a batch dimension, of which one may be 1 and broadcast."""
    n, m = _length(a, la, k), _length(b, lb, k)
    return n if isinstance(n, int) and n != 1 or isinstance(m, int) and m == 1 else m


def _row_products(a: Any, la: Labels, b: TensorVariable, lb: Labels, batch: list, summed: list) -> tuple[Any, list]:
    """Nothing but batch dimensions left: multiply and sum, which fuses better than a matrix product."""
    labels = [*batch, *summed]
    terms = ew.mul(arrange(a, la, labels), arrange(b, lb, labels))
    dtype = promote(a.type.np_dtype, b.type.np_dtype).name
    return sum_over(terms, axis=tuple(range(len(batch), len(labels))), dtype=dtype), list(batch)
