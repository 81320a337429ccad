"""Gradients of special functions at points where a function that the derivative is written with is infinite."""

import mpmath
import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T


def rising_slope(z, m):
    """The derivative of z (z + 1) ... by z, from both sides."""
    with mpmath.workdps(60):
        z, m, h = mpmath.mpf(float(z)), mpmath.mpf(float(m)), mpmath.mpf(10) ** -20
        return float((mpmath.rf(z + h, m) - mpmath.rf(z - h, m)) / (2 * h))


@pytest.mark.parametrize("linker", ["auto", "py"])
def test_poch_has_a_slope_where_gamma_is_infinite(linker):
    z, m = T.dvectors("z", "m")
    f = tg.function([z, m], tg.grad(T.poch(z, m).sum(), z), mode=tg.Mode(linker=linker))
    starts = [-0.0, 0, 0, -1, -2, -3, -3, -3, -5, -2, -200, -200, -7, -7, -4, -1, -2.5, 1.5, 3, 40]
    steps = [1, 2, 0.5, 3, 1, 2, 5, 4, 2, -1.5, 0.5, -0.5, 0, 7, 3, 2.5, 2, 0.5, -1, 3]
    wanted = [rising_slope(*pair) for pair in zip(starts, steps, strict=True)]
    with np.errstate(all="ignore"):
        found = f(np.array(starts, float), np.array(steps, float))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
