"""Rows of systems whose matrix has a structure, beside the same matrix written out."""

import numpy as np
import scipy.linalg as sla

import termgraph.tensor as T

from ..table import row

DTYPES = ("float32", "float64", "complex64", "complex128", "int32")
SOLVED = {"scaled": True, "loose": 2e3, "special": False, "dtypes": DTYPES}


def _solve(a, b):
    return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == 1 else np.linalg.solve(a, b)


def _bands(c, count, main):
    """Bands of a matrix whose main diagonal is larger than all others together."""
    shape = (*c.shape(max(c.rank - 2, 0)), count, c.n("n"))
    ab = np.asarray(c.numbers(c.dtype, shape, -1, 1, False))
    ab[..., main, :] += 4 * count
    c.given(ab)
    if c.rank > 2 or c.flip():
        c.matrix("n", "m")
    else:
        c.x(shape=(c.n("n"),), special=False)


def _some_bands(c):
    lower, upper = c.pick(0, 1, 3), c.pick(0, 1, 2)
    _bands(c, lower + upper + 1, upper)
    return {"lower": lower, "upper": upper}


def written_out(ab, upper):
    """The matrix of some bands."""
    count, n = ab.shape[-2:]
    i, j = np.mgrid[:n, :n]
    place = upper + i - j
    return np.where((place >= 0) & (place < count), ab[..., np.clip(place, 0, count - 1), j], ab.dtype.type(0))


row("linalg.solve_banded", lambda ab, b, lower, upper: T.linalg.solve_banded((lower, upper), ab, b),
    lambda ab, b, lower, upper: _solve(written_out(ab, upper), b), _some_bands, ranks=(2, 3), **SOLVED)  # fmt: skip


def _triangle(c):
    lower, others = c.flip(), c.pick(0, 1, 3)
    _bands(c, others + 1, 0 if lower else others)
    return {"lower": lower}


def _hermitian(ab, lower):
    half = written_out(ab, 0 if lower else ab.shape[-2] - 1)
    i, j = np.mgrid[: half.shape[-1], : half.shape[-1]]
    return np.where(i == j, half.real, half) + np.where(i == j, half.dtype.type(0), np.conj(np.swapaxes(half, -1, -2)))


row("linalg.solveh_banded", T.linalg.solveh_banded, lambda ab, b, lower: _solve(_hermitian(ab, lower), b), _triangle,
    ranks=(2, 3), **SOLVED)  # fmt: skip


# ---------------------------------------------------------------------- one number along each diagonal
def _toeplitz(c):
    """A matrix whose main diagonal is larger than all others together."""
    for k in range(2):
        v = np.asarray(c.numbers(c.dtype, (c.n("n"),), -1, 1, False))
        v[:1] += 8 * (k == 0)
        c.given(v)
    c.matrix("n", "m", batch=0)


def _wide(name, function):
    """As SciPy does, in double precision."""

    def run(c, r, b):
        a = sla.toeplitz(c, r).astype(complex if c.dtype.kind == "c" else float)
        return function(a, b.astype(a.dtype)) if c.size else b.astype(a.dtype)

    row(f"linalg.{name}", lambda c, r, b: getattr(T.linalg, name)((c, r), b), run, _toeplitz, ranks=(2,), **SOLVED)


_wide("solve_toeplitz", _solve)
_wide("matmul_toeplitz", np.matmul)
