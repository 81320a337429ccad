"""value_and_grad of graphs and of functions."""

import numpy as np
import pytest

import termgraph as tg


def test_of_a_function_with_nested_arguments():
    def cost(params, x):
        return ((params["w"] * x + params["b"][0]) ** 2).sum()

    w, b, x = np.array([1.0, 2.0]), np.array(0.5), np.array([3.0, -1.0])
    for _ in range(2):  # plain at first, then compiled
        value, gradients = (both := tg.jit(tg.value_and_grad(cost)))({"w": w, "b": [b]}, x)
        both({"w": w, "b": [b]}, x)
    inner = 2 * (w * x + b)
    np.testing.assert_allclose(value, ((w * x + b) ** 2).sum())
    np.testing.assert_allclose(gradients["w"], inner * x)
    np.testing.assert_allclose(gradients["b"][0], inner.sum())


def test_of_several_arguments():
    both = tg.jit(tg.value_and_grad(lambda a, b: (a * b).sum(), wrt=(0, -1)))
    value, (da, db) = both(np.array([2.0]), np.array([5.0]))
    assert (value, da, db) == (10.0, [5.0], [2.0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tg.value_and_grad(3.0), "takes a scalar variable or a function"),
        (lambda: tg.value_and_grad(abs, wrt="x"), "number of an argument"),
        (lambda: tg.grad(abs, 2.0), r"got a function; tg.value_and_grad\(f\)"),
        (lambda: tg.value_and_grad(lambda a: a, wrt=1)(tg.tensor.dscalar()), "argument 1 is asked for"),
    ],
)
def test_mistakes_say_what_to_write(make, words):
    with pytest.raises(TypeError, match=words):
        make()
