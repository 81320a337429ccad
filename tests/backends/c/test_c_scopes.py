"""Bugs found in generated code: names that outlive their block, storage that is never filled."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.ops.elementwise import maximum

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def test_a_value_computed_outside_and_again_inside_a_column_loop():
    shapes = [(2, 1, 3), (1, 4, 1), (3,), ()]
    xs = [T.TensorType("float64", s)() for s in shapes]
    rng = np.random.default_rng(0)
    cost = (maximum(*xs) * rng.random((2, 4, 3))).sum()
    gradients = tg.grad(cost, xs)
    values = [rng.random(s) for s in shapes]
    want = tg.function(xs, gradients, mode=tg.Mode("py", optimizer="None"))(*values)
    got = tg.function(xs, gradients, mode=tg.Mode("c", optimizer="None"))(*values)
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w)


def test_a_uniform_constant_is_filled_before_a_library_call_reads_it():
    x = T.TensorType("float64", (2, 2))()
    y = T.dot(x, T.constant(np.zeros((2, 2)))) + T.dot(T.constant(np.full((2, 2), 3.0)), x)
    f = tg.function([x], y, mode=tg.Mode("c", optimizer="None"))
    value = np.array([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(3):
        np.testing.assert_allclose(f(value), np.full((2, 2), 3.0) @ value)
