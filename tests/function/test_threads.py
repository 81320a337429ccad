"""One function from many threads, many functions from many threads: right answers, whole updates, no deadlock."""

import sys
import threading

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "auto"
needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
linkers = pytest.mark.parametrize("linker", ["py", pytest.param("auto", marks=needs_c)])


def together(*tasks):
    """Run the tasks at the same time, switching threads often; the first exception of any is raised."""
    errors = []

    def guarded(task):
        try:
            task()
        except BaseException as error:  # it belongs to the test, not to the thread
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(t,), daemon=True) for t in tasks]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join(timeout=500)
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
    assert not any(t.is_alive() for t in threads), "threads wait for each other"


def stress(linker, calls, workers):
    x, m = T.dvector("x"), T.dmatrix("m")
    mode = tg.Mode(linker=linker)
    w = [tg.shared(np.zeros(4), f"w{k}") for k in range(3)]
    pure = tg.function([x, m], [T.softmax(T.dot(m, x), axis=0), T.exp(-x).sum()], mode=mode)
    add = [
        tg.function([x], w[k].sum(), updates=[(w[k], w[k] + x), (w[k - 1], w[k - 1] - x)], mode=mode) for k in range(3)
    ]
    total = tg.function([], w[0] + w[1] + w[2], mode=mode)

    def one(seed):
        rng = np.random.default_rng(seed)
        for _ in range(calls):
            a, b = rng.normal(size=5), rng.normal(size=(3, 5))
            soft, s = pure(a, b)
            e = np.exp(b @ a - (b @ a).max())
            np.testing.assert_allclose(soft, e / e.sum(), rtol=1e-9)
            np.testing.assert_allclose(s, np.exp(-a).sum(), rtol=1e-9)

    def many(k):
        for i in range(calls):
            add[(k + i) % 3](np.full(4, 1.0))
            seen = total()  # read variable by variable, each of them whole
            assert seen.min() == seen.max()

    together(*[lambda s=s: one(s) for s in range(workers)], *[lambda k=k: many(k) for k in range(workers)])
    assert np.array_equal(total(), np.zeros(4))  # what one variable gained another lost


@linkers
def test_threads_share_functions_and_variables(linker):
    stress(linker, 30, 2)


@pytest.mark.slow
@linkers
def test_threads_share_functions_and_variables_for_long(linker):
    stress(linker, 1500, 6)


@linkers
def test_functions_are_compiled_in_many_threads(linker):
    results = {}

    def build(k):
        x = T.dvector("x")
        y = x
        for i in range(4):
            y = T.tanh(y * (k + 1.0)) + i
        results[k] = tg.function([x], [y, tg.grad(y.sum(), x)], mode=tg.Mode(linker=linker))(np.ones(2))

    together(*[lambda k=k: build(k % 2) for k in range(4)])
    for k, (y, _) in results.items():
        expected = np.ones(2)
        for i in range(4):
            expected = np.tanh(expected * (k + 1.0)) + i
        np.testing.assert_allclose(y, expected)


@linkers
def test_random_streams_in_many_threads_give_each_draw_once(linker):
    rng = T.random.RandomStream(seed=1)
    f = tg.function([], rng.random(size=3), mode=tg.Mode(linker=linker))
    drawn = []
    together(*[lambda: drawn.extend(f().tolist() for _ in range(50)) for _ in range(4)])
    rng.seed(1)
    alone = [f().tolist() for _ in range(200)]
    assert sorted(drawn) == sorted(alone)
