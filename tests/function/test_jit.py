"""jit: functions on arrays, computed at once and compiled when they come again (FEATURES 96)."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

a, b = np.array([1.0, 2.0]), np.array([3.0, 5.0])


def test_f96_first_at_once_then_compiled():
    traced = []

    @tg.jit
    def weighted(x, y, scale=2.0):
        """Docs stay."""
        traced.append((x.type, y.type))
        return (x * y).sum() * scale

    assert weighted(a, b) == 26 and weighted.compiled == {}
    assert weighted(a, b) == 26 and len(weighted.compiled) == 1 and len(traced) == 2
    assert weighted(a, b) == 26 and len(traced) == 2
    assert weighted(a.astype("float32"), b) == 26 and len(traced) == 3  # another kind of arguments
    assert weighted(a, b, scale=np.float64(3.0)) == 39
    assert weighted.__name__ == "weighted" and weighted.__doc__ == "Docs stay."
    weighted.clear()
    assert weighted.compiled == {} and weighted([1, 2], [3, 5]) == 26


def test_f96_python_control_flow_runs_while_tracing():
    @tg.jit(at_once=False)
    def power(x, n, twice=False):
        out = T.ones_like(x)
        for _ in range(3):
            out = out * x
        return (out, n + 0) if not twice else {"out": out * 2}

    cube, n = power(a, 4)
    assert cube.tolist() == [1, 8] and n == 4
    assert power(a, 4, twice=True)["out"].tolist() == [2, 16] and len(power.compiled) == 2
    with pytest.raises(TypeError):
        tg.jit(lambda x: x if x.sum() > 0 else -x)(a)


def test_f96_in_a_class_with_gradients_and_other_arguments():
    class Model:
        @tg.jit
        def slope(self, x, kind):
            y = T.tanh(x).sum() if kind == "tanh" else (x * x).sum()
            return tg.grad(y, x)

    m = Model()
    for _ in range(3):
        assert np.allclose(m.slope(a, "square"), 2 * a)
        assert np.allclose(m.slope(a, "tanh"), 1 - np.tanh(a) ** 2)
    with pytest.raises(TypeError, match="must be hashable, got set"):
        m.slope(a, {1})
    with pytest.raises(TypeError, match="wraps a function"):
        tg.jit(3)


def test_f96_dictionaries_and_lists_of_arrays():
    from typing import NamedTuple

    class Layer(NamedTuple):
        w: object
        b: object

    traced = []

    @tg.jit
    def step(layers, batch, rate=0.1, *, note=None):
        traced.append(note)
        h = batch["x"]
        for layer in layers:
            h = T.tanh(h @ layer.w + layer.b)
        cost = ((h - batch["y"]) ** 2).sum()
        grads = tg.grad(cost, [p for layer in layers for p in layer])
        new = [p - rate * g for p, g in zip([p for layer in layers for p in layer], grads)]
        return {"layers": [Layer(*new[i : i + 2]) for i in range(0, len(new), 2)], "cost": cost, "none": None}

    layers = [Layer(np.full((2, 2), 0.3), np.zeros(2)), Layer(np.full((2, 1), 0.2), np.zeros(1))]
    batch = {"x": np.ones((3, 2)), "y": np.zeros((3, 1))}
    costs = []
    for _ in range(4):
        result = step(layers, batch)
        layers = result["layers"]
        costs.append(float(result["cost"]))
    assert costs == sorted(costs, reverse=True) and costs[-1] < costs[0] and len(traced) == 2
    assert isinstance(layers[0], Layer) and layers[1].w.shape == (2, 1) and result["none"] is None
    assert list(result) == ["layers", "cost", "none"]
    step(layers, batch, note="another")
    assert traced == [None, None, "another"]


def test_f96_names_of_inputs_in_messages():
    @tg.jit(at_once=False)
    def total(params, x):
        return (params["w"] + x).sum()

    with pytest.raises(ValueError, match=r"params\['w'\]"):
        total({"w": np.ones(2)}, np.ones(3))
    assert total({"w": np.ones(3)}, [1.0, 2.0, 3.0]) == 9


def test_a_compiled_function_within_another_is_part_of_it():
    inner = tg.jit(lambda p, x, power=2: (p["w"] * x) ** power)
    outer = tg.jit(lambda p, x: tg.value_and_grad(lambda p: inner(p, x, power=3).sum())(p), at_once=False)
    value, slopes = outer({"w": a}, b)
    assert value == ((a * b) ** 3).sum() and np.allclose(slopes["w"], 3 * a**2 * b**3)
    x = T.dvector("x")
    for _ in range(2):
        assert np.array_equal(
            inner({"w": [1.0, 2.0]}, x).eval({x: b}), (a * b) ** 2
        )  # beside an expression lists are arrays
    assert inner.compiled == {} and np.array_equal(inner({"w": a}, b), (a * b) ** 2)
    rows = tg.vmap(tg.jit(lambda r: r.sum()))(T.stack([x, x + 1]))
    assert rows.eval({x: a}).tolist() == [3, 5]
    w = tg.shared(a, name="w")
    assert np.array_equal(inner({"w": w}, b), (a * b) ** 2)  # what is shared has a value


def test_numbers_that_are_no_inputs():
    traced = []

    @tg.jit(static_argnames="axis", at_once=False)
    def total(x, axis, steps=2):
        traced.append(axis)
        return x.sum(axis=axis) * steps

    @tg.jit(static_argnums=1, at_once=False)
    def told(x, value):
        traced.append(value)
        return x

    table = np.arange(6.0).reshape(2, 3)
    assert total(table, 0).tolist() == [6, 10, 14] and total(table, axis=1, steps=1).tolist() == [3, 12]
    assert total(table, 0).tolist() == [6, 10, 14] and traced == [0, 1]
    traced.clear()
    for value in ((1,), (1.0,), (True,), 0.0, -0.0, np.nan, float("nan")):  # equal or not, each is one of its own
        told(table[0], value), told(table[0], value)
    assert list(map(repr, traced)) == ["(1,)", "(1.0,)", "(True,)", "0.0", "-0.0", "nan"]
    halves = tg.jit(lambda x, n: [x[k::n] for k in range(n)], static_argnums=-1)
    assert [part.tolist() for part in halves(np.arange(4), 2)] == [[0, 2], [1, 3]]
    with pytest.raises(ValueError, match=r"static arguments \[\] \['m'\], but the parameters are \['x', 'n'\]"):
        tg.jit(lambda x, n: x, static_argnames=["m"])
    with pytest.raises(TypeError, match="must be hashable, got ndarray; arrays may lie in dictionaries"):
        total(table, axis=np.zeros(2))
