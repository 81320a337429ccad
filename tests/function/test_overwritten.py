"""Temporaries written over others that end there: the same bits in one place instead of two."""

from dataclasses import replace

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c import generate
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.lower.memory import limit as limits
from termgraph.lower.memory.plan import Life, loads, writes

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def weigh(rng, *shape):
    return tg.shared((rng.standard_normal(shape) / 6).astype("float32"))


def dense(x, n, rng):
    for _ in range(5):
        w = weigh(rng, n, n)
        yield w
        x = T.tanh(x @ w) * x
    yield x


def normalized(x, n, rng):
    for _ in range(4):
        w = weigh(rng, n, n)
        yield w
        z = x @ w
        away = z - z.mean(axis=0, keepdims=True)
        x = x + T.maximum(away / T.sqrt((away * away).mean(axis=0, keepdims=True) + 1e-5), 0)
    yield x


def attended(x, n, rng):
    for _ in range(4):
        w = weigh(rng, n, n)
        yield w
        x = x + T.softmax((x @ w) @ x.T, axis=-1) @ x
    yield x


def convolved(x, n, rng):
    scale = np.linspace(-1, 2, 24, dtype="float32").reshape((3, 8, 1, 1))
    x = x.reshape((1, 1, x.shape[0], n)) * T.as_tensor(scale)
    for _ in range(4):
        w, b = weigh(rng, 8, 8, 3, 3), weigh(rng, 8)
        yield w
        yield b
        z = T.nnet.conv2d(x, w, border_mode="half")
        z = z - z.mean(axis=(0, 2, 3), keepdims=True)
        x = T.maximum(z * b[:, None, None] / T.sqrt((z * z).mean(axis=(0, 2, 3), keepdims=True) + 1e-5), 0)
    yield x


BUILDS = [dense, normalized, attended, convolved]


def everywhere(st, plain, lives, less):
    """All that may be written over something is."""
    pairs = [p for each in st.written_over(plain.order, lives, range(len(plain.order))).values() for p in each]
    return limits.fitted(st, plain.order, lives, pairs)


def step(build, rows, n, overwrites, monkeypatch, update=False):
    for name in ("TARGET", "QUICK_TARGET"):
        monkeypatch.setattr(generate, name, replace(getattr(generate, name), overwrites=overwrites))
    rng, x = np.random.default_rng(5), T.tensor("x", dtype="float32", shape=(rows, n))
    *weights, h = build(x, n, rng)
    loss = (h * h).mean()
    grads = tg.grad(loss, weights)
    with tg.config.change_flags({"cache.programs": False}):
        if update:
            changes = [(w, w - np.float32(0.01) * g) for w, g in zip(weights, grads)]
            f = tg.function([x], loss, updates=changes, mode=tg.Mode(linker="c"))
        else:
            f = tg.function([x], [loss, *grads], mode=tg.Mode(linker="c"))
        f.plan = f.stage("memory")
    return f, rng.standard_normal((rows, n)).astype("float32"), weights


@pytest.mark.parametrize("rows, n", [(16, 16), (13, 37), (64, 9), (51, 30), (33, 32)])
@pytest.mark.parametrize("build", BUILDS)
def test_all_that_may_be_written_over_something_has_the_same_bits(build, rows, n, monkeypatch):
    plain, x, kept = step(build, rows, n, False, monkeypatch, update=n == 37)
    monkeypatch.setattr(limits, "with_less_held", everywhere)
    f, _, weights = step(build, rows, n, True, monkeypatch, update=n == 37)
    assert not plain.plan.places.over and (f.plan.places.over or n % 16)
    for _ in range(2):
        for a, b in zip(np.atleast_1d(f(x)) if n == 37 else f(x), np.atleast_1d(plain(x)) if n == 37 else plain(x)):
            np.testing.assert_array_equal(a, b)
        assert all(np.array_equal(a.get_value(), b.get_value()) for a, b in zip(weights, kept, strict=True))


def test_it_is_done_where_that_lowers_what_a_call_holds(monkeypatch):
    def wide(x, n, rng):
        w = weigh(rng, n, n)
        yield w
        h = T.tanh(x @ w)
        for _ in range(3):
            w = weigh(rng, n, n)
            yield w
            h = T.tanh(h @ w) * h
        yield h

    plain, x, _ = step(wide, 400, 16, False, monkeypatch, update=True)
    f, *_ = step(wide, 400, 16, True, monkeypatch, update=True)
    less, before = f.memory(x), plain.memory(x)
    if f.plan.places.over:
        assert less.peak < before.peak
    assert less.peak <= before.peak and max(less.alive) <= less.peak


def test_places_are_taken_once():
    """Two arrays in one place are alive one after the other, whatever else there is."""
    lives = {"a": [Life(0, 3)], "b": [Life(3, 5)], "c": [Life(5, 9)], "d": [Life(4, 6)]}
    from termgraph.lower.memory.overwritten import Over, ends_there, joined

    pairs = [Over("a", "b"), Over("b", "c"), Over("a", "d")]
    place, taken = joined(lives, pairs)
    assert place == {"b": "a", "c": "a"} and taken["a"] == [Life(0, 9)]
    assert ends_there(Over("a", "b"), lives, 3) and not ends_there(Over("a", "d"), lives, 4)
    twice = {"a": [Life(0, 3), Life(6, 8)], "b": [Life(3, 4), Life(8, 9)], "c": [Life(3, 7)]}
    assert ends_there(Over("a", "b"), twice, 3) and not ends_there(Over("a", "c"), twice, 3)
    assert joined(twice, [Over("a", "b")])[1]["a"] == [Life(0, 4), Life(6, 9)]


@pytest.mark.parametrize("build", BUILDS)
def test_what_is_written_over_is_read_by_nobody_later(build, monkeypatch):
    monkeypatch.setattr(limits, "with_less_held", everywhere)
    f, *_ = step(build, 24, 16, True, monkeypatch)
    places, nodes = f.plan.places, f.plan.scheduled.nodes
    groups = {}
    for new, at in places.over.items():
        groups.setdefault(at, [at]).append(new)
    assert groups
    for group in groups.values():
        holds = None
        for n in nodes:
            for b in {b for b, _ in loads(n)} & set(group):
                assert b is holds
            for b in set(writes(n)) & set(group):
                holds = b
