"""The tags inplace and fuse say what a program does with memory: without them it differs, and its results do not."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "auto"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")

x = T.dmatrix("x")
GIVEN = np.random.default_rng(7).normal(size=(5, 3))


def trained(mode):
    """A function with updates, its results and the values of the shared variable after two calls."""
    w, u = tg.shared(np.ones(3), "w"), tg.shared(np.ones(4), "u")
    hidden = T.tanh(T.dot(x, T.dot(x.T, x)) * w + 1)
    cost = (T.log(1 + T.exp(hidden)) + T.nnet.softmax(hidden)).sum()
    steps, _ = tg.scan(lambda row, s: T.tanh(s * 2 + row), sequences=x, outputs_info=[w])
    with tg.config.change_flags({"cache.programs": False}):
        f = tg.function(
            [x], [cost, steps[-1] * 3], updates=[(w, w - 0.1 * tg.grad(cost, w)), (u, u * 0.5 + 1)], mode=mode
        )
    return f, [*f(GIVEN), *f(GIVEN), w.get_value(), u.get_value()]


@pytest.fixture
def usual():
    return trained("FAST_RUN")


@pytest.mark.parametrize("tag", ["-inplace", "-fuse"])
def test_the_program_differs_and_the_results_do_not(usual, tag):
    f, results = trained(tag)
    for got, want in zip(results, usual[1], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert not f.why_not_native() and f.source("c") != usual[0].source("c")


def test_without_inplace_no_update_is_written_over_the_old_value():
    w = tg.shared(np.ones(3), "w")
    usual, without = (tg.function([], [], updates=[(w, w * 2)], mode=mode) for mode in ("FAST_RUN", "-inplace"))
    assert list(usual.stage("schedule").modes.values()) == ["overwrite"] and not without.stage("schedule").modes


def test_without_fuse_every_result_is_stored():
    y = T.exp(T.tanh(x) * 2 + 1)
    counts = [len(tg.function([x], y, mode=mode).stage("storage").statements.stores) for mode in ("FAST_RUN", "-fuse")]
    assert counts == [1, 4]
    kernels = len(tg.function([x], y, mode="-fuse").stage("loop tree").nodes)
    assert kernels == 4
