"""Element-wise loops after convolutions, which the routine runs image by image: the same bits, one pass less."""

from contextlib import contextmanager

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.run import glue
from termgraph.lower.loops.tree import Kernel, Routine
from termgraph.terms.ops.convolution import conv, conv_grad_inputs
from tests.tensor.test_conv_routines import HOW, MOVED, shapes

LINKER = "c"
C = tg.Mode(linker="c")
APART = C.excluding("fuse")


def after(y, a, b, r):
    """Scale and shift of each filter, a residual, relu."""
    return T.maximum(y * a.dimshuffle("x", 0, "x", "x") + b.dimshuffle("x", 0, "x", "x") + r, 0)


def meant(y, a, b, r):
    return np.maximum(y * a[None, :, None, None] + b[None, :, None, None] + r, 0)


@contextmanager
def team(count):
    """So many threads for programs that exist already: the flag alone counts for those that are loaded later."""
    try:
        with tg.config.change_flags(threads=count):
            glue.use_threads()
            yield
    finally:
        glue.use_threads()


def inside(f):
    """How many convolutions of a function run a kernel, and how many kernels are left."""
    nodes = f.stage("schedule").nodes
    return sum(isinstance(n, Routine) and bool(n.then) for n in nodes), sum(isinstance(n, Kernel) for n in nodes)


class Both:
    """What follows on a convolution in one function with it, and in a function of its own."""

    def __init__(self, inputs, out, mode=C):
        a, b, r = T.vector("a", dtype=out.dtype), T.vector("b", dtype=out.dtype), T.tensor4("r", dtype=out.dtype)
        y = T.tensor("y", dtype=out.dtype, shape=out.type.shape)
        self.whole = tg.function([*inputs, a, b, r], after(out, a, b, r), mode=mode)
        self.first = tg.function(inputs, out, mode=mode)
        self.second = tg.function([y, a, b, r], after(y, a, b, r), mode=mode)
        assert inside(self.whole) == (1, 0) and inside(self.first) == (0, 0)

    def agree(self, args, exact, rng):
        """By one thread and by two: the bits of both parts, and what NumPy computes in float64."""
        a, b = (rng.normal(size=exact.shape[1]).astype(args[0].dtype) for _ in "ab")
        r = rng.normal(size=exact.shape).astype(args[0].dtype)
        for threads in (1, 2):
            with team(threads):
                got = self.whole(*args, a, b, r)
                assert got.shape == exact.shape
                np.testing.assert_array_equal(got, self.second(self.first(*args), a, b, r))
                wanted = meant(exact, a.astype("d"), b.astype("d"), r)
                np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=2e-6 * max(abs(exact).max(initial=0), 1))


@pytest.mark.parametrize("k", range(len(HOW)))
def test_what_follows_a_convolution_of_any_shape(rng, k):
    how = {**HOW[k], "flip": False, "algo": "panels"}
    x, w = T.ftensor4("x"), T.ftensor4("w")
    both = Both([x, w], conv(x, w, **how))
    for image, filters in shapes(rng, how, 10):
        args = [rng.normal(size=s).astype("f") for s in (image, filters)]
        both.agree(args, conv.bind(**how).meaning(*[v.astype("d") for v in args]), rng)


@pytest.mark.parametrize("k", range(len(MOVED)))
def test_what_follows_an_images_gradient_of_any_shape(rng, k):
    how = {**MOVED[k], "flip": True, "algo": "panels"}
    w, g, like = T.ftensor4("w"), T.ftensor4("g"), T.ftensor4("like")
    both = Both([w, g, like], conv_grad_inputs(w, g, like.shape[2], like.shape[3], **how))
    for image, filters in shapes(rng, how, 8):
        b, a = rng.normal(size=filters).astype("f"), np.zeros(image, "f")
        c = rng.normal(size=conv.bind(**how).meaning(a, b).shape).astype("f")
        exact = conv_grad_inputs.bind(**how).meaning(b.astype("d"), c.astype("d"), *image[2:])
        both.agree([b, c, a], exact, rng)


