"""Integrals written in C, beside mpmath and SciPy."""

import mpmath
import numpy as np
import pytest
import scipy.special

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
C = tg.Mode(linker="c")


def dawsn(x):
    if abs(x) > 1e4:
        return 1 / (2 * x) + 1 / (4 * x**3)
    return mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)


def around(*joints):
    """Each place, and what is near it on both sides."""
    near = np.array([0, 1e-15, 1e-12, 1e-7, 1e-3])
    return np.concatenate([j * (1 + s * near) for j in joints for s in (-1, 1)])


# The exact value, points, and the most units of the last place off in float64 and float32.
EXACT = {
    "dawsn": (
        dawsn,
        [np.linspace(-12, 12, 601), around(1.4142135, 4.472136, 16384.0, 2.0**30), 10.0 ** np.arange(-300, 300, 9.0)],
        (2, 2),
    ),
    "spence": (
        lambda x: mpmath.polylog(2, 1 - x).real,
        [np.linspace(0, 8, 401), around(0.4, 0.5, 1, 2, 2.5), 10.0 ** np.arange(-300, 300, 9.0)],
        (2, 0.51),
    ),
    "expi": (
        mpmath.ei,
        [
            np.linspace(-90, 90, 301),
            around(-0.7, 0.3, 0.3725074107813666, 0.5, 6, 20, -2),
            [-705.5, 709.5, 715.9],
            10.0 ** np.arange(-300, 0, 9.0),
        ],
        (2.5, 0.7),
    ),
    "exp1": (
        mpmath.e1,
        [np.linspace(0.01, 80, 301), around(0.7, 2, 87), 10.0 ** np.arange(-300, 0, 9.0), [-0.5, 705]],
        (2.5, 0.7),
    ),
    "sinint": (
        mpmath.si,
        [np.linspace(-40, 40, 401), around(4, 2.0**60), 10.0 ** np.arange(-300, 300, 9.0)],
        (2, 0.51),
    ),
}
SCIPYS = {"sinint": lambda x: scipy.special.sici(x)[0], "cosint": lambda x: scipy.special.sici(x)[1]}
ENDS = [0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1e-310, 1e-45, -1e-40, 1.7e308, -1e155, 3e38, -1, -2, -745.5]


def units_off(got, exact):
    """The largest error in units of the last place, with the operand's number; not of results below normal ones."""
    info, worst = np.finfo(got.dtype), (0.0, 0)
    for place, (a, b) in enumerate(zip(got, exact, strict=True)):
        if float(info.smallest_normal) < abs(b) < float(info.max):
            spacing = mpmath.mpf(float(np.spacing(got.dtype.type(abs(float(b))))))
            worst = max(worst, (float(abs(mpmath.mpf(float(a)) - b) / spacing), place))
    return worst


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", EXACT)
def test_integrals_are_right_on_every_range(name, dtype):
    exact, points, most = EXACT[name]
    x = T.vector("x", dtype=dtype)
    values = np.concatenate(points)
    values = values[np.abs(values) < float(np.finfo(dtype).max)].astype(dtype)
    values = values[(values > 0) | (name != "exp1")]
    got = tg.function([x], getattr(T, name)(x), mode=C)(values)
    with mpmath.workdps(60):
        off, place = units_off(got, [exact(mpmath.mpf(float(v))) for v in values])
    assert off < most[dtype == "float32"], (values[place], off)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_cosine_integral_crosses_zero(dtype):
    """Right to a rounding of the numbers it is the sum of, which grow as log(x) near 0 and fall as 1 / x."""
    x = T.vector("x", dtype=dtype)
    points = [np.linspace(0.01, 40, 401), around(0.6165, 3.3842, 4, 6.4277), 10.0 ** np.arange(-36, 36, 3.0)]
    values = np.concatenate(points).astype(dtype)
    got = tg.function([x], T.cosint(x), mode=C)(values)
    with mpmath.workdps(60):
        off = np.array([float(abs(g - mpmath.ci(float(v)))) for g, v in zip(got, values, strict=True)])
    assert (off < np.where(values < 4, 10 + abs(np.log(values)), 2 / values) * np.finfo(dtype).eps).all()
    np.testing.assert_array_equal(tg.function([x], T.cosint(x), mode=C)(-values), got)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int32", "int8", "uint8", "bool"])
@pytest.mark.parametrize("name", [*EXACT, "cosint"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_integrals_at_the_ends(name, dtype):
    """Zeros with their signs, infinities, NaN and the smallest numbers: as SciPy, at every place of a vector."""
    whole = dtype in ("int32", "int8", "uint8", "bool")
    x = T.vector("x", dtype="float32" if dtype == "bfloat16" else dtype)
    values = np.array([0, 1, 2, 3, 100] if whole else ENDS * 5).astype(x.dtype)
    y = getattr(T, name)(T.cast(x, "bfloat16") if dtype == "bfloat16" else x)
    got, wanted = (tg.function([x], T.cast(y, "float64"), mode=tg.Mode(linker=l))(values[::-1]) for l in ("c", "py"))
    np.testing.assert_allclose(got, wanted, rtol=1e-13 if y.dtype == "float64" else 3e-7, atol=5e-324)
    np.testing.assert_array_equal(np.signbit(got[wanted == wanted]), np.signbit(wanted[wanted == wanted]))
    scipys = (SCIPYS.get(name) or getattr(scipy.special, name))(values[::-1].astype("float64"))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(scipys))
    empty, one = T.tensor("x", dtype=x.dtype, shape=(0,)), T.scalar("x", dtype=x.dtype)
    assert tg.function([empty], getattr(T, name)(empty), mode=C)(values[:0]).shape == (0,)
    assert tg.function([one], getattr(T, name)(one), mode=C)(values[0]).shape == ()
