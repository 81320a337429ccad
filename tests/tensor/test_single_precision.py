"""Eigenvalues and singular values of float32 and complex64 matrices: in single precision, as SciPy computes them."""

import numpy as np
import pytest
import scipy.linalg

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.ops.precision import SINGLE, computed_in

LINKERS = ["py"] + ["c"] * (find_compiler() is not None)
MADE = {
    "eig": lambda a: T.linalg.eig(a),
    "eigvals": lambda a: [T.linalg.eigvals(a)],
    "eigh": lambda a: [*T.linalg.eigh(a), *T.linalg.eigh(a, UPLO="U")],
    "eigvalsh": lambda a: [T.linalg.eigvalsh(a)],
    "svd": lambda a: [*T.linalg.svd(a), *T.linalg.svd(a, full_matrices=False)],
    "svdvals": lambda a: [T.linalg.svdvals(a)],
}


def matrix(rng, dtype, shape=(12, 12)):
    a = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return (a if dtype == "complex64" else a.real).astype(dtype)


def made(name, dtype, linker):
    a = T.tensor("a", dtype=dtype, shape=(None, None))
    return tg.function([a], list(MADE[name](a)), mode=tg.Mode(linker=linker))


@pytest.mark.parametrize("name", SINGLE)
def test_all_backends_give_the_same_bits(rng, name):
    for dtype in ("float32", "complex64"):
        a = matrix(rng, dtype)
        if name in ("eigh", "eigvalsh"):
            a = a + a.conj().T
        first, *others = [made(name, dtype, linker)(a) for linker in LINKERS]
        for found in others:
            for x, y in zip(first, found, strict=True):
                assert x.dtype == y.dtype and x.dtype.name in ("float32", "complex64")
                np.testing.assert_array_equal(x, y)


def test_errors_are_those_of_single_precision(rng):
    for n in (5, 30, 60):
        a = matrix(rng, "float32", (n, n))
        wide, norm = a.astype("float64"), np.linalg.norm(a.astype("float64"), 2)
        w, v = made("eig", "float32", LINKERS[-1])(a)
        assert np.linalg.norm(wide @ v.astype(complex) - v.astype(complex) * w, 2) < 2e-5 * norm
        s = made("svdvals", "float32", LINKERS[-1])(a)[0]
        np.testing.assert_allclose(s, scipy.linalg.svdvals(wide), atol=3e-6 * norm)
        w, v = made("eigh", "float32", LINKERS[-1])(a + a.T)[:2]
        np.testing.assert_allclose(w, np.linalg.eigvalsh((a + a.T).astype("float64")), atol=6e-6 * norm)


def test_equations_stay_in_double():
    assert computed_in("inv", "float32") == computed_in("solve", "float32") == "float64"
    assert computed_in("eigvals", "complex64") == "complex128" and computed_in("eigh", "complex64") == "complex64"


@pytest.mark.parametrize("linker", LINKERS)
def test_what_has_no_answer_is_an_error(linker):
    for name in ("eig", "eigvals", "svd", "svdvals"):
        with pytest.raises(np.linalg.LinAlgError, match="(?i)infs or NaNs|infinite or NaN"):
            made(name, "float32", linker)(np.full((2, 2), np.inf, "float32"))
    for name in ("eigh", "eigvalsh"):
        with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
            made(name, "float32", linker)(np.full((3, 3), np.nan, "float32"))
    with pytest.raises(ValueError, match="(?s)square|differ"):
        made("eigh", "float32", linker)(np.zeros((3, 2), "float32"))


@pytest.mark.parametrize("linker", LINKERS)
def test_empty_ones_and_batches(rng, linker):
    for name in SINGLE:
        assert all(0 in x.shape or x.size for x in made(name, "float32", linker)(np.zeros((0, 0), "float32")))
    a = T.tensor("a", dtype="float32", shape=(None, None, None))
    f = tg.function([a], T.linalg.eigvalsh(a), mode=tg.Mode(linker=linker))
    x = matrix(rng, "float32", (4, 5, 5))[::-1, ::-1, ::-1]
    np.testing.assert_allclose(f(x), np.linalg.eigvalsh(x.astype("float64")), atol=1e-5)
