"""Optimizers' steps hold no array for each parameter: new values are written over the old ones, the same bits."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.lower.lengths.index import Var, poly
from termgraph.lower.loops.tree import Accumulate, Call, Kernel, Let, Loop, Write, walk
from termgraph.lower.memory.steps import Steps
from termgraph.lower.push.kernel import LOAD, Buf
from termgraph.terms.term import mk

OPTIMIZERS = {
    "sgd": lambda: tg.optim.sgd(0.01),
    "momentum": lambda: tg.optim.momentum(0.01),
    "nesterov": lambda: tg.optim.nesterov(0.01),
    "rmsprop": lambda: tg.optim.rmsprop(0.01),
    "adam": lambda: tg.optim.adam(1e-3),
    "adamw": lambda: tg.optim.adamw(1e-3),
    "clipped adamw": lambda: tg.optim.chain(tg.optim.clip_by_global_norm(0.5), tg.optim.adamw(1e-3)),
}
LAYERS = 7
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def built(optimizer, width, batch=12, mode="c"):
    rng, weights = np.random.default_rng(1), []
    x = T.tensor("x", dtype="float32", shape=(batch, width))
    h = x
    for _ in range(LAYERS):
        w = tg.shared((rng.standard_normal((width, width)) / 6).astype("float32"))
        b = tg.shared(np.zeros(width, "float32"))
        h = T.tanh(h @ w + b)
        weights += [w, b]
    loss = (h * h).mean()
    updates = OPTIMIZERS[optimizer]()(loss, weights)
    f = tg.function([x], loss, updates=updates, mode=tg.Mode(linker=mode))
    return f, rng.standard_normal((batch, width)).astype("float32"), list(updates)


@needs_compiler
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_no_array_for_each_parameter(optimizer):
    f, x, variables = built(optimizer, 32)
    arrays = [v for v in variables if v.get_value().ndim]
    assert len(f.stage("memory").scheduled.modes) >= len(arrays)
    assert f.memory().results <= 4 + 8 * (len(variables) - len(arrays))  # the loss, and the count of steps
    # Gradients of one layer at a time, where the norm of all is not asked for; with it all of them, but not what those
    # of biases are sums of.
    activations, layer = (LAYERS + 3) * x.nbytes, 4 * 33 * 32
    kept = LAYERS * layer + 4 * x.nbytes if "clipped" in optimizer else activations + layer
    assert f.memory().peak < kept + 4096


@needs_compiler
def test_sums_that_a_norm_and_an_update_need_are_made_once():
    """Gradients of biases: in the loop of the norm, which stores them, and not again for the updates behind it."""
    f, *_ = built("clipped adamw", 32, batch=40)
    folds = [n.fold for n in walk(f.stage("memory").scheduled.nodes) if isinstance(n, Accumulate)]
    assert len(folds) == len(set(folds)) == 3 * LAYERS + 1  # a sum, its norm, that of the weight; and the loss


@needs_compiler
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_each_product_is_made_once(optimizer):
    """The sum of a momentum and a product was made in the momentum's place, and once more for the weight."""
    f, *_ = built(optimizer, 32)
    products = [n for n in walk(f.stage("memory").scheduled.nodes) if isinstance(n, Call)]
    assert len(products) == 3 * LAYERS - 1  # forward, for the weights, for what is below but the first layer


@needs_compiler
@pytest.mark.parametrize("width", [32, 33])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_in_place_or_not_the_bits_are_the_same(optimizer, width):
    """A value that somebody holds is not written over: the same program makes a new array then."""
    f, x, kept = built(optimizer, width)
    g, _, others = built(optimizer, width)
    reference, _, right = built(optimizer, width, mode="py")
    for _ in range(3):
        held = [v.get_value(borrow=True) for v in others]
        before = [np.copy(v) for v in held]
        assert f(x) == g(x)
        reference(x)
        assert all(np.array_equal(a, b) for a, b in zip(held, before, strict=True))
        assert all(np.array_equal(a.get_value(), b.get_value()) for a, b in zip(kept, others, strict=True))
    for a, b in zip(kept, right, strict=True):
        np.testing.assert_allclose(a.get_value(), b.get_value(), rtol=1e-3, atol=2e-3)


def load(buf, offset):
    return mk(LOAD.bind(buf=buf, offset=offset), ())


def test_where_an_element_may_be_written_over_another():
    rows, columns = Var(0, poly(4)), Var(1, poly(16))
    old, new, other = (Buf(n, "float32", (poly(4), poly(16)), "temp") for n in ("old", "new", "other"))
    at = 16 * poly(rows) + poly(columns)
    read, later = load(old, at), load(other, at)

    def steps(*body):
        return Steps(Kernel(Loop(rows, [Loop(columns, list(body), simd=True)])))

    write = Write(new, at, read)
    assert steps(Let(read), write).in_place(old, new)
    assert steps(Let(later), Write(new, at, later)).in_place(old, new)  # the old value is not read at all
    assert not steps(write, Let(read)).in_place(old, new)  # read again when it is gone
    assert not steps(Let(read), Let(load(old, at + 1)), write).in_place(old, new)  # a neighbour that is there, or gone
    column = Write(new, poly(columns), load(old, poly(columns)))  # the second row would read what the first one wrote
    assert not steps(Let(column.value), column).in_place(old, new)
    assert steps(write).whole_vectors("float32") and not steps(write).whole_vectors("float16")
