"""take, nonzero, choose, compress and their kin agree with NumPy."""

import numpy as np
import pytest
from helpers import DTYPES, arrays, check, quick, run, variable_for
from hypothesis import given
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops.indexing import MANY


@st.composite
def taken(draw):
    array = draw(arrays(min_dims=1, min_side=1))
    axis = draw(st.one_of(st.none(), st.integers(-array.ndim, array.ndim - 1)))
    n = array.size if axis is None else array.shape[axis]
    mode = draw(st.sampled_from(["raise", "clip", "wrap"]))
    limit = n if mode == "raise" else 2 * n
    indices = draw(arrays(["int64", "int32", "int8"], min_side=0, max_dims=2, finite=True))
    indices = (indices % (2 * limit) - limit).astype(indices.dtype) if indices.size else indices
    return array, indices, axis, mode


@given(case=taken())
@quick(80)
def test_take(case):
    array, indices, axis, mode = case
    check(lambda a, i: T.take(a, i, axis, mode), lambda a, i: np.take(a, i, axis, mode=mode), array, indices)


def test_take_of_lists_and_the_method():
    x = np.arange(12.0).reshape(3, 4)
    check(lambda a: a.take([0, 2, 0], axis=1), lambda a: a.take([0, 2, 0], axis=1), x)
    check(lambda a: T.take(a, []), lambda a: a.take(np.array([], int)), x)
    check(lambda a: T.take(a, 5), lambda a: a.take(5), x)
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 1"):
        T.take(variable_for(x, known=True), [4], axis=1)
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 1 with size 4"):
        run(lambda a, i: T.take(a, i, axis=1), x, np.array([4]))
    with pytest.raises(TypeError, match="indices must be integers"):
        T.take(T.dvector(), [0.5])
    with pytest.raises(ValueError, match="mode must be one of"):
        T.take(T.dvector(), [0], mode="reflect")


@given(array=arrays(min_dims=1, min_side=1), data=st.data())
@quick()
def test_take_and_put_along_axis(array, data):
    axis = data.draw(st.one_of(st.none(), st.integers(-array.ndim, array.ndim - 1)))
    source = array.reshape(-1) if axis is None else array
    places = np.argsort(source, axis=-1 if axis is None else axis, kind="stable")
    if data.draw(st.booleans()):
        places = places[..., :1] if axis in (None, -1, array.ndim - 1) else places
    check(lambda a, i: T.take_along_axis(a, i, axis), lambda a, i: np.take_along_axis(a, i, axis), array, places)

    def put(a):
        a = a.copy()
        np.put_along_axis(a, places, 1, axis)
        return a

    check(lambda a: T.put_along_axis(a, places, 1, axis), put, array)


def test_along_axis_needs_equal_ranks():
    with pytest.raises(ShapeError, match="same rank, got 2 and 1"):
        T.take_along_axis(T.dmatrix(), T.lvector(), 0)


@given(array=arrays(min_dims=1))
@quick()
def test_nonzero_and_its_kin(array):
    check(T.nonzero, np.nonzero, array)
    check(T.where, np.where, array)
    check(T.flatnonzero, np.flatnonzero, array)
    check(T.argwhere, np.argwhere, array)
    check(T.nonzero_values, lambda a: a[a.nonzero()], array)
    check(lambda a: T.nonzero(a, return_matrix=True), lambda a: np.array(a.nonzero()), array)
    check(lambda a: T.extract(T.isfinite(a), a), lambda a: np.extract(np.isfinite(a), a), array)


@given(array=arrays(min_dims=1), data=st.data())
@quick()
def test_compress(array, data):
    axis = data.draw(st.one_of(st.none(), st.integers(0, array.ndim - 1)))
    n = array.size if axis is None else array.shape[axis]
    condition = np.array(data.draw(st.lists(st.booleans(), max_size=n)), bool)
    check(lambda c, a: T.compress(c, a, axis), lambda c, a: np.compress(c, a, axis), condition, array)


@given(data=st.data())
@quick()
def test_choose(data):
    choices = [data.draw(arrays(DTYPES, shape=(2, 3), finite=True)) for _ in range(data.draw(st.integers(1, 4)))]
    mode = data.draw(st.sampled_from(["raise", "clip", "wrap"]))
    bounds = st.integers(0, len(choices) - 1) if mode == "raise" else st.integers(-5, 5)
    index = np.array([[data.draw(bounds) for _ in range(3)] for _ in range(2)])
    check(
        lambda i, *c: T.choose(i, list(c), mode=mode), lambda i, *c: np.choose(i, list(c), mode=mode), index, *choices
    )


