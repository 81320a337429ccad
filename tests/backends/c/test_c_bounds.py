"""Bounds that are numbers, which take one comparison: NaN, zeros with signs and bounds in the wrong order."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, 6.0, 7.0, -7.0, np.inf, -np.inf, np.nan, 1e-45]
CASES = {
    "T.clip(x, 0, 6)": True, "T.clip(x, 6, 0)": True, "T.clip(x, -0.0, 0.5)": True, "T.clip(x, nan, 1)": False,
    "T.clip(x, 0, nan)": False, "T.clip(x, 0, y)": False, "T.maximum(x, 0)": True, "T.minimum(x, -0.0)": True,
    "T.maximum(x, nan)": False, "T.minimum(T.maximum(x, y), 1)": True, "T.clip(T.clip(x, y, 1), -1, 0.5)": True,
    "T.maximum(T.minimum(y, x), T.minimum(x, 2))": True,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("case", CASES)
def test_bounds(case, dtype):
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    f = tg.function([x, y], eval(case, {"T": T, "x": x, "y": y, "nan": float("nan")}), on_unused_input="ignore")
    if dtype != "float16":
        assert ("tg_at_" in f.source("c")) == CASES[case]
    a, b = (v.ravel() for v in np.meshgrid(np.array(VALUES, dtype), np.array(VALUES, dtype)))
    want = eval(case, {"T": np, "x": a, "y": b, "nan": float("nan")})
    np.testing.assert_array_equal(f(a, b), want)


def test_rows_that_are_looked_up_and_added_are_checked_once_for_all_columns():
    """Not in each lane: the index belongs to the row. An index out of bounds is an error as before."""
    x, i = T.dmatrix("x"), T.lmatrix("i")
    f = tg.function([x, i], x[i].sum(axis=1), mode=tg.Mode(linker="c"))
    lines = f.source("c").splitlines()
    check = next(k for k, line in enumerate(lines) if "k0_low = k0 <" in line)
    lane = next(k for k, line in enumerate(lines) if k > check and "for (int64_t u = 0" in line)
    assert "a0_lane[u] +=" in "".join(lines[lane : lane + 4])
    table, places = np.arange(60.0).reshape(6, 10), np.array([[0, -6, 5], [3, 3, -1]])
    np.testing.assert_array_equal(f(table, places), table[places].sum(axis=1))
    places[1, 2] = 6
    with pytest.raises(IndexError):
        f(table, places)
