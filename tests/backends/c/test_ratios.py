"""Functions of two numbers written in C as vector code, Owen's T and quotients of gamma, beside mpmath and SciPy."""

import mpmath
import numpy as np
import pytest
import scipy.special

import termgraph as tg
import termgraph.tensor as T
from scripts.ulps import mp, owens_t
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
C = tg.Mode(linker="c")


def pairs(x, y):
    return [v.ravel() for v in np.meshgrid(x, y)]


MIXED = [-170.6, -31.5, -5.25, -2.0000001, -0.75, -1e-9, 1e-300, 1e-7, 0.3, 1, 2, 4.5, 5.9999, 6, 6.5, 40, 99.25, 170.9]
# The exact value, pairs, and the most units of the last place off in float64; all are right to 0.6 in float32.
EXACT = {
    "owens_t": (
        lambda h, a: mpmath.mpf(owens_t(mp.mpf(h), mp.mpf(a))),
        [
            pairs([0, 1e-8, 0.3, 1, 2.5, 6, 8.4, 13, 37], [1e-12, 0.1, 0.67, 0.99999, 1, 1.00001, 2.5, -0.6, 1e8]),
            pairs(np.linspace(0, 10, 7), np.linspace(0.8, 1.2, 5)),
        ],
        7,
    ),
    "beta": (
        lambda a, b: mpmath.gammaprod([a, b], [a + b]),
        [pairs(MIXED, MIXED), pairs([1e5, 1e20, 460.5], [0.7, 3, 12.5, 380.25])],
        40,
    ),
    "poch": (
        lambda z, m: mpmath.gammaprod([z + m], [z]),
        [pairs(MIXED, MIXED), pairs([1e5, 1e20, 460.5], [0.7, 1e-9, 1, -1, -3, 12.5, 90.25])],
        40,
    ),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", EXACT)
def test_functions_of_two_are_right_on_every_range(name, dtype):
    exact, points, most = EXACT[name]
    operands = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    x, y = (np.concatenate(v).astype(dtype) for v in zip(*points))
    got = tg.function(operands, getattr(T, name)(*operands), mode=C)(x, y)
    info = np.finfo(dtype)
    with mpmath.workdps(80):
        for a, b, found in zip(x, y, got):
            wanted = exact(mpmath.mpf(float(a)), mpmath.mpf(float(b)))
            if mpmath.isfinite(wanted) and float(info.smallest_normal) < abs(wanted) < float(info.max):
                place = float(np.spacing(info.dtype.type(abs(float(wanted)))))
                off = abs(mpmath.mpf(float(found)) - wanted) / mpmath.mpf(place)
                assert off < (most if dtype == "float64" else 0.6), (a, b, found, float(wanted))


ENDS = [0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-40, 1.7e308, 3e38, -1e155, -1e17, -1e5]
ENDS += [1, -1, 2, -2, 3, 0.5, -0.5, -1.5, -2.5, 50, -50.5, 170, 171.7, 300, 1e5, 1e17]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int32", "int8", "uint8", "bool"])
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_two_at_the_ends(name, dtype):
    """Zeros with their signs, infinities, NaN and poles: as SciPy, where its steps do not overflow on the way."""
    whole = dtype in ("int32", "int8", "uint8", "bool")
    kind = "float32" if dtype == "bfloat16" else dtype
    operands = T.vector("x", dtype=kind), T.vector("y", dtype=kind)
    x, y = pairs(*[np.array([0, 1, 2, 3, 100] if whole else ENDS).astype(kind)] * 2)
    given = [T.cast(v, "bfloat16") if dtype == "bfloat16" else v for v in operands]
    z = T.cast(getattr(T, name)(*given), "float64")
    got, wanted = (tg.function(operands, z, mode=tg.Mode(linker=linker))(x, y) for linker in ("c", "py"))
    # SciPy has no number, or an infinite one, where one of its gamma functions alone is beyond all numbers.
    beyond = np.isnan(wanted) & ~np.isnan(x.astype("float64")) & ~np.isnan(y.astype("float64")) | np.isinf(wanted)
    beyond &= name != "owens_t"
    fits = ~beyond | np.isnan(got) | (np.isinf(got) & np.isinf(wanted))
    rtol = 1e-9 if operands[0].dtype == "float64" or whole else 3e-7
    rtol = 1e-2 if dtype == "bfloat16" else 2e-3 if dtype == "float16" else rtol
    np.testing.assert_allclose(got[fits], wanted[fits], rtol=rtol, atol=5e-324)
    numbers = ~beyond & ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(wanted[numbers]))
    assert not np.isnan(got[~fits]).any()
    empty, one = T.tensor("x", dtype=kind, shape=(0,)), T.scalar("x", dtype=kind)
    assert tg.function([empty], getattr(T, name)(empty, empty), mode=C)(x[:0]).shape == (0,)
    assert tg.function([one], getattr(T, name)(one, one), mode=C)(x[0]).shape == ()


def test_whole_numbers_make_whole_rising_factorials():
    z, m = T.dvectors("z", "m")
    x, y = pairs(np.arange(-30.0, 30), np.arange(0, 12.0))
    got = tg.function([z, m], T.poch(z, m), mode=C)(x, y)
    wanted = scipy.special.poch(x, y)
    few = np.abs(wanted) < 2.0**48
    np.testing.assert_array_equal(got[few], wanted[few])


def test_steps_down_from_next_to_zero():
    """1 / ((z - 1) ... (z - 28)): gamma(z) alone is beyond all numbers, and z - 28 is -28."""
    z, m = T.dvectors("z", "m")
    x, y = pairs([0, 5e-324, 1e-300, -1e-70, 1e-61, -1e-20], [-1, -2, -20, -28, -29, -100, -170])
    got = tg.function([z, m], T.poch(z, m), mode=C)(x, y)
    np.testing.assert_allclose(got, scipy.special.poch(x, y), rtol=1e-13)
