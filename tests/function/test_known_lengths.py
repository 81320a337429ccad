"""Functions are compiled for the present lengths of shared variables, and again when these change."""

import copy
import pickle

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"


def product(rows=3, columns=4, **options):
    w = tg.shared(np.arange(rows * columns, dtype="float64").reshape(rows, columns), name="w")
    x = T.dmatrix("x")
    return w, tg.function([x], T.tanh(x @ w).sum(axis=0), **options)


def right(f, w, batch=2):
    value = w.get_value()
    x = np.linspace(-1, 1, batch * value.shape[0]).reshape(batch, value.shape[0])
    np.testing.assert_allclose(f(x), np.tanh(x @ value).sum(axis=0), rtol=1e-12, atol=1e-12)
    return True


def programs(f):
    return len(f.__dict__.get("_for_lengths", {}))


@pytest.mark.parametrize("options", [{}, {"profile": True}, {"mode": "FAST_COMPILE"}], ids=str)
def test_a_new_shape_gets_a_program_of_its_own(options):
    w, f = product(**options)
    assert right(f, w) and programs(f) == 0
    w.set_value(np.ones((5, 2)))
    assert right(f, w) and right(f, w, 7) and programs(f) == 1
    w.set_value(np.ones((3, 4)))
    assert right(f, w) and programs(f) == 1


