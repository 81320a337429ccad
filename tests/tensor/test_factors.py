"""LU, polar and Schur factors, Sylvester's and Lyapunov's equations, matrices of vectors: beside SciPy."""

import numpy as np
import pytest
import scipy.linalg as sla

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError

L = T.linalg
ROUGH = {"rtol": 1e-9, "atol": 1e-10}


def same(got, want):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, **ROUGH)


def checked(f, *values, rng):
    tg.verify_grad(f, list(values), n_tests=1, rng=rng, mode="FAST_COMPILE")


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (1, 1)])
def test_lu(shape, rng):
    a, m = T.dmatrix("a"), rng.normal(size=shape)
    f = tg.function([a], [*L.lu(a), *L.lu(a, permute_l=True), *L.lu(a, p_indices=True), *L.lu_factor(a)])
    same(f(m)[:8], [*sla.lu(m), *sla.lu(m, permute_l=True), *sla.lu(m, p_indices=True)])
    same(f(m)[8:], sla.lu_factor(m))


def test_lu_of_nothing_and_of_batches(rng):
    a, b = T.dtensor3("a"), T.dmatrix("b")
    f = tg.function([a, b], [*L.lu(a), *[L.lu_solve(L.lu_factor(a), b, trans) for trans in (0, 1, 2)]])
    m, right = rng.normal(size=(3, 4, 4)), rng.normal(size=(4, 2))
    p, low, upper, plain, turned, _ = f(m, right)
    same([p @ low @ upper, m @ plain, np.swapaxes(m, 1, 2) @ turned], [m, [right] * 3, [right] * 3])
    assert [v.shape for v in f(m[:0], right)[:4]] == [(0, 4, 4)] * 3 + [(0, 4, 2)]
    assert [v.shape for v in f(m[:, :0, :0], right[:0])[:4]] == [(3, 0, 0)] * 3 + [(3, 0, 2)]


def test_solving_by_lu(rng):
    z, b, v = T.zmatrix("z"), T.dmatrix("b"), T.dvector("v")
    m, right = rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    solved = [L.lu_solve(L.lu_factor(z), y, trans) for trans in (0, 1, 2) for y in (b, v)]
    want = [sla.lu_solve(sla.lu_factor(m), y, trans) for trans in (0, 1, 2) for y in (right, right[:, 0])]
    same(tg.function([z, b, v], solved)(m, right, right[:, 0]), want)
    order = L.pivot_to_permutation(L.lu_factor(z)[1])
    back = L.pivot_to_permutation(L.lu_factor(z)[1], inverse=True)
    p = sla.lu(m, p_indices=True)[0]
    same(tg.function([z], [order, back])(m), [p, np.argsort(p)])
    with pytest.raises(TypeError, match="takes vectors of whole numbers"):
        L.pivot_to_permutation(v)
    with pytest.raises(ValueError, match="lu_solve: trans must be"):
        L.lu_solve(L.lu_factor(z), b, 5)


def test_polar_and_schur(rng):
    a, z = T.dmatrix("a"), T.zmatrix("z")
    sides = [part for side in ("right", "left") for part in L.polar(a, side)]
    for shape in ((4, 4), (5, 3), (3, 5)):
        m = rng.normal(size=shape)
        same(tg.function([a], sides)(m), [part for side in ("right", "left") for part in sla.polar(m, side)])
    m = rng.normal(size=(4, 4))
    c = m + 1j * rng.normal(size=(4, 4))
    f = tg.function([a, z], [*L.schur(a), *L.schur(a, "complex"), *L.schur(z), *L.polar(z)])
    same(f(m, c), [*sla.schur(m), *sla.schur(m.astype(complex)), *sla.schur(c), *sla.polar(c)])
    with pytest.raises(NotImplementedError, match="Schur factors are not differentiated"):
        tg.grad(L.schur(a)[0].sum(), a)
    with pytest.raises(NotImplementedError, match="no fewer rows than columns"):
        tg.grad(L.polar(a)[0].sum(), a)


def test_equations(rng):
    a, b, q, s = T.dmatrices("a", "b", "q", "s")
    m, n, right = rng.normal(size=(4, 4)) / 3, rng.normal(size=(3, 3)), rng.normal(size=(4, 3))
    square = right @ right.T
    found = [L.solve_sylvester(a, b, q), L.solve_continuous_lyapunov(a, s)]
    found += [L.solve_discrete_lyapunov(a, s, method) for method in ("direct", "bilinear")]
    discrete = sla.solve_discrete_lyapunov(m, square)
    want = [sla.solve_sylvester(m, n, right), sla.solve_continuous_lyapunov(m, square), discrete, discrete]
    same(tg.function([a, b, q, s], found)(m, n, right, square), want)
    c, d = m + 1j * rng.normal(size=(4, 4)) / 9, square + 1j
    known = T.tensor("known", dtype="complex128", shape=(4, 4))
    same([L.solve_discrete_lyapunov(known, d).eval({known: c})], [sla.solve_discrete_lyapunov(c, d)])
    several = np.stack([c, m, 2 * c])
    x = L.solve_continuous_lyapunov(T.constant(several), T.constant(square)).eval()
    for each, found_x in zip(several, x, strict=True):
        np.testing.assert_allclose(found_x, sla.solve_continuous_lyapunov(each, square), rtol=1e-10)
    with pytest.raises(ShapeError, match="q must have as many rows as a"):
        L.solve_sylvester(T.eye(2), b, T.zeros((3, 2)))


