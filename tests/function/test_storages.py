"""Memory of functions by name, number and variable: containers, values, results (promise 34)."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.run import glue

MODES = [None, tg.Mode(linker="py")]


@pytest.mark.parametrize("mode", MODES)
def test_the_function_object_has_its_memory_f34_(mode):
    x, w = T.dvector("x"), tg.shared(np.array([1.0, 2.0]), name="w")
    f = tg.function(
        [x, tg.In(T.dscalar("a"), value=3.0)],
        [x * w, w.sum()],
        updates=[(w, w + 1)],
        mode=mode,
        on_unused_input="ignore",
    )
    assert f.fgraph is f.maker.fgraph
    assert f.container["w"] is f.container[w] is w.container
    assert f.container[0] is f.input_storage[0]
    assert f["w"].tolist() == [1, 2] and f["a"] == 3 and "w" in f and "b" not in f
    assert list(f.container) == ["x", "a", "w"] and len(f.value) == 3
    f.input_storage[0].value = [10.0, 20.0]
    f.fn()
    assert [c.value.tolist() for c in f.output_storage] == [[10, 40], 3]
    assert w.get_value().tolist() == [2, 3]
    f["w"] = [5.0, 6.0]
    assert f([1.0, 1.0])[0].tolist() == [5, 6]
    f.value[w] = [0.0, 0.0]
    assert w.get_value().tolist() == [0, 0]


@pytest.mark.parametrize("mode", MODES)
def test_a_default_that_is_set_counts(mode):
    a = T.dscalar("a")
    f = tg.function([tg.In(a, value=3.0)], a * 2, mode=mode)
    f["a"] = 4.0
    f.fn()
    assert f.output_storage[0].value == 8


@pytest.mark.parametrize("mode", [None, "FAST_COMPILE", tg.Mode(linker="py")])
def test_calls_take_a_default_that_is_set(mode):
    """Not only `f.fn()`: C had its own copy of the default from when the function was compiled."""
    x, a, s, w = T.dscalar("x"), T.dscalar("a"), T.dscalar("s"), tg.shared(np.zeros(1), "w")
    f = tg.function([x, tg.In(a, value=1.0), tg.In(s, value=0.0, update=s + a * x)], s + a * x, mode=mode)
    assert [float(f(3.0)), float(f(3.0, a=2.0)), float(f["a"]), float(f["s"])] == [3, 9, 1, 9]
    f[a] = 5.0
    assert [float(f["a"]), float(f(3.0)), float(f[s])] == [5, 24, 24]

    g = tg.function(
        [tg.In(a, value=1.0), x, tg.In(T.dvector("v"), value=[1.0])],
        [a * x, w + x],
        mode=mode,
        on_unused_input="ignore",
    )
    assert float(g(x=2.0)[0]) == 2
    for value in (3.0, 4.0):
        g.container["a"].value = value
        assert float(g(x=2.0)[0]) == 2 * value == float(g(x=2.0, v=[1.0, 2.0])[0])
    w.set_value(np.zeros(3))  # another program
    assert float(g(x=2.0)[0]) == 8
    g["a"] = 5.0
    assert float(g(x=2.0)[0]) == 10
    for again in (g.copy(), pickle.loads(pickle.dumps(g)), copy.deepcopy(g)):
        assert float(again(x=2.0)[0]) == 10
        again["a"] = 6.0
        assert (float(again(x=2.0)[0]), float(g(x=2.0)[0])) == (12, 10)
    with pytest.raises(TypeError):
        g["a"] = "text"
    assert float(g(x=2.0)[0]) == 10


@pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")
@pytest.mark.parametrize("load", [glue.load_glue, glue.load_fallback], ids=["native", "ctypes"])
def test_a_default_may_be_set_while_a_call_reads_it(load, monkeypatch):
    monkeypatch.setattr(glue, "_provider", load())
    v = T.dvector("v")
    f = tg.function([tg.In(v, value=np.zeros(200_000))], T.cos(v).max())
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(f) for _ in range(50)]
        for k in range(50):
            f["v"] = np.full(200_000, 2.0 * np.pi * k)
        assert all(abs(float(call.result()) - 1) < 1e-9 for call in calls)


def test_results_by_key_and_single_results():
    x = T.dscalar("x")
    f = tg.function([x], {"double": x * 2, "half": x / 2})
    f["x"] = 8.0
    f.fn()
    assert sorted(float(c.value) for c in f.output_storage) == [4, 16]


def test_mistakes_are_named():
    x, y = T.dscalar("x"), T.dscalar("x")
    f = tg.function([x, y], x + y)
    with pytest.raises(KeyError, match="2 inputs are called 'x'"):
        f["x"]
    with pytest.raises(KeyError, match="no input is called 'z'; there are 'x', 'x'"):
        f["z"]
    with pytest.raises(KeyError, match="no input is variable 'w'"):
        f[T.dscalar("w")]
    with pytest.raises(TypeError, match="x: "):
        f.value[0] = "text"
    with pytest.raises(IndexError):
        f.container[7]
