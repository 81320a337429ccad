"""Formulas of the derivatives of systems whose matrix has a structure."""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rules.formulas import formula
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.structured import cyclic, points_for
from termgraph.terms.ops.derivative import missing
from termgraph.terms.ops.structured import solve_toeplitz


def in_bands(left, right, lower, upper):
    """The bands of the product left @ right^T, made without the rest of it."""
    before, after = [T.zeros((*lengths(left)[:-2], k, length(left, -1)), left.dtype) for k in (upper, lower)]
    rows = T.concatenate([before, left, after], -2)
    place = T.expand_dims(T.arange(lower + upper + 1), 1) + T.arange(length(left, -2))
    return T.sum(rows[..., place, :] * T.expand_dims(right, -3), axis=-1)


@formula
def bands_slope(x, gb, lower, upper, trans):
    """The gradient of the bands of a matrix, from the solution and the gradient of the right sides."""
    return -in_bands(gb, x, lower, upper) if trans == "N" else -in_bands(x, gb, lower, upper)


@formula
def hermitian_slope(ab, x, gb, lower):
    """The same of one triangle of a Hermitian matrix: each number stands in the other one, too, and is conjugated."""
    bands = length(ab, -2)
    below, above = (bands - 1, 0) if lower else (0, bands - 1)
    there, back = in_bands(gb, x, below, above), in_bands(x, gb, below, above)
    main = T.eq(T.arange(bands), 0 if lower else bands - 1)[:, None]
    return -T.switch(main, T.real(there), there + (T.conj(back) if ab.type.kind == "c" else back))


@formula
def turned_toeplitz(c, r, g, on_error):
    """The solution of the transposed system: what was the first column is the first row."""
    if c.ndim != r.ndim:
        return missing("solve_toeplitz is differentiated where the first column and row have as many dimensions")
    return solve_toeplitz(T.concatenate([c[..., :1], r[..., 1:]], -1), c, g, on_error=on_error)


@formula
def diagonals_slope(x, gb, above):
    """The gradient of the first column, or of what is `above` it in the first row, of a Toeplitz matrix."""
    n = length(x, -2)
    sums = T.sum(cyclic(gb, T.flip(x, -2), points_for(2 * n), -2), axis=-1)  # along diagonals, from above
    if not above:
        return -sums[..., n - 1 : 2 * n - 1]
    return -T.switch(T.eq(T.arange(n), 0), 0, T.flip(sums[..., :n], -1))
