"""Gradients of extremes on a GPU: the kernels that look for one round as the one that found it."""

import numpy as np
import pytest
from backends.cuda.cudacases import no_emulation

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
pytestmark = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")


@pytest.mark.parametrize("shape", [(13, 13), (None, None)])
def test_every_extreme_is_found_again(gpu, rng, shape):
    a, b = (T.tensor(n, dtype="float64", shape=shape) for n in "ab")
    first = (T.log(abs(a) + 0.1) + 0.95 * b[0]).max(1)
    second = (T.tanh(a * b) + 0.95 * first).max(1) + (a[:, 0][:, None] * b[:, 0] + b[:, 1][:, None] * 0.7).min(0)
    slopes = tg.grad((T.cos(T.arange(second.size) * 0.7) * second).sum(), [a, b])
    values = rng.normal(size=(13, 13)), rng.normal(size=(13, 13))
    f = tg.function([a, b], slopes)
    found = f(*values)
    assert not f.on_cpu()
    for got, wanted in zip(found, tg.function([a, b], slopes, mode=tg.Mode(linker="py"))(*values)):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-10)
