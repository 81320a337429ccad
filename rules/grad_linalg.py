"""Derivatives of products, solves, determinants, decompositions and Fourier transforms.

Inside, dL = Re(sum(g * dy)): holomorphic ops need plain transposes only. Decompositions are written in the usual
conjugate convention and conjugated at both ends. An op that reads one triangle of its operand gets the gradient for
that triangle. Decompositions that are not unique (repeated eigenvalues or singular values) give NaN, unless only
quantities that are unique (the eigenvalues or singular values themselves) are used.
"""

from __future__ import annotations

from termgraph.rulelib._goals_grad_linalg import (
    as_long_as,
    cholesky_slope,
    eig_slope,
    eigh_slope,
    eigvals_slope,
    eigvalsh_slope,
    expm_slope,
    irfft_slope,
    logdet_scale,
    lstsq_slopes,
    pinv_slope,
    qr_slope,
    rfft_slope,
    scaled_inverse,
    sqrtm_slope,
    svd_slope,
    svdvals_slope,
    transposed_solve,
    triangular_slope,
)
from termgraph.rules import Matrix, Vector, param, rule, ruleset
from termgraph.rules.parts import transposed
from termgraph.terms.ops.basic import dimshuffle, nth
from termgraph.terms.ops.derivative import pullback
from termgraph.terms.ops.fft import fft, ifft, irfft, rfft
from termgraph.terms.ops.linalg import (
    cholesky,
    det,
    dot,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    expm,
    inv,
    lstsq,
    matmul,
    pinv,
    qr,
    slogdet,
    solve,
    solve_triangular,
    sqrtm,
    svd,
    svdvals,
)  # fmt: skip


# ---------------------------------------------------------------------- rules
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
def grad_linalg(x, y, g, h, i, k, o, p, a: param, b: param, c: param, d: param):
    yield rule("solve",       pullback(solve(x, y, assume_a=a, on_error=d), g),
                              (-matmul(solve(transposed(x), g, assume_a=a, on_error=d),
                                  transposed(solve(x, y, assume_a=a, on_error=d))),
                                  solve(transposed(x), g, assume_a=a, on_error=d)))
    yield rule("triangular",  pullback(solve_triangular(x, y, lower=a, trans=b, unit_diagonal=c, on_error=d), g),
                              (o, p),
                              transposed_solve(x, g, a, b, c, d, p),
                              triangular_slope(solve_triangular(x, y, lower=a, trans=b, unit_diagonal=c, on_error=d), p,
                                  a, b, c, o))
    yield rule("inv",         pullback(inv(x), g),
                              (-matmul(transposed(inv(x)), matmul(g, transposed(inv(x)))),))
    yield rule("pinv",        pullback(pinv(x, rcond=a, hermitian=b), g), (o,),
                              pinv_slope(x, pinv(x, rcond=a, hermitian=b), g, o))
    yield rule("det",         pullback(det(x), g),                      (o,),
                              scaled_inverse(x, g * det(x), o))
    yield rule("slogdet",     pullback(slogdet(x), g, h),               (o * transposed(inv(x)),),
                              logdet_scale(nth(slogdet(x), i=0), g, h, o))
    yield rule("expm",        pullback(expm(x), g),                     (o,),
                              expm_slope(x, g, o))
    yield rule("sqrtm",       pullback(sqrtm(x), g),                    (o,),
                              sqrtm_slope(sqrtm(x), g, o))
    yield rule("lstsq",       pullback(lstsq(x, y, rcond=a), g, h, i, k), (o, p),
                              lstsq_slopes(x, y, g, h, k, o, p))


@ruleset("grad")
def grad_decomposition(x, g, h, i, o, a: param, b: param):
    yield rule("cholesky",    pullback(cholesky(x, lower=a, on_error=b), g),  (o,),
                              cholesky_slope(cholesky(x, lower=a, on_error=b), g, a, o))
    yield rule("qr",          pullback(qr(x, mode=a), g, h),            (o,),
                              qr_slope(x, nth(qr(x, mode=a), i=0), nth(qr(x, mode=a), i=1), g, h, o))
    yield rule("eigh",        pullback(eigh(x, lower=a), g, h),         (o,),
                              eigh_slope(nth(eigh(x, lower=a), i=0), nth(eigh(x, lower=a), i=1), g, h, a, o))
    yield rule("eigvalsh",    pullback(eigvalsh(x, lower=a), g),        (o,),
                              eigvalsh_slope(eigh(x, lower=a), g, a, o))
    yield rule("svd",         pullback(svd(x, full_matrices=a), g, h, i), (o,),
                              svd_slope(nth(svd(x, full_matrices=a), i=0), nth(svd(x, full_matrices=a), i=1),
                                  nth(svd(x, full_matrices=a), i=2), g, h, i, a, o))
    yield rule("svdvals",     pullback(svdvals(x), g),                  (o,),
                              svdvals_slope(svd(x, full_matrices=False), g, o))
    yield rule("eig",         pullback(eig(x), g, h),                   (o,),
                              eig_slope(nth(eig(x), i=0), nth(eig(x), i=1), g, h, o))
    yield rule("eigvals",     pullback(eigvals(x), g),                  (o,),  eigvals_slope(eig(x), g, o))


@ruleset("grad")
def grad_fft(x, g, o, a: param, b: param, c: param):
    yield rule("fft",         pullback(fft(x, n=a, axis=b, norm=c), g),   (o,),
                              as_long_as(fft(g, n=None, axis=b, norm=c), x, a, b, o))
    yield rule("ifft",        pullback(ifft(x, n=a, axis=b, norm=c), g),  (o,),
                              as_long_as(ifft(g, n=None, axis=b, norm=c), x, a, b, o))
    yield rule("rfft",        pullback(rfft(x, n=a, axis=b, norm=c), g),  (o,),  rfft_slope(x, g, a, b, c, o))
    yield rule("irfft",       pullback(irfft(x, n=a, axis=b, norm=c), g), (o,),  irfft_slope(x, g, a, b, c, o))
