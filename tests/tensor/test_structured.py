"""Systems whose matrix has a structure: the values of the matrix written out, gradients, batches, failures."""

import numpy as np
import pytest
import scipy.linalg as sla

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.errors import ShapeError

L = T.linalg
LINKERS = ["py", pytest.param("c", marks=pytest.mark.skipif(find_compiler() is None, reason="no C compiler"))]
BANDS = [(0, 0), (1, 1), (2, 1), (1, 2), (0, 2), (3, 0), (5, 7)]


def numbers(rng, shape, dtype):
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    return x.astype(dtype)


def written_out(ab, upper):
    count, n = ab.shape
    out = np.zeros((n, n), ab.dtype)
    for i in range(n):
        for j in range(max(0, i - count + 1 + upper), min(n, i + upper + 1)):
            out[i, j] = ab[upper + i - j, j]
    return out


def hermitian(ab, lower):
    half = written_out(ab, 0 if lower else len(ab) - 1)
    return half + np.conj(half.T) - np.diag(np.diag(half).real)


def compiled(build, *values, linker):
    given = [T.tensor(f"v{k}", dtype=v.dtype.name, shape=(None,) * v.ndim) for k, v in enumerate(values)]
    return tg.function(given, build(*given), mode=tg.Mode(linker=linker))


def agree(found, a, b):
    assert found.dtype == np.result_type(a, b)
    wide = complex if found.dtype.kind == "c" else float
    exact = np.linalg.solve(a.astype(wide), b.astype(wide))
    rounding = np.finfo(found.dtype).eps * 20 * np.linalg.cond(a) * (1 + np.abs(exact).max(initial=0))
    np.testing.assert_allclose(found, exact, rtol=0, atol=rounding)


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("bands", BANDS, ids=str)
def test_bands_are_the_matrix(bands, dtype, linker, rng):
    lower, upper = bands
    one = compiled(lambda x, y: L.solve_banded(bands, x, y), *np.ones((2, 1, 1), dtype), linker=linker)
    vector = compiled(
        lambda x, y: L.solve_banded(bands, x, y), np.ones((1, 1), dtype), np.ones(1, dtype), linker=linker
    )
    for n in (1, 2, 3, 9, 20):  # pivots move: nothing is large on the diagonal
        ab, b = numbers(rng, (lower + upper + 1, n), dtype), numbers(rng, (n, 3), dtype)
        a = written_out(ab, upper)
        agree(one(ab, b), a, b)
        agree(vector(ab, b[:, 1]), a, b[:, 1])
        agree(one(np.repeat(ab, 2, 1)[:, ::2], b[::-1, :0:-2]), a, b[::-1, :0:-2])
    assert one(ab, b[:, :0]).shape == (n, 0) and one(ab[:, :0], b[:0]).shape == (0, 3)


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("others", [0, 1, 2, 6])
def test_one_triangle_in_bands_is_the_matrix(others, lower, dtype, linker, rng):
    one = compiled(lambda x, y: L.solveh_banded(x, y, lower), *np.ones((2, 1, 1), dtype), linker=linker)
    for n in (1, 2, 3, 9, 20):
        ab, b = numbers(rng, (others + 1, n), dtype), numbers(rng, (n, 3), dtype)
        ab[0 if lower else -1] += 5 * others + 4  # its imaginary part is not read
        a = hermitian(ab, lower)
        agree(one(ab, b), a, b)
        agree(one(np.repeat(ab, 2, 1)[:, ::2], b[::-1, :0:-2]), a, b[::-1, :0:-2])
    assert one(ab, b[:, :0]).shape == (n, 0) and one(ab[:, :0], b[:0]).shape == (0, 3)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("bands", [(12, 9), (3, 25), (40, 2), (21, 21)], ids=str)
