"""Derivatives of linear algebra and Fourier transforms against finite differences, real and complex, batched."""

import numpy as np
import pytest
from gradcases import check, hermitian, regular

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import GradNotImplementedError
from termgraph.terms.ops import linalg as ops

LINKER = "py"  # LAPACK is called either way; what is compiled around it is tested with smaller graphs


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((0, 3), (3, 2))])
def test_dot(shapes, rng):
    check(T.dot, *[rng.normal(size=s) for s in shapes])


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2)), ((4, 2, 3), (3, 2)), ((1, 2, 3), (4, 3, 2)), ((3,), (4, 3, 2))])
def test_matmul_and_its_batches(shapes, rng):
    check(T.matmul, *[rng.normal(size=s) for s in shapes])


def test_products_of_complex_numbers(rng):
    a, b = regular(rng, dtype=complex), regular(rng)
    check(T.dot, a, b)
    check(lambda a, b: T.einsum("ij,kj->ik", a, b) * T.conj(a), a, b)
    check(lambda a, b: T.tensordot(a, b, 2), a, b)


@pytest.mark.parametrize("dtype", [float, complex])
def test_solve_inv_det(dtype, rng):
    a, b = regular(rng, dtype=dtype), rng.normal(size=(3, 2))
    check(T.linalg.solve, a, b)
    check(lambda a, b: T.linalg.solve(a, b[:, 0]), a, b)
    check(T.linalg.inv, a)
    check(T.linalg.det, a)
    check(lambda a: T.linalg.slogdet(a)[1], a)
    check(lambda a: T.linalg.slogdet(a)[0] * T.linalg.slogdet(a)[1], a)
    check(T.linalg.expm, a * 0.3)


def test_batches_of_solves(rng):
    check(T.linalg.solve, regular(rng, batch=(2,)), rng.normal(size=(3, 2)))
    check(T.linalg.inv, regular(rng, batch=(2,)))
    check(T.linalg.det, regular(rng, batch=(2,)))
    check(ops.solve_triangular, regular(rng), rng.normal(size=(2, 3, 2)))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("trans", ["N", "T", "C"])
@pytest.mark.parametrize("unit", [True, False])
def test_solve_triangular(lower, trans, unit, rng):
    def f(a, b):
        return ops.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit)

    check(f, regular(rng), rng.normal(size=(3, 2)))
    if trans != "N":
        check(f, regular(rng, dtype=complex), rng.normal(size=(3, 2)))


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_and_eigh(dtype, lower, rng):
    a = hermitian(rng, dtype=dtype)
    check(lambda a: T.linalg.cholesky(a, lower=lower), a)
    check(lambda a: ops.eigvalsh(a, lower=lower), a)
    check(lambda a: ops.eigh(a, lower=lower)[0], a)

    def projector(a):  # what does not depend on the phase of the eigenvectors
        v = ops.eigh(a, lower=lower)[1][:, 1:2]
        return T.dot(v, T.conj(v.T))

    check(projector, a)


def test_decompositions_of_batches(rng):
    a = hermitian(rng, batch=(2,))
    check(T.linalg.cholesky, a)
    check(lambda a: T.expand_dims(T.linalg.eigh(a)[0], 1) * T.linalg.eigh(a)[1], a)
    check(lambda a: T.linalg.qr(a)[0] + T.linalg.qr(a)[1], a)
    check(lambda a: T.expand_dims(T.linalg.svd(a)[1], 1) * T.linalg.svd(a)[0], a)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("dtype", [float, complex])
