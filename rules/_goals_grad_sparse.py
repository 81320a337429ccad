"""Goals of the derivatives of sparse matrices: rows and columns of stored elements, transposes."""

from __future__ import annotations

from termgraph.rules import goal
from termgraph.terms.build import filled_like, length
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import mul
from termgraph.terms.ops.indexing import scatter_add
from termgraph.terms.ops.sparse import csm_majors
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
