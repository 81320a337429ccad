"""Kernels that read an array of wide elements or of steps there and back: their calls stand in the program."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
LINKER = "auto"

DTYPES = ("float32", "float64", "complex64", "complex128", "int32")


@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back_over_steps(dtype):
    x, y = T.tensor("x", dtype=dtype, shape=(None,)), T.tensor("y", dtype=dtype, shape=(None,))
    n = y.shape[0]
    outs = {
        "steps": x[::2][:n] + x[::-1][::2][:n],
        "further steps": x[::3][:n] * x[::-1][::3][:n],
        "less": x[::2][:n] - x[::-1][::2][:n],
        "all": x + x[::-1],
    }
    if dtype.startswith("complex"):
        outs["real parts"] = T.real(x)[:n] + T.real(x)[::-1][:n]
        outs["both parts"] = T.real(x)[:n] - T.imag(x)[::-1][:n]
    a, b = np.arange(1, 14).astype(dtype) * (1 if "complex" not in dtype else 1 - 2j), np.ones(5, dtype)
    want = {
        "steps": a[::2][:5] + a[::-1][::2][:5], "further steps": a[::3] * a[::-1][::3],
        "less": a[::2][:5] - a[::-1][::2][:5], "all": a + a[::-1],
        "real parts": a.real[:5] + a.real[::-1][:5], "both parts": a.real[:5] - a.imag[::-1][:5],
    }  # fmt: skip
    for what, out in outs.items():  # one by one: kernels beside each other are seen as one
        f = tg.function([x, y], out, on_unused_input="ignore")
        for scale in (1, 2):  # the room that a call leaves is the next one's
            np.testing.assert_allclose(f(a * scale, b), want[what] * scale ** (1 + ("further" in what)), err_msg=what)
