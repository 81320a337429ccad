"""Sparse variables in functions: arguments, results, shared memory, gradients, saving, compiled code."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import termgraph as tg
import termgraph.tensor as T
from termgraph import sparse as S
from termgraph.terms.sparse import SparseType


def some(format="csr", shape=(5, 4), seed=0, dtype="float64"):
    return sp.random(*shape, density=0.5, format=format, random_state=seed, dtype=dtype)


def test_f37_sparse_variables_products_and_gradients(rng):
    s, x = S.csr_matrix("s"), T.dmatrix("x")
    assert s.type is SparseType("csr", "float64") and s.name == "s" and s.format == "csr" and s.ndim == 2
    y = S.dot(s, x)
    f = tg.function([s, x], [y, *tg.grad((y**2).sum(), [s, x])])
    a, b = some(), rng.normal(size=(4, 3))
    out, by_s, by_x = f(a, b)
    np.testing.assert_allclose(out, a.toarray() @ b)
    assert by_s.format == "csr"
    np.testing.assert_array_equal(by_s.indices, a.indices)
    np.testing.assert_allclose(by_s.toarray(), np.where(a.toarray() != 0, 2 * out @ b.T, 0))
    np.testing.assert_allclose(by_x, 2 * a.toarray().T @ out)


# ---------------------------------------------------------------------- types and values
def test_types():
    assert S.csr_fmatrix("x").type is SparseType("csr", "float32")
    assert S.csc_dmatrix().type is S.matrix("csc", dtype="float64").type
    assert pickle.loads(pickle.dumps(S.csc_zmatrix().type)) is SparseType("csc", "complex128")
    fixed = SparseType("csr", "float64", (3, None))
    assert SparseType("csr").accepts(fixed) and not fixed.accepts(SparseType("csr"))
    for wrong, message in [(("coo",), "format"), (("csr", "float16"), "float16"), (("csr", "float64", (1,)), "two")]:
        with pytest.raises((TypeError, ValueError), match=message):
            SparseType(*wrong)


def test_values_are_compared():
    t = SparseType("csr")
    a = sp.csr_matrix(([1.0, 2.0, 3.0], [1, 0, 1], [0, 3]), shape=(1, 2))
    b = sp.csr_matrix(([2.0, 4.0], [0, 1], [0, 2]), shape=(1, 2))
    assert t.values_eq(a, b) and t.values_eq_approx(a, b * (1 + 1e-15))
    assert not t.values_eq(a, b * 2) and not t.values_eq_approx(a, b * 1.1)
    assert t.values_eq_approx(a, sp.csr_matrix(a.toarray())) and not t.values_eq(a, sp.csr_matrix((1, 3)))
    assert t.values_eq_approx(sp.csr_matrix((1, 2)), sp.csr_matrix(([0.0], [0], [0, 1]), shape=(1, 2)))
    assert len(a.data) == 3  # the values themselves stay as they are


def test_arguments():
    x = S.csr_matrix("x")
    f = tg.function([x], x.sum(0))
    a = some()
    wide = sp.csr_matrix(a)
    wide.indices, wide.indptr = a.indices.astype("int64"), a.indptr.astype("int64")
    for given in (a, sp.csr_array(a), wide, a.astype("float32"), a.astype("int32")):
        np.testing.assert_allclose(f(given), given.toarray().sum(0), rtol=1e-6)
    for wrong, message in [
        (a.toarray(), r"bad argument 'x'.*\n?.*SciPy sparse matrix.*csr_matrix\(value\)"),
        (a.tocsc(), "format 'csr'.*got format 'csc'.*value.tocsr()"),
        (a.astype(complex), "complex128 .*without losing precision"),
    ]:
        with pytest.raises(TypeError, match=message):
            f(wrong)
    loose = tg.function([x], x.sum(0), allow_input_downcast=True)
    np.testing.assert_allclose(loose(a.tocsc()), a.toarray().sum(0))
    with pytest.raises(TypeError, match="sparse.constant"):
        T.dmatrix() @ a
    with pytest.raises(TypeError, match="length 3 in dimension 0"):
        fixed = S.csr_matrix("fixed", shape=(3, None))
        tg.function([fixed], fixed.T)(a)


def test_results_share_no_memory_with_arguments():
    x = S.csr_matrix("x")
    a = some()
    same, turned, data = tg.function([x], [x, x.T, x.data])(a)
    for found in (same.data, turned.data, data, turned.indices):
        assert not np.shares_memory(found, a.data) and not np.shares_memory(found, a.indices)
    np.testing.assert_array_equal(turned.toarray(), a.toarray().T)


# ---------------------------------------------------------------------- shared variables
def test_shared_matrices_updates_and_givens():
    a = some()
    w = tg.shared(a, "w")
    assert isinstance(w, S.SparseSharedVariable) and w.type is SparseType("csr", "float64")
    step = tg.function([], w.sum(), updates={w: w * 0.5})
    assert np.isclose(step(), a.sum()) and np.isclose(step(), a.sum() / 2)
    np.testing.assert_allclose(w.get_value().toarray(), a.toarray() / 4)
    w.set_value(a)
    assert w.get_value(borrow=True).data is not a.data
    x = S.csr_matrix("x")
    assert np.isclose(tg.function([x], w.sum(), givens={w: x})(2 * a), 2 * a.sum())
    with pytest.raises(TypeError, match="SciPy sparse matrix"):
        w.set_value(a.toarray())
    with pytest.raises(TypeError, match="must have its type"):
        tg.function([], [], updates={w: w.T})
    with pytest.raises(TypeError, match="format 'coo'"):
        S.constant(a.tocoo())


def test_constants(rng):
    a, v = some("csc"), T.dvector("v")
    x = rng.normal(size=4)
    np.testing.assert_allclose(tg.function([v], S.as_sparse_variable(a) @ v)(x), a @ x)
    np.testing.assert_allclose(tg.function([v], S.dot(a, v))(x), a @ x)


def test_learning_with_a_sparse_matrix_of_weights(rng):
    target, x = some(seed=1), rng.normal(size=(4, 50))
    w = tg.shared(target * 0, "w")
    cost = ((w @ x - target.toarray() @ x) ** 2).mean()
    step = tg.function([], cost, updates={w: w - tg.grad(cost, w)})
    first = step()
    for _ in range(60):
        last = step()
    assert last < first / 1000
    np.testing.assert_array_equal(w.get_value().indices, target.indices)


# ---------------------------------------------------------------------- gradients
PATTERN = some(shape=(3, 4))
OTHER = some(shape=(3, 4), seed=5)
TWICE = sp.csr_matrix((np.ones(4), [2, 0, 2, 1], [0, 3, 3, 4]), shape=(3, 4))


def made(data, like=PATTERN):
    return (S.CSR if like.format == "csr" else S.CSC)(data, like.indices, like.indptr, like.shape)


GRADIENTS = {
    "dot": (lambda d, x: made(d) @ x, (4, 2)),
    "vector": (lambda d, x: made(d) @ x, (4,)),
    "turned": (lambda d, x: x @ made(d), (2, 3)),
    "mul": (lambda d, x: (made(d) * x).toarray(), (3, 4)),
    "row": (lambda d, x: (made(d) * x).sum(1), (4,)),
    "row_scale": (lambda d, x: S.row_scale(made(d), x).sum(0), (3,)),
    "divided": (lambda d, x: (made(d) / (x * x + 1)).data, (4,)),
    "plus": (lambda d, x: made(d) + x, (3, 4)),
    "two": (lambda d, x: ((made(d) + made(x, OTHER)) * made(d)).toarray(), (OTHER.nnz,)),
    "product": (lambda d, x: (made(d) @ made(x, OTHER).T).toarray(), (OTHER.nnz,)),
    "product of columns": (lambda d, x: (made(d).tocsc() @ made(x, OTHER).T).toarray(), (OTHER.nnz,)),
    "switched": (lambda d, x: made(d).tocsc().data * x, (PATTERN.nnz,)),
    "parts": (lambda d, x: made(d)[::-1, 1:] @ x, (3,)),
    "diagonal": (lambda d, x: S.diag(made(d)) * x, (3,)),
    "stacked": (lambda d, x: S.vstack([made(d), S.sqr(made(d))]) @ x, (4,)),
    "sampled": (lambda d, x: S.sampling_dot(T.ones((3, 2)) * x, T.sqr(T.ones((4, 2)) + x), made(d)).data, (2,)),
    "structured": (lambda d, x: S.structured_exp(made(d)).sum(0) * x, (4,)),
    "cleaned": (lambda d, x: S.clean(made(d)) @ x, (4,)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, rng):
    f, shape = GRADIENTS[name]
    tg.verify_grad(f, [PATTERN.data + 0.5, rng.normal(size=shape)], n_tests=1, mode="FAST_COMPILE")


def test_gradients_of_elements_stored_twice(rng):
    for f in (lambda d, x: made(d, TWICE) @ x, lambda d, x: made(d, TWICE).tocsc() @ x):
        tg.verify_grad(f, [rng.normal(size=4), rng.normal(size=4)], n_tests=1)
    tg.verify_grad(lambda d: S.sum_duplicates(made(d, TWICE)).toarray(), [rng.normal(size=4)], n_tests=1)


def test_gradients_through_gradients_and_forward(rng):
    d, x = rng.normal(size=PATTERN.nnz), rng.normal(size=(4, 2))
    slope = lambda d, x: tg.grad((T.tanh(made(d) @ x) ** 2).sum(), d)  # noqa: E731
    tg.verify_grad(slope, [d, x], n_tests=1, mode="FAST_COMPILE")
    v, m = T.dvector("v"), T.dmatrix("m")
    y = (T.tanh(made(v) @ m) ** 2).sum()
    along = [T.constant(rng.normal(size=a.shape)) for a in (d, x)]
    forward = tg.Rop(y, [v, m], along)
    backward = sum((g * t).sum() for g, t in zip(tg.grad(y, [v, m]), along))
    np.testing.assert_allclose(*tg.function([v, m], [forward, backward])(d, x))


def test_given_gradients_and_tangents_are_sparse(rng):
    x, v = S.csr_matrix("x"), T.dvector("v")
    by_x = tg.grad(None, x, known_grads={S.sqr(x): 3 * x})
    forward, disconnected = tg.Rop([S.sqr(x), x @ v], x, 3 * x)
    f = tg.function([x, v], [by_x, forward, disconnected], on_unused_input="ignore")
    back, along, out = f(PATTERN, np.ones(4))
    assert back.format == along.format == "csr"
    np.testing.assert_allclose(back.toarray(), 6 * PATTERN.toarray() ** 2)
    np.testing.assert_allclose(along.toarray(), 6 * PATTERN.toarray() ** 2)
    np.testing.assert_allclose(out, 3 * PATTERN @ np.ones(4))
    with pytest.raises(TypeError, match="must be a sparse matrix with the same places"):
        tg.Rop(x @ v, x, T.dmatrix("d"))


def test_gradients_of_complex_matrices(rng):
    f = lambda d, x: made(d) @ x  # noqa: E731
    d = rng.normal(size=PATTERN.nnz) + 1j * rng.normal(size=PATTERN.nnz)
    tg.verify_grad(f, [d, rng.normal(size=4)], n_tests=1, mode="FAST_COMPILE")


def test_gradients_by_matrices_that_nothing_depends_on():
    x, y = S.csr_matrix("x"), S.csr_matrix("y")
    with pytest.raises(ValueError, match="depend"):
        tg.grad(x.sum(), y)
    zero = tg.grad(x.sum(), [y], disconnected_inputs="ignore")[0]
    found = tg.function([y], zero)(PATTERN)
    assert found.nnz == PATTERN.nnz and not found.data.any()
    with pytest.raises(TypeError, match="not defined"):
        tg.grad(T.cast(S.csr_lmatrix("whole").sum(), "float64"), S.csr_lmatrix("other"))


# ---------------------------------------------------------------------- saving and printing
def test_saving(tmp_path):
    w, v = tg.shared(PATTERN, "w"), T.dvector("v")
    f = tg.function([v], w @ v, updates={w: w * 2})
    for g in (pickle.loads(pickle.dumps(f)), f.copy()):
        np.testing.assert_allclose(g(np.ones(4)), PATTERN @ np.ones(4))
    x = pickle.loads(pickle.dumps(S.csr_matrix("x").T))
    assert isinstance(x, S.SparseVariable) and x.type.format == "csc"
    tg.save(f, tmp_path / "f.tg")
    np.testing.assert_allclose(tg.load(tmp_path / "f.tg")(np.ones(4)), 2 * (PATTERN @ np.ones(4)))


def test_printing():
    s, x = S.csr_matrix("s"), T.dvector("x")
    assert repr(S.csr_matrix()) == "<SparseType(csr, float64, (?, ?))>"
    assert "csm_dot" in tg.debugprint(s @ x, file="str") and "csm_data(s)" in tg.pp(s @ x)


# ---------------------------------------------------------------------- compiled code
def test_arrays_of_matrices_just_made_are_not_made_again():
    s = S.csr_matrix("s")
    program = tg.function([s], (s * 2).sum()).source()
    assert " csm(" not in program and "csm_data" in program


@pytest.mark.parametrize("linker", ["py", "auto"])
def test_all_linkers(linker, rng):
    s, x = S.csc_fmatrix("s"), T.fmatrix("x")
    y = T.tanh((s * 2 + s.T.T) @ x)
    with tg.config.change_flags(linker=linker):
        f = tg.function([s, x], [y, *tg.grad(y.sum(), [s, x])])
    a, b = some("csc", dtype="float32"), rng.normal(size=(4, 3)).astype("float32")
    out, by_s, by_x = f(a, b)
    wanted = np.tanh(3 * a.toarray() @ b)
    np.testing.assert_allclose(out, wanted, rtol=1e-4)
    np.testing.assert_allclose(by_x, 3 * a.toarray().T @ (1 - wanted**2), rtol=1e-4)
    np.testing.assert_allclose(by_s.toarray(), (a.toarray() != 0) * (3 * (1 - wanted**2) @ b.T), rtol=1e-4)


def test_scipy_waits_for_a_matrix():
    code = (
        "import sys, termgraph as tg, termgraph.tensor as T\n"
        "s = tg.sparse.csr_matrix('s'); tg.sparse.dot(s, T.dvector())\n"
        "assert 'scipy.sparse' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