def test_both_matrices_of_lyapunovs_equation_have_one_schur_form(rng, monkeypatch):
    a, b, q = T.dmatrices("a", "b", "q")
    f = tg.function([a, b, q], L.solve_sylvester(a, b, q))
    m, right = rng.normal(size=(2, 4, 4))
    counted = []
    monkeypatch.setattr(sla, "schur", lambda *given, schur=sla.schur: counted.append(1) or schur(*given))
    np.testing.assert_allclose(f(m, m.T, right), sla.solve_sylvester(m, m.T, right), rtol=1e-9)
    assert len(counted) == 1


def test_complex_sides_of_equations_with_real_matrices(rng):
    """Real matrices with complex eigenvalues, of whose Schur form SciPy takes blocks for triangles."""
    a, b, q = T.dmatrix("a"), T.dmatrix("b"), T.zmatrix("q")
    turn = np.array([[0.2, -3.0, 0], [2.0, 0.1, 1], [0, 0.5, 1.5]])
    m, n, right = turn, turn[::-1, ::-1] + rng.normal(size=(3, 3)) * 0.1, rng.normal(size=(3, 3, 2)) @ [1, 1j]
    f = tg.function([a, b, q], [L.solve_sylvester(a, b, q), L.solve_continuous_lyapunov(a, q)])
    x, y = f(m, n, right)
    np.testing.assert_allclose(m @ x + x @ n, right, atol=1e-9)
    np.testing.assert_allclose(m @ y + y @ m.T, right, atol=1e-9)


def test_factors_of_nothing_are_not_the_argument():
    a = T.dmatrix("a")
    nothing = np.zeros((0, 0))
    found = tg.function([a], [*L.lu_factor(a), *L.schur(a), L.solve_sylvester(a, a, a)])(nothing)
    assert len({id(v) for v in (nothing, *found)}) == 6


def test_derivatives(rng):
    m, n, right = rng.normal(size=(3, 3)), rng.normal(size=(2, 2)), rng.normal(size=(3, 2))
    turned = 2 * np.linalg.qr(m)[0]  # whose singular values are equal
    checked(lambda a, b: L.lu(a)[1] + 2 * L.lu(a)[2] + L.lu_solve(L.lu_factor(a), b).sum(), m, right, rng=rng)
    checked(L.solve_sylvester, m, n, right, rng=rng)
    checked(lambda a, q: L.solve_discrete_lyapunov(a, q, "bilinear"), m / 3, m @ m.T, rng=rng)

    def factors(a, side="right"):
        u, p = L.polar(T.specify_shape(a, np.shape(right if side == "tall" else m)), side.replace("tall", "right"))
        return T.concatenate([2 * u, p])

    for values, side in ((m, "right"), (turned, "right"), (m, "left"), (right, "tall")):
        checked(lambda a, side=side: factors(a, side), values, rng=rng)
    parts = m, rng.normal(size=(3, 3))
    checked(lambda x, y: sum(T.real(f) * 2 + T.imag(f) for f in complexes(x, y)), *parts, rng=rng)
    with pytest.raises(NotImplementedError, match="square matrices, not for 3 by 2"):
        tg.grad(L.lu(v := T.tensor("v", dtype="float64", shape=(3, 2)))[1].sum(), v)


def complexes(x, y):
    z = T.specify_shape(T.complex(x, y), (3, 3))
    return L.polar(z)[0], L.lu_factor(z)[0], L.solve_sylvester(z, T.conj(z), z)


def test_matrices_of_vectors(rng):
    c, r, z = T.dvector("c"), T.dvector("r"), T.zvector("z")
    column, row = rng.normal(size=4) + 3, rng.normal(size=3)
    made = [L.toeplitz(c, r), L.hankel(c, r), L.toeplitz(c), L.hankel(c), L.circulant(c), L.companion(c)]
    want = [sla.toeplitz(column, row), sla.hankel(column, row), sla.toeplitz(column), sla.hankel(column)]
    same(tg.function([c, r], made)(column, row), [*want, sla.circulant(column), sla.companion(column)])
    same([L.toeplitz(z).eval({z: column * 1j})], [sla.toeplitz(column * 1j)])
    checked(lambda c, r: L.toeplitz(c, r) * L.hankel(c, r) + L.companion(c).sum(), column, row, rng=rng)
    f = tg.function([c, r], [L.toeplitz(c, r), L.hankel(c, r), L.circulant(c)])
    for n, m in [(0, 0), (0, 3), (3, 0), (1, 1), (1, 4), (5, 1), (20, 30)]:
        column, row = rng.normal(size=n), rng.normal(size=m)
        long = np.concatenate([column[::-1], row[1:]]), np.concatenate([column, row[1:]])
        places = np.arange(m) - np.arange(n)[:, None] + n - 1, np.arange(m) + np.arange(n)[:, None]
        turned = (np.arange(n)[:, None] - np.arange(n)) % max(n, 1)
        same(f(column, row), [*[x[k] for x, k in zip(long, places, strict=True)], column[turned]])
    with pytest.raises(ShapeError, match="toeplitz takes vectors"):
        L.toeplitz(T.dmatrix())
    with pytest.raises(ValueError, match="two coefficients at least"):
        L.companion([1.0])
    np.testing.assert_allclose(L.matrix_dot(np.eye(2), 2 * np.eye(2), np.eye(2)).eval(), 2 * np.eye(2))
