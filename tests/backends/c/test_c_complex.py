"""Functions of complex numbers in C: NumPy's values, at points and at infinities, zeros of both signs and NaN."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
ENDS = [0.0, 1.0, 0.5, 2.5, 3.5, 1e-10, 1e-300, 1e300, 710.0, 745.0, np.inf, np.nan]


def points(rng, dtype):
    parts = np.array([s * x for x in ENDS for s in (1, -1)])
    drawn = 3 * rng.normal(size=500) + 3j * rng.normal(size=500)
    grid = np.empty((len(parts), len(parts)), "complex128")
    grid.real, grid.imag = parts[:, None], parts  # not by a product, in which infinities become NaN
    with np.errstate(all="ignore"):
        return np.concatenate([grid.ravel(), drawn]).astype(dtype)


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("name", ["expm1", "exp2", "log1p", "log2", "log10", "sign", "round"])
def test_each_part_is_numpys(name, dtype, rng):
    z = T.vector("z", dtype=dtype)
    f = tg.function([z], getattr(T, name)(z), mode=tg.Mode(linker="c"))
    given = points(rng, dtype)
    with np.errstate(all="ignore"):
        found, wanted = f(given), getattr(np, name)(given)
        for part in ("real", "imag"):
            a, b = getattr(found, part), getattr(wanted, part)
            cancels = name in ("expm1", "log1p")  # as it does in NumPy
            size = np.fmin(np.abs(wanted), 1) if cancels else np.abs(b)
            size = np.fmax(size, np.abs(b))
            near = (np.abs(a - b) <= 8 * np.finfo(a.dtype).eps * size) | (a == b) | (np.isnan(a) & np.isnan(b))
            zeros = (a != 0) | (b != 0) | (np.signbit(a) == np.signbit(b))
            wrong = ~(near & zeros)
            assert not wrong.any(), (part, given[wrong][:5], found[wrong][:5], wanted[wrong][:5])
