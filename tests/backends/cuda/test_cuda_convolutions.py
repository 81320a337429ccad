"""Convolutions on the emulated GPU: made of the same pieces as in C, with the same results."""

import numpy as np
import pytest
from backends.cuda.cudacases import no_emulation

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulation
from termgraph.function.cuda import CudaFunction

LINKER = "auto"
emulated = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")


@emulated
def test_f66_convolutions_and_their_gradients(rng):
    image, filters = (2, 4, 7, 6), (4, 2, 3, 2)
    x, w = [T.tensor(n, dtype="float32", shape=s) for n, s in (("x", image), ("w", filters))]
    y = T.nnet.conv2d(x, w, border_mode="half", subsample=(2, 1), num_groups=2)
    outputs = [y, *tg.grad(T.sqr(y).sum(), [x, w])]
    values = [rng.normal(size=s).astype("float32") for s in (image, filters)]
    expected = tg.function([x, w], outputs, mode=tg.Mode(linker="py", optimizer="None"))(*values)
    with emulation(), tg.config.change_flags(device="cuda"):
        f = tg.function([x, w], outputs)
        assert isinstance(f, CudaFunction)
        for got, wanted in zip(f(*values), expected):
            np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-4, atol=1e-4)


@emulated
def test_pooling_and_its_gradients_without_routines(rng):
    """What compiled C has routines for are reductions of windows here."""
    value = rng.normal(size=(2, 7, 6)).astype("float32")
    x = T.tensor("x", dtype="float32", shape=value.shape)
    how = ({"stride": (2, 1), "pad": (1, 1), "ignore_border": True}, {"stride": (2, 2)})
    ys = [T.signal.pool_2d(x, (3, 2), mode=mode, **h) for h in how for mode in ("max", "average_exc_pad")]
    outputs = [*ys, *[tg.grad(T.sqr(y).sum(), x) for y in ys]]
    expected = tg.function([x], outputs, mode=tg.Mode(linker="py", optimizer="None"))(value)
    with emulation(), tg.config.change_flags(device="cuda"):
        f = tg.function([x], outputs)
        assert isinstance(f, CudaFunction)
        for got, wanted in zip(f(value), expected):
            np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-4, atol=1e-4)
