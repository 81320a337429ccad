"""Floats of 16 bits are rounded by one instruction for a whole vector: with every width of vectors, and without it."""

import platform

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.config import config

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
FLAGS = (
    ["", "-mno-avx512f", "-mno-avx512f -mno-avx2", "-mno-avx", "-mno-f16c"] if platform.machine() == "x86_64" else [""]
)
C = tg.Mode(linker="c")


def numbers():
    """All halves and what lies between two of them, a sample of all floats, infinities and NaN."""
    halves = np.arange(2**16, dtype="uint16").view("float16").astype("float32")
    near = halves[np.isfinite(halves)].view("uint32")[:, None] + np.array(
        [0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF], "uint32"
    )
    sample = np.arange(0, 2**32, 4513, dtype="uint64").astype("uint32")
    return np.concatenate([near.ravel(), sample]).view("float32")


def same(got, wanted):
    assert got.dtype == "float16"
    bits = got.view("uint16") == wanted.view("uint16")
    assert (bits | (np.isnan(got) & np.isnan(wanted))).all()


@pytest.mark.parametrize("flags", FLAGS)
def test_numbers_are_rounded_as_numpys(flags):
    x = T.fvector("x")
    with config.change_flags(cflags=f"{config.cflags} {flags}"):
        f, sums = tg.function([x], T.cast(x, "float16"), mode=C), tg.function([x], T.cast(x, "float16") + 1, mode=C)
    points = numbers()
    with np.errstate(all="ignore"):
        wanted = points.astype("float16")
        same(f(points), wanted)
        same(sums(points), wanted + np.float16(1))
        for n in (0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 97):
            same(f(points[n : 2 * n]), wanted[n : 2 * n])
            same(f(points[: 3 * n : 3]), wanted[: 3 * n : 3])


def test_a_number_alone_and_rows(rng):
    x, rows = T.fscalar("x"), T.fmatrix("rows")
    f, g = (
        tg.function([x], T.cast(x, "float16"), mode=C),
        tg.function([rows], T.cast(rows.sum(axis=1), "float16"), mode=C),
    )
    for value in (0.1, -65520.0, 65519.0, 2.0**-25, 3e-8, np.inf):
        with np.errstate(over="ignore"):
            assert f(np.float32(value)) == np.float16(np.float32(value))
    values = rng.integers(-50, 50, (37, 5)).astype("float32")
    same(g(values), values.sum(axis=1).astype("float16"))