def test_qr_and_svd(shape, dtype, rng):
    a = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype is complex else 0)

    def parts(a):
        u, s, vh = T.linalg.svd(a, full_matrices=False)
        return T.dot(u[:, :1] * T.sin(s[:1]), vh[:1])

    check(parts, a)
    check(lambda a: T.linalg.svd(a, full_matrices=True)[1], a)
    check(T.linalg.svdvals, a)
    check(T.linalg.pinv, a)
    check(lambda a: T.linalg.qr(a)[1], a)
    check(lambda a: T.sin(T.linalg.qr(a)[0]), a)


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3), (0, 3), (3, 0), (2, 3, 2), (2, 2, 3)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_qr_of_unknown_lengths(shape, dtype, rng):
    a = (
        (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
        if dtype[0] == "c"
        else rng.normal(size=shape)
    )

    def slope(lengths, **how):
        x = T.tensor("x", dtype=dtype, shape=lengths)
        q, r = T.linalg.qr(x, **how)
        cost = T.real(q * T.cos(q)).sum() + T.real(r * T.sin(r + 0.3)).sum() + 0.3 * T.imag(r).sum()
        return tg.function([x], tg.grad(cost, x))(a)

    np.testing.assert_allclose(slope([None] * len(shape)), slope(shape), rtol=1e-9, atol=1e-12)
    with pytest.raises(GradNotImplementedError, match="reduced"):
        slope([None] * len(shape), mode="complete")


def test_eig(rng):
    a = regular(rng)
    check(T.linalg.eigvals, a)
    check(T.linalg.eigvals, regular(rng, dtype=complex))

    def projector(a):
        w, v = T.linalg.eig(a)
        return T.matmul(v * T.exp(w), T.linalg.inv(v))

    check(projector, a)


def test_least_squares(rng):
    check(lambda a, b: T.linalg.lstsq(a, b)[0], rng.normal(size=(4, 2)), rng.normal(size=(4, 3)))
    a, b = T.dmatrix("a"), T.dmatrix("b")
    with pytest.raises(NotImplementedError, match="only the solution of lstsq"):
        tg.grad(T.linalg.lstsq(a, b)[1].sum(), a)


def test_what_is_unique_has_a_gradient_where_the_rest_is_not():
    a = T.dmatrix("a")
    g = tg.grad(T.linalg.svd(a)[1].sum(), a)
    np.testing.assert_allclose(g.eval({a: np.eye(3)}), np.eye(3), atol=1e-12)
    g = tg.grad(T.linalg.eigh(a)[0].sum(), a)
    np.testing.assert_allclose(g.eval({a: np.eye(3)}), np.eye(3), atol=1e-12)


def test_extra_singular_vectors_are_undefined():
    a = T.tensor("a", dtype="float64", shape=(4, 2))
    u, s, vh = T.linalg.svd(a, full_matrices=True)
    with pytest.raises(TypeError, match="not determined by the matrix"):
        tg.grad(u.sum(), a)


def test_norms_and_second_derivatives(rng):
    a = regular(rng)
    check(T.linalg.norm, a)
    x = T.dmatrix("x")
    for f in (
        lambda x: T.linalg.slogdet(x)[1],
        lambda x: T.linalg.inv(x).sum(),
        lambda x: T.linalg.expm(x * 0.3).sum(),
    ):
        check(lambda x, f=f: tg.grad(f(x), x), a)
    check(lambda x: tg.grad(T.sin(T.linalg.cholesky(x)).sum(), x), hermitian(rng))
    assert x.type.ndim == 2


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 5, 3, 8])
def test_fourier(norm, n, rng):
    x = rng.normal(size=(2, 6))
    z = x + 1j * rng.normal(size=(2, 6))
    check(lambda z: T.fft.fft(z, n=n, norm=norm), z)
    check(lambda z: T.fft.ifft(z, n=n, norm=norm), z)
    check(lambda x: T.fft.fft(x, n=n, axis=0, norm=norm), x)
    check(lambda x: T.fft.rfft(x, n=n, norm=norm), x)
    check(lambda z: T.fft.irfft(z, n=n, norm=norm), z)
    check(lambda x: T.fft.irfft(T.fft.rfft(x, norm=norm) * 2, norm=norm), x)


def test_compiled_parts_around_lapack(rng):
    a, b = T.dmatrix("a"), T.dmatrix("b")
    cost = T.sin(T.linalg.solve(a, b)).sum() + T.linalg.slogdet(a)[1] ** 2 + abs(T.linalg.inv(a)).sum()
    values, gradient = [regular(rng), rng.normal(size=(3, 2))], tg.grad(cost, [a, b])
    compiled = tg.function([a, b], gradient, mode=tg.Mode(linker="auto"))(*values)
    for got, want in zip(compiled, tg.function([a, b], gradient)(*values)):
        np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: T.linalg.lstsq(T.eye(3) * 2 + T.outer(x, T.sin(x)), T.constant([1.0, 2.0, 3.0]))[0],
        lambda x: T.linalg.slogdet(T.diag(T.maximum(x, 0.0) + 1.0) + T.outer(x, x))[1] * T.ones((3,)),
        lambda x: T.linalg.slogdet(T.eye(3) * 2 + T.where(T.outer(x, x) > 0, T.outer(x, x), 0.0))[1] * x,
    ],
    ids=["rank", "sign", "sign in a choice"],
)
def test_results_that_are_not_read_take_no_numbers_place_in_forward_derivatives(make, rng):
    x, v = T.dvectors("x", "v")
    y = make(x)
    f = tg.function([x, v], [tg.Rop(y, x, v), tg.jacobian(y, x) @ v])
    found, expected = f(rng.uniform(0.5, 2, size=3), rng.normal(size=3))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