@pytest.mark.parametrize("linker", LINKERS[1:])
def test_wide_bands_go_some_steps_at_a_time(bands, dtype, linker, rng):
    lower, upper = bands
    one = compiled(lambda x, y: L.solve_banded(bands, x, y), *np.ones((2, 1, 1), dtype), linker=linker)
    half = compiled(lambda x, y: L.solveh_banded(x, y), *np.ones((2, 1, 1), dtype), linker=linker)
    for n in (1, 3, 4, 6, 29, 83):
        ab, b = numbers(rng, (lower + upper + 1, n), dtype), numbers(rng, (n, 3), dtype)
        for wanted in (b, b[:, :1]):
            agree(one(ab, wanted), written_out(ab, upper), wanted)
        ab[-1] = 30 * (lower + upper)
        for wanted in (b, b[:, :1]):
            agree(half(ab, wanted), hermitian(ab, False), wanted)
    ab[-1, 49] = -1
    with pytest.raises(np.linalg.LinAlgError, match="leading minor 50 of the matrix is not positive"):
        half(ab, b)
    ab[:, 30] = 0
    with pytest.raises(np.linalg.LinAlgError, match="ingular matrix"):
        one(ab, b)


@pytest.mark.parametrize("linker", LINKERS)
def test_bands_of_batches_and_of_whole_numbers(linker, rng):
    ab, b = rng.normal(size=(4, 1, 3, 5)), rng.normal(size=(2, 5, 3))
    found = compiled(lambda x, y: L.solve_banded((1, 1), x, y), ab[:, 0], b[0], linker=linker)(ab[:, 0], b[0])
    for k in range(4):
        agree(found[k], written_out(ab[k, 0], 1), b[0])
    x, y = T.tensor("x", shape=(4, 1, 3, None)), T.dtensor3("y")
    found = tg.function([x, y], L.solve_banded((1, 1), x, y), mode=tg.Mode(linker=linker))(ab, b)
    assert found.shape == (4, 2, 5, 3)
    agree(found[3, 1], written_out(ab[3, 0], 1), b[1])
    whole = np.array([[4, 5, 6], [1, 1, 0]])
    agree(compiled(lambda x, y: L.solveh_banded(x, y, True), whole, b[0], linker=linker)(whole, b[0, :3]),
          hermitian(whole.astype(float), True), b[0, :3])  # fmt: skip


