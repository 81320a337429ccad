"""Formulas of the derivatives of sparse matrices: rows and columns of stored elements, sums and products."""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rules.formulas import formula
from termgraph.tensor.stretches import expanded
from termgraph.terms.ops.indexing import gather, scatter_add
from termgraph.terms.ops.sparse import SPARE, csm_majors, csm_merged, csm_sorted, csm_switch
from termgraph.terms.sparse import INDEX


@formula
def rows_of(indices, indptr, format):
    """The row of each stored element."""
    return csm_majors(indices, indptr) if format == "csr" else indices


@formula
def columns_of(indices, indptr, format):
    """The column of each stored element."""
    return indices if format == "csr" else csm_majors(indices, indptr)


@formula
def spread_back(x, i, g, y):
    """What the cotangents g of products with the rows y add to the rows i of x."""
    g = g.dimshuffle(0, "x") if x.ndim == 2 else g
    return scatter_add(T.zeros_like(x), g * y, i, index=("a",))


@formula
def ordered_back(i, p, n, g):
    """What the cotangents g of elements in order contribute to them as they were."""
    order, _ = csm_sorted(i, p, n)
    return T.set_subtensor(T.zeros_like(g)[order], g)


@formula
def switched_back(i, p, n, g):
    """What the cotangents g of elements in the other format contribute to them as they were."""
    order, *_ = csm_switch(i, p, n)
    return T.set_subtensor(T.zeros_like(g)[order], g)


@formula
def kept_back(mask, g):
    """What the cotangents g of elements that stay contribute to all of them."""
    places = T.maximum(T.cumsum(T.cast(mask, "int64")) - 1, 0)
    return T.switch(mask, g[places], T.zeros((), g.dtype))


@formula
def beside_back(k, i, p, j, q, g):
    """What the cotangents g of two matrices side by side are for the elements of matrix `k`."""
    indices, ends, before = ((i, p, q[:-1]), (j, q, p[1:]))[k]
    return g[T.arange(indices.shape[0]) + before[csm_majors(indices, ends)]]


@formula
def dense_back(i, p, g, format):
    """What the cotangents g of all elements contribute to the stored ones."""
    return gather(g, rows_of(i, p, format), columns_of(i, p, format), index=("a", "a"))


@formula
def diagonal_back(i, p, n, g):
    """What the cotangents g of the n elements of a diagonal contribute to the stored ones."""
    rows = csm_majors(i, p)
    there = T.eq(rows, i) & T.lt(i, n)
    padded = T.concatenate([g, T.zeros((1,), g.dtype)])
    return padded[T.switch(there, i, -1)]


@formula
def joined_back(k, d, i, p, e, j, q, n, g, both):
    """What cotangents g of a sum or product contribute to the elements of matrix `k`: d are those of 0, e of 1."""
    places = csm_merged(i, p, j, q, n, both=both)[:2]
    if not both:
        return g[places[k]]
    room = T.zeros((g.shape[0] + SPARE,), g.dtype)
    others = T.inc_subtensor(room[places[1 - k]], (e, d)[k])
    weight = T.concatenate([room[:SPARE], g])
    return T.switch(T.ge(places[k], SPARE), (weight * others)[places[k]], 0)


@formula
def multiplied_back(k, d, i, p, e, j, q, n, g):
    """What the cotangents g of a matrix product contribute to the elements of matrix `k`: d are those of 0, e of 1."""
    one, two, begins = expanded(i, q)
    nothing = T.zeros((0,), INDEX), T.zeros_like(p)
    at, *_ = csm_merged(j[two], T.cast(begins[p], INDEX), *nothing, n)
    back = g[at]
    x, places, y = ((d, one, e[two]), (e, two, d[one]))[k]
    return T.inc_subtensor(T.zeros_like(x)[places], back * y)
