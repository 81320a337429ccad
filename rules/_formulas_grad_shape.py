"""Formulas of the derivatives of ops that move elements: where elements came from, and what overwrote them."""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rules import seg
from termgraph.rules.formulas import formula
from termgraph.tensor.lengths import length, length_operands
from termgraph.tensor.lengths import lengths as lengths_of
from termgraph.terms.ops.elementwise import add, cast
from termgraph.terms.ops.indexing import gather, scatter_add, scatter_mul, scatter_set
from termgraph.terms.ops.shaping import alloc_diag, reshape
from termgraph.terms.ops.sorting import argpartition, argsort, unique_all
from termgraph.terms.ops.triangles import unpack_triangle


@formula(gives=seg)
def items(xs, g):
    """The items of g, one for each of xs."""
    return [g[i] for i in range(len(xs))]


@formula(gives=seg)
def pieces(xs, axis, g):
    """The parts of g that came from each of the joined arrays."""
    start, out = 0, []
    for x in xs:
        n = length(x, axis)
        stop = start + n if isinstance(start, int) and isinstance(n, int) else add(start, n) if start != 0 else n
        out.append(g[(*[slice(None)] * axis, slice(start, stop))])
        start = stop
    return out


@formula
def on_diagonal(x, g, offset):
    """Zeros in the shape of x with g on a diagonal."""
    n, row, column = g.shape[-1], max(-offset, 0), max(offset, 0)
    whole = alloc_diag(g, offset=offset)
    whole = whole[..., :n, :] if offset >= 0 else whole[..., :, :n]
    if x.type.shape[-2:] == whole.type.shape[-2:] and None not in x.type.shape[-2:]:
        return whole
    along = T.arange(n)  # as many places as there are, not a square of zeros; a diagonal outside of x is empty
    return T.inc_subtensor(T.zeros_like(x)[..., along + row, along + column], g)


@formula
def in_triangle(x, g, lower, strict):
    """Zeros in the shape of x with g in a triangle."""
    return unpack_triangle(g, x.shape[-1], lower=lower, strict=strict)


@formula
def last_written(x, y, places, index):
    """Where a value of y is what `scatter_set` left in x: of several written to one place the last one counts."""
    shown = gather(x, *places, index=index)
    ids = reshape(T.arange(shown.size), *length_operands(lengths_of(shown)))
    winner = scatter_set(T.zeros_like(x, dtype="int64"), ids, *places, index=index)
    return T.eq(gather(winner, *places, index=index), ids)


@formula
def unsorted(x, g, axis):
    """g with its elements moved from their sorted places to where they were in x."""
    back = argsort(argsort(x, axis=axis), axis=axis)
    return T.take_along_axis(g, back, axis=axis)


def row_numbers(x):
    """Indices of the rows of x, for one more of its elements."""
    return [T.shape_padright(T.arange(length(x, d)), x.ndim - 1 - d) for d in range(x.ndim - 1)]


def sorted_places(x, places):
    """The indices of the elements of x that sorting its rows puts at places."""
    rows = row_numbers(x)
    return (*rows, argsort(x, axis=x.ndim - 1)[(*rows, places)])


@formula
def at_sorted_places(x, places, g):
    """g at the elements of x that sorting its rows puts at places, zeros elsewhere."""
    return T.inc_subtensor(T.zeros_like(x)[sorted_places(x, places)], g)


@formula
def at_partitioned_places(x, places, g):
    """g with the elements of a partition of x moved to where they were in x."""
    return T.inc_subtensor(T.zeros_like(x)[(*row_numbers(x), argpartition(x, places))], g)


@formula
def at_first_places(x, g, axis, equal_nan):
    """g where in x each distinct element or slice is first, zeros elsewhere."""
    place, nothing = unique_all(x, axis=axis, equal_nan=equal_nan)[1], T.zeros_like(x)
    if axis is None:
        return T.set_subtensor(T.ravel(nothing)[place], g).reshape(x.shape)
    return T.set_subtensor(nothing[(slice(None),) * axis + (place,)], g)


@formula
def steps(g):
    """0, 1, 2, ... as far as g goes, in its dtype."""
    return cast(T.arange(length(g, 0)), dtype=g.dtype)


@formula(gives=seg)
def extreme_shares(x, y, found, g, places, index):
    """The gradients of both operands of `scatter_max` (or `scatter_min`): all that is largest has an equal share."""
    in_y = T.eq(y, gather(found, *places, index=index))
    hits = T.cast(T.eq(x, found), g.dtype)
    share = g / scatter_add(hits, T.cast(in_y, g.dtype), *places, index=index)
    return [T.switch(T.eq(x, found), share, 0), T.switch(in_y, gather(share, *places, index=index), 0)]


@formula(gives=seg)
def factor_shares(x, y, g, places, index):
    """The gradients of both operands of `scatter_mul`: the product of the others, right also where one of them is 0."""
    x_zero, y_zero = T.eq(x, 0), T.eq(y, 0)
    of_x, others = T.switch(x_zero, 1, x), T.switch(y_zero, 1, y)
    rest = scatter_mul(of_x, others, *places, index=index)
    zeros = scatter_add(T.cast(x_zero, "int64"), T.cast(y_zero, "int64"), *places, index=index)
    by_x = T.switch(T.eq(zeros, T.cast(x_zero, "int64")), rest / of_x, 0)
    by_y = T.switch(T.eq(gather(zeros, *places, index=index), T.cast(y_zero, "int64")), 1, 0)
    return [g * by_x, gather(g * rest, *places, index=index) / others * by_y]