def test_vmap_solves_each(rng):
    ab, b = rng.normal(size=(4, 3, 5)), rng.normal(size=(4, 5))
    x, y = T.dtensor3("x"), T.dmatrix("y")
    f = tg.function([x, y], tg.vmap(lambda p, q: L.solve_banded((1, 1), p, q))(x, y))
    np.testing.assert_allclose(f(ab, b), [np.linalg.solve(written_out(p, 1), q) for p, q in zip(ab, b)], rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("bands", [(0, 0), (1, 1), (2, 1), (0, 2)], ids=str)
def test_gradients_of_bands(bands, dtype, rng):
    lower, upper = bands
    ab, b = numbers(rng, (lower + upper + 1, 5), dtype), rng.normal(size=(5, 2))
    ab[upper] += 4
    tg.verify_grad(lambda x, y: L.solve_banded(bands, x, y), [ab, b], rng=rng)
    tg.verify_grad(lambda x, y: L.solve_banded(bands, x, y), [ab, b[:, 0]], rng=rng)
    x = T.tensor("x", dtype=dtype, shape=(None, None))
    again = T.real(tg.grad(T.real(L.solve_banded(bands, x, b)).sum(), x)).sum()  # of the transposed matrix
    f, slope = tg.function([x], again), tg.function([x], T.real(tg.grad(again, x)).sum())
    step = 1e-6
    np.testing.assert_allclose((f(ab + step) - f(ab - step)) / (2 * step), slope(ab), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("others", [0, 1, 3])
def test_gradients_of_one_triangle(others, lower, dtype, rng):
    ab, b = numbers(rng, (others + 1, 5), dtype), numbers(rng, (5, 2), dtype)
    ab[0 if lower else -1] += 5 * others + 4
    tg.verify_grad(lambda x, y: L.solveh_banded(x, y, lower), [ab, b], rng=rng)


@pytest.mark.parametrize("linker", LINKERS)
def test_a_matrix_without_a_solution(linker):
    x, y = T.dmatrix("x"), T.dmatrix("y")
    for bands, ab in (((1, 1), np.zeros((3, 4))), ((1, 1), np.diag([0, 1.0, 0])[:, ::1]), ((2, 1), np.zeros((4, 4)))):
        ab = ab.copy()
        ab[bands[1], :-1] = 1
        f = compiled(lambda p, q: L.solve_banded(bands, p, q), ab, ab, linker=linker)  # noqa: B023
        with pytest.raises(np.linalg.LinAlgError, match=r"test_structured\.py[\s\S]*Singular matrix"):
            f(ab, np.ones((ab.shape[1], 2)))
        f = compiled(lambda p, q: L.solve_banded(bands, p, q, on_error="nan"), ab, ab, linker=linker)  # noqa: B023
        assert np.isnan(f(ab, np.ones((ab.shape[1], 2)))).all()
    for ab in (np.array([[1.0, 1, -1, 4]]), np.array([[1.0, 4, -4, 4], [0, 0, 0, 0]])):
        f = compiled(lambda p, q: L.solveh_banded(p, q, True), ab, ab, linker=linker)
        with pytest.raises(np.linalg.LinAlgError, match="leading minor 3 of the matrix is not positive"):
            f(ab, np.ones((4, 2)))
        f = compiled(lambda p, q: L.solveh_banded(p, q, True, on_error="nan"), ab, ab, linker=linker)
        assert np.isnan(f(ab, np.ones((4, 2)))).all()
    f = tg.function([x, y], L.solve_banded((1, 1), x, y), mode=tg.Mode(linker=linker))
    with pytest.raises(ShapeError, match="solve_banded: ab has 2 rows, and must have 3"):
        f(np.ones((2, 4)), np.ones((4, 1)))
    with pytest.raises(ShapeError, match="the bands have 4 columns, the right side has 5 rows"):
        f(np.ones((3, 4)), np.ones((5, 1)))
    with pytest.raises(ShapeError, match="must have a row for the main diagonal"):
        tg.function([x, y], L.solveh_banded(x, y), mode=tg.Mode(linker=linker))(np.ones((0, 4)), np.ones((4, 1)))


def test_wrong_arguments_of_bands_are_named():
    x, y = T.dmatrix("x"), T.dvector("y")
    with pytest.raises(TypeError, match="l_and_u must be two integers, how many diagonals .* got 1"):
        L.solve_banded(1, x, y)
    with pytest.raises(ValueError, match=r"l_and_u must not be negative, got \(-1, 1\)"):
        L.solve_banded((-1, 1), x, y)
    with pytest.raises(ValueError, match="solveh_banded: on_error must be 'raise' or 'nan', got 'ignore'"):
        L.solveh_banded(x, y, on_error="ignore")
    with pytest.raises(ShapeError, match="ab has 4 rows, and must have 3: one for each diagonal"):
        L.solve_banded((1, 1), np.ones((4, 5)), np.ones(5))
    with pytest.raises(ShapeError, match="do not fit: 5 columns against 4 rows"):
        L.solve_banded((1, 1), np.ones((3, 5)), np.ones(4))
    with pytest.raises(TypeError, match="not defined for float16"):
        L.solve_banded((1, 1), x.astype("float16"), y)


# ---------------------------------------------------------------------- Toeplitz
def diagonals(rng, n, dtype):
    """A first column and row of a matrix that is far from singular."""
    c, r = numbers(rng, n, dtype), numbers(rng, n, dtype)
    c[:1] += 2 * n
    return c, r


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64"])
def test_toeplitz_systems_and_products(dtype, linker, rng):
    given = [np.ones(1, dtype), np.ones(1, dtype), np.ones((1, 1), dtype)]
    both = compiled(
        lambda c, r, b: [
            L.solve_toeplitz((c, r), b), L.solve_toeplitz(c, b[:, 0]), L.matmul_toeplitz((c, r), b),
            L.matmul_toeplitz((c[1:], r), b[:, 0]), L.matmul_toeplitz(c, b),
        ],
        *given, linker=linker,
    )  # fmt: skip
    for n in (1, 2, 3, 8, 9, 40):
        (c, r), b = diagonals(rng, n, dtype), numbers(rng, (n, 3), dtype)
        found = both(c, r, b)
        wanted = [
            sla.solve_toeplitz((c, r), b), sla.solve_toeplitz(c, b[:, 0]), sla.matmul_toeplitz((c, r), b),
            sla.toeplitz(c[1:], r).astype(found[3].dtype) @ b[:, 0] if n > 1 else np.zeros(0, found[3].dtype),
            sla.matmul_toeplitz(c, b),
        ]  # fmt: skip
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.dtype
            near = 1e-5 if dtype == "float32" else 1e-11
            np.testing.assert_allclose(one, other, rtol=near, atol=near * 10)
    assert [v.shape for v in both(c[:0], r[:0], b[:0])[:3]] == [(0, 3), (0,), (0, 3)]


@pytest.mark.parametrize("linker", LINKERS)
def test_toeplitz_batches(linker, rng):
    c, r, b = rng.normal(size=(4, 5)) + [10, 0, 0, 0, 0], rng.normal(size=(4, 5)), rng.normal(size=(5, 2))
    x, y, z = T.dmatrix("x"), T.dmatrix("y"), T.dmatrix("z")
    outputs = [L.solve_toeplitz((x, y), z), L.matmul_toeplitz((x, y), z), L.solve_toeplitz((x, y[0]), z)]
    outputs.append(tg.vmap(lambda p, q: L.solve_toeplitz((p, q), z[:, 0]))(x, y))
    found = tg.function([x, y, z], outputs, mode=tg.Mode(linker=linker))(c, r, b)
    for k in range(4):
        a = sla.toeplitz(c[k], r[k])
        wanted = [
            np.linalg.solve(a, b),
            a @ b,
            np.linalg.solve(sla.toeplitz(c[k], r[0]), b),
            np.linalg.solve(a, b[:, 0]),
        ]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one[k], other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_toeplitz_systems(dtype, rng):
    (c, r), b = diagonals(rng, 5, dtype), numbers(rng, (5, 2), dtype)
    tg.verify_grad(lambda c, r, b: L.solve_toeplitz((c, r), b), [c, r, b], rng=rng)
    tg.verify_grad(lambda c, b: L.solve_toeplitz(c, b), [c, b[:, 0]], rng=rng)
    tg.verify_grad(lambda c, r, b: L.matmul_toeplitz((c[:3], r), b), [c, r, b], rng=rng)
    x = T.dvector("x")
    slope = tg.function([x], tg.grad(L.solve_toeplitz((x, x), x).sum(), x))
    assert slope(np.zeros(0)).shape == (0,)
    np.testing.assert_allclose(slope([2.0]), 0, atol=1e-15)


@pytest.mark.parametrize("linker", LINKERS)
def test_toeplitz_systems_without_a_solution(linker):
    x, y = T.dvector("x"), T.dvector("y")
    f = tg.function([x, y], L.solve_toeplitz(x, y), mode=tg.Mode(linker=linker))
    for c in ([0.0, 1.0, 2.0], [1.0, 1.0, 3.0]):  # the first minor is 0, the second
        with pytest.raises(np.linalg.LinAlgError, match=r"test_structured\.py[\s\S]*Singular principal minor"):
            f(c, [1.0, 2.0, 3.0])
        found = tg.function([x, y], L.solve_toeplitz(x, y, on_error="nan"), mode=tg.Mode(linker=linker))
        assert np.isnan(found(c, [1.0, 2.0, 3.0])).all()
    with pytest.raises(ShapeError, match="must be as long as each other, got 3 and 2"):
        f([1.0, 2.0, 3.0], [1.0, 2.0])


def test_wrong_arguments_of_toeplitz_are_named():
    x = T.dvector("x")
    with pytest.raises(ValueError, match=r"first argument must be c, the first column, or \(c, r\), got 3 arrays"):
        L.solve_toeplitz((x, x, x), x)
    with pytest.raises(ShapeError, match="matmul_toeplitz: the first column and row must be vectors"):
        L.matmul_toeplitz(T.dscalar("s"), x)
    with pytest.raises(ShapeError, match="the matrix has 4 columns, as r has elements, and x has 3 rows"):
        L.matmul_toeplitz((np.ones(2), np.ones(4)), np.ones(3))
    with pytest.raises(ShapeError, match="must be as long as each other, got 4 and 3"):
        L.solve_toeplitz(np.ones(4), np.ones(3))
    with pytest.raises(ValueError, match="solve_toeplitz: on_error must be"):
        L.solve_toeplitz(x, x, "ignore")
