"""Truth values whose bytes are neither 0 nor 1, as `np.frombuffer` and `.view(bool)` give: true, as in NumPy."""

from contextlib import nullcontext

import numpy as np
import pytest
from backends.cuda.cudacases import no_emulation

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulation
from termgraph.backends.c.build.compilers import find_compiler

BYTES = np.frombuffer(bytes([0, 255, 1, 2, 0, 128, 3] * 40), np.uint8)
CASES = {
    "sum": lambda x, y: x.sum(),
    "sum of rows": lambda x, y: x.reshape((40, 7)).sum(1),
    "sum of columns": lambda x, y: x.reshape((40, 7)).sum(0),
    "count": lambda x, y: T.count_nonzero(x),
    "cast": lambda x, y: T.cast(x, "int8"),
    "float": lambda x, y: T.cast(x, "float32") * 2,
    "xor": lambda x, y: x ^ x[::-1],
    "and": lambda x, y: (x & x[::-1]) | (x & (y > 3)),
    "equal": lambda x, y: T.eq(x, x[::-1]),
    "less": lambda x, y: x < x[::-1],
    "maximum": lambda x, y: T.maximum(x, x[::-1]).sum(),
    "not": lambda x, y: ~x,
    "where": lambda x, y: T.where(x, y, -y),
    "product": lambda x, y: x * y,
    "masked sum": lambda x, y: y.sum(where=x),
    "running": lambda x, y: T.cumsum(x),
    "places": lambda x, y: T.nonzero(x)[0],
    "chosen": lambda x, y: y[x],
    "packed": lambda x, y: T.packbits(x),
    "argmax": lambda x, y: x.argmax(),
}


@pytest.mark.parametrize("linker", ["vm", "c", "cuda"])
@pytest.mark.parametrize("name", CASES)
def test_any_byte_but_zero_is_true(name, linker):
    if linker == "c" and find_compiler() is None or linker == "cuda" and no_emulation:
        pytest.skip("no compiler")
    x, y = T.vector("x", dtype="bool"), T.dvector("y")
    values = np.arange(280.0)
    with emulation() if linker == "cuda" else nullcontext():
        f = tg.function([x, y], CASES[name](x, y), mode=tg.Mode(linker=linker), on_unused_input="ignore")
        got, want = (np.asarray(f(v, values)) for v in (BYTES.view(bool), BYTES != 0))
    assert got.dtype == want.dtype and got.shape == want.shape
    raw = np.uint8 if got.dtype == bool else got.dtype
    np.testing.assert_array_equal(got.view(raw), want.view(raw))


def test_strided_and_shared_ones():
    if find_compiler() is None:
        pytest.skip("no compiler")
    w, i = tg.shared(BYTES.view(bool).copy()), T.iscalar("i")
    assert tg.function([], w.sum())() == 200
    x = T.matrix("x", dtype="bool")
    f = tg.function([x, i], T.cast(x[:, i], "int64").sum())
    assert f(BYTES.view(bool).reshape(40, 7)[:, ::2], 2) == (BYTES.reshape(40, 7)[:, 4] != 0).sum()


@pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")
def test_one_truth_value_on_a_gpu():
    x, b = T.dvector("x"), T.scalar("b", dtype="bool")
    with emulation():
        f = tg.function([b, x], T.where(b, x, -x), mode=tg.Mode(linker="cuda"))
        for given in (BYTES[1:2].view(bool).reshape(()), np.True_, True, np.array(True)):
            np.testing.assert_array_equal(f(given, [1.0, 2.0]), [1, 2])
        np.testing.assert_array_equal(f(False, [1.0, 2.0]), [-1, -2])
