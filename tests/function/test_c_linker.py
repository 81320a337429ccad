"""Mode(linker="c"): the same results as the NumPy machine, errors at the user's line."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def classifier(linker):
    rng = np.random.default_rng(0)
    x, y = T.dmatrix("x"), T.lvector("y")
    w, b = tg.shared(rng.standard_normal((5, 3)), name="w"), tg.shared(np.zeros(3), name="b")
    p = T.softmax(T.dot(x, w) + b, axis=1)
    cost = -T.mean(T.log(p)[T.arange(y.shape[0]), y])
    return tg.function(
        [x, y], [cost, p.argmax(axis=1)], updates=[(b, b - 0.1 * p.mean(axis=0))], mode=tg.Mode(linker=linker)
    ), b


def test_a_classifier_runs_in_c_as_in_numpy():
    x, y = np.random.default_rng(1).standard_normal((7, 5)), np.arange(7) % 3
    (f, b), (g, c) = classifier("c"), classifier("py")
    for _ in range(3):
        for got, want in zip(f(x, y), g(x, y)):
            np.testing.assert_allclose(got, want)
    np.testing.assert_allclose(b.get_value(), c.get_value())
    assert [i.op.kind for i in f.vm.program.instructions] == ["kernel"]


def test_errors_in_a_kernel_name_the_users_line_and_change_nothing():
    f, b = classifier("c")
    before = b.get_value()
    with pytest.raises(IndexError, match=r"(?s)p\)\[T.arange.*index 3 is out of bounds for axis 1 with size 3"):
        f(np.ones((2, 5)), np.array([0, 3]))
    np.testing.assert_array_equal(b.get_value(), before)