def test_choose_checks_its_index_and_takes_a_stacked_array():
    table = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(run(T.choose, np.array([0, 1, 0]), table, known=True), [0, 4, 2])
    for bad in (2, -1):
        with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
            run(lambda i: T.choose(i, [1.0, 2.0]), np.array([bad]))
    with pytest.raises(TypeError, match="number of choices must be known"):
        T.choose(T.lvector(), T.dmatrix())


def test_where_needs_both_alternatives():
    with pytest.raises(TypeError, match="two arrays"):
        T.where(T.dvector() > 0, 1.0)


def test_functions_take_terms():
    x = T.dmatrix("x")
    assert T.take(x.term, 0, 0) is T.take(x, 0, 0).term
    assert T.nonzero(x.term) == tuple(v.term for v in T.nonzero(x))


@pytest.mark.parametrize("shape", [(40, 50), (7, 11, 40), (2000, 1), (3, 4, 5, 60)])
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
def test_many_places_in_several_dimensions(shape, share):
    """Long searches divide places, short ones ask NumPy."""
    mask = np.random.default_rng(0).random(shape) < share
    assert mask.size > MANY
    m = T.tensor("m", dtype="bool", shape=(None,) * len(shape))
    f = tg.function([m], list(T.nonzero(m)))
    for values in (mask, mask[::-1], np.asfortranarray(mask)):
        for got, wanted in zip(f(values), values.nonzero(), strict=True):
            np.testing.assert_array_equal(got, wanted)
            assert got.dtype == "int64"


@pytest.mark.parametrize("shape", [(5,), (300, 70), (3, 1, 9000), (0, 4), (40, 0, 3), (2, 3, 4, 5)])
@pytest.mark.parametrize("dtype", ["bool", "float64", "complex64", "int8"])
def test_places_of_what_is_not_zero(rng, shape, dtype):
    """More elements than are divided at once, too; NaN is not zero, -0 is."""
    values = rng.integers(-1, 2, shape).astype(dtype)
    if dtype == "float64" and values.size:
        values.flat[0], values.flat[-1] = np.nan, -0.0
    x = T.tensor("x", dtype=dtype, shape=(None,) * len(shape))
    f = tg.function([x], [*T.nonzero(x), T.flatnonzero(x), T.nonzero_values(x), T.argwhere(x)])
    wants = [*values.nonzero(), np.flatnonzero(values), values[values.nonzero()], np.argwhere(values)]
    for got, want in zip(f(values), wants, strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype


def test_piecewise():
    x = T.dvector("x")
    at = np.array([-2.0, 0.0, 0.5, 7.0, np.nan])
    for conditions, functions in (
        (lambda v: [v < 0, v > 1], [lambda v: -v, 1.0]),
        (lambda v: [v < 5, v > 0], [0.0, lambda v: v * 2, 9.0]),  # the last condition that holds
        (lambda v: v > 0, [lambda v: v * v]),
        (lambda v: [v > 0], [1, 2]),
    ):
        want = np.piecewise(at, conditions(at), functions)
        np.testing.assert_array_equal(np.piecewise(x, conditions(x), functions).eval({x: at}), want)
    with_array = T.piecewise(T.constant(at), np.array([at < 0, at > 1]), [-1, 1])
    np.testing.assert_array_equal(with_array.eval(), np.piecewise(at, np.array([at < 0, at > 1]), [-1, 1]))
    assert T.piecewise(T.constant([1.0, 2.0]), [True, False], [7]).eval().tolist() == [7, 0]
    scaled = T.piecewise(x, [x > 0], [lambda v, k, shift: v * k + shift], 2.0, shift=1.0)
    np.testing.assert_array_equal(scaled.eval({x: at}), [0, 0, 2, 15, 0])
    whole = T.piecewise(T.constant([1, 2]), [T.constant([True, False])], [2.7])
    assert whole.eval().tolist() == [2, 0], "in the dtype of x"
    with pytest.raises(ValueError, match="2 conditions and 4 functions"):
        T.piecewise(x, [x > 0, x > 1], [1, 2, 3, 4])
