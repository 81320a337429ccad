"""Equations instead of inverses, and what is known of matrices with structure: diagonal, triangular, orthogonal,
positive definite, products of Kronecker. How structure passes through the operators is in `_facts_matrices`."""

from termgraph.rules import (
    Float, Matrix, Vector, diagonal, lower_triangular, nonzero, orthogonal, param, positive, positive_definite, rule,
    ruleset, seg, symmetric, upper_triangular,
)
from termgraph.rules.constant_guards import Unit
from termgraph.rules.parts import length
from termgraph.rules.shape_facts import square
from termgraph.terms.ops.basic import dimshuffle, nth
from termgraph.terms.ops.elementwise import abs_, exp, log, sign, sqr, sqrt
from termgraph.terms.ops.linalg import (
    cholesky, det, dot, eigvalsh, expm, inv, matmul, pinv, qr, slogdet, solve, solve_triangular, svdvals,
)
from termgraph.terms.ops.reduce import prod, sum_
from termgraph.terms.ops.shaping import alloc_diag, eye, reshape
from termgraph.terms.ops.shaping import diagonal as diagonal_

T = (1, 0)


@ruleset("canonicalize")
def undone(x: Float & Matrix, y: Float & Matrix):
    yield rule("right",           dot(dot(y, x), inv(x)),       y,              assumes=["finite", "reassoc", "domain"])
    yield rule("left",            dot(dot(y, inv(x)), x),       y,              assumes=["finite", "reassoc", "domain"])
    yield rule("signs",           dot(-x, -y),                  dot(x, y))
    yield rule("sign",            inv(-x),                      -inv(x),        assumes=["finite"])


@ruleset("specialize")
def solving(x: Float & Matrix, y: Float & Matrix, v: Float & Vector, a: Float, b: Float, e: Unit, n, d: param):
    yield rule("left_inverse",    dot(inv(x), x),                 eye(length(x, 0), length(x, 0), 0, dtype=x.dtype),
                                  assumes=["finite", "reassoc", "domain"])
    yield rule("right_inverse",   dot(x, inv(x)),                 eye(length(x, 0), length(x, 0), 0, dtype=x.dtype),
                                  assumes=["finite", "reassoc", "domain"])

    # solve instead of inv: half the work, and more digits
    yield rule("inv_dot",         dot(inv(x), y),                                               solve(x, y),
                                  assumes=["finite", "reassoc"])
    yield rule("dot_inv",         dot(y, inv(x)),
                                  dimshuffle(solve(dimshuffle(x, order=T), dimshuffle(y, order=T)), order=T),
                                  assumes=["finite", "reassoc"])
    yield rule("inv_vector",      dot(inv(x), v),
                                  dimshuffle(solve(x, dimshuffle(v, order=(0, "x"))), order=(0,)),
                                  assumes=["finite", "reassoc"])
    yield rule("vector_inv",      dot(v, inv(x)),
                                  dimshuffle(solve(dimshuffle(x, order=T), dimshuffle(v, order=(0, "x"))), order=(0,)),
                                  assumes=["finite", "reassoc"])
    yield rule("inv_matmul",      matmul(inv(a), b),                                            solve(a, b),
                                  assumes=["finite", "reassoc"])

    # what is known of the matrix
    yield rule("unit_right",      solve(x, e),                                                  inv(x),
                                  assumes=["finite", "reassoc"])
    yield rule("unit",            solve(e, y),                                                  y,
                                  assumes=["finite", "signed_zero"])
    yield rule("alloc_diag",      solve(alloc_diag(v[nonzero]), y), y / dimshuffle(v, order=(0, "x")),
                                  assumes=["finite", "reassoc"])
    yield rule("inverse",         solve(inv(x), y),                                             dot(x, y),
                                  assumes=["finite", "reassoc", "domain"])
    yield rule("product",         solve(x, dot(x, y)),                                          y,
                                  assumes=["finite", "reassoc", "domain"])
    yield rule("undone",          dot(x, solve(x, y)),                                          y,
                                  assumes=["finite", "reassoc", "domain"])
    yield rule("cholesky",        solve(dot(x[lower_triangular, square], dimshuffle(x, order=T)), y),
                                  solve_triangular(x, solve_triangular(x, y, lower=True), lower=True, trans="T"),
                                  assumes=["finite", "reassoc"])
    yield rule("orthogonal",      solve(x[orthogonal], y), dot(dimshuffle(x, order=T), y),
                                  assumes=["finite", "reassoc"])
    yield rule("diagonal",        solve(x[diagonal], y), y / dimshuffle(diagonal_(x), order=(0, "x")),
                                  nonzero(diagonal_(x)), assumes=["finite", "reassoc"])
    yield rule("lower",           solve(x[lower_triangular], y), solve_triangular(x, y, lower=True),
                                  assumes=["finite", "reassoc"])
    yield rule("upper",           solve(x[upper_triangular], y), solve_triangular(x, y, lower=False),
                                  assumes=["finite", "reassoc"])
    yield rule("positive",        solve(x[positive_definite], y), solve(x, y, assume_a="pos"),
                                  assumes=["finite", "reassoc"])
    yield rule("lower_transposed", solve_triangular(dimshuffle(x, order=T), y, lower=True),
                                   solve_triangular(x, y, lower=False, trans="T"))
    yield rule("upper_transposed", solve_triangular(dimshuffle(x, order=T), y, lower=False),
                                   solve_triangular(x, y, lower=True, trans="T"))


