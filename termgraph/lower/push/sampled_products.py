"""Sampled products of rows as gathers and sums, so that loops can fuse them."""

from __future__ import annotations

from termgraph.terms.build import in_dtype
from termgraph.terms.ops.elementwise import mul
from termgraph.terms.ops.indexing import gather
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.term import AnyTerm, mk

_AT = gather.bind(index=("a",))


def sample(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
    """`sum(x[i] * y[j], axis=1)`"""
    i, j, x, y = args
    dtype = t.type.dtype
    product = mk(mul, (mk(_AT, (in_dtype(x, dtype), i)), mk(_AT, (in_dtype(y, dtype), j))))
    return product if x.type.ndim == 1 else mk(sum_.bind(axis=(1,), dtype=dtype), (product,))
