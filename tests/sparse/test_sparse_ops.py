"""Every op on sparse matrices agrees with the same on the dense ones, whatever is stored and in whatever order."""

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import quick
from hypothesis import given
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph import sparse as S

DTYPES = ("float64", "float32", "int32", "int64", "complex128")


@st.composite
def matrices(draw, shape=None, format=None, dtypes=DTYPES):
    """Matrices with empty rows, elements in any order, stored twice, or zero; with indices of 32 or 64 bits."""
    rows, columns = shape or (draw(st.integers(0, 4)), draw(st.integers(0, 4)))
    format = format or draw(st.sampled_from(("csr", "csc")))
    major, minor = (rows, columns) if format == "csr" else (columns, rows)
    counts = [draw(st.integers(0, 3 if minor else 0)) for _ in range(major)]
    n = sum(counts)
    indices = np.array([draw(st.integers(0, minor - 1)) for _ in range(n)], dtype=draw(st.sampled_from((int, "int32"))))
    data = np.array([draw(st.integers(-3, 3)) for _ in range(n)], dtype=draw(st.sampled_from(dtypes)))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(indices.dtype)
    made = sp.csr_matrix if format == "csr" else sp.csc_matrix
    return made((data, indices, indptr), shape=(rows, columns))


def variable(value, name):
    if sp.issparse(value):
        return S.matrix(value.format, name, dtype=value.dtype)
    return T.tensor(name, dtype=value.dtype, shape=(None,) * value.ndim)


def dense(value):
    return value.toarray() if sp.issparse(value) else value


def check(symbolic, reference, *values):
    """The function of sparse variables and the function of dense arrays give the same."""
    variables = [variable(v, f"x{i}") for i, v in enumerate(values)]
    out = symbolic(*variables)
    found = tg.function(variables, out)(*values)
    wanted = np.asarray(reference(*map(dense, values)))
    assert out.type.is_valid_value(found, strict=True)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(dense(found), wanted, rtol=1e-5)
    return found


def some(format="csr", shape=(5, 4), seed=0, dtype="float64"):
    return sp.random(*shape, density=0.5, format=format, random_state=seed, dtype=dtype)


# ---------------------------------------------------------------------- one matrix
UNARY = {
    "toarray": (lambda s: s.toarray(), lambda a: a),
    "transpose": (lambda s: s.T, lambda a: a.T),
    "tocsr": (lambda s: s.tocsr(), lambda a: a),
    "tocsc": (lambda s: s.tocsc(), lambda a: a),
    "neg": (lambda s: -s, lambda a: -a),
    "twice": (lambda s: 2 * s + s, lambda a: 3 * a),
    "sum": (lambda s: s.sum(), lambda a: a.sum()),
    "sum0": (lambda s: s.sum(0), lambda a: a.sum(0)),
    "sum1": (lambda s: s.sum(axis=-1), lambda a: a.sum(1)),
    "diag": (S.diag, np.diagonal),
    "square": (lambda s: s @ s.T, lambda a: a @ a.T),
    "inner": (lambda s: s.T @ s, lambda a: a.T @ a),
    "squared": (lambda s: s * s, lambda a: a * a),
    "with transpose": (lambda s: s.T * s.tocsr().T, lambda a: a.T * a.T),
    "sum with itself": (lambda s: s + s.tocsr() - s.tocsc(), lambda a: a),
    "no zeros": (S.remove0, lambda a: a),
    "clean": (S.clean, lambda a: a),
    "in order": (S.ensure_sorted_indices, lambda a: a),
    "once each": (S.sum_duplicates, lambda a: a),
    "zeros": (S.sp_zeros_like, np.zeros_like),
    "vstack": (lambda s: S.vstack([s, 2 * s]), lambda a: np.vstack([a, 2 * a])),
    "hstack": (lambda s: S.hstack([s, s, s], format="csr"), lambda a: np.hstack([a, a, a])),
    "rows": (lambda s: s[1:], lambda a: a[1:]),
    "backwards": (lambda s: s[::-1, ::-2], lambda a: a[::-1, ::-2]),
}


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
@quick(12)
def test_of_one_matrix(name, data):
    check(*UNARY[name], data.draw(matrices()))


