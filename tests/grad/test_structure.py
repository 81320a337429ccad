"""Derivatives of reductions, shapes, indexing, sorting and control against finite differences."""

import numpy as np
import pytest
from gradcases import INDICES, REDUCTIONS, SHAPES, check

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.ops.indexing import scatter_add, scatter_set


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1, ()])
def test_reductions(name, axis, rng):
    if axis == () and name in ("std", "ptp", "var", "max", "min"):
        pytest.skip("a reduction over nothing has a kink here")
    check(lambda x: REDUCTIONS[name](x, axis=axis), rng.normal(size=(2, 3, 2)))
    if axis == (0, 2):
        check(lambda x: REDUCTIONS[name](x, axis=axis, keepdims=True), rng.normal(size=(2, 1, 3)).astype("float32"))


@pytest.mark.parametrize("f", [T.cumsum, T.cumprod])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_running(f, axis, rng):
    check(lambda x: f(x, axis=axis), rng.normal(size=(3, 4)))


@pytest.mark.parametrize("zeros", [[], [1], [0, 2], [0, 1, 3]])
def test_products_with_zeros_have_first_and_second_derivatives(zeros, rng):
    x = rng.normal(size=4)
    x[zeros] = 0
    check(T.prod, x)
    check(T.cumprod, x)
    check(lambda x: tg.grad((T.cumprod(x) * np.array([1.0, -2.0, 3.0, 0.5])).sum(), x), x)
    check(lambda x: tg.grad(T.prod(x), x), x)


@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_softmax_family(axis, rng):
    x = rng.normal(size=(2, 3))
    check(lambda x: T.softmax(x, axis=axis), x)
    check(lambda x: T.log_softmax(x, axis=axis), x)
    check(lambda x: tg.grad(T.logsumexp(x, axis=axis).sum() ** 2, x), x)
    check(lambda x: tg.grad((T.softmax(x, axis=axis) ** 2).sum(), x), x)


def test_ties_of_maxima_are_shared():
    x = T.dvector("x")
    for f in (T.max, T.min):
        np.testing.assert_array_equal(tg.grad(f(x), x).eval({x: [2.0, 2.0]}), [0.5, 0.5])
    np.testing.assert_array_equal(tg.grad(T.max(x), x).eval({x: [1.0, 3.0, 3.0, 3.0]}), [0, 1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("name", SHAPES)
def test_moves(name, rng):
    check(SHAPES[name], rng.normal(size=(3, 4)))


@pytest.mark.parametrize("name", ["transpose", "roll", "diagonal", "concatenate", "split", "sort", "tile", "flatten"])
def test_moves_of_unknown_lengths(name, rng):
    x = T.dmatrix("x")
    v = rng.normal(size=(3, 4))
    g = tg.grad(T.sin(SHAPES[name](x)).sum(), x)
    known = T.tensor("x", dtype="float64", shape=(3, 4))
    expected = tg.grad(T.sin(SHAPES[name](known)).sum(), known)
    np.testing.assert_allclose(g.eval({x: v}), expected.eval({known: v}))


@pytest.mark.parametrize("name", INDICES)
def test_reading(name, rng):
    check(lambda x: T.exp(INDICES[name](x)), rng.normal(size=(3, 4)))


PLACES = {"slice": np.s_[1:, ::2], "int": np.s_[0], "array": np.s_[[2, 0]], "repeated": np.s_[[2, 2, 0]]}


@pytest.mark.parametrize("how", [T.set_subtensor, T.inc_subtensor])
@pytest.mark.parametrize("place", PLACES)
def test_writing(how, place, rng):
    x = rng.normal(size=(3, 4))
    y = x[PLACES[place]] + 1
    check(lambda x, y: T.sin(how(x[PLACES[place]], y)), x, y)
    check(lambda x, y: T.sin(how(x[PLACES[place]], y)), x, y[..., :1])


def test_of_values_written_to_one_place_the_last_one_counts():
    x, y = T.dvector("x"), T.dvector("y")
    z = scatter_set(x, y, np.array([1, 1, 0]), index=("a",))
    g = tg.grad((z * np.array([1.0, 10.0, 100.0])).sum(), [x, y])
    gx, gy = tg.function([x, y], g, on_unused_input="ignore")([0.0, 0.0, 0.0], [5.0, 6.0, 7.0])
    np.testing.assert_array_equal(gx, [0, 0, 100])
    np.testing.assert_array_equal(gy, [0, 10, 1])
    z = scatter_add(x, y, np.array([1, 1, 0]), index=("a",))
    gy = tg.grad((z * np.array([1.0, 10.0, 100.0])).sum(), y)
    gy = tg.function([x, y], gy, on_unused_input="ignore")([0.0] * 3, [1.0] * 3)
    np.testing.assert_array_equal(gy, [10, 10, 1])


def test_bincount_and_arange(rng):
    check(lambda w: T.bincount(np.array([0, 2, 2, 1]), weights=w), rng.normal(size=4))
    x = T.dscalar("x")
    g = tg.grad((T.arange(x, x + 3, 1.0) ** 2).sum(), x)
    assert g.eval({x: 2.0}) == 2 * (2 + 3 + 4)


def test_empty_arrays(rng):
    for f in (T.sum, lambda x: T.prod(x, axis=0), lambda x: T.cumsum(x, 1), lambda x: T.concatenate([x, x])):
        check(f, np.zeros((0, 2)))


def test_a_broadcast_scalar_counts_once_per_element():
    x, b = T.dvector("x"), T.dscalar("b")
    costs = [(x + b).sum(), (x - b).mean(), (x * 2 + b / 3).sum()]
    f = tg.function([x, b], [tg.grad(c, b) for c in costs], on_unused_input="ignore")
    np.testing.assert_allclose(f([1.0, 2.0, 3.0], 1.0), [3.0, -1.0, 1.0])


def test_gradient_of_a_diagonal_writes_as_many_places_as_it_has():
    x = T.dmatrix("x")
    text = str(tg.function([x], tg.grad(T.diagonal(x, 1).sum(), x), mode=tg.Mode(linker="py")).stage("specialize"))
    assert "alloc_diag" not in text
