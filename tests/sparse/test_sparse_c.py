"""Compiled products with sparse matrices: the same as SciPy's for all dtypes and layouts, with indices checked."""

import numpy as np
import pytest
import scipy.sparse as sp

import termgraph as tg
import termgraph.tensor as T
from termgraph import sparse as S
from termgraph.terms.ops.sparse import csm_dot, csm_majors, csm_sample

LINKER = "c"
DTYPES = ["float32", "float64", "complex64", "complex128", "int8", "int64", "uint16"]


def arrays_of(rng, shape, format, dtype):
    """Data, indices and indptr with elements stored twice, in any order, and empty rows."""
    major, minor = shape if format == "csr" else shape[::-1]
    counts = rng.integers(0, 4, major)
    counts[::3] = 0
    n = counts.sum()
    indices = rng.integers(0, max(minor, 1), n)
    data = rng.integers(0, 3, n).astype(dtype)
    return data, indices.astype("int32"), np.concatenate([[0], np.cumsum(counts)]).astype("int32")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_products(format, dtype, rng):
    data, indices, indptr = arrays_of(rng, (7, 5), format, dtype)
    matrix = {"csr": sp.csr_matrix, "csc": sp.csc_matrix}[format]((data, indices, indptr), shape=(7, 5)).toarray()
    d, i, p, n = T.vector("d", dtype=dtype), T.ivector("i"), T.ivector("p"), T.lscalar("n")
    for shape in [(5,), (5, 3), (5, 0)]:
        x = T.tensor("x", dtype=dtype, shape=(None,) * len(shape))
        f = tg.function([d, i, p, n, x], csm_dot(d, i, p, n, x, format=format))
        a = rng.integers(0, 3, shape).astype(dtype)
        layouts = [a, np.asfortranarray(a), np.repeat(a, 2, axis=0)[::2], a[::-1][::-1]]
        for value in layouts:
            np.testing.assert_array_equal(f(data, indices, indptr, 7, value), matrix @ a)
        spread = [np.repeat(part, 2)[::2] for part in (data, indices, indptr)]
        np.testing.assert_array_equal(f(*spread, 7, a), matrix @ a)


def test_products_of_two_dtypes(rng):
    data, indices, indptr = arrays_of(rng, (4, 6), "csr", "float32")
    d, i, p, x = T.fvector("d"), T.ivector("i"), T.ivector("p"), T.lvector("x")
    f = tg.function([d, i, p, x], csm_dot(d, i, p, 4, x, format="csr"))
    found = f(data, indices, indptr, np.arange(6))
    assert found.dtype == "float64"
    np.testing.assert_array_equal(found, sp.csr_matrix((data, indices, indptr), shape=(4, 6)) @ np.arange(6))


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_matrices(format, shape):
    d, i, p, n, x = T.dvector("d"), T.ivector("i"), T.ivector("p"), T.lscalar("n"), T.dvector("x")
    f = tg.function([d, i, p, n, x], [csm_dot(d, i, p, n, x, format=format), csm_majors(i, p)])
    major = shape[0] if format == "csr" else shape[1]
    y, majors = f([], np.zeros(0, "int32"), np.zeros(major + 1, "int32"), shape[0], np.ones(shape[1]))
    assert y.tolist() == [0] * shape[0] and majors.tolist() == []


def test_majors_and_samples(rng):
    i, p, x, y = T.ivector("i"), T.ivector("p"), T.dmatrix("x"), T.dmatrix("y")
    f = tg.function([i, p, x, y], [csm_majors(i, p), csm_sample(csm_majors(i, p), i, x, y)])
    _, indices, indptr = arrays_of(rng, (7, 5), "csr", "float64")
    a, b = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    rows, found = f(indices, indptr, a, b)
    np.testing.assert_array_equal(rows, np.repeat(np.arange(7), np.diff(indptr)))
    np.testing.assert_allclose(found, (a @ b.T)[rows, indices])


@pytest.mark.parametrize("linker", ["py", "c"])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_wrong_arrays_are_refused(linker, format):
    d, i, p, x = T.dvector("d"), T.ivector("i"), T.ivector("p"), T.dvector("x")
    with tg.config.change_flags(linker=linker):
        f = tg.function([d, i, p, x], csm_dot(d, i, p, 2, x, format=format))
        g = tg.function([i, p], csm_majors(i, p))
    ok = [0, 1, 2]
    np.testing.assert_array_equal(f([1.0, 2.0], [1, 0], ok, [1.0, 5.0]), [5, 2] if format == "csr" else [10, 1])
    for bad in (2, -1, 1 << 30):
        with pytest.raises(IndexError, match=f"index {bad}"):
            f([1.0, 2.0], [0, bad], ok, [1.0, 5.0])
    for wrong in ([0, 1, 3], [0, 2, 1], [-1, 1, 2], [0, 1]):
        with pytest.raises((ValueError, IndexError)):
            f([1.0, 2.0], [0, 1], wrong, [1.0, 5.0])
    for wrong in ([0, 1, 3], [1, 1, 2], [0, 1, 1]):
        with pytest.raises((ValueError, IndexError)):
            g([0, 1], wrong)
    with pytest.raises((ValueError, IndexError)):
        f([1.0], [0, 1], ok, [1.0, 5.0])


def test_products_in_loops(rng):
    a = sp.random(4, 4, density=0.5, format="csr", random_state=1)
    d, x = T.dvector("d"), T.dvector("x")
    w = S.CSR(d, a.indices, a.indptr, (4, 4))
    steps, _ = tg.scan(lambda h: T.tanh(w @ h), outputs_info=[x], n_steps=3)
    f = tg.function([d, x], [steps[-1], *tg.grad(steps[-1].sum(), [d, x])], mode=tg.Mode(linker="auto"))
    h = start = rng.normal(size=4)
    for _ in range(3):
        h = np.tanh(a @ h)
    out, by_d, by_x = f(a.data, start)
    np.testing.assert_allclose(out, h)
    tg.verify_grad(lambda d, x: tg.scan(lambda h: T.tanh(S.CSR(d, a.indices, a.indptr, (4, 4)) @ h), outputs_info=[x],
                                        n_steps=3)[0][-1], [a.data, start], n_tests=1, mode="FAST_COMPILE")  # fmt: skip
    assert by_d.shape == a.data.shape and by_x.shape == (4,)
