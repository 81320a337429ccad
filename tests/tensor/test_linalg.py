"""Linear algebra agrees with NumPy and SciPy, batched, for every dtype LAPACK takes."""

import numpy as np
import pytest
import scipy.linalg
from helpers import check, quick, run, variable_for
from hypothesis import given
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError

L = T.linalg
RTOL = 2e-3
DTYPES = ("float32", "float64", "complex64", "complex128", "int32", "bool")


def numbers(shape, dtype="float64", seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    return (x * 3).astype(dtype) if np.dtype(dtype).kind in "biu" else x.astype(dtype)


def invertible(shape, dtype, seed=0):
    x = numbers(shape, "float64" if np.dtype(dtype).kind in "biu" else dtype, seed) + 4 * np.eye(shape[-1])
    return x.astype(dtype) if np.dtype(dtype).kind != "b" else np.broadcast_to(np.eye(shape[-1], dtype=bool), shape)


def positive(shape, dtype):
    x = numbers(shape, dtype)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])).astype(dtype)


@st.composite
def square(draw, make=invertible, dtypes=DTYPES):
    batch = draw(st.lists(st.integers(0, 2), max_size=2))
    n = draw(st.integers(0, 4))
    array = make((*batch, n, n), draw(st.sampled_from(dtypes)))
    return array[..., ::-1, :][..., ::-1, :] if draw(st.booleans()) else np.asfortranarray(array)


@given(a=square())
@quick(40)
def test_inverse_and_determinants(a):
    check(L.inv, np.linalg.inv, a, rtol=RTOL)
    check(L.det, np.linalg.det, a, rtol=RTOL)
    check(L.slogdet, lambda x: tuple(np.linalg.slogdet(x)), a, rtol=RTOL)
    if a.size:
        check(L.pinv, np.linalg.pinv, a, rtol=RTOL)
    check(L.trace, np.linalg.trace, a, rtol=RTOL)


@given(a=square(), columns=st.integers(0, 3), data=st.data())
@quick(40)
def test_solve(a, columns, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    b = numbers((*a.shape[:-1], columns), dtype)
    check(L.solve, np.linalg.solve, a, b, rtol=RTOL)
    vector = numbers(a.shape[-1:], dtype, seed=1)
    check(L.solve, np.linalg.solve, a, vector, rtol=RTOL)
    one_batch = numbers((a.shape[-1], 2), dtype, seed=2)
    check(L.solve, np.linalg.solve, a, one_batch, rtol=RTOL)


@given(a=square(positive, DTYPES[:4]), lower=st.booleans())
@quick(30)
def test_positive_definite(a, lower):
    check(lambda x: L.cholesky(x, lower), lambda x: np.linalg.cholesky(x, upper=not lower), a, rtol=RTOL)
    b = numbers((*a.shape[:-1], 2), a.dtype)
    check(lambda x, y: L.solve(x, y, assume_a="pos"), np.linalg.solve, a, b, rtol=RTOL)
    check(lambda x, y: L.cho_solve((L.cholesky(x, lower), lower), y), np.linalg.solve, a, b, rtol=RTOL)
    triangle = "L" if lower else "U"
    check(lambda x: L.eigvalsh(x, triangle), lambda x: np.linalg.eigvalsh(x, triangle), a, rtol=RTOL)
    values, vectors = run(lambda x: L.eigh(x, triangle), a)
    np.testing.assert_allclose(a @ vectors, vectors * values[..., None, :], rtol=RTOL, atol=RTOL * 10)


@given(
    a=square(dtypes=DTYPES[:5]),
    lower=st.booleans(),
    trans=st.sampled_from([0, 1, 2, "N", "T", "C"]),
    unit=st.booleans(),
)
@quick(40)
def test_solve_triangular(a, lower, trans, unit):
    b = numbers((*a.shape[:-1], 2), "float64")
    triangle = np.tril(a) if lower else np.triu(a)
    if unit:
        i = np.arange(a.shape[-1])
        triangle = triangle * 0.25
        triangle[..., i, i] = 1
    full = {"T": np.swapaxes(triangle, -1, -2), "C": np.conj(np.swapaxes(triangle, -1, -2)), "N": triangle}
    expected = np.linalg.solve(full[{0: "N", 1: "T", 2: "C"}.get(trans, trans)], b)
    given_ = a * 0.25 if unit else a
    got = run(lambda x, y: L.solve_triangular(x, y, lower, trans, unit), given_, b)
    np.testing.assert_allclose(got, expected, rtol=RTOL, atol=RTOL)


def test_vectors_as_right_sides():
    a, b = invertible((3, 3), "float64"), numbers((3,))
    check(lambda x, y: L.solve_triangular(x, y, lower=True), lambda x, y: np.linalg.solve(np.tril(x), y), a, b)
    stacked = invertible((2, 3, 3), "float64")
    check(L.solve, np.linalg.solve, stacked, b)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2), (0, 3), (2, 0, 3), (0, 2, 2)])
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64"])
def test_qr_and_svd(shape, dtype):
    a = numbers(shape, dtype)
    for mode in ("reduced", "complete"):
        check(lambda x, m=mode: L.qr(x, m), lambda x, m=mode: tuple(np.linalg.qr(x, m)), a, rtol=RTOL)
    check(lambda x: L.qr(x, "r"), lambda x: np.linalg.qr(x, "r"), a, rtol=RTOL)
    for full in (False, True):
        check(lambda x, f=full: L.svd(x, f), lambda x, f=full: tuple(np.linalg.svd(x, f)), a, rtol=RTOL)
    check(lambda x: L.svd(x, compute_uv=False), lambda x: np.linalg.svd(x, compute_uv=False), a, rtol=RTOL)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
