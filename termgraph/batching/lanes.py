"""Terms with one more dimension in front, the lanes: small constructors.

A value is *lifted* if it has that dimension: lane i is what the term would be for the i-th example.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from termgraph.terms.errors import GraphError
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.shaping import alloc, arange, shape_i
from termgraph.terms.term import AnyTerm, Const, mk, mk1
from termgraph.terms.text import one_line


class Lifted:
    """One operand or result: the term, and whether it has the lanes in front."""

    __slots__ = ("lifted", "term")

    def __init__(self, term: Any, lifted: bool) -> None:
        self.term, self.lifted = term, lifted

    @property
    def ndim(self) -> int:
        """How many dimensions a lane has."""
        return self.term.type.ndim - self.lifted


def count(n: int) -> Const:
    """A length as a constant."""
    return Const(np.asarray(n, dtype="int64"))


def length(x: Any, axis: int) -> Any:
    """The length of a dimension: a constant if the type knows it."""
    n = x.type.shape[axis]
    return mk1(shape_i.bind(axis=axis), x) if n is None else count(n)


def reorder(x: Any, order: Sequence[Any]) -> AnyTerm:
    """`dimshuffle`, unless nothing changes."""
    order = tuple(order)
    return x if order == tuple(range(x.type.ndim)) else mk1(dimshuffle.bind(order=order), x)


def aligned(v: Lifted, ndim: int) -> AnyTerm:
    """The term, so that its lanes broadcast with those of operands whose lanes have `ndim` dimensions."""
    if not v.lifted:
        return v.term
    return reorder(v.term, (0, *["x"] * (ndim - v.ndim), *range(1, v.ndim + 1)))


def spread(v: Lifted, n: Any) -> AnyTerm:
    """The lifted term: what is the same for all lanes, once for each."""
    x = v.term
    return x if v.lifted else mk(alloc, (x, n, *[length(x, d) for d in range(x.type.ndim)]))


def numbered(n: AnyTerm, ndim: int) -> AnyTerm:
    """The numbers of the lanes, with `ndim` dimensions of length 1 behind."""
    return reorder(mk(arange.bind(dtype="int64"), (count(0), n, count(1))), (0, *["x"] * ndim))


def to_front(x: Any, axis: int) -> Any:
    """The dimension `axis` first."""
    return reorder(x, (axis, *[d for d in range(x.type.ndim) if d != axis]))


class OwnLength(GraphError):
    """A term whose length depends on the example: results of that kind would not fit one array."""


def own_length(t: AnyTerm, why: str) -> NoReturn:
    """What has no place in an array for all examples; what is made of it may have one."""
    raise OwnLength(f"vmap: {one_line(t, 120)}: {why}")


def refuse(t: AnyTerm, why: str) -> NoReturn:
    """What cannot be done for many examples at once."""
    raise GraphError(f"vmap: {one_line(t, 120)}: {why}")
