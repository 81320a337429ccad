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
    with pytest.raises(TypeError, match="must be hashable, got dict"):
        m.slope(a, {})
    with pytest.raises(TypeError, match="wraps a function"):
        tg.jit(3)
