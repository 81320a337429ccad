"""Functions that loops call with whole vectors: what few numbers need does not change their neighbours."""

import numpy as np
import pytest
import scipy.special

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
C = tg.Mode(linker="c")
ENDS = {
    "erfinv": [1.0, -1.0, 1.5, -np.inf, np.nan, 0.0, 0.9999, -0.99999],
    "erfcinv": [0.0, 2.0, -1.0, 3.0, np.inf, np.nan, 1.0, 1e-3, 1e-30, 1.9999],
    "erfcx": [np.inf, -np.inf, np.nan, -40.0, -9.45, -9.0, -1e-3, 3e38],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(ENDS))
def test_a_number_near_the_end_at_every_place_of_a_vector(name, dtype):
    """The others, and those after the last whole vector, are what they are without it."""
    v = T.vector("v", dtype=dtype)
    f = tg.function([v], getattr(T, name)(v), mode=C)
    plain = np.linspace(0.1, 0.9, 37).astype(dtype)
    without = f(plain)
    rtol = max(4 * np.finfo(dtype).eps, 1e-13 if name == "erfcx" else 0)  # SciPy squares it in double
    for place in range(37):
        for end in ENDS[name]:
            x = plain.copy()
            x[place] = end
            with np.errstate(all="ignore"):
                exact = getattr(scipy.special, name)(x[place].astype("float64")).astype(dtype)
            found = f(x)
            np.testing.assert_allclose(found[place], exact, rtol=rtol, err_msg=f"{end} at {place}")
            np.testing.assert_array_equal(np.delete(found, place), np.delete(without, place))


def test_single_precision_is_rounded_once():
    """In double with short polynomials: as good as double and a rounding; also below the normal numbers."""
    q, x = T.fvectors("q", "x")
    f = tg.function([q, x], [T.erfcinv(q), T.erfcx(x)], mode=C)
    small = np.concatenate([10.0 ** -np.arange(0, 44.0, 0.5), np.linspace(0.001, 1.999, 301), 1e-45 * np.arange(1, 9)])
    wide = np.concatenate([np.linspace(-9.3, 9, 301), 10.0 ** np.arange(-30, 37.0)])
    small, wide = small.astype("float32"), wide.astype("float32")
    for found, exact in zip(
        f(small, wide), (scipy.special.erfcinv(small.astype("d")), scipy.special.erfcx(wide.astype("d")))
    ):
        assert found.dtype == "float32"
        assert np.max(np.abs(found - exact) / np.spacing(np.abs(exact).astype("float32"))) < 0.51


def test_calls_are_not_moved_into_an_arm():
    """gcc makes no vectors of a loop with a branch, and puts calls there that only one arm of a choice needs."""
    x, a = T.fvectors("x", "a")
    arms = [T.log_ndtr(x), T.switch(x > 0, T.gammainc(a, x), 0.0), T.switch(x > 0, T.exp(x), 0.0)]
    made = [tg.function([x, a], y, on_unused_input="ignore", mode=C).stage("print") for y in arms]
    assert ["-fno-tree-sink" in str(program).splitlines()[0] for program in made] == [True, True, False]