@ruleset("specialize")
def matrix_inverses(x: Float & Matrix, y: Float & Matrix, v: Float & Vector, a: Float, e: Unit, xs: seg):
    yield rule("twice",           inv(inv(a)),                                                  a,
                                  assumes=["finite", "reassoc", "domain"])
    yield rule("unit",            inv(e),                                                       e)
    yield rule("alloc_diag",      inv(alloc_diag(v[nonzero])),                                  alloc_diag(1 / v),
                                  assumes=["finite", "reassoc"])
    yield rule("orthogonal",      inv(x[orthogonal]),                                           dimshuffle(x, order=T),
                                  assumes=["finite", "reassoc"])
    yield rule("pinv_orthogonal", pinv(x[orthogonal]),                                          dimshuffle(x, order=T),
                                  assumes=["finite", "reassoc"])
    yield rule("diagonal",        inv(x[diagonal]), alloc_diag(1 / diagonal_(x)), nonzero(diagonal_(x)),
                                  assumes=["finite", "reassoc"])
    yield rule("expm",            inv(expm(x)),                                                 expm(-x),
                                  assumes=["finite", "nonzero", "reassoc"])
    yield rule("kron", inv(reshape(dimshuffle(x[square], order=(0, "x", 1, "x"))
                                   * dimshuffle(y[square], order=(0, "x", 1)), *xs)),
                       reshape(dimshuffle(inv(x), order=(0, "x", 1, "x")) * dimshuffle(inv(y), order=(0, "x", 1)), *xs),
                       assumes=["finite", "reassoc"])


@ruleset("stabilize")
def log_determinants(a: Float):
    yield rule("log_abs",         log(abs_(det(a))),                                            nth(slogdet(a), i=1))
    yield rule("log",             log(det(a)),                                                  nth(slogdet(a), i=1),
                                  assumes=["domain"])
    yield rule("sign",            sign(det(a)),                                                 nth(slogdet(a), i=0),
                                  assumes=["finite", "reassoc"])


