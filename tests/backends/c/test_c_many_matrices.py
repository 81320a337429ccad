"""Linear algebra of many small matrices, which C computes in the lanes of vectors, beside NumPy's."""

import mpmath
import numpy as np
import pytest

import termgraph as tg
from termgraph import tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "auto"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
COUNTS = [0, 1, 2, 3, 7, 8, 9, 17]
LENGTHS = [0, 1, 2, 3, 5, 8, 13, 31, 32, 33]
ONE = {
    "det": (T.linalg.det, np.linalg.det),
    "inv": (T.linalg.inv, np.linalg.inv),
    "slogdet": (lambda x: list(T.linalg.slogdet(x)), np.linalg.slogdet),
    "cholesky": (T.linalg.cholesky, np.linalg.cholesky),
}


def compiled(name, dtype="float64", ndim=3):
    x = T.tensor("x", dtype=dtype, shape=(None,) * ndim)
    f = tg.function([x], ONE[name][0](x))
    assert f"tg_many_{name}" in f.source("c")
    return f


def matrices(rng, name, count, n):
    """Well-conditioned ones whose rows have to change places."""
    x = rng.standard_normal((count, n, n)) + 3 * np.roll(np.eye(n), 1, axis=0)
    return x @ x.swapaxes(-1, -2) + np.eye(n) if name == "cholesky" else x


def close(got, expected, rtol=1e-10):
    for a, b in zip(got, expected) if isinstance(expected, tuple) else [(got, expected)]:
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max(initial=0))


@pytest.mark.parametrize("name", ONE)
def test_counts_lengths_and_strides(rng, name):
    f, expected = compiled(name), ONE[name][1]
    for count in COUNTS:
        for n in LENGTHS:
            x = matrices(rng, name, count, n)
            wide = np.repeat(np.repeat(x, 2, axis=0), 3, axis=2)
            for given in (x, np.asfortranarray(x), wide[::2, :, ::3], np.ascontiguousarray(x[::-1])[::-1]):
                close(f(given), expected(x))


@pytest.mark.parametrize("columns", [0, 1, 3, 40])
def test_solve(rng, columns):
    x, y = T.dtensor3s("x", "y")
    f = tg.function([x, y], T.linalg.solve(x, y))
    assert "tg_many_solve" in f.source("c")
    for count in COUNTS:
        for n in LENGTHS:
            a, b = matrices(rng, "solve", count, n), rng.standard_normal((count, n, columns))
            close(f(a, b), np.linalg.solve(a, b))
            close(f(a.swapaxes(1, 2), b[:, ::-1]), np.linalg.solve(a.swapaxes(1, 2), b[:, ::-1]))


def test_one_matrix_for_many_right_sides(rng):
    x, y = T.dmatrix("x"), T.dtensor3("y")
    a, b = matrices(rng, "solve", 1, 5)[0], rng.standard_normal((9, 5, 2))
    close(tg.function([x, y], T.linalg.solve(x, y))(a, b), np.linalg.solve(a, b))


@pytest.mark.parametrize("name", ONE)
def test_several_batches_and_single_precision(rng, name):
    x = matrices(rng, name, 30, 4).reshape(2, 3, 5, 4, 4)
    close(compiled(name, ndim=5)(x), ONE[name][1](x))
    got = compiled(name, "float32", 5)(x.astype("float32"))
    assert {np.asarray(a).dtype.name for a in got} == {"float32"}
    close(got, ONE[name][1](x), 1e-5)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_reads_one_triangle(rng, lower):
    x = T.dtensor3("x")
    f = tg.function([x], T.linalg.cholesky(x, lower=lower))
    a = matrices(rng, "cholesky", 9, 6)
    given = np.where(np.tri(6, dtype=bool) if lower else np.tri(6, dtype=bool).T, a, np.nan)
    expected = np.linalg.cholesky(a)
    close(f(given), expected if lower else expected.swapaxes(1, 2))


@pytest.mark.parametrize("name", ONE)
def test_a_matrix_does_not_depend_on_the_others(rng, name):
    f, x = compiled(name), matrices(rng, name, 21, 7)
    alone = f(x)
    y = x.copy()
    y[3], y[5], y[20] = 1e200 * x[3], 1e-200 * x[5], 1e100 * x[20]
    for a, b in zip(alone, f(y)) if name == "slogdet" else [(alone, f(y))]:
        keep = np.setdiff1d(np.arange(21), [3, 5, 20])
        np.testing.assert_array_equal(a[keep], b[keep])
    backwards = f(x[::-1])
    for a, b in zip(alone, backwards) if name == "slogdet" else [(alone, backwards)]:
        np.testing.assert_array_equal(a, b[::-1])


def test_determinants_out_of_range_and_of_singular_matrices(rng):
    diagonals = [[1e200, 1e200, 1e-300], [1e-200, 1e-200, 1e300], [1e-160, 1e-160, 1.0], [0.0, 1, 2],
                 [1e200, 1e200, 1e5], [-1.0, 2, 3], [np.inf, 1, 1], [np.nan, 1, 1]]  # fmt: skip
    x = np.stack([np.diag(d) for d in diagonals])
    with np.errstate(invalid="ignore", over="ignore"):
        expected, (sign, log) = np.linalg.det(x), np.linalg.slogdet(x)
    np.testing.assert_allclose(compiled("det")(x), expected, rtol=1e-12)
    got = compiled("slogdet")(x)
    np.testing.assert_array_equal(got[0], sign)
    np.testing.assert_allclose(got[1], log, rtol=1e-14)


def test_matrices_without_a_result(rng):
    x, y = T.dtensor3s("x", "y")
    a, b = matrices(rng, "solve", 11, 3), rng.standard_normal((11, 3, 2))
    a[4] = 1.0
    for out, given in ((T.linalg.inv(x), [a]), (T.linalg.solve(x, y), [a, b]), (T.linalg.cholesky(x), [-a])):
        with pytest.raises(np.linalg.LinAlgError):
            tg.function([x, y][: len(given)], out)(*given)
    p = matrices(rng, "cholesky", 11, 3)
    p[4] = -p[4]
    got = tg.function([x], T.linalg.cholesky(x, on_error="nan"))(p)
    assert np.isnan(got[4]).any()
    others = np.arange(11) != 4
    close(got[others], np.linalg.cholesky(p[others]))


@pytest.mark.parametrize("n", [2, 5, 12])
def test_as_exact_as_lapack(rng, n):
    """Units of the last place of the determinant, and of the inverse's largest element, from mpmath: mean of nine."""
    x = matrices(rng, "det", 9, n)
    det, inv = compiled("det")(x), compiled("inv")(x)
    ours, lapack = [], []
    with mpmath.workdps(50):
        for k in range(9):
            m = mpmath.matrix(x[k].tolist())
            exact, inverse = mpmath.det(m), np.array((m**-1).tolist(), dtype=object)
            top = max(abs(v) for v in inverse.ravel())
            for found, d, i in ((ours, det[k], inv[k]), (lapack, np.linalg.det(x[k]), np.linalg.inv(x[k]))):
                far = max(abs(v - w) for v, w in zip(i.ravel().tolist(), inverse.ravel()))
                found.append((float(abs(d - exact) / abs(exact)), float(far / top)))
    eps = np.finfo(float).eps
    for a, b in zip(np.mean(ours, axis=0), np.mean(lapack, axis=0)):
        assert a < 2 * b + 2 * eps
