"""Formulas of the derivatives of products, solves, decompositions and Fourier transforms.

Conventions are those of `grad_linalg`: conjugates at both ends of a decomposition, one triangle where one is read.
"""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rules.formulas import formula
from termgraph.tensor.lengths import length
from termgraph.terms.ops.derivative import missing, undefined
from termgraph.terms.ops.fft import fft, rfft
from termgraph.terms.ops.linalg import solve_triangular
from termgraph.terms.ops.shaping import alloc_diag

SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def mT(x):
    """The transpose of the last two axes."""
    return T.matrix_transpose(x)


def mH(x):
    """The conjugate transpose of the last two axes."""
    return T.conj(mT(x)) if x.type.kind == "c" else mT(x)


def one_triangle(g, lower):
    """The gradient of a Hermitian matrix (conjugate convention) for the triangle that is read."""
    both = g + mH(g)
    half = T.tril(both, -1) if lower else T.triu(both, 1)
    return half + _diagonal_matrix(T.real(T.diagonal(g, axis1=-2, axis2=-1)))


def _diagonal_matrix(d):
    return alloc_diag(d, offset=0)


def _conj(*gs):
    return [T.conj(g) if g.type.kind == "c" else g for g in gs]


@formula
def triangular_slope(x, gb, lower, trans, unit):
    """The gradient of a triangular system's matrix, from its solution x and the gradient of its right side."""
    g = -T.matmul(gb, mT(x))  # of op(a)
    g = g if trans == "N" else mT(g)
    g = T.conj(g) if trans == "C" else g
    k = 1 if unit else 0
    return T.tril(g, -k) if lower else T.triu(g, k)


@formula
def transposed_solve(a, g, lower, trans, unit, on_error):
    """The solution of op(a).T @ x = g."""
    a, trans = (T.conj(a), "N") if trans == "C" else (a, "T" if trans == "N" else "N")
    return solve_triangular(a, g, lower=lower, trans=trans, unit_diagonal=unit, on_error=on_error)


@formula
def pinv_slope(a, y, g):
    """The gradient of a matrix from that of its pseudo-inverse y.

    Products are made in the order whose squares have the shorter side of the matrix; it is taken to be tall, as those
    of least squares are, unless its lengths say otherwise.
    """
    m, n = a.type.shape[-2:]
    if m is not None and (n is None or m < n):  # of rows like columns: the transposed formula
        return mT(_tall_pinv_slope(mT(a), mT(y), mT(g)))
    return _tall_pinv_slope(a, y, g)


def _tall_pinv_slope(a, y, g):
    left = mT(g)
    direct = -T.matmul(mT(y), T.matmul(g, mT(y)))
    below = left - T.matmul(a, T.matmul(y, left))
    beside = left - T.matmul(left, T.matmul(y, a))
    second = T.matmul(below, T.matmul(y, mH(y)))
    third = T.matmul(mH(y), T.matmul(y, beside))
    return direct + T.conj(second + third)


@formula
def logdet_scale(s, g, h):
    """What multiplies inv(a).T: the gradient of the logarithm and, for complex numbers, that of the phase."""
    if s.type.kind != "c":
        return T.shape_padright(h, 2)
    return T.shape_padright(h + 1j * T.imag(g * s), 2)


@formula
def scaled_inverse(a, g):
    """g inv(a).T for a batch of numbers g."""
    return T.shape_padright(g, 2) * mT(T.linalg.inv(a))


@formula
def expm_slope(a, g):
    """The derivative of the matrix exponential at a.T in the direction g, read off a block matrix."""
    n = a.shape[-1]
    top = T.concatenate([mT(a), g], axis=-1)
    bottom = T.concatenate([T.zeros_like(a), mT(a)], axis=-1)
    return T.linalg.expm(T.concatenate([top, bottom], axis=-2))[..., :n, n:]


