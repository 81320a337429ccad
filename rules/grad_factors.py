"""Derivatives of factors and of equations that are solved by them. Conventions are those of `grad_linalg`."""

from __future__ import annotations

from termgraph.rulelib._formulas_grad_factors import lu_slope, polar_slope
from termgraph.rules import rule, ruleset
from termgraph.rules.parts import transposed
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.derivative import missing, pullback
from termgraph.terms.ops.factors import lu_factor, polar, schur, solve_sylvester
from termgraph.terms.ops.linalg import matmul

SCHUR = missing("Schur factors are not differentiated; eigenvalues are: use T.linalg.eig or eigvals")


@ruleset("grad")
def grad_factors(x, y, q, g, h):
    yield rule("lu_factor",   pullback(lu_factor(x), g, h),
                              (lu_slope(x, nth(lu_factor(x), i=0), nth(lu_factor(x), i=1), g),))
    yield rule("polar",       pullback(polar(x), g, h),
                              (polar_slope(x, nth(polar(x), i=0), nth(polar(x), i=1), g, h),))
    yield rule("schur",       pullback(schur(x), g, h),                 (SCHUR,))
    yield rule("sylvester",   pullback(solve_sylvester(x, y, q), g),
                              (-matmul(solve_sylvester(transposed(x), transposed(y), g),
                                  transposed(solve_sylvester(x, y, q))),
                                  -matmul(transposed(solve_sylvester(x, y, q)),
                                      solve_sylvester(transposed(x), transposed(y), g)),
                                  solve_sylvester(transposed(x), transposed(y), g)))
