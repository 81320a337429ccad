"""Formulas of the derivatives of reductions: ties, products with zeros, running sums and products."""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rules.formulas import formula


@formula
def hits(x, m, order):
    """1 where x is its maximum (or minimum) m, else 0."""
    return T.cast(T.eq(x, m.dimshuffle(*order)), x.dtype)


@formula
def factors_without(x, axis):
    """For every element the product of the others along axes, right also where elements are 0."""
    is_zero = T.eq(x, 0)
    zeros = is_zero.sum(axis=axis, keepdims=True)
    others = T.switch(is_zero, 1, x)
    rest = others.prod(axis=axis, keepdims=True, dtype=x.dtype) / others
    small = T.switch(is_zero, x, 0).sum(axis=axis, keepdims=True, dtype=x.dtype)  # 0, but its derivative is not
    with_one = T.switch(is_zero, 1, small)
    more = T.switch(T.eq(zeros, 2), T.switch(is_zero, small - x, 0), 0)
    return rest * T.switch(T.eq(zeros, 0), 1, T.switch(T.eq(zeros, 1), with_one, more))


@formula
def summed_from_the_end(g, axis):
    """Running sums from the last element to the first."""
    return T.flip(T.cumsum(T.flip(g, axis), axis), axis)


@formula
def summed_at_records(y, g, axis):
    """The pullback of the largest (or least) so far: each element goes where that value stood first."""
    grid = [T.arange(y.shape[d]).dimshuffle(*[0 if k == d else "x" for k in range(y.ndim)]) for d in range(y.ndim)]
    before = T.take(y, T.maximum(T.arange(y.shape[axis]) - 1, 0), axis)
    same = T.bitwise_or(T.eq(y, before), T.isnan(before))
    grid[axis] = T.cummax(T.switch(same, 0, grid[axis]), axis)
    return T.inc_subtensor(T.zeros_like(g)[tuple(grid)], g)


@formula
def running_factors(x, g, axis):
    """The pullback of running products; elements may be 0: of two or more zeros, all but one count as constants."""
    is_zero = T.eq(x, 0)
    others = T.switch(is_zero, 1, x)
    products = g * T.cumprod(others, axis)
    zeros = T.cumsum(T.cast(is_zero, "int64"), axis)
    small = T.cumsum(T.switch(is_zero, x, 0), axis)  # 0, but its derivative is not

    def over(number, factor=1):
        return T.switch(T.eq(zeros, number), products * factor, 0)

    usual = summed_from_the_end(over(0) + over(1, small), axis)
    at_zero = summed_from_the_end(over(1) + over(2, small), axis) - x * summed_from_the_end(over(2), axis)
    return T.switch(is_zero, at_zero, usual) / others
