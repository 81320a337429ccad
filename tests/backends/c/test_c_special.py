"""Special functions written in C, beside SciPy."""

import numpy as np
import pytest
import scipy.special

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.compilers import find_compiler

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
TINY = 10.0 ** -np.arange(1, 300, 7.0)
POINTS = {
    "digamma": [
        np.linspace(0.01, 60, 4001),
        np.linspace(1.2, 1.8, 601),
        TINY,
        1 / TINY,
        [0.0, -0.0, -3.0, np.inf, np.nan],
    ],
    "erfinv": [np.linspace(-1, 1, 2001), TINY, 1 - 2.0 ** -np.arange(1, 53), [-0.0, 1.5, np.nan]],
    "erfcinv": [np.linspace(0, 2, 2001), TINY, 2 - 2.0 ** -np.arange(1, 52), [-1.0, 3.0, np.nan]],
    "erfcx": [np.linspace(-26, 60, 4001), 1 / TINY, TINY, [-40.0, np.inf, -np.inf, np.nan]],
}


@pytest.mark.parametrize("name", POINTS)
def test_special_functions_agree_with_scipy(name):
    x, y = T.dvector("x"), T.fvector("y")
    f = tg.function([x, y], [getattr(T, name)(x), getattr(T, name)(y)])
    points = np.concatenate(POINTS[name])
    with np.errstate(all="ignore"):
        single = points.astype("float32")
        expected, rough = getattr(scipy.special, name)(points), getattr(scipy.special, name)(single)
    got, got_single = f(points, single)
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(got_single, rough, rtol=1e-6)


def test_digamma_left_of_zero():
    x = T.dvector("x")
    points = np.linspace(-12.3, -0.01, 2000)
    np.testing.assert_allclose(
        tg.function([x], T.digamma(x))(points), scipy.special.digamma(points), rtol=1e-11, atol=1e-13
    )


def test_truncated_normal_is_the_same_stream_in_c():
    drawn = []
    for linker in ("py", "c"):
        draws = T.random.RandomStream(seed=5).truncated_normal(size=500)
        drawn.append(tg.function([], draws, mode=tg.Mode(linker=linker))())
    np.testing.assert_allclose(drawn[0], drawn[1], rtol=1e-13)
    assert np.abs(drawn[1]).max() <= 2