def test_elements_are_stored_once_and_in_order_afterwards():
    s = sp.csr_matrix(([1.0, 2.0, 3.0, 0.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    x = S.csr_matrix("x")
    clean, once = tg.function([x], [S.clean(x), S.sum_duplicates(x)])(s)
    assert list(clean.indices) == [0, 2, 2] and list(clean.data) == [2, 1, 3]
    assert list(once.indices) == [0, 2, 1] and list(once.data) == [2, 4, 0]


@pytest.mark.parametrize("name", sorted(S.structured.KEEP_ZERO))
def test_functions_that_keep_zero(name):
    known = {"conj": np.conj, "sqr": np.square, "sgn": np.sign}
    reference = known.get(name) or getattr(np, name)
    check(getattr(S, name), reference, some())
    assert isinstance(getattr(S.csr_matrix(), name)(), S.SparseVariable)


def test_structured_functions_leave_what_is_not_stored():
    s = sp.csr_matrix([[0.0, 2.0], [3.0, 0.0]])
    stored = s.toarray() != 0
    for f, reference in [
        (S.structured_exp, np.exp),
        (S.structured_sigmoid, lambda a: 1 / (1 + np.exp(-a))),
        (lambda a: S.structured_log(a), lambda a: np.log(np.where(stored, a, 1))),
        (lambda a: S.structured_pow(a, 3), lambda a: a**3),
        (lambda a: S.structured_minimum(a, 2.5), lambda a: np.minimum(a, 2.5)),
        (lambda a: S.structured_maximum(a, 2.5), lambda a: np.maximum(a, 2.5)),
        (lambda a: S.structured_add(a, 1.0), lambda a: a + 1),
        (lambda a: a**2, np.square),
        (S.sp_ones_like, np.ones_like),
    ]:
        check(f, lambda a, r=reference: np.where(stored, r(a), 0), s)


# ---------------------------------------------------------------------- with arrays
BINARY = {
    "vector": (lambda s, x: s @ x, lambda a, x: a @ x, lambda n, m: (m,)),
    "T.dot": (lambda s, x: T.dot(x, s), lambda a, x: x @ a, lambda n, m: (2, n)),
    "T.matmul": (lambda s, x: T.matmul(s, x), lambda a, x: a @ x, lambda n, m: (m, 2)),
    "matrix": (lambda s, x: S.dot(s, x), lambda a, x: a @ x, lambda n, m: (m, 3)),
    "from the left": (lambda s, x: x @ s, lambda a, x: x @ a, lambda n, m: (2, n)),
    "vector from the left": (lambda s, x: S.structured_dot(x, s), lambda a, x: x @ a, lambda n, m: (n,)),
    "times": (lambda s, x: s * x, lambda a, x: a * x, lambda n, m: (n, m)),
    "times from the left": (lambda s, x: x * s, lambda a, x: a * x, lambda n, m: (n, m)),
    "times a row": (lambda s, x: s * x, lambda a, x: a * x, lambda n, m: (m,)),
    "rows scaled": (S.row_scale, lambda a, x: a * x[:, None], lambda n, m: (n,)),
    "columns scaled": (S.col_scale, lambda a, x: a * x, lambda n, m: (m,)),
    "over": (lambda s, x: s / (x * x + 1), lambda a, x: a / (x * x + 1), lambda n, m: (n, m)),
    "plus": (lambda s, x: s + x, lambda a, x: a + x, lambda n, m: (n, m)),
    "from": (lambda s, x: x - s, lambda a, x: x - a, lambda n, m: (n, m)),
    "minus a row": (lambda s, x: s - x, lambda a, x: a - x, lambda n, m: (m,)),
}


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
@quick(12)
def test_with_an_array(name, data):
    symbolic, reference, shape = BINARY[name]
    s = data.draw(matrices())
    x = np.arange(np.prod(shape(*s.shape)), dtype=data.draw(st.sampled_from(("float64", "float32", "int64"))))
    check(symbolic, reference, s, x.reshape(shape(*s.shape)) - 2)


@given(data=st.data())
@quick(40)
def test_two_matrices(data):
    n, m, k = [data.draw(st.integers(0, 4)) for _ in range(3)]
    a, b, c = [data.draw(matrices(shape)) for shape in ((n, m), (n, m), (m, k))]
    check(lambda s, t: s + t, lambda a, b: a + b, a, b)
    check(lambda s, t: s - t, lambda a, b: a - b, a, b)
    check(lambda s, t: s * t, lambda a, b: a * b, a, b)
    check(lambda s, t: s @ t, lambda a, b: a @ b, a, c)


def test_products_of_elements_store_only_what_both_store():
    a, b = sp.csr_matrix([[1.0, 2.0, 0.0]]), sp.csc_matrix([[0.0, 3.0, 4.0]])
    found = check(lambda s, t: s * t, lambda a, b: a * b, a, b)
    assert found.nnz == 1


def test_arrays_become_sparse_and_back(rng):
    x = rng.integers(0, 3, (3, 4)).astype(float)
    v = T.dmatrix("v")
    for f, format in [(S.csr_from_dense, "csr"), (S.csc_from_dense, "csc")]:
        found = tg.function([v], f(v))(x)
        assert found.format == format and found.nnz == np.count_nonzero(x)
        np.testing.assert_array_equal(found.toarray(), x)
    d = T.dvector("d")
    np.testing.assert_array_equal(tg.function([d], S.square_diagonal(d))(x[0]).toarray(), np.diag(x[0]))


def test_sampled_product(rng):
    x, y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    for format in ("csr", "csc"):
        check(lambda p, x, y: S.sampling_dot(x, y, p), lambda p, x, y: p * (x @ y.T), some(format), x, y)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_parts_of_a_matrix(format):
    s = some(format)
    i, j = T.lscalars("i", "j")
    for index in [(1, -1), (slice(1, 4), slice(None)), (slice(None), slice(None, None, 2)), ([0, 0, 3], [1, 2])]:
        both = tuple(index)
        read = lambda a, b=both: a[b] if isinstance(b[0], (int, slice)) else a[b[0]][:, b[1]]  # noqa: E731
        check(lambda a, b=both: a[b], read, s)
    check(lambda a: a[-1], lambda a: a[-1:], s)
    x = S.matrix(format, "x")
    f = tg.function([x, i, j], x[i, j])
    assert all(f(s, k, n) == s.toarray()[k, n] for k in range(-5, 5) for n in range(-4, 4))
    with pytest.raises(IndexError):
        f(s, 5, 0)
    with pytest.raises(IndexError, match="one or two slices"):
        x[None]


# ---------------------------------------------------------------------- errors
def test_what_does_not_fit_is_refused():
    x = S.csr_matrix("x")
    with pytest.raises(TypeError, match="structured_add"):
        x + 1
    with pytest.raises(TypeError, match="divides by zeros"):
        1 / x
    with pytest.raises(TypeError, match="positive number"):
        x**-1
    with pytest.raises(TypeError, match="use \\*"):
        x @ 2
    with pytest.raises(TypeError, match="one operand must be sparse"):
        S.dot(T.dmatrix(), T.dmatrix())
    with pytest.raises(TypeError, match="csr_from_dense"):
        S.as_sparse_variable(T.dmatrix("d"))
    with pytest.raises(TypeError, match="must be an array"):
        T.exp(x)
    with pytest.raises(TypeError, match="must be integers"):
        S.CSR(T.dvector(), [0.5], [0, 1], (1, 1))


def test_lengths_are_checked_when_a_function_runs():
    x, y, v = S.csr_matrix("x"), S.csc_matrix("y"), T.dvector("v")
    a, b = some(), some("csc", (4, 5))
    with pytest.raises(ValueError, match="shape"):
        tg.function([x, v], x @ v)(a, np.ones(5))
    with pytest.raises(AssertionError, match="same shape"):
        tg.function([x, y], x + y)(a, b)
    with pytest.raises(AssertionError, match="as many as the rows"):
        tg.function([x, y], x @ y)(a, a.tocsc())
    with pytest.raises((ValueError, TypeError)):
        tg.function([x, v], x * v)(a, np.ones(5))
    data = T.dvector("data")
    f = tg.function([data, v], S.CSR(data, [0, 7], [0, 1, 2], (2, 3)) @ v)
    with pytest.raises(IndexError, match="index 7"):
        f([1.0, 2.0], np.ones(3))


@pytest.mark.parametrize(
    "dtypes", [("float64", "uint8"), ("int8", "uint8"), ("complex128", "uint8"), ("uint8", "int64")]
)
def test_differences_are_taken_in_the_dtype_of_the_result(dtypes):
    x, y = (S.csr_matrix(name, dtype=dtype) for name, dtype in zip("xy", dtypes))
    a, b = (sp.csr_matrix(np.array(v, dtype=dtype)) for v, dtype in zip(([[1, 0]], [[0, 3]]), dtypes))
    for found in (x - y, S.sub(x, T.constant(b.toarray()))):
        value = tg.function([x, y], found, on_unused_input="ignore")(a, b)
        value = value.toarray() if sp.issparse(value) else np.asarray(value)
        assert value.tolist() == [[1, -3]] and value.dtype == (a - b).dtype
