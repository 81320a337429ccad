"""`pinv` in compiled programs is what NumPy's is: any shape, rank and dtype, and no detour over Python."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
SHAPES = [(6, 3), (3, 6), (4, 4), (3, 0), (0, 3), (2, 4, 3), (0, 4, 3), (2, 0, 3)]


def made(dtype, shape, rcond=None):
    x = T.tensor(dtype=dtype, shape=(None,) * len(shape))
    return tg.function([x], T.linalg.pinv(x, rcond=rcond), mode=tg.Mode(linker="c"))


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_numpys(rng, shape, dtype):
    a = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    a = (a if dtype[0] == "c" else a.real).astype(dtype)
    for rcond in (1e-15, 0.3):
        found, want = made(dtype, shape, rcond)(a), np.linalg.pinv(a.astype(np.promote_types(dtype, "float64")), rcond)
        assert found.shape == want.shape and found.dtype == dtype
        np.testing.assert_allclose(found, want, rtol=1e-5 if dtype in ("float32", "complex64") else 1e-10, atol=1e-6)


def test_matrices_that_are_not_of_full_rank():
    f, a = made("float64", (None, None)), np.outer(np.arange(4.0), np.arange(3.0))
    np.testing.assert_allclose(f(a), np.linalg.pinv(a), atol=1e-14)
    np.testing.assert_allclose(f(a[::-1, ::-1]), np.linalg.pinv(a[::-1, ::-1]), atol=1e-14)
    np.testing.assert_array_equal(f(np.zeros((3, 2))), np.zeros((2, 3)))


def test_what_is_not_finite_is_an_error_of_pinv():
    with pytest.raises(np.linalg.LinAlgError, match=r"(?s)pinv failed: .*infinite or NaN"):
        made("float64", (None, None))(np.full((2, 2), np.nan))