@ruleset("specialize")
def determinants(x: Float & Matrix, y: Float & Matrix, v: Float & Vector, e: Unit, d: param):
    yield rule("transposed",      det(dimshuffle(x, order=T)),                                  det(x),
                                  assumes=["finite", "reassoc"])
    yield rule("unit",            det(e),                                                       1)
    yield rule("inverse",         det(inv(x)),                                                  1 / det(x),
                                  assumes=["finite", "reassoc"])
    yield rule("expm",            det(expm(x)),
                                  exp(sum_(diagonal_(x), axis=(0,), dtype=x.dtype)),
                                  assumes=["finite", "reassoc"])
    yield rule("alloc_diag",      det(alloc_diag(v)),
                                  prod(v, axis=(0,), dtype=v.dtype),
                                  assumes=["finite", "reassoc"])
    yield rule("product",         det(dot(x[square], y[square])),                               det(x) * det(y),
                                  assumes=["finite", "reassoc"])
    yield rule("lower",           det(x[lower_triangular]), prod(diagonal_(x), axis=(0,), dtype=x.dtype),
                                  assumes=["finite", "reassoc"])
    yield rule("upper",           det(x[upper_triangular]), prod(diagonal_(x), axis=(0,), dtype=x.dtype),
                                  assumes=["finite", "reassoc"])

    yield rule("log_transposed",  nth(slogdet(dimshuffle(x, order=T)), i=1),                    nth(slogdet(x), i=1),
                                  assumes=["finite", "reassoc"])
    yield rule("log_inverse",     nth(slogdet(inv(x)), i=1),                                    -nth(slogdet(x), i=1),
                                  assumes=["finite", "reassoc"])
    yield rule("log_product",     nth(slogdet(dot(x[square], y[square])), i=1),
                                  nth(slogdet(x), i=1) + nth(slogdet(y), i=1), assumes=["finite", "reassoc"])
    yield rule("log_diag",        nth(slogdet(alloc_diag(v)), i=1),
                                  sum_(log(abs_(v)), axis=(0,), dtype=v.dtype),
                                  assumes=["finite", "reassoc"])
    yield rule("sign_diag",       nth(slogdet(alloc_diag(v)), i=0),
                                  prod(sign(v), axis=(0,), dtype=v.dtype),
                                  assumes=["finite", "signed_zero"])
    yield rule("log_lower",       nth(slogdet(x[lower_triangular]), i=1),
                                  sum_(log(abs_(diagonal_(x))), axis=(0,), dtype=x.dtype),
                                  assumes=["finite", "reassoc"])
    yield rule("log_upper",       nth(slogdet(x[upper_triangular]), i=1),
                                  sum_(log(abs_(diagonal_(x))), axis=(0,), dtype=x.dtype),
                                  assumes=["finite", "reassoc"])
    yield rule("sign_lower",      nth(slogdet(x[lower_triangular]), i=0),
                                  prod(sign(diagonal_(x)), axis=(0,), dtype=x.dtype), assumes=["finite", "reassoc"])
    yield rule("sign_upper",      nth(slogdet(x[upper_triangular]), i=0),
                                  prod(sign(diagonal_(x)), axis=(0,), dtype=x.dtype), assumes=["finite", "signed_zero"])
    yield rule("log_positive",    nth(slogdet(x[positive_definite]), i=1),
                                  2 * sum_(log(diagonal_(cholesky(x))), axis=(0,), dtype=x.dtype),
                                  assumes=["finite", "reassoc"])
    yield rule("sign_positive",   nth(slogdet(x[positive_definite]), i=0),                      1)


@ruleset("specialize")
def factorizations(x: Float & Matrix, v: Float & Vector, e: Unit, d: param):
    yield rule("cholesky_unit",   cholesky(e),                                                  e)
    yield rule("cholesky_diag",   cholesky(alloc_diag(v[positive])),                            alloc_diag(sqrt(v)),
                                  assumes=["finite"])
    yield rule("cholesky",        dot(cholesky(x[symmetric]), dimshuffle(cholesky(x), order=T)), x,
                                  assumes=["finite", "reassoc", "domain"])
    yield rule("qr",              dot(nth(qr(x), i=0), nth(qr(x), i=1)),                        x,
                                  assumes=["finite", "reassoc"])
    yield rule("expm_diag",       expm(alloc_diag(v)),                                          alloc_diag(exp(v)),
                                  assumes=["finite", "reassoc"])
    yield rule("sum_eigenvalues", sum_(eigvalsh(x), axis=(0,), dtype=d),
                                  sum_(diagonal_(x), axis=(0,), dtype=d),
                                  assumes=["finite", "reassoc"])
    yield rule("prod_eigenvalues", prod(eigvalsh(x[symmetric]), axis=(0,), dtype=d),            det(x),
                                   assumes=["finite", "reassoc"])
    yield rule("squared_singular", sum_(sqr(svdvals(x)), axis=(0,), dtype=d),
                                   sum_(sqr(x), axis=(0, 1), dtype=d),
                                   assumes=["finite", "reassoc"])
