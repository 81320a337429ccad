"""Arrays go when the user lets go of them: no call leaves a cycle behind that holds one until all is collected.

A cycle is easily made: an exception that a local variable keeps holds its traceback, that the frame, that all values.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sps

import termgraph as tg
import termgraph.tensor as T
from termgraph import sparse

N = 50
MODES = ["FAST_RUN", "FAST_COMPILE", "DEBUG_MODE", tg.Mode(linker="py")]
x, y = T.matrix("x"), T.matrix("y")


@pytest.fixture(autouse=True)
def uncollected() -> Iterator[None]:
    """Only counts of references free anything meanwhile."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def array() -> np.ndarray:
    return np.ones((N, N))


def a_sparse_one() -> sps.csr_matrix:
    return sps.csr_matrix(array())


def replaced(**more: Any) -> Callable:
    def act(value: Any) -> None:
        tg.shared(value, **more).set_value(value * 2)

    return act


def refused(act: Callable) -> Callable:
    def try_it(value: Any) -> None:
        with suppress(TypeError, ValueError, AttributeError):
            act(value)
            raise AssertionError("it was taken")

    return try_it


def given_and_set(value: Any) -> None:
    w = tg.shared(array())
    w.set_value(value, borrow=True)
    with suppress(TypeError):
        w.set_value("no array")
    w.set_value(array())


def updated(value: Any) -> None:
    w = tg.shared(value, borrow=True)
    f = tg.function([], w.sum(), updates=[(w, w + 1)])
    f()
    w.set_value(array())
    f()


ACTS: dict[str, Callable] = {
    "shared": replaced(),
    "shared with a name": replaced(name="w", borrow=True, shape=(N, N)),
    "shared with a wrong word": refused(lambda v: tg.shared(v, nmae="w")),
    "set": given_and_set,
    "updated": updated,
    "as a variable": lambda v: T.as_tensor_variable(v) + 1,
    "operand": lambda v: (x + v, v + x, x @ v, T.dot(v, x)),
    "operand of a wrong shape": refused(lambda v: T.zeros((3, 3)) + v),
    "evaluated": lambda v: ((x * 2).eval({x: v}), T.as_tensor_variable(v).sum().eval()),
    "index": lambda v: x[v.astype("int64")],
    "verify_grad": lambda v: tg.verify_grad(T.exp, [v[:2, :2]], rng=np.random.default_rng(1)),
}


def freed(act: Callable, make: Callable = array) -> bool:
    """Whether nothing holds the value when `act` is done with it. Who called this must not hold it, either."""
    value = make()
    held = weakref.ref(value)
    act(value)
    del value
    return held() is None


@pytest.mark.parametrize("name", ACTS)
def test_what_is_given_goes(name: str) -> None:
    act = ACTS[name]
    act(array())  # what is made once
    assert freed(act), name


def test_sparse_values_go() -> None:
    assert freed(lambda v: tg.shared(v).set_value(v * 2), a_sparse_one)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_arguments_and_results_go(mode: Any) -> None:
    f = tg.function([x, y], [x + y, (x @ y).sum(axis=0), T.linalg.inv(x + y + 50 * T.eye(N))], mode=mode)
    f(array(), array())
    assert freed(lambda v: f(v, v))
    results = [weakref.ref(r) for r in f(array(), array())]
    assert [r() for r in results] == [None] * 3


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_arguments_of_failed_calls_go(mode: Any) -> None:
    f = tg.function([x, y], [x + y], mode=mode)

    def fails(v: np.ndarray) -> None:
        with suppress(ValueError):
            f(v, v[:3])
        with suppress(TypeError):
            f(v, "no matrix")
        with suppress(TypeError):
            f(v)
        with suppress(TypeError):
            f(v, v, z=v)

    fails(array())
    assert freed(fails)


def test_steps_and_sparse_arguments_go() -> None:
    s = sparse.csr_matrix("s")
    f = tg.function([s, x], sparse.dot(s, x))
    last, _ = tg.scan(lambda row, total: total + row, sequences=x, outputs_info=T.zeros(N))
    g = tg.function([x], last[-1])
    f(a_sparse_one(), array()), g(array())
    assert freed(lambda v: g(v))
    assert freed(lambda v: f(a_sparse_one(), v))
    assert freed(lambda v: f(v, array()), a_sparse_one)


def test_arguments_of_steps_that_fail_go() -> None:
    start = T.vector("start")
    last, _ = tg.scan(lambda row, total: total + row, sequences=x, outputs_info=start)
    f = tg.function([x, start], last[-1])
    fails = refused(lambda v: f(v, np.ones(3)))
    fails(array())
    assert freed(fails)


def test_a_borrowed_array_is_updated_where_it_lies() -> None:
    value = np.ones((400, 500))
    place = value.ctypes.data
    w = tg.shared(value, borrow=True)
    del value
    tg.function([], updates=[(w, w * 2)])()
    assert w.get_value(borrow=True).ctypes.data == place
