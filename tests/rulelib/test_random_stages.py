"""Random graphs without loops through all rewriting stages: they end, keep their types, and lose no value."""

import numpy as np
import pytest
from accuracy import exact, mp, optimized

import termgraph.tensor as T
from termgraph.terms.evaluate import evaluate

UNARY = (
    T.exp, T.log1p, T.sigmoid, T.tanh, T.sqr, T.abs, T.sin, T.erf, lambda a: T.log(1 + T.exp(a)), lambda a: -a,
    lambda a: T.exp(a) - 1, lambda a: 1 / (1 + T.exp(-a)), lambda a: 1 - T.sigmoid(a), lambda a: T.log(T.abs(a) + 1.0),
    lambda a: T.sqrt(1 + a**2), lambda a: a**3, lambda a: a / 4, lambda a: 1 - T.cos(a), lambda a: 2.0 * a,
    lambda a: T.exp(a) / T.sum(T.exp(a), axis=-1, keepdims=True), lambda a: T.log(T.softmax(a, axis=-1)),
    lambda a: a - T.mean(a, axis=-1, keepdims=True), lambda a: T.sum(a, axis=-1, keepdims=True) * T.ones_like(a),
    lambda a: a - T.log(T.sum(T.exp(a), axis=-1, keepdims=True)),
)  # fmt: skip
BINARY = (
    T.add, T.sub, T.mul, T.maximum, T.logaddexp, T.hypot, lambda a, b: a / (1 + T.sqr(b)),
    lambda a, b: T.exp(a) * T.exp(b),
    lambda a, b: T.dot(a, b.T) @ a, lambda a, b: T.log(T.exp(a) + T.exp(b)), lambda a, b: b * (a / T.exp(b) - a),
    lambda a, b: T.switch(a > b, a, b * b), lambda a, b: a * T.sigmoid(b) * T.exp(-b),
)  # fmt: skip
FINISH = (lambda a: a, T.sum, lambda a: T.mean(a, axis=1), lambda a: T.log(T.sum(T.exp(a), axis=1)), T.max)


def random_graph(rng, leaves, size):
    pool = list(leaves)
    for _ in range(size):
        if rng.random() < 0.55:
            pool.append(UNARY[rng.integers(len(UNARY))](pool[rng.integers(len(pool))]))
        else:
            pool.append(BINARY[rng.integers(len(BINARY))](*(pool[k] for k in rng.integers(len(pool), size=2))))
    return FINISH[rng.integers(len(FINISH))](pool[-1])


def check_graph(seed, size=7):
    rng = np.random.default_rng(seed)
    known = bool(rng.integers(2))
    leaves = [T.tensor(n, dtype="float64", shape=(2, 3) if known else (None, None)) for n in "xy"]
    old = random_graph(rng, leaves, size)
    new, fired = optimized(old)
    assert new.type.dtype == old.type.dtype and new.ndim == old.ndim
    given = {v: rng.normal(size=(2, 3)) for v in leaves}
    was, now = evaluate([old, new], given)
    assert was.shape == now.shape
    far = ~np.isclose(now, was, rtol=1e-9, atol=1e-12, equal_nan=True) & np.isfinite(was) & (np.abs(was) < 1e100)
    if far.any():  # one of them lost its digits: it must not be the new one
        truth = exact(old, given)
        for i in np.ndindex(was.shape):
            if far[i] and not mp.isnan(truth[i]):
                before, after = (abs(mp.mpf(float(v[i])) - truth[i]) for v in (was, now))
                assert after <= 4 * before, f"seed {seed}: {old.term} -> {new.term} by {fired}: {was[i]} {now[i]}"


@pytest.mark.parametrize("start", range(0, 100, 25))
def test_random_graphs(start):
    for seed in range(start, start + 25):
        check_graph(seed)


@pytest.mark.slow
def test_many_random_graphs():
    for seed in range(1000, 4000):
        check_graph(seed, size=10)
