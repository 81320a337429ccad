"""Fourier transforms of many rows and columns, which C computes in the lanes of vectors, beside NumPy's."""

import ctypes

import numpy as np
import pytest

import termgraph as tg
from termgraph import tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.build.library import build_plain
from termgraph.backends.c.text.transforms import FEW, HERE, SHAPE

LINKER = "auto"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
COMPLEX = {"float64": "complex128", "float32": "complex64"}
# few and many, lanes left over, powers, every radix alone and together, a prime that is left to NumPy
SHAPES = [(4, 8), (5, 2), (7, 9), (33, 60), (20, 1), (64, 64), (9, 1001), (5, 2310), (6, 13), (5, 17), (3, 16)]
SHAPES += [(9, 1023), (6, 97), (4, 194), (5, 101)]  # and from here on those above 13


def values(rng, name, shape, dtype):
    x = rng.standard_normal(shape)
    return x.astype(dtype) if name == "rfft" else (x + 1j * rng.standard_normal(shape)).astype(COMPLEX[dtype])


def close(got, expected, dtype):
    assert got.shape == expected.shape
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, expected, rtol=0, atol=8 * eps * max(np.abs(expected).max(initial=0), 1e-300))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_many_transforms(rng, name, dtype):
    x = T.matrix("x", dtype=dtype if name == "rfft" else COMPLEX[dtype])
    kinds = [{"n": None, "norm": "backward"}, {"n": 12, "norm": "ortho"}, {"n": 7, "norm": "forward"}]
    f = tg.function([x], [getattr(T.fft, name)(x, axis=axis, **kind) for kind in kinds for axis in (1, 0)])
    assert "tg_fft_" in f.source("c")
    for shape in SHAPES:
        v = values(rng, name, shape, dtype)
        if name == "irfft" and 1 in shape:
            v = np.repeat(v, 2, axis=shape.index(1))
        wider = v.astype("float64" if name == "rfft" else "complex128")
        for given in (v, np.asfortranarray(v), np.repeat(v, 2, axis=1)[:, ::2]):
            for k, got in enumerate(f(given)):
                close(got, getattr(np.fft, name)(wider, axis=1 - k % 2, **kinds[k // 2]), dtype)


def test_lengths_with_prime_factors_up_to_97_are_computed_here(shared_cache):
    text = "#include <stdint.h>\n#define TG_APART static\n" + SHAPE + HERE.replace("FEW", str(FEW))
    text += "int here(int64_t n) { return tg_fft_here(n, 8); }"
    library = ctypes.CDLL(build_plain([text], "here", header="", libraries=("-lm",)).path)
    library.here.argtypes = [ctypes.c_int64]
    taken = [2, 3, 8, 31, 97, 2 * 97, 97 * 97, 1023, 2310, 1 << 15]
    assert [n for n in [0, 1, 101, 202, 101 * 103, 97 * 101, 1 << 16, *taken] if library.here(n)] == taken


def test_nothing_and_several_batches(rng):
    x = T.ztensor3("x")
    f = tg.function([x], T.fft.fft(x, axis=1))
    for shape in ((0, 6, 5), (3, 6, 0), (2, 6, 5), (5, 6, 1)):
        v = values(rng, "fft", shape, "float64")
        close(f(v), np.fft.fft(v, axis=1), "float64")
    v = values(rng, "fft", (4, 6, 10), "float64")
    close(tg.function([x], T.fft.fftn(x))(v), np.fft.fftn(v), "float64")


def test_a_row_does_not_depend_on_the_others(rng):
    x = T.dmatrix("x")
    f = tg.function([x], T.fft.rfft(x))
    v = rng.standard_normal((21, 90))
    alone = f(v)
    v[3], v[4], v[20] = np.nan, 1e200, np.inf
    with np.errstate(invalid="ignore"):
        got = f(v)
    others = [k for k in range(21) if k not in (3, 4, 20)]
    np.testing.assert_array_equal(got[others], alone[others])
    assert np.isnan(got[3]).all() and np.isnan(got[20]).any()


def test_imaginary_parts_that_cannot_be_are_left_out_as_in_numpy(rng):
    x = T.zmatrix("x")
    f, g = (tg.function([x], T.fft.irfft(x, n=n)) for n in (10, 11))
    v = values(rng, "irfft", (8, 6), "float64")
    close(f(v), np.fft.irfft(v, n=10), "float64")
    close(g(v), np.fft.irfft(v, n=11), "float64")


def test_more_lengths_than_plans_are_kept(rng):
    x = T.zmatrix("x")
    f = tg.function([x], T.fft.fft(x))
    for n in [*range(2, 16), *range(15, 1, -1)]:
        v = values(rng, "fft", (5, n), "float64")
        close(f(v), np.fft.fft(v), "float64")


def test_threads_change_no_bits(rng):
    x = T.zmatrix("x")
    v = values(rng, "fft", (501, 240), "float64")
    one, two = (tg.function([x], T.fft.fft(x), mode=tg.Mode(linker="auto")) for _ in range(2))
    with tg.config.change_flags(threads=1):
        expected = one(v)
    with tg.config.change_flags(threads=2):
        np.testing.assert_array_equal(two(v), expected)


def test_the_error_is_that_of_numpy(rng):
    """Against sums in long double: at most twice NumPy's error, and a few units of the last place."""
    n = 360
    k = np.arange(n)
    angle = 2 * np.pi * ((np.outer(k, k) % n) / np.longdouble(n))
    v = rng.standard_normal((8, n)) + 1j * rng.standard_normal((8, n))
    exact = v.astype(np.clongdouble) @ (np.cos(angle) - 1j * np.sin(angle))
    x = T.zmatrix("x")
    ours = np.abs(tg.function([x], T.fft.fft(x))(v) - exact).max()
    assert ours <= 2 * np.abs(np.fft.fft(v) - exact).max()