@pytest.mark.parametrize("updated", [[2], [1], [1, 2], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("shapes", [((3,), (3, 4), ()), ((3,), (4,), (5,))], ids=str)
def test_a_copy_without_updates_knows_the_lengths_of_the_same_variables(shapes, updated):
    """Updated variables stand first in a program: it was an IndexError, or a program for the lengths of another one."""
    shared = [tg.shared(np.linspace(0.1, 1, int(np.prod(s))).reshape(s), name=f"s{k}") for k, s in enumerate(shapes)]
    total = sum(T.tanh(v).sum() for v in shared)
    f = tg.function([], total, updates=[(shared[k], shared[k] * 2 + 0 * total) for k in updated])
    expected = sum(np.tanh(v.get_value()).sum() for v in shared)
    for h in (f, copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        g = h.copy(delete_updates=True)
        assert g() == pytest.approx(expected) == g() and programs(g) == 0
    f()
    assert f.copy(delete_updates=True)() == pytest.approx(sum(np.tanh(v.get_value()).sum() for v in shared))


def test_lengths_are_numbers_in_the_text():
    _, f = product(17, 19)
    assert "19" in f.source("c").partition("tg_run")[2] and "!= 19) return" in f.source("c")
    with tg.config.change_flags(known_lengths=False):
        _, g = product(17, 19)
    assert "!= 19) return" not in g.source("c") and right(g, g.maker.inputs[1].variable)


def test_lengths_that_change_all_the_time_get_one_program():
    w, f = product()
    for n in range(2, 14):
        w.set_value(np.ones((n, n + 1)))
        assert right(f, w)
    kept = set(f._for_lengths.values())
    assert sum(g.known != () for g in kept) == 4
    assert len({g.maker.work.native[key][0].source for g in kept for key in g.maker.work.native}) <= 6


def test_an_update_that_grows():
    w, x = tg.shared(np.zeros((2, 3))), T.dmatrix("x")
    f = tg.function([x], w.sum(), updates=[(w, T.concatenate([w, x]))])
    for k in range(7):
        assert f(np.ones((1, 3))) == 3 * k
    assert w.get_value().shape == (9, 3)


def test_a_length_of_one_is_not_broadcast():
    w, x = tg.shared(np.ones(1)), T.dvector("x")
    f = tg.function([x], x + w)
    with pytest.raises(ValueError, match="length"):
        f(np.ones(5))
    w.set_value(np.ones(5))
    np.testing.assert_array_equal(f(np.ones(5)), np.full(5, 2.0))
    w.set_value(np.ones(1))
    np.testing.assert_array_equal(f(np.ones(1)), [2.0])


def test_lengths_that_do_not_fit_are_an_error_of_the_call():
    w, x = tg.shared(np.ones((3, 4)), name="w"), T.tensor("x", dtype="float64", shape=(2, 5))
    f = tg.function([x], x @ w)
    with pytest.raises(ValueError, match="w|length"):
        f(np.ones((2, 5)))
    w.set_value(np.ones((5, 4)))
    assert f(np.ones((2, 5))).shape == (2, 4)


def test_copies_and_saved_functions():
    w, f = product()
    v = tg.shared(np.ones((6, 2)), name="v")
    g = f.copy(swap={w: v})
    assert right(g, v) and right(f, w)
    for h in (copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        own = h.maker.inputs[1].value
        assert right(h, w)
        own.value = np.ones((2, 2))
        np.testing.assert_allclose(h(np.ones((1, 2))), np.tanh([2.0, 2.0]))


def test_empty_and_strided_values():
    w, f = product()
    for value in (np.ones((0, 4)), np.ones((3, 0)), np.ones((8, 6))[::2, ::-2], np.ones((4, 3)).T):
        w.set_value(value, borrow=True)
        assert right(f, w)


def test_values_that_go_round_are_read_before_they_are_written():
    """Of updates in one loop only those are in place whose old value no later statement of an iteration reads."""
    a, b, x = tg.shared(np.ones(3), shape=(3,)), tg.shared(np.arange(3.0), shape=(3,)), T.dvector("x")
    f = tg.function([x], (a * x).sum(), updates=[(a, b + x), (b, a)])
    assert f(np.ones(3)) == 3.0
    assert a.get_value().tolist() == [1, 2, 3] and b.get_value().tolist() == [1, 1, 1]


def test_filters_of_one_element_have_known_lengths():
    """A convolution with strides divides by nothing then, and its text has no unknown lengths."""
    rng = np.random.default_rng(0)
    w, x = tg.shared(rng.standard_normal((4, 3, 1, 1)).astype("f4"), name="w"), T.tensor("x", "float32", (2, 3, 8, 8))
    y = T.nnet.conv2d(x, w, subsample=(2, 2), filter_flip=False)
    f = tg.function([x], [y, tg.grad((y * y).sum(), w)])
    value = rng.standard_normal((2, 3, 8, 8)).astype("f4")

    def check(n):
        tap = w.get_value()
        wanted = sum(
            np.einsum("bchw,oc->bohw", value[:, :, i : 8 - n + i + 1 : 2, j : 8 - n + j + 1 : 2], tap[:, :, i, j])
            for i in range(n) for j in range(n)
        )  # fmt: skip
        np.testing.assert_allclose(f(value)[0], wanted, rtol=1e-4, atol=1e-4)

    check(1)
    assert "n1_2" not in f.source("c") and "tg_floordiv" not in f.source("c")
    w.set_value(rng.standard_normal((4, 3, 3, 3)).astype("f4"))
    check(3)
    w.set_value(rng.standard_normal((4, 3, 1, 1)).astype("f4"))
    check(1)


@pytest.mark.parametrize("build", [
    lambda w, x: w + x, lambda w, x: x - w, lambda w, x: T.switch(x > 0, w, x), lambda w, x: T.concatenate([w, x], 1),
    lambda w, x: T.batched_dot(w.dimshuffle(0, 1, "x"), x.dimshuffle(0, "x", 1)),
    lambda w, x: w.dimshuffle(0, 1, "x") @ x.dimshuffle(0, "x", 1),
    lambda w, x: T.inc_subtensor(x[:], w),
])  # fmt: skip
def test_a_length_of_one_beside_others_is_an_error_of_the_call(build):
    """The type does not promise the 1, so that it is not stretched: not by NumPy's rules, and not by any op's own."""
    w, x = tg.shared(np.ones((1, 4)), name="w"), T.dmatrix("x")
    f = tg.function([x], build(w, x))
    with pytest.raises(ValueError):
        f(np.ones((3, 4)))
    one = f(np.ones((1, 4)))
    w.set_value(np.ones((3, 4)))
    many = f(np.ones((3, 4)))
    assert many.ndim == one.ndim and np.isfinite(many).all()
    with pytest.raises(ValueError):
        f(np.ones((1, 4)))
