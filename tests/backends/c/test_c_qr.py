"""Q and R in C and in the virtual machine: the same bits, those of NumPy in double, single precision in single."""

from __future__ import annotations

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms import lapack

needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
SHAPES = [(2, 3, 3), (1, 5, 2), (3, 2, 5), (0, 3, 3), (2, 0, 3), (2, 3, 0), (1, 1, 1), (1, 70, 40), (1, 40, 70)]


def matrices(shape, dtype):
    rng = np.random.default_rng(len(shape) * sum(shape))
    return (rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0)).astype(dtype)


@needs_c
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
def test_bits_are_equal(dtype, mode):
    x = T.tensor3("x", dtype=dtype)
    outputs = list(T.linalg.qr(x, mode))
    compiled, plain = (tg.function([x], outputs, mode=tg.Mode(linker=name)) for name in ("c", "py"))
    for shape in SHAPES:
        a = matrices(shape, dtype)
        for given in (a, a[:, ::-1], a.swapaxes(1, 2).copy().swapaxes(1, 2)):
            with lapack.one_thread():
                wanted = np.linalg.qr(given, mode)
            found = compiled(given)
            for f, p, w in zip(found, plain(given), wanted):
                assert f.shape == w.shape and f.dtype == w.dtype
                np.testing.assert_array_equal(f, p)
                if dtype in ("float64", "complex128") and lapack.numpys() is not None:
                    np.testing.assert_array_equal(f, w)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_single_precision(dtype, mode, own, monkeypatch):
    """Also by SciPy, where NumPy comes without a library of its own."""
    if not own:
        pytest.importorskip("scipy")
        monkeypatch.setattr(lapack, "numpys", lambda: None)
    a = matrices((2, 60, 40), dtype)
    q, r = lapack.qr(a, mode)
    assert q.dtype == r.dtype == dtype and q.shape == (2, 60, 60 if mode == "complete" else 40)
    np.testing.assert_allclose(q @ r, a, atol=2e-5)
    one = np.eye(q.shape[2], dtype=dtype)
    np.testing.assert_allclose(q.conj().swapaxes(1, 2) @ q, [one, one], atol=5e-6)
    np.testing.assert_array_equal(np.tril(r, -1), 0)
