"""Formulas of the derivatives of LU and polar factors."""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rulelib._formulas_grad_linalg import mH, mT
from termgraph.rules.formulas import formula
from termgraph.terms.ops.derivative import missing
from termgraph.terms.ops.factors import pivots_to_order, solve_sylvester
from termgraph.terms.ops.linalg import solve_triangular


@formula
def lu_slope(a, lu, pivots, g):
    """The gradient of a square matrix from that of its factors in one matrix; rows go back to where they were.

    Where lengths are not known, others fail in the call, at the first sum.
    """
    n, m = a.type.shape[-2:]
    if n is not None and m is not None and n != m:
        return missing(f"lu is differentiated for square matrices, not for {n} by {m}")
    inner = T.tril(T.matmul(mT(T.tril(lu, -1) + T.eye(lu.shape[-1], dtype=lu.dtype)), T.tril(g, -1)), -1)
    inner = inner + T.triu(T.matmul(T.triu(g), mT(T.triu(lu))))
    left = solve_triangular(lu, inner, lower=True, trans="T", unit_diagonal=True)
    found = mT(solve_triangular(lu, mT(left), lower=False))
    back = T.inverse_permutation(pivots_to_order(pivots))
    return T.take_along_axis(found, T.broadcast_to(T.expand_dims(back, -1), T.shape(found)), -2)


@formula
def polar_slope(a, u, p, gu, gp):
    """The gradient of a matrix with no fewer rows than columns from those of its two factors."""
    n, m = a.type.shape[-2:]
    if n is None or m is None or n < m:
        return missing(
            "polar is differentiated where a matrix is known to have no fewer rows than columns (no more for "
            "side='left'); use T.specify_shape"
        )
    gu, gp = [T.conj(g) if g.type.kind == "c" else g for g in (gu, gp)]
    turn = solve_sylvester(p, p, T.matmul(mH(u), gu) - T.matmul(gp, p))
    found = T.matmul(u, gp + turn - mH(turn))
    if n > m:  # what turns the columns of u out of the space that they span
        found = found + mH(T.linalg.solve(p, mH(gu - T.matmul(u, T.matmul(mH(u), gu)))))
    return T.conj(found)