def test_eig_is_always_complex(dtype):
    a = numbers((2, 3, 3), dtype)
    values, vectors = run(L.eig, a)
    assert values.dtype == vectors.dtype == (np.complex64 if dtype in ("float32", "complex64") else np.complex128)
    np.testing.assert_allclose(a @ vectors, vectors * values[..., None, :], rtol=RTOL, atol=RTOL)
    symmetric = run(L.eigvals, np.eye(2, dtype=dtype))
    assert symmetric.dtype.kind == "c"


def test_lstsq():
    a, b = numbers((5, 2)), numbers((5, 3))

    def numpys(x, y):
        solution, residuals, rank, values = np.linalg.lstsq(x, y)
        return solution, residuals, np.int64(rank), values

    check(L.lstsq, numpys, a, b)
    check(L.lstsq, numpys, a, b[:, 0])
    with pytest.raises(TypeError, match="without batch"):
        L.lstsq(T.dtensor3(), T.dmatrix())


@pytest.mark.parametrize("shape", [(5, 2), (60, 20), (3, 3), (2, 5), (1, 1), (4, 0), (0, 3), (300, 60)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_solutions_of_least_squares_alone(shape, dtype, rng):
    """Without the rank there is a shorter way, for matrices that are clearly of full rank: the same solutions."""
    a, b = T.matrix("a", dtype=dtype), T.matrix("b", dtype=dtype)
    f = tg.function([a, b], L.lstsq(a, b)[0])
    rtol = 2e-3 if dtype == "float32" else 1e-9
    whole = rng.normal(size=shape)
    least = min(shape)
    thin = whole.copy()
    thin[:, : least // 2] = 0
    twice = np.concatenate([whole[:, : (shape[1] + 1) // 2]] * 2, axis=1)[:, : shape[1]]
    slanted = whole * np.logspace(0, -9, shape[1])
    for x in (whole, thin, twice, slanted, whole * 1e-170, whole * 1e170, whole[::-1]):
        if dtype == "float32" and (x is slanted or (x.size and not 1e-30 < abs(x).max() < 1e30)):
            continue
        x, y = x.astype(dtype), rng.normal(size=(shape[0], 3)).astype(dtype)
        wanted = np.linalg.lstsq(x, y, rcond=None)[0]
        scale = np.max(abs(wanted), axis=1, keepdims=True, initial=0)
        scale = np.where(scale < 1e-12 * np.max(scale, initial=0), 1, scale) + (scale == 0)
        np.testing.assert_allclose(f(x, y) / scale, wanted / scale, rtol=rtol * 10, atol=rtol)
        np.testing.assert_allclose(f(np.asfortranarray(x), y[:, :1]), np.linalg.lstsq(x, y[:, :1], rcond=None)[0],
                                   rtol=rtol * 10, atol=rtol * np.max(abs(wanted), initial=0))  # fmt: skip


def test_a_bound_says_which_singular_values_count():
    a, b = T.dmatrices("a", "b")
    x, y = np.diag([1.0, 0.1, 1e-3])[:, :] + 1e-5, np.ones((3, 1))
    for rcond in (1e-5, 1e-2, 0.5):
        wanted = np.linalg.lstsq(x, y, rcond=rcond)[0]
        np.testing.assert_allclose(tg.function([a, b], L.lstsq(a, b, rcond=rcond)[0])(x, y), wanted, rtol=1e-10)


ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms(dtype, keepdims):
    x = numbers((3, 4, 2), dtype)
    cases = [(None, None), *[(o, (0, 2)) for o in ORDERS], *[(o, (-1, 1)) for o in ORDERS]]
    cases += [(o, 1) for o in (None, 0, 1, 2, 3, 0.5, -1, np.inf, -np.inf)]
    for o, axis in cases:
        check(
            lambda a, o=o, d=axis: L.norm(a, o, d, keepdims),
            lambda a, o=o, d=axis: np.linalg.norm(a, o, d, keepdims),
            x,
            rtol=RTOL,
            what=f"{o} {axis}",
        )
    check(lambda a: L.norm(a, 3), lambda a: np.linalg.norm(a, 3), x[0, :, 0], rtol=RTOL)
    check(
        lambda a: L.vector_norm(a, keepdims=keepdims),
        lambda a: np.linalg.vector_norm(a, keepdims=keepdims),
        x,
        rtol=RTOL,
    )
    check(lambda a: L.matrix_norm(a, keepdims), lambda a: np.linalg.matrix_norm(a, keepdims=keepdims), x, rtol=RTOL)


@pytest.mark.parametrize("known", [False, True])
def test_norms_of_nothing_are_zero(known):
    """As NumPy's are from 2.4 on, and those of JAX and PyTorch."""
    for shape in ((0, 3), (3, 0), (0, 0), (2, 3)):
        x, given = T.tensor("x", dtype="float64", shape=shape if known else (None, None)), -np.ones(shape)
        norms = [L.norm(x, o, axis) for o in (1, 2, np.inf) for axis in (-1, 0, None)]
        for found, wanted in zip(tg.function([x], norms)(given), [g for o in (1, 2, np.inf) for g in (
            np.linalg.norm(given, o, -1) if shape[1] else np.zeros(shape[0]),
            np.linalg.norm(given, o, 0) if shape[0] else np.zeros(shape[1]),
            np.linalg.norm(given, o) if given.size else 0.0,
        )]):  # fmt: skip
            np.testing.assert_allclose(found, wanted)


def test_bad_norms():
    x = T.dtensor3("x")
    for args, message in [
        ((1,), "3 dimensions"),
        (("fro", 0), "not defined for vectors"),
        ((5, (0, 1)), "for matrices"),
    ]:
        with pytest.raises(ValueError, match=message):
            L.norm(x, *args)
    with pytest.raises(ValueError, match="two different"):
        L.norm(x, None, (0, 0))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, -1, -3])
def test_matrix_power(n):
    for a in (invertible((3, 3), "float64"), invertible((2, 3, 3), "float32")):
        check(lambda x: L.matrix_power(x, n), lambda x: np.linalg.matrix_power(x, n), a, rtol=RTOL * 10)


def test_matrix_power_counts_its_products():
    """x ** 7 takes four products: squares are shared."""
    from termgraph.terms.traverse import count_nodes

    assert count_nodes([L.matrix_power(T.dmatrix("x"), 7).term]) == 4


def test_rank_cond_expm_multi_dot():
    a = numbers((4, 3))
    rank_two = np.stack([a @ np.diag([1.0, 1, 0]), a])
    check(L.matrix_rank, np.linalg.matrix_rank, rank_two)
    check(lambda x: L.matrix_rank(x, tol=0.5), lambda x: np.linalg.matrix_rank(x, 0.5), rank_two)
    check(L.matrix_rank, np.linalg.matrix_rank, a[0])
    with pytest.raises(ValueError, match="one of tol"):
        L.matrix_rank(T.dmatrix("a"), tol=0.5, rtol=0.1)
    square = invertible((2, 3, 3), "float64")
    for p in (None, 1, -2, np.inf, "fro"):
        check(lambda x, p=p: L.cond(x, p), lambda x, p=p: np.linalg.cond(x, p), square, rtol=RTOL)
    check(L.expm, scipy.linalg.expm, square / 3, rtol=RTOL)
    chain = [numbers((3,)), numbers((3, 50)), numbers((50, 2)), numbers((2, 4)), numbers((4,))]
    check(lambda *xs: L.multi_dot(xs), lambda *xs: np.linalg.multi_dot(xs), *chain, rtol=RTOL)
    x, y, v = variable_for(chain[1], True), variable_for(chain[2], True), variable_for(chain[3], True)
    assert L.multi_dot([x, y, v]).term is ((x @ y) @ v).term
    inverse = run(lambda x: L.tensorinv(x, 2), np.eye(6).reshape(2, 3, 6))
    np.testing.assert_allclose(inverse, np.linalg.tensorinv(np.eye(6).reshape(2, 3, 6)))


def test_singular_matrices_raise_linalg_errors():
    zero = np.zeros((2, 2))
    b = np.ones(2)
    for build in (L.inv, lambda x: L.solve(x, b), lambda x: L.solve_triangular(x, b), L.cholesky):
        with pytest.raises(L.LinAlgError):
            run(build, zero)


FAILING = {
    "cholesky": lambda a, b, e: L.cholesky(a, on_error=e),
    "solve": lambda a, b, e: L.solve(a, b, on_error=e),
    "solve (positive)": lambda a, b, e: L.solve(a, b, assume_a="pos", on_error=e),
    "solve_triangular": lambda a, b, e: L.solve_triangular(a, b, lower=True, on_error=e),
    "cho_solve": lambda a, b, e: L.cho_solve((a, True), b, on_error=e),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_nan_where_there_is_no_result(name, dtype):
    """Only the matrices that have no factor give NaN; the others in the batch, and gradients, are as ever."""
    good, bad = np.array([[2, 0], [1, 3]]), np.array([[0, 0], [1, 0]])
    good, bad = (good @ good.T, bad @ bad.T) if "triangular" not in name and "cho_" not in name else (good, bad)
    a, b = np.array([good, bad, good], dtype), np.arange(12).reshape(3, 2, 2).astype(dtype)

    def build(x, y):
        found = FAILING[name](x, y, "nan")
        return (
            [found] if dtype == "complex128" else [found, *tg.grad(found.sum(), [x, y], disconnected_inputs="ignore")]
        )

    def plain(x, y):
        found = FAILING[name](x, y, "raise")
        return (
            [found] if dtype == "complex128" else [found, *tg.grad(found.sum(), [x, y], disconnected_inputs="ignore")]
        )

    found, fine = run(build, a, b), run(plain, a[[0, 0]], b[[0, 2]])
    for got, right in zip(found, fine):
        np.testing.assert_allclose(got[[0, 2]], right, rtol=1e-5)
    assert np.isnan(found[0][1]).all()
    with pytest.raises(L.LinAlgError):
        run(plain, a, b)
    with pytest.raises(ValueError, match="on_error must be 'raise' or 'nan'"):
        FAILING[name](T.dmatrix(), T.dmatrix(), "ignore")


def test_shapes_and_dtypes_are_checked_while_building():
    with pytest.raises(ShapeError, match=r"inv needs square matrices, got shape \(2, 3\)"):
        L.inv(T.tensor(dtype="float64", shape=(2, 3)))
    with pytest.raises(ShapeError, match=r"shape \(2, 2\) and a right side of shape \(3, 1\).*2 against 3"):
        L.solve(T.tensor(dtype="float64", shape=(2, 2)), T.tensor(dtype="float64", shape=(3,)))
    with pytest.raises(TypeError, match="inv needs a matrix.*1 dimensions"):
        L.inv(T.dvector())
    with pytest.raises(TypeError, match="not defined for float16"):
        L.det(T.tensor(dtype="float16", shape=(2, 2)))
    for bad in (lambda: L.solve(T.dmatrix(), T.dvector(), assume_a="x"), lambda: L.qr(T.dmatrix(), "raw")):
        with pytest.raises(ValueError, match="must be"):
            bad()
    with pytest.raises(TypeError, match="known while building"):
        L.matrix_power(T.dmatrix(), T.lscalar())
    with pytest.raises(ShapeError, match=r"solve: shapes \(2, 2\) and \(3, 1\)"):
        run(L.solve, np.eye(2), np.ones(3))


def test_static_shapes_of_decompositions():
    a = T.tensor("a", dtype="float32", shape=(None, 5, 3))
    u, s, vh = L.svd(a, full_matrices=False)
    assert [v.type.shape for v in (u, s, vh)] == [(None, 5, 3), (None, 3), (None, 3, 3)]
    assert [v.type.shape for v in L.qr(a)] == [(None, 5, 3), (None, 3, 3)]
    assert s.type.dtype == "float32" and s.index == 1 and s.owner.op.name == "svd" and u.owner is s.owner
    assert L.inv(T.tensor(dtype="int8", shape=(4, None))).type.shape == (4, 4)


def test_functions_take_terms():
    a, b = T.dmatrix("a"), T.dvector("b")
    assert L.solve(a.term, b.term) is L.solve(a, b).term
    assert L.svd(a.term)[1] is L.svd(a)[1].term


def test_least_squares_of_huge_right_sides():
    a, b = T.dmatrix("a"), T.dvector("b")
    f = tg.function([a, b], T.linalg.lstsq(a, b)[0])
    tall = np.random.default_rng(0).normal(size=(5, 2))
    for scale, right in ((1e50, 1e280), (1.0, 1e300), (1e-90, 1e200), (1.0, 1e-300)):
        np.testing.assert_allclose(f(tall * scale, tall @ [1.0, 2.0] * right) / (right / scale), [1, 2], rtol=1e-9)
