"""Parts of sparse matrices: rows, columns, single elements; and matrices put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import termgraph.tensor
from termgraph.sparse.parts import Parts, as_index, parts, pointers
from termgraph.sparse.products import expanded
from termgraph.tensor.checks import Assert

if TYPE_CHECKING:
    from termgraph.tensor.likes import DTypeLike, TensorLike
    from termgraph.tensor.variable import TensorVariable, Variable

T: Any = termgraph.tensor

WHOLE = slice(None)


def get_item(s: TensorLike, index: TensorLike) -> Variable:
    """s[i, j]: a number for two integers, else a sparse matrix of the rows and columns named by slices or integers.

    An integer keeps its dimension, with length 1, as SciPy's matrices do. Vectors of integers name any rows or columns.
    """
    index = index if isinstance(index, tuple) else (index,)
    if len(index) > 2 or any(i is None or i is Ellipsis for i in index):
        raise IndexError(f"a sparse matrix is indexed by one or two slices, integers or vectors of them, got {index!r}")
    rows, columns = (*index, WHOLE)[:2]
    p = parts(s)
    if _is_one(rows) and _is_one(columns):
        return _element(p, rows, columns)
    by_axis = {0: rows, 1: columns}
    for axis in (p.major, 1 - p.major):
        chosen = by_axis[axis]
        if not (isinstance(chosen, slice) and chosen == WHOLE):
            p = _taken(p, axis, chosen)
    return p.matrix


def _is_one(i: int) -> bool:
    return not isinstance(i, slice) and T.as_tensor(i).ndim == 0


def _places(i: Any, n: Any) -> Any:
    """The rows that an index names, as a vector."""
    if isinstance(i, slice):
        return T.arange(n)[i]
    i = T.as_tensor(i)
    if i.type.kind not in "iu" or i.ndim > 1:
        raise IndexError(f"the rows and columns of a sparse matrix are named by integers, got {i.type}")
    return T.arange(n)[i.dimshuffle("x") if i.ndim == 0 else i]  # counts from the end, and is checked


def _taken(p: Parts, axis: int, index: Any) -> Parts:
    """Some rows or columns. Those along the compressed dimension are stretches of the arrays."""
    rows = _places(index, p.shape[axis])
    back = p.format
    q = p if axis == p.major else p.switched
    which, where = expanded(rows, q.indptr)
    counts = q.indptr[rows + 1] - q.indptr[rows]
    n, kept = rows.shape[0], q.shape[1 - axis]
    shape = T.stack([n, kept] if axis == 0 else [kept, n])
    return Parts(q.format, q.data[where], q.indices[where], pointers(counts), shape).to(back)


def _element(p: Parts, i: int, j: int) -> TensorVariable:
    """One element: the sum of what is stored in its place."""
    rows, columns = p.places
    here = [T.arange(n)[at] for n, at in ((p.shape[0], i), (p.shape[1], j))]
    there = T.logical_and(T.eq(rows, here[0]), T.eq(columns, here[1]))
    return T.switch(there, p.data, T.zeros((), p.data.type.dtype)).sum(dtype=p.data.type.dtype)


# ---------------------------------------------------------------------- together
def vstack(blocks: Sequence[Any], format: str = "csr", dtype: DTypeLike = None) -> Variable:
    """Matrices with as many columns, one below the other."""
    made = _stacked([parts(b).to("csr") for b in blocks], "vstack", dtype)
    return made.to(format).matrix


def hstack(blocks: Sequence[Any], format: str = "csc", dtype: DTypeLike = None) -> Variable:
    """Matrices with as many rows, side by side."""
    made = _stacked([parts(b).to("csc") for b in blocks], "hstack", dtype)
    return made.to(format).matrix


def _stacked(blocks: list[Parts], name: str, dtype: DTypeLike) -> Parts:
    """One after the other along the compressed dimension."""
    if not blocks:
        raise ValueError(f"sparse.{name} needs at least one matrix")
    first, major = blocks[0], blocks[0].major
    other = 1 - major
    widths = [T.eq(b.shape[other], first.shape[other]) for b in blocks[1:]]
    kept = first.shape[other]
    if widths:
        what = "columns" if major == 0 else "rows"
        kept = Assert(f"sparse.{name}: the matrices must have as many {what}")(kept, *widths)
    n: Any = sum([b.shape[major] for b in blocks[1:]], first.shape[major])
    counts = T.concatenate([b.indptr[1:] - b.indptr[:-1] for b in blocks])
    data = T.concatenate([b.data if dtype is None else T.cast(b.data, dtype) for b in blocks])
    indices = as_index(T.concatenate([b.indices for b in blocks]))
    return Parts(first.format, data, indices, pointers(counts), T.stack([n, kept] if major == 0 else [kept, n]))


__all__ = ["get_item", "hstack", "vstack"]
