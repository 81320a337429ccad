"""Parts of sparse matrices: rows, columns, single elements; and matrices put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import termgraph.tensor
from termgraph.sparse.basic import kept
from termgraph.sparse.parts import Parts, as_index, parts
from termgraph.tensor.checks import Assert
from termgraph.tensor.likes import DTypeLike, TensorLike
from termgraph.tensor.stretches import expanded
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.terms.dtypes import promote
from termgraph.terms.ops import sparse as ops

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


def _places(i: TensorVariable, n: TensorVariable) -> Any:
    """The rows that an index names, as a vector."""
    if isinstance(i, slice):
        return T.arange(n)[i]
    i = T.as_tensor(i)
    if i.type.kind not in "iu" or i.ndim > 1:
        raise IndexError(f"the rows and columns of a sparse matrix are named by integers, got {i.type}")
    return T.arange(n)[i.dimshuffle("x") if i.ndim == 0 else i]  # counts from the end, and is checked


def _taken(p: Parts, axis: int, index: TensorVariable) -> Parts:
    """Some rows or columns. Those along the compressed dimension are stretches of the arrays."""
    if isinstance(index, slice) and index.step in (None, 1):
        return _stretch(p, axis, index)
    rows = _places(index, p.shape[axis])
    back = p.format
    q = p if axis == p.major else p.switched
    which, where, begins = expanded(rows, q.indptr)
    shape = _shape_with(p, axis, rows.shape[0])
    return Parts(q.format, q.data[where], q.indices[where], as_index(begins), shape).to(back)


def _stretch(p: Parts, axis: int, index: slice) -> Parts:
    """The rows or columns of a slice of step 1, in the format of the matrix."""
    n = p.shape[axis]
    first = _bound(index.start, n, 0)
    end = T.maximum(_bound(index.stop, n, n), first)
    shape = _shape_with(p, axis, end - first)
    if axis == p.major:
        indptr = p.indptr[first : end + 1]
        stored = slice(indptr[0], indptr[-1])
        return Parts(p.format, p.data[stored], p.indices[stored], indptr - indptr[0], shape)
    inside = T.logical_and(p.indices >= first, p.indices < end)
    q = kept(p, inside)
    return q._replace(indices=as_index(q.indices - first), shape=shape)


def _bound(i: Any, n: Any, missing: Any) -> Any:
    """Where a slice begins or ends, as a number from 0 to n."""
    if i is None:
        return T.as_tensor(missing)
    i = T.as_tensor(i)
    return T.cast(T.clip(T.switch(i < 0, i + n, i), 0, n), "int64")


def _shape_with(p: Parts, axis: int, n: Any) -> Any:
    return T.stack([n, p.shape[1]] if axis == 0 else [p.shape[0], n])


def _element(p: Parts, i: int, j: int) -> TensorVariable:
    """One element: the sum of what is stored in its place."""
    rows, columns = p.places
    here = [T.arange(n)[at] for n, at in ((p.shape[0], i), (p.shape[1], j))]
    there = T.logical_and(T.eq(rows, here[0]), T.eq(columns, here[1]))
    return T.switch(there, p.data, T.zeros((), p.data.type.dtype)).sum(dtype=p.data.type.dtype)


# ---------------------------------------------------------------------- together
def vstack(blocks: Sequence[Any], format: str = "csr", dtype: DTypeLike = None) -> Variable:
    """Matrices with as many columns, one below the other."""
    return _together([parts(b) for b in blocks], "csr", format, "vstack", dtype).matrix


def hstack(blocks: Sequence[Any], format: str = "csc", dtype: DTypeLike = None) -> Variable:
    """Matrices with as many rows, side by side."""
    return _together([parts(b) for b in blocks], "csc", format, "hstack", dtype).matrix


def _together(blocks: list[Parts], along: str, format: str, name: str, dtype: DTypeLike) -> Parts:
    """Matrices joined along the dimension that the format `along` compresses."""
    if not blocks:
        raise ValueError(f"sparse.{name} needs at least one matrix")
    if format != along and all(b.format == format for b in blocks):
        return _interleaved(blocks, name, dtype)
    return _stacked([b.to(along) for b in blocks], name, dtype).to(format)


def _interleaved(blocks: list[Parts], name: str, dtype: DTypeLike) -> Parts:
    """Row after row (CSC: column), of each block in turn: no element changes its format on the way."""
    first, major = blocks[0], blocks[0].major
    ends = [_as_many(blocks, major, name)(b.indptr) for b in blocks]
    dtype = promote(*[b.data.type.np_dtype for b in blocks]).name if dtype is None else dtype
    data, indices, indptr, width = T.cast(first.data, dtype), first.indices, ends[0], first.minor
    for b, others in zip(blocks[1:], ends[1:]):
        more = T.cast(b.data, dtype)
        data, indices = ops.csm_beside(data, indices, indptr, more, b.indices, others, width)
        indptr, width = as_index(indptr + others), width + b.minor
    shape = T.stack([first.shape[0], width] if major == 0 else [width, first.shape[1]])
    return Parts(first.format, data, indices, indptr, shape)


def _as_many(blocks: list[Parts], axis: int, name: str) -> Callable[[Any], Any]:
    """A check that the matrices have the same length along an axis."""
    same = [T.eq(b.shape[axis], blocks[0].shape[axis]) for b in blocks[1:]]
    check = Assert(f"sparse.{name}: the matrices must have as many {('rows', 'columns')[axis]}")
    return lambda value: check(value, *same) if same else value


def _stacked(blocks: list[Parts], name: str, dtype: DTypeLike) -> Parts:
    """One after the other along the compressed dimension."""
    first, major = blocks[0], blocks[0].major
    width = _as_many(blocks, 1 - major, name)(first.shape[1 - major])
    n: Any = sum([b.shape[major] for b in blocks[1:]], first.shape[major])
    before: Any = 0
    pointers = [first.indptr]
    for one, b in pairwise(blocks):
        before = before + one.data.shape[0]
        pointers.append(as_index(b.indptr[1:] + before))
    data = T.concatenate([b.data if dtype is None else T.cast(b.data, dtype) for b in blocks])
    indices = as_index(T.concatenate([b.indices for b in blocks]))
    shape = T.stack([n, width] if major == 0 else [width, n])
    return Parts(first.format, data, indices, T.concatenate(pointers), shape)


__all__ = ["get_item", "hstack", "vstack"]
