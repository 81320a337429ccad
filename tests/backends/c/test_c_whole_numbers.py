"""Floats that become whole numbers, and floats again: those of the virtual machine, in vectors and alone."""

import itertools
import platform

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.dtypes import numpy_dtype

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler here")

LINKER = "auto"
FLOATS = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
WITHIN = [-0.5, -0.0, 0.0, 0.5, 0.999, 1.0, 1.5, 7.25, 100.75, 127.0]
OUTSIDE = {8: [-6.5, -1.0, 128.0, 255.5, 256.0, 300.25, -129.0], 16: [1e5, -4e4, 65535.0, 65536.0, 7e4, -32769.0],
           32: [3e9, -2e9, 4.0e9], 64: [6e9, -3e10]}  # fmt: skip
LENGTH = 100


def values(given, to):
    """Numbers that the type holds, and others that NumPy makes by the last bits of a longer integer."""
    sign, bits = to.partition("int")[::2]
    some = WITHIN + [x for b, more in OUTSIDE.items() if b <= int(bits) for x in more]
    some = some[:-2] if not sign and bits == "32" else some  # of which it has no last bits
    if given == "float16":
        some = [x for x in some if abs(x) < 65504]
    real = np.resize(np.array(some), LENGTH)
    return (real + 2j if given.startswith("complex") else real).astype(numpy_dtype(given))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("length", [None, 1, LENGTH])
@pytest.mark.parametrize("to", WHOLE)
def test_floats_become_whole_numbers_as_in_numpy(to, length):
    """Each is read once and not stored: gcc 12 leaves such ones out, and -0.5 would be -0.0."""
    pairs = list(itertools.product(FLOATS, [*FLOATS[:4], None]))
    xs = [T.tensor(f"x{k}", dtype=given, shape=() if length == 1 else (length,)) for k, (given, _) in enumerate(pairs)]
    whole = [T.cast(x, to) for x in xs]
    outputs = [w if back is None else 1 / T.cast(w, back) for w, (_, back) in zip(whole, pairs, strict=True)]
    found, wanted = tg.function(xs, outputs), tg.function(xs, outputs, mode=tg.Mode(linker="py"))
    data = [values(given, to) for given, _ in pairs]
    for some in zip(*data, strict=True) if length == 1 else [data]:
        for pair, a, b in zip(pairs, found(*some), wanted(*some), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=str(pair))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cflags", ["", "-mno-avx512f"] if platform.machine() == "x86_64" else [""])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_of_any_size_become_whole_numbers_of_64_bits(rng, dtype, cflags):
    """Up to the last one that fits and beyond; both halves of a number, rounded towards 0."""
    ends = [2.0**e for e in range(65)]
    near = [f(e, to) for e in ends for f, to in ((np.nextafter, 0), (np.nextafter, np.inf))]
    some = [
        *ends,
        *near,
        0.0,
        -0.0,
        0.5,
        2.0**32 - 0.5,
        2.0**52 + 0.5,
        1e300,
        np.inf,
        np.nan,
        *10 ** rng.uniform(-5, 25, 999),
    ]
    v = np.array([*some, *[-x for x in some]]).astype(dtype)
    x = T.vector("x", dtype=dtype)
    with tg.config.change_flags(cflags=cflags):
        found = tg.function([x], T.cast(x, "int64"))(v)
    np.testing.assert_array_equal(found, v.astype("int64"))
