"""Floats of 16 bits are rounded by one instruction for a whole vector: with every width of vectors, and without it."""

import platform
import re
import subprocess

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.build.program_library import program_header
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


def doubles():
    """All halves, what lies in the middle of two of them, and what lies beside those: of all signs and sizes."""
    halves = np.arange(2**16, dtype="uint16").view("float16").astype("float64")
    halves = np.sort(halves[np.isfinite(halves)])
    middle = (halves[1:] + halves[:-1]) / 2
    beside = [np.nextafter(v, to) for v in (halves, middle) for to in (np.inf, -np.inf)]
    close = [middle * (1 + 2.0**-40), middle * (1 - 2.0**-40)]
    ends = [65519.999999999, 65520.0, 1e300, -1e300, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.0**-25, -(2.0**-25)]
    return np.concatenate([halves, middle, *beside, *close, ends])


@pytest.mark.parametrize("flags", FLAGS)
def test_a_double_is_rounded_once(flags):
    x, z = T.dvector("x"), T.zvector("z")
    half = T.cast(x, "float16")
    with config.change_flags(cflags=f"{config.cflags} {flags}"):
        f = tg.function([x], [half, half + 1, T.cast(half, "float64")], mode=C)
        of_complex = tg.function([z], T.cast(z, "float16"), mode=C)
    points = doubles()
    with np.errstate(all="ignore"):
        wanted = points.astype("float16")
        stored, more, back = f(points)
        same(stored, wanted)
        same(more, wanted + np.float16(1))
        np.testing.assert_array_equal(back, wanted.astype("float64"))
        same(of_complex(points + 1j), wanted)
        for n in (1, 7, 8, 9, 16, 31, 33):
            same(f(points[-n:])[0], wanted[-n:])


def test_a_double_becomes_bfloat16_by_way_of_float32():
    """As where ml_dtypes and PyTorch convert it, so that an argument has the same bits on both sides of a call."""
    x = T.dvector("x")
    points = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8 - 2.0**-40, 1 + 3 * 2.0**-8 - 2.0**-40, np.inf, 1e300])
    found = [tg.function([x], T.cast(x, "bfloat16"), mode=mode)(points) for mode in (C, tg.Mode(linker="py"))]
    with np.errstate(all="ignore"):
        wanted = points.astype("float32").astype(found[0].dtype)
    for got in found:
        assert (got.view("uint16") == wanted.view("uint16")).all()


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


@pytest.mark.parametrize("name", ["max", "min", "cummax", "cummin"])
def test_of_zeros_of_both_signs_an_extreme_is_the_first(name, rng):
    """As in NumPy, whose order that is for arrays in C's order."""
    x = T.matrix("x", dtype="float16")
    ufunc = np.maximum if name.endswith("max") else np.minimum
    for axis in (0, 1):
        numpys = ufunc.reduce if name in ("max", "min") else ufunc.accumulate
        f = tg.function([x], getattr(T, name)(x, axis=axis), mode=tg.Mode(linker="c", strict=True))
        for shape in ((3, 40), (40, 3), (70, 130)):
            given = np.copysign(np.zeros(shape), rng.normal(size=shape)).astype("float16")
            np.testing.assert_array_equal(np.signbit(f(given)), np.signbit(numpys(given, axis=axis)))


COMPILER = find_compiler()


@pytest.mark.skipif(COMPILER is None or COMPILER.kind != "gcc", reason="no gcc on this machine")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="a processor of another kind")
@pytest.mark.parametrize("name", ["sum of products", "cast", "choice"])
def test_processors_that_compute_in_halves_make_vectors_of_the_same_steps(tmp_path, name):
    """Of casts to and from their own numbers of 16 bits gcc 12 makes none, and it would join products and sums."""
    x, y = (T.vector(name, dtype="float16") for name in "xy")
    e = {"sum of products": x + x * y, "cast": T.cast(x, "float32") + y, "choice": T.switch(x > y, x, y * 2)}[name]
    f = tg.function([x, y], e, mode=C)
    source, assembly = tmp_path / "program.c", tmp_path / "program.s"
    source.write_text(program_header() + f.source("c"))
    command = [*COMPILER.command, *COMPILER.flags, *f.stage("print").flags, "-march=sapphirerapids", "-S"]
    made = subprocess.run([*command, str(source), "-o", str(assembly)], capture_output=True, text=True)
    if made.returncode:
        pytest.skip("this gcc does not know the processor")
    used = set(re.findall(r"\bv\w+(?:ph|sh|ph2\w+|sh2\w+)\b", assembly.read_text()))
    assert used <= {"vcvtps2ph", "vcvtph2ps"}  # which are older
    assert re.search(r"\bv(?:mul|add)ps\s.*%[yz]mm", assembly.read_text())
