"""Goals of the derivatives of sparse matrices: rows and columns of stored elements, transposes, sums and products."""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rules import goal
from termgraph.tensor.lifting import handle
from termgraph.tensor.stretches import expanded
from termgraph.terms.build import filled_like, length
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import mul
from termgraph.terms.ops.indexing import scatter_add
from termgraph.terms.ops.sparse import SPARE, csm_majors, csm_merged, csm_sorted
from termgraph.terms.sparse import INDEX
from termgraph.terms.term import mk, mk1, mk2


@goal("iiioo")
def places(indices, indptr, format):
    """Row and column of each stored element."""
    majors = mk2(csm_majors, indices, indptr)
    return (majors, indices) if format == "csr" else (indices, majors)


@goal("iioo")
def turned(x, format):
    """How many rows the transpose has, and the format that reads the same arrays as the transpose."""
    return length(x, 0), "csc" if format == "csr" else "csr"


@goal("iiiio")
def spread_back(x, i, g, y):
    """What the cotangents g of products with the rows y add to the rows i of x."""
    g = mk1(dimshuffle.bind(order=(0, "x")), g) if x.type.ndim == 2 else g
    return mk(scatter_add.bind(index=("a",)), (filled_like(x, 0), mk2(mul, g, y), i))


@goal("iiiio")
def ordered_back(i, p, n, g):
    """What the cotangents g of elements in order contribute to them as they were."""
    order, _ = csm_sorted(*map(handle, (i, p, n)))
    return T.set_subtensor(T.zeros_like(handle(g))[order], handle(g)).term


@goal("iio")
def kept_back(mask, g):
    """What the cotangents g of elements that stay contribute to all of them."""
    mask, g = handle(mask), handle(g)
    places = T.maximum(T.cumsum(T.cast(mask, "int64")) - 1, 0)
    return T.switch(mask, g[places], T.zeros((), g.dtype)).term


@goal("iiiiiiiiioo")
def joined_back(d, i, p, e, j, q, n, g, both):
    """What the cotangents g of a sum or a product contribute to the elements d and e of the matrices."""
    d, e, g, *pattern = map(handle, (d, e, g, i, p, j, q, n))
    places = csm_merged(*pattern, both=both)[:2]
    if not both:
        return tuple([g[at].term for at in places])
    room = T.zeros((g.shape[0] + SPARE,), g.dtype)
    sums = [T.inc_subtensor(room[at], x) for at, x in zip(places, (d, e))]
    weight = T.concatenate([room[:SPARE], g])
    return tuple([T.switch(T.ge(at, SPARE), (weight * s)[at], 0).term for at, s in zip(places, sums[::-1])])


@goal("iiiiiiiioo")
def multiplied_back(d, i, p, e, j, q, n, g):
    """What the cotangents g of a matrix product contribute to the elements d and e of the matrices."""
    d, i, p, e, j, q, g = map(handle, (d, i, p, e, j, q, g))
    one, two, begins = expanded(i, q)
    nothing = T.zeros((0,), INDEX), T.zeros_like(p)
    at, *_ = csm_merged(j[two], T.cast(begins[p], INDEX), *nothing, handle(n))
    back = g[at]
    parts = ((d, one, e[two]), (e, two, d[one]))
    return tuple([T.inc_subtensor(T.zeros_like(x)[places], back * y).term for x, places, y in parts])
