"""Decompositions of short matrices: the same bits in C and in the virtual machine, however many threads LAPACK has."""

from __future__ import annotations

import ctypes
import os

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms import lapack

needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
numpys = lapack.numpys()
pytestmark = pytest.mark.skipif(numpys is None, reason="NumPy calls a library of the system")
N = 150
DECOMPOSED = {
    "solve": lambda x: T.linalg.solve(x, x[:, :7]),
    "inv": T.linalg.inv,
    "slogdet": T.linalg.slogdet,
    "qr": T.linalg.qr,
    "svd": T.linalg.svd,
    "svdvals": T.linalg.svdvals,
    "eigh": T.linalg.eigh,
    "eigvalsh": T.linalg.eigvalsh,
    "eig": T.linalg.eig,
    "eigvals": T.linalg.eigvals,
    "pinv": T.linalg.pinv,
    "lstsq": lambda x: T.linalg.lstsq(x, x[:, :2])[0],
    "cholesky": T.linalg.cholesky,
}


@pytest.fixture
def threads():
    """A function that sets how many threads NumPy's library has; afterwards it has as many as before."""
    get, put = (getattr(numpys.handle, f"scipy_openblas_{to}_num_threads64_") for to in ("get", "set"))
    before = get()
    yield lambda count: put(ctypes.c_int(count))
    put(before)


def matrix(dtype):
    """Of any kind, and positive definite."""
    a = np.random.default_rng(1).normal(size=(N, N, 2))
    a = (a[..., 0] + 1j * a[..., 1] if dtype[0] == "c" else a[..., 0]).astype(dtype)
    return np.tril(a, -1) / N + np.tril(a, -1).conj().T / N + np.eye(N, dtype=dtype) * 3


def bits(found):
    return [np.asarray(f).tobytes() for f in (found if isinstance(found, (list, tuple)) else [found])]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("name", DECOMPOSED)
@pytest.mark.parametrize("linker", ["py", pytest.param("c", marks=needs_c)])
def test_cores_are_not_seen_in_bits(name, dtype, linker, threads):
    x = T.matrix("x", dtype=dtype)
    made = DECOMPOSED[name](x)
    f = tg.function([x], list(made) if isinstance(made, (list, tuple)) else made, mode=tg.Mode(linker=linker))
    found = []
    for count in (1, 2):
        threads(count)
        found.append(bits(f(matrix(dtype))))
        assert numpys.handle.scipy_openblas_get_num_threads64_() == count
    assert found[0] == found[1]


@needs_c
def test_a_program_with_lapack_alone_takes_one_thread(threads, monkeypatch):
    """Where nothing else has told the team of NumPy's library."""
    from termgraph.backends.c.build import program_library

    told = []
    monkeypatch.setattr(program_library, "_share_cores", lambda runtime, place, library: told.append(place))
    x = T.matrix("x", dtype="float32")
    tg.function([x], list(T.linalg.qr(x)), mode=tg.Mode(linker="c"))
    assert told == [program_library.NUMPYS]


def test_threads_come_back_after_an_error(threads):
    threads(2)
    x = T.matrix("x", dtype="float64")
    with pytest.raises(np.linalg.LinAlgError):
        tg.function([x], T.linalg.inv(x), mode=tg.Mode(linker="py"))(np.zeros((3, 3)))
    assert numpys.handle.scipy_openblas_get_num_threads64_() == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_child_forked_meanwhile_has_all_threads(threads):
    threads(2)
    get = numpys.handle.scipy_openblas_get_num_threads64_
    with lapack.one_thread():
        child = os.fork()
        if child == 0:
            os._exit(0 if get() == 2 and lapack._inside == 0 else 1)
        assert get() == 1
    assert os.waitpid(child, 0)[1] == 0
    assert get() == 2