@formula
def sqrtm_slope(r, g):
    """The gradient from that of the root r: the s with r^H s + s r^H = g, as one system of equations."""
    if r.ndim > 2:
        return missing("sqrtm is differentiated for single matrices, not for batches")
    n = r.shape[0]
    unit = T.eye(n, dtype=r.dtype)
    both = T.kron(mH(r), unit) + T.kron(unit, T.conj(r))
    return T.reshape(T.linalg.solve(both, T.ravel(g)), (n, n))


@formula
def cholesky_slope(c, g, lower):
    """The gradient of a matrix from that of its Cholesky factor c."""
    low, g = (c, g) if lower else (mH(c), T.conj(mT(g)))
    n = T.matmul(mT(T.tril(g)), low)
    n = T.triu(n) - _diagonal_matrix(T.diagonal(n, axis1=-2, axis2=-1) * 0.5)
    one = solve_triangular(low, n, lower=True, trans="C" if c.type.kind == "c" else "T")
    p = mT(solve_triangular(low, mT(one), lower=True, trans="T"))
    return T.conj(one_triangle(T.conj(mT(p)), lower))


@formula
def qr_slope(a, q, r, gq, gr, mode):
    """The gradient of a matrix from those of Q and R."""
    n, m = a.type.shape[-2:]
    known = n is not None and m is not None
    if mode == "complete" and not (known and n <= m):
        return missing("qr with mode='complete' of a tall matrix; use mode='reduced'")
    gq, gr = _conj(gq, gr)
    if known and n >= m:
        return T.conj(_tall_qr(q, r, gq, gr))
    k = n if known else q.shape[-1]  # columns behind the first k, of which a tall matrix has none
    left, right = r[..., :k], a[..., k:]
    g_right = T.matmul(q, gr[..., k:])
    gq = gq + T.matmul(right, mH(gr[..., k:]))
    return T.conj(T.concatenate([_tall_qr(q, left, gq, gr[..., :k]), g_right], axis=-1))


def _tall_qr(q, r, gq, gr):
    m = T.matmul(gr, mH(r)) - T.matmul(mH(q), gq)
    m = T.triu(m)
    m = m + mH(m) - _diagonal_matrix(T.cast(T.real(T.diagonal(m, axis1=-2, axis2=-1)), m.dtype))
    total = gq + T.matmul(q, m)
    return mH(solve_triangular(r, mH(total), lower=False))


@formula
def eigh_values_slope(v, gw, lower):
    """The gradient of a Hermitian matrix from that of its eigenvalues."""
    return _hermitian(v, _diagonal_matrix(T.cast(gw, v.dtype)), lower)


@formula
def eigh_slope(w, v, gw, gv, lower):
    """The gradient of a Hermitian matrix from those of eigenvalues and eigenvectors."""
    (gv,) = _conj(gv)
    gaps = T.expand_dims(w, -2) - T.expand_dims(w, -1)
    unit = T.eye(w.shape[-1], dtype=w.dtype)
    turns = T.switch(T.eq(unit, 1), 0, T.matmul(mH(v), gv) / (gaps + unit))
    return _hermitian(v, _diagonal_matrix(T.cast(gw, v.dtype)) + turns, lower)


def _hermitian(v, inner, lower):
    return T.conj(one_triangle(T.matmul(v, T.matmul(inner, mH(v))), lower))


@formula
def svd_values_slope(u, s, vh, gs, full):
    """The gradient of a matrix from that of its singular values."""
    k = s.shape[-1]
    u, vh = (u[..., :k], vh[..., :k, :]) if full else (u, vh)
    return T.conj(T.matmul(u, T.matmul(_diagonal_matrix(T.cast(gs, u.dtype)), vh)))


