"""Rules about masks: no list of places where a choice will do."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

X = np.array([[1.0, -2.0, np.nan], [4.0, 5.0, -np.inf]])
M = np.array([[True, False, False], [True, True, False]])


def built(make, dtype="float64"):
    x, m = T.matrix("x", dtype=dtype), T.matrix("m", dtype="bool")
    return tg.function([x, m], make(x, m), on_unused_input="ignore", mode=tg.Mode(linker="py"))


def uses(f, name):
    return name in f.source("py")


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int8"])
def test_masked_elements_are_added_up_and_written_over_by_choices(dtype):
    values = np.array([[100, 27, 3], [90, 5, 6]]).astype(dtype)
    f = built(lambda x, m: [x[m].sum(), T.set_subtensor(x[m], 7), T.inc_subtensor(x[m], 2)], dtype)
    assert not uses(f, "nonzero")
    total, written, added = f(values, M)
    assert total == values[M].sum() and total.dtype == values[M].sum().dtype
    np.testing.assert_array_equal(written, np.where(M, 7, values))
    np.testing.assert_array_equal(added, np.where(M, values + np.array(2, dtype), values))


def test_what_is_not_picked_does_not_count():
    f = built(lambda x, m: [x[m].sum(), T.set_subtensor(x[~m], 0.0), tg.grad(x[m].sum(), x)])
    assert not uses(f, "nonzero")
    total, written, slope = f(X, M)
    assert total == 10.0
    np.testing.assert_array_equal(written, [[1, 0, 0], [4, 5, 0]])
    np.testing.assert_array_equal(slope, M.astype(float))


def test_masks_of_other_lengths_are_refused():
    f = built(lambda x, m: x[m].sum())
    with pytest.raises((ValueError, IndexError), match="length"):
        f(X, M[:1])


def test_a_mask_of_one_place_is_refused_as_others_are():
    x, one = T.dvector("x"), T.tensor("one", dtype="float64", shape=(1,))
    m, many = T.constant(np.array([True])), T.vector("many", dtype="bool")
    for make in (lambda x, m: T.set_subtensor(x[m], 0), lambda x, m: T.inc_subtensor(x[m], 1), lambda x, m: x[m].sum()):
        with pytest.raises(IndexError, match="lengths of the axes"):
            tg.function([x], make(x, m), mode=tg.Mode(linker="py"))(np.ones(3))
        with pytest.raises(IndexError, match="lengths of the axes"):
            tg.function([one, many], make(one, many), mode=tg.Mode(linker="py"))(np.ones(1), np.ones(3, bool))


def test_places_of_a_smaller_mask_stay_places():
    f = built(lambda x, m: x[T.nonzero(m)].sum())
    assert uses(f, "nonzero") and f(X, M[:1]) == 1.0


def test_vectors_for_each_place_are_written_one_by_one():
    x, m, v = T.dmatrix("x"), T.matrix("m", dtype="bool"), T.dvector("v")
    f = tg.function([x, m, v], T.set_subtensor(x[m], v), mode=tg.Mode(linker="py"))
    expected = X.copy()
    expected[M] = [9.0, 8.0, 7.0]
    np.testing.assert_array_equal(f(X, M, [9.0, 8.0, 7.0]), expected)


@pytest.mark.parametrize("low", [-1e9, -np.inf, -720.0])
def test_masked_softmax_in_c(low):
    x, m = T.dmatrix("x"), T.matrix("m", dtype="bool")
    masked = T.switch(m, x, low)
    values = np.random.default_rng(1).normal(size=(3, 150))
    f = tg.function([x, m], [T.softmax(masked, 1), T.log_softmax(masked, 1), T.logsumexp(masked, 1)])
    g = tg.function(
        [x, m], [T.softmax(masked, 1), T.log_softmax(masked, 1), T.logsumexp(masked, 1)], mode=tg.Mode(linker="py")
    )
    chosen = np.random.default_rng(2).random((3, 150)) < 0.5
    for got, want in zip(f(values, chosen), g(values, chosen)):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-300)
    odd = values.copy()
    odd[0, 0] = np.nan
    assert np.isnan(f(odd, chosen | True)[0][0]).all()