KNOWN = {  # images, filters, algorithm, padding: each way that counts, or cannot count, when an image is there
    "panels of several images": ((5, 16, 7, 7), (24, 16, 3, 3), "panels", 1),
    "chunks of taps": ((3, 256, 8, 8), (40, 256, 3, 3), "panels", 1),
    "winograd": ((3, 64, 13, 13), (72, 64, 3, 3), "winograd", 1),
    "winograd of five taps": ((2, 32, 14, 14), (64, 32, 5, 5), "winograd", 2),
    "vectors where they lie": ((3, 24, 28, 28), (16, 24, 5, 5), "panels", 2),
    "no zeros around": ((8, 48, 7, 7), (64, 48, 5, 5), "panels", 2),
    "one pixel": ((4, 32, 1, 1), (16, 32, 1, 1), "panels", 0),
    "a product": ((3, 64, 14, 14), (32, 64, 1, 1), "panels", 0),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", KNOWN)
def test_every_way_runs_what_follows(rng, name, dtype):
    image, filters, algo, pad = KNOWN[name]
    x, w = T.tensor("x", dtype=dtype, shape=image), T.tensor("w", dtype=dtype, shape=filters)
    how = {**HOW[0], "border": ((pad, pad), (pad, pad)), "flip": False, "algo": algo}
    args = [rng.normal(size=s).astype(dtype) for s in (image, filters)]
    exact = conv.bind(**how).meaning(*[v.astype("d") for v in args])
    Both([x, w], conv(x, w, **how)).agree(args, exact, rng)


@pytest.mark.parametrize("algo", ["panels", "winograd"])
def test_fewer_images_than_threads(rng, algo):
    """What follows is dealt out to all threads then, after the convolution."""
    for image in ((1, 16, 56, 56), (3, 16, 28, 28)):
        x, w = T.tensor("x", dtype="float32", shape=image), T.tensor("w", dtype="float32", shape=(16, 16, 3, 3))
        y = conv(x, w, **{**HOW[0], "flip": False, "algo": algo})
        f, apart = (tg.function([x, w], T.maximum(T.tanh(y) * 2 + x, 0), mode=m) for m in (C, APART))
        assert inside(f) == (1, 0)
        args = [rng.normal(size=v.type.shape).astype("f") for v in (x, w)]
        for threads in (1, 2, 4):
            with team(threads):
                np.testing.assert_array_equal(f(*args), apart(*args))


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_each_mode_has_its_bits(rng, mode):
    x, w = T.ftensor4("x"), T.tensor("w", dtype="float32", shape=(8, 3, 3, 3))
    args = rng.normal(size=(2, 3, 9, 9)).astype("f"), rng.normal(size=(8, 3, 3, 3)).astype("f")
    y = T.nnet.conv2d(x, w, border_mode=(1, 1), filter_flip=False)
    exact = conv.bind(**HOW[0], flip=False, algo="panels").meaning(*[v.astype("d") for v in args])
    Both([x, w], y, mode).agree(args, exact, rng)


def net(x, weights, branches=False):
    """Some layers of convolution, scale and relu, with a residual or an inception module."""
    for w, a in weights:
        y = T.maximum(T.nnet.conv2d(x, w, border_mode=(1, 1)) * a.dimshuffle("x", 0, "x", "x"), 0)
        x = T.concatenate([y, T.maximum(T.nnet.conv2d(x, w, border_mode=(1, 1)) + 1, 0)], 1) if branches else y + x
    return x


def layers(count, f=8):
    rng = np.random.default_rng(0)
    make = lambda *s: tg.shared(rng.normal(size=s).astype("f"))  # noqa: E731
    return [(make(f, f, 3, 3), make(f)) for _ in range(count)]


def test_a_layer_is_one_statement_and_one_array(rng):
    x = T.tensor("x", dtype="float32", shape=(4, 8, 10, 10))
    weights = layers(3)
    f = tg.function([x], net(x, weights), mode=C)
    apart = tg.function([x], net(x, weights), mode=APART)
    assert inside(f) == (3, 0)
    assert f.stage("schedule").sizes()["kernels"] == 3 and str(f.stage("schedule")).count("is made in") == 3
    assert apart.stage("schedule").sizes()["kernels"] > 6
    held = f.memory()
    assert len(held.arrays) == 3 and all("then" in step and "maximum" in step for step in held.steps)
    a = rng.normal(size=(4, 8, 10, 10)).astype("f")
    np.testing.assert_array_equal(f(a), apart(a))


def test_many_layers_share_the_text_of_what_follows():
    x = T.tensor("x", dtype="float32", shape=(4, 8, 10, 10))
    texts = [tg.function([x], net(x, layers(n)), mode=C).source("c") for n in (10, 30)]
    assert len(texts[1]) - len(texts[0]) < 6000
    assert texts[1].count("static void kernel") == texts[0].count("static void kernel")


def test_gradients_and_values_that_others_read(rng):
    x, weights = T.tensor("x", dtype="float32", shape=(4, 8, 10, 10)), layers(3)
    y = T.nnet.conv2d(x, weights[0][0], border_mode=(1, 1))
    cost = T.sqr(net(T.tanh(y), weights)).sum()
    outs = [cost, y, T.exp(y).sum(axis=0), *tg.grad(cost, [x, *[w for w, _ in weights], *[a for _, a in weights]])]
    f, apart = (tg.function([x], outs, mode=m) for m in (C, APART))
    assert inside(f)[0] >= 3
    a = rng.normal(size=(4, 8, 10, 10)).astype("f")
    for threads in (1, 2):
        with team(threads):
            for got, want in zip(f(a), apart(a)):
                np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5 * abs(want).max())


def test_branches_that_are_one_loop_are_taken_apart(rng):
    x = T.tensor("x", dtype="float32", shape=(2, 8, 6, 6))
    weights = layers(1)
    f, apart = (tg.function([x], net(x, weights, True), mode=m) for m in (C, APART))
    a = rng.normal(size=(2, 8, 6, 6)).astype("f")
    np.testing.assert_array_equal(f(a), apart(a))
    assert inside(f)[0] >= 1


def test_what_reads_other_images_or_is_no_element_waits(rng):
    x, w = T.tensor("x", dtype="float32", shape=(4, 8, 6, 6)), layers(1)[0][0]
    y = T.nnet.conv2d(x, w, border_mode=(1, 1))
    a = rng.normal(size=(4, 8, 6, 6)).astype("f")
    for out in (T.exp(y[::-1] * 2), y + y[::-1], y.sum(axis=0), T.exp(y).sum(axis=(2, 3))):
        f, apart = (tg.function([x], out, mode=m) for m in (C, APART))
        assert inside(f)[0] == 0
        np.testing.assert_allclose(f(a), apart(a), rtol=1e-5, atol=1e-5)


def test_a_limit_of_memory_may_compute_convolutions_again(rng):
    x, weights = T.tensor("x", dtype="float32", shape=(4, 8, 10, 10)), layers(6)
    cost = T.sqr(net(x, weights)).sum()
    outs = tg.grad(cost, [w for w, _ in weights])
    f, less = (tg.function([x], outs, mode=C, memory_limit=limit) for limit in (None, 0.7))
    assert inside(less)[0] >= 6 and less.memory().peak < f.memory().peak
    a = rng.normal(size=(4, 8, 10, 10)).astype("f")
    for got, want in zip(less(a), f(a)):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * abs(want).max())
