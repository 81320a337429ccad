"""Derivatives of products, solves, determinants, decompositions and Fourier transforms.

Inside, dL = Re(sum(g * dy)): holomorphic ops need plain transposes only. Decompositions are written in the usual
conjugate convention and conjugated at both ends. An op that reads one triangle of its operand gets the gradient for
that triangle. Decompositions that are not unique (repeated eigenvalues or singular values) give NaN, unless only
quantities that are unique (the eigenvalues or singular values themselves) are used.
"""

from __future__ import annotations

from termgraph.rulelib._formulas_grad_linalg import (
    as_long_as, cholesky_slope, eig_slope, eig_values_slope, eigh_slope, eigh_values_slope, expm_slope, irfft_slope,
    logdet_scale, pinv_slope, qr_slope, rfft_slope, scaled_inverse, sqrtm_slope, svd_slope, svd_values_slope,
    transposed_solve, triangular_slope,
)
from termgraph.rules import Matrix, Vector, param, rule, ruleset
from termgraph.rules.constant_guards import Zero
from termgraph.rules.parts import transposed
from termgraph.terms.ops.basic import dimshuffle, nth
from termgraph.terms.ops.derivative import missing, pullback
from termgraph.terms.ops.fft import fft, ifft, irfft, rfft
from termgraph.terms.ops.linalg import (
    cholesky, det, dot, eig, eigh, eigvals, eigvalsh, expm, inv, lstsq, matmul, pinv, qr, slogdet, solve,
    solve_triangular, sqrtm, svd, svdvals,
)

UNWRITTEN = missing("only the solution of lstsq is differentiated, not residuals or singular values")


@ruleset("grad")
def grad_product(g, u: Vector, v: Vector, A: Matrix, B: Matrix, x, y):
    yield rule("inner",         pullback(dot(u, v), g),    (g * v, g * u))
    yield rule("vector_matrix", pullback(dot(v, A), g),
                                (dot(A, g), dimshuffle(v, order=(0, "x")) * dimshuffle(g, order=("x", 0))))
    yield rule("matrix_vector", pullback(dot(A, v), g),
                                (dimshuffle(g, order=(0, "x")) * dimshuffle(v, order=("x", 0)), dot(g, A)))
    yield rule("dot",           pullback(dot(A, B), g),
                                (dot(g, dimshuffle(B, order=(1, 0))), dot(dimshuffle(A, order=(1, 0)), g)))
    yield rule("matmul",        pullback(matmul(x, y), g), (matmul(g, transposed(y)), matmul(transposed(x), g)))


@ruleset("grad")
def grad_linalg(x, y, g, h, i, k, z: Zero, w: Zero, a: param, b: param, c: param, d: param):
    yield rule("solve",       pullback(solve(x, y, assume_a=a, on_error=d), g),
                              (-matmul(solve(transposed(x), g, assume_a=a, on_error=d),
                                  transposed(solve(x, y, assume_a=a, on_error=d))),
                                  solve(transposed(x), g, assume_a=a, on_error=d)))
    yield rule("triangular",  pullback(solve_triangular(x, y, lower=a, trans=b, unit_diagonal=c, on_error=d), g),
                              (triangular_slope(solve_triangular(x, y, lower=a, trans=b, unit_diagonal=c, on_error=d),
                                  transposed_solve(x, g, a, b, c, d), a, b, c),
                                  transposed_solve(x, g, a, b, c, d)))
    # from the left: `matmul(inv(x), ...)` would become a system of equations, though the inverse is there
    yield rule("inv",         pullback(inv(x), g),
                              (-matmul(matmul(transposed(inv(x)), g), transposed(inv(x))),))
    yield rule("pinv",        pullback(pinv(x, rcond=a, hermitian=b), g),
                              (pinv_slope(x, pinv(x, rcond=a, hermitian=b), g),))
    yield rule("det",         pullback(det(x), g),                      (scaled_inverse(x, g * det(x)),))
    yield rule("slogdet",     pullback(slogdet(x), g, h),
                              (logdet_scale(nth(slogdet(x), i=0), g, h) * transposed(inv(x)),))
    yield rule("expm",        pullback(expm(x), g),                     (expm_slope(x, g),))
    yield rule("sqrtm",       pullback(sqrtm(x), g),                    (sqrtm_slope(sqrtm(x), g),))
    yield rule("solution",    pullback(lstsq(x, y, rcond=a), g, z, i, w),
                              (pinv_slope(x, pinv(x), matmul(g, transposed(y))), matmul(transposed(pinv(x)), g)))
    yield rule("lstsq",       pullback(lstsq(x, y, rcond=a), g, h, i, k),  (UNWRITTEN, UNWRITTEN))


