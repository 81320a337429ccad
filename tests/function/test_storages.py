"""Memory of functions by name, number and variable: containers, values, results (promise 34)."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

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