@formula
def svd_slope(u, s, vh, gu, gs, gvh, full):
    """The gradient of a matrix from those of its singular value decomposition."""
    n, m = u.type.shape[-2], vh.type.shape[-1]
    if full and (n is None or n != m):
        return undefined(
            "the extra vectors of svd(full_matrices=True) are not determined by the matrix; use full_matrices=False"
        )
    gu, gvh = _conj(gu, gvh)
    uu, vv = T.matmul(mH(u), gu), T.matmul(vh, mH(gvh))
    column, row = T.expand_dims(s, -1), T.expand_dims(s, -2)
    unit = T.eye(s.shape[-1], dtype=s.dtype)
    gaps = T.sqr(row) - T.sqr(column) + unit
    turns = T.switch(T.eq(unit, 0), (uu - mH(uu)) / gaps * row + column * ((vv - mH(vv)) / gaps), 0)
    inner = _diagonal_matrix(T.cast(gs, u.dtype)) + turns
    if u.type.kind == "c":
        inner = inner + _diagonal_matrix(1j * T.imag(T.diagonal(uu, axis1=-2, axis2=-1)) / s)
    g = T.matmul(u, T.matmul(inner, vh))
    if n is None or n != m:
        g = g + T.matmul((gu - T.matmul(u, uu)) / row, vh)
        g = g + T.matmul(u, (gvh - T.matmul(mH(vv), vh)) / column)
    return T.conj(g)


@formula
def eig_values_slope(v, gw):
    """The gradient of a square matrix from that of its eigenvalues."""
    return _unsymmetric(v, _diagonal_matrix(*_conj(gw)))


@formula
def eig_slope(w, v, gw, gv):
    """The gradient of a square matrix from those of its eigenvalues and eigenvectors."""
    gw, gv = _conj(gw, gv)
    gaps = T.conj(T.expand_dims(w, -2) - T.expand_dims(w, -1))
    unit = T.eye(w.shape[-1], dtype=w.dtype)
    vgv = T.matmul(mH(v), gv)
    norm = T.real(T.diagonal(vgv, axis1=-2, axis2=-1))
    free = vgv - T.matmul(T.matmul(mH(v), v), _diagonal_matrix(T.cast(norm, v.dtype)))
    return _unsymmetric(v, _diagonal_matrix(gw) + T.switch(T.eq(unit, 1), 0, free / (gaps + unit)))


def _unsymmetric(v, inner):
    return T.conj(T.linalg.solve(mH(v), T.matmul(inner, mH(v))))


@formula
def as_long_as(y, x, n, axis):
    """y cut or filled with zeros to the length of x: what cutting or filling x to n points did, transposed."""
    if n is None or y.type.shape[axis] == x.type.shape[axis] is not None:
        return y
    m = x.type.shape[axis]
    whole = (slice(None),) * axis
    if m is not None and m <= n:
        return y[(*whole, slice(0, m))]
    place = (*whole, slice(0, n if m is not None else T.minimum(n, length(x, axis))))
    return T.set_subtensor(T.zeros_like(x, dtype=y.dtype)[place], y[place])


@formula
def rfft_slope(x, g, n, axis, norm):
    """The gradient of real numbers from that of their transform."""
    points = n if n is not None else x.shape[axis]
    shape = [points if d == axis else g.shape[d] for d in range(g.ndim)]
    whole = (slice(None),) * axis
    padded = T.set_subtensor(T.zeros(shape, dtype=g.dtype)[(*whole, slice(0, g.shape[axis]))], g)
    full = fft(padded, axis=axis, norm=norm)
    return as_long_as(T.real(full), x, n, axis)


@formula
def irfft_slope(x, g, n, axis, norm):
    """The gradient of a half spectrum from that of its real signal."""
    half = T.conj(rfft(g, axis=axis, norm=SWAPPED[norm]))
    points = g.shape[axis]
    k = T.arange(half.shape[axis])
    twice = T.switch(T.eq(k, 0) | T.eq(2 * k, points), 1, 2)
    weights = twice.dimshuffle(*["x" if d != axis else 0 for d in range(x.ndim)])
    wanted = None if n is None else n // 2 + 1
    return as_long_as(half * T.cast(weights, g.dtype), x, wanted, axis)
