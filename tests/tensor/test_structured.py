"""Systems whose matrix has a structure: the values of the matrix written out, gradients, batches, failures."""

import numpy as np
import pytest

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