@ruleset("grad")
def grad_decomposition(x, g, h, i, z: Zero, w: Zero, a: param, b: param):
    yield rule("cholesky",    pullback(cholesky(x, lower=a, on_error=b), g),
                              (cholesky_slope(cholesky(x, lower=a, on_error=b), g, a),))
    yield rule("qr",          pullback(qr(x, mode=a), g, h),
                              (qr_slope(x, nth(qr(x, mode=a), i=0), nth(qr(x, mode=a), i=1), g, h, a),))
    yield rule("eigh_values", pullback(eigh(x, lower=a), g, z),
                              (eigh_values_slope(nth(eigh(x, lower=a), i=1), g, a),))
    yield rule("eigh",        pullback(eigh(x, lower=a), g, h),
                              (eigh_slope(nth(eigh(x, lower=a), i=0), nth(eigh(x, lower=a), i=1), g, h, a),))
    yield rule("eigvalsh",    pullback(eigvalsh(x, lower=a), g),
                              (eigh_values_slope(nth(eigh(x, lower=a), i=1), g, a),))
    yield rule("svd_values",  pullback(svd(x, full_matrices=a), z, g, w),
                              (svd_values_slope(nth(svd(x, full_matrices=a), i=0), nth(svd(x, full_matrices=a), i=1),
                                  nth(svd(x, full_matrices=a), i=2), g, a),))
    yield rule("svd",         pullback(svd(x, full_matrices=a), g, h, i),
                              (svd_slope(nth(svd(x, full_matrices=a), i=0), nth(svd(x, full_matrices=a), i=1),
                                  nth(svd(x, full_matrices=a), i=2), g, h, i, a),))
    yield rule("svdvals",     pullback(svdvals(x), g),
                              (svd_values_slope(nth(svd(x, full_matrices=False), i=0),
                                  nth(svd(x, full_matrices=False), i=1), nth(svd(x, full_matrices=False), i=2), g,
                                  False),))
    yield rule("eig_values",  pullback(eig(x), g, z),                   (eig_values_slope(nth(eig(x), i=1), g),))
    yield rule("eig",         pullback(eig(x), g, h),
                              (eig_slope(nth(eig(x), i=0), nth(eig(x), i=1), g, h),))
    yield rule("eigvals",     pullback(eigvals(x), g),                  (eig_values_slope(nth(eig(x), i=1), g),))


@ruleset("grad")
def grad_fft(x, g, a: param, b: param, c: param):
    yield rule("fft",         pullback(fft(x, n=a, axis=b, norm=c), g),
                              (as_long_as(fft(g, n=None, axis=b, norm=c), x, a, b),))
    yield rule("ifft",        pullback(ifft(x, n=a, axis=b, norm=c), g),
                              (as_long_as(ifft(g, n=None, axis=b, norm=c), x, a, b),))
    yield rule("rfft",        pullback(rfft(x, n=a, axis=b, norm=c), g),   (rfft_slope(x, g, a, b, c),))
    yield rule("irfft",       pullback(irfft(x, n=a, axis=b, norm=c), g),  (irfft_slope(x, g, a, b, c),))
