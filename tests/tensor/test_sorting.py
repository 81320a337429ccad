"""Sorting, searching and counting agree with NumPy, NaN included."""

import numpy as np
import pytest
from helpers import FLOATS, INTS, REALS, arrays, check, quick, run
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError


@st.composite
def with_axis(draw, **kwargs):
    array = draw(arrays(**kwargs))
    return array, draw(st.one_of(st.none(), st.integers(-array.ndim, array.ndim - 1)))


@given(case=with_axis(min_dims=1))
@quick(60)
def test_sort_and_argsort(case):
    x, axis = case
    check(lambda a: T.sort(a, axis), lambda a: np.sort(a, axis), x)
    check(lambda a: T.argsort(a, axis), lambda a: np.argsort(a, axis, kind="stable"), x)


@pytest.mark.parametrize("n", [70, 400, 3936, 5000])
def test_halves_with_zeros_of_both_signs_are_in_order(n, rng):
    """Where NumPy has AVX-512 its own sort of such numbers may leave some behind larger ones."""
    x = T.tensor("x", dtype="float16", shape=(None,))
    places = [0, n // 3, n - 1]
    outs = [T.sort(x), T.unique(x), T.median(x), *T.unique(x, return_counts=True), T.partition(x, places)[places]]
    f = tg.function([x], outs)
    for _ in range(4):
        a = np.sort(rng.choice(np.array([-1, -0.0, 0, 1], "float16"), n), kind="stable")
        for row in (a, rng.permutation(a), a[::-1]):
            ordered, unique, middle, unique_2, counts, ranked = f(row)
            np.testing.assert_array_equal(ordered, a)
            np.testing.assert_array_equal([unique, unique_2], [[-1, 0, 1]] * 2)
            np.testing.assert_array_equal([middle, *counts], [np.median(a), *[(a == v).sum() for v in (-1, 0, 1)]])
            np.testing.assert_array_equal(ranked, a[places])


def test_sort_takes_methods_and_refuses_bad_axes():
    x = np.array([[3.0, 1.0], [np.nan, -1.0]])
    check(lambda a: a.sort(axis=0), lambda a: np.sort(a, 0), x)
    check(lambda a: a.argsort(), lambda a: np.argsort(a), x)
    with pytest.raises(ValueError, match="axis 2 is out of range"):
        T.sort(T.dmatrix(), axis=2)


@given(case=with_axis(dtypes=REALS, min_dims=1, min_side=1), data=st.data())
@quick(60)
def test_topk(case, data):
    x, axis = case
    n = x.size if axis is None else x.shape[axis]
    k = data.draw(st.integers(1, n).flatmap(lambda k: st.sampled_from([k, -k])))

    def positions(a):
        a, along = (a.reshape(-1), 0) if axis is None else (a, axis)
        rows = np.moveaxis(a, along, -1)
        key = rows if k < 0 else rows[..., ::-1]
        order = np.argsort(key, axis=-1, kind="stable")
        order = order if k < 0 else n - 1 - order[..., ::-1]
        return np.moveaxis(order[..., : abs(k)], -1, along)

    def values(a):
        flat, along = (a.reshape(-1), 0) if axis is None else (a, axis)
        return np.take_along_axis(flat, positions(a), along)

    check(lambda a: T.argtopk(a, k, axis), positions, x)
    check(lambda a: T.topk(a, k, axis), values, x)
    check(lambda a: T.topk_and_argtopk(a, k, axis)[0], values, x)


def test_topk_is_largest_first_and_ties_keep_their_order():
    x = np.array([1, 3, 2, 3])
    assert run(lambda a: T.topk(a, 3), x).tolist() == [3, 3, 2]
    assert run(lambda a: T.argtopk(a, 3), x).tolist() == [1, 3, 2]
    assert run(lambda a: T.argtopk(a, -2, idx_dtype="int32"), x).tolist() == [0, 2]
    assert run(lambda a, k: T.topk(a, k), x, np.array(2)).tolist() == [3, 3]
    with pytest.raises(ValueError, match="positive integer"):
        T.topk(T.dvector(), 0)


@given(data=st.data(), side=st.sampled_from(["left", "right"]))
@quick()
def test_searchsorted(data, side):
    table = data.draw(arrays(REALS, min_dims=1, max_dims=1))
    values = data.draw(arrays(REALS))
    order = np.argsort(table, kind="stable")
    check(lambda a, v: T.searchsorted(a, v, side), lambda a, v: np.searchsorted(a, v, side), table[order], values)
    check(
        lambda a, v, o: T.searchsorted(a, v, side, o),
        lambda a, v, o: np.searchsorted(a, v, side, o),
        table,
        values,
        order,
    )


@given(x=arrays(["uint8", "int16", "int64"], min_dims=1, max_dims=1), least=st.integers(0, 9), data=st.data())
@quick()
def test_bincount(x, least, data):
    x = (np.abs(x) % 9).astype(x.dtype)
    check(lambda a: T.bincount(a, minlength=least), lambda a: np.bincount(a, minlength=least), x)
    weights = data.draw(hnp.arrays("float32", x.shape, elements=st.integers(-4, 4).map(float)))
    if x.size:
        check(T.bincount, np.bincount, x, weights)


def test_bincount_refuses_what_cannot_be_counted():
    with pytest.raises(ValueError, match="must not be negative, got -3 at position 1"):
        run(T.bincount, np.array([1, -3]))
    with pytest.raises(TypeError, match="vector of integers"):
        T.bincount(T.dvector())
    with pytest.raises(ShapeError, match="2 values but 1 weights"):
        run(T.bincount, np.array([1, 3]), np.array([1.0]))
    assert run(lambda a, n: T.bincount(a, minlength=n), np.array([1]), np.array(3)).tolist() == [0, 1, 0]


@pytest.mark.parametrize("equal_nan", [True, False])
def test_unique_of_many_floats_of_16_bits_is_that_of_few(rng, equal_nan):
    """By a table of all their bits; of zeros of both signs, and of NaN, the first one stays."""
    x = T.tensor("x", dtype="float16", shape=(None,))
    f = tg.function([x], T.unique(x, equal_nan=equal_nan))
    drawn = rng.integers(0, 2**16, 9000).astype("uint16").view("float16")
    for values in (
        drawn,
        np.abs(drawn[np.isfinite(drawn)]),
        np.append(drawn, np.float16(-0.0))[::-1],
        rng.permutation(drawn),
    ):
        ordered = np.sort(values, kind="stable")
        new = np.append(True, ordered[1:] != ordered[:-1])
        if equal_nan and np.isnan(ordered[-1]):
            new[np.argmax(np.isnan(ordered)) + 1 :] = False
        np.testing.assert_array_equal(f(values).view("uint16"), ordered[new].view("uint16"))


@given(case=with_axis(min_dims=1))
@quick()
def test_unique(case):
    x, axis = case
    check(lambda a: T.unique(a, axis=axis), lambda a: np.unique(a, axis=axis), x)

    def numpys(a):
        found = list(np.unique(a, True, True, True, axis=axis))
        found[2] = found[2].reshape(a.shape if axis is None else a.shape[axis])
        return found

    if x.size:
        check(lambda a: T.unique(a, True, True, True, axis=axis), numpys, x)


@given(x=arrays(["float64", "int64", "uint8", "bool", "complex64"], min_dims=1), n=st.integers(0, 2), data=st.data())
@quick()
def test_diff(x, n, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    check(lambda a: T.diff(a, n, axis), lambda a: np.diff(a, n, axis), x)
    check(
        lambda a: T.diff(a, n, axis, prepend=0, append=a), lambda a: np.diff(a, n, axis, prepend=0, append=a), x
    ) if x.dtype.kind in "fi" and x.shape[axis] else None


def test_ediff1d():
    x = np.array([[1.0, 4, 9], [2, 3, 5]])
    check(T.ediff1d, np.ediff1d, x)
    check(lambda a: T.ediff1d(a, to_end=[7.0], to_begin=0), lambda a: np.ediff1d(a, [7.0], 0), x)


@given(x=arrays(FLOATS), right=st.booleans(), down=st.booleans())
@quick()
def test_digitize(x, right, down):
    bins = np.array([-2.0, 0, 0, 1])[:: -1 if down else 1].astype(x.dtype)
    check(lambda a, b: T.digitize(a, b, right), lambda a, b: np.digitize(a, b, right), x, bins)
    check(lambda a: T.digitize(a, bins, right), lambda a: np.digitize(a, bins, right), x)


@given(x=arrays(["float64", "float32", "int32"]), n=st.integers(1, 4))
@quick()
def test_interp(x, n):
    xp, fp = np.array([-2.0, 0.5, 1, 3])[:n], np.array([1.0, 3, -2, 0])[:n]
    x = np.nan_to_num(x) if n == 1 else x  # NumPy takes NaN for the only point
    check(T.interp, np.interp, x, xp, fp)
    check(lambda a: T.interp(a, xp, fp, left=-9, right=9), lambda a: np.interp(a, xp, fp, -9, 9), x)


def test_one_hot():
    y = np.array([[0, 2], [1, 1]])
    check(lambda a: T.one_hot(a, 3), lambda a: np.eye(3)[a], y)
    check(lambda a: T.to_one_hot(a, 4, dtype="int8"), lambda a: np.eye(4, dtype="int8")[a], y)
    with pytest.raises(TypeError, match="labels must be integers"):
        T.one_hot(T.dvector(), 3)
    assert all(T.one_hot(T.tensor(dtype=d, shape=(2,)), 3).type.shape == (2, 3) for d in INTS)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int32", "int64", "uint64"])
def test_short_lines_are_sorted_side_by_side(rng, dtype):
    """By networks: lines of lengths that have one and that have none, few and many, however they lie."""
    x = T.tensor3("x", dtype=dtype)
    sorts = [tg.function([x], T.sort(x, axis=axis), mode=tg.Mode(linker="c")) for axis in range(3)]
    assert all("tg_sort_network" in f.source("c") for f in sorts)
    for n in (0, 1, 2, 3, 5, 8, 9, 16, 24, 25, 31, 32, 33, 64, 65):
        values = rng.integers(0, 100, (3, n, 37)).astype(dtype)
        if dtype[0] == "f":
            values[rng.random(values.shape) < 0.1] = np.nan
            values[rng.random(values.shape) < 0.1] = -np.inf
        for lying in (values, values.swapaxes(0, 1), values.swapaxes(1, 2), values[::-1, :, ::2]):
            for axis, f in enumerate(sorts):
                np.testing.assert_array_equal(f(lying), np.sort(lying, axis=axis))


def test_distinct_elements_by_the_names_of_the_array_api():
    x = T.dmatrix("x")
    values = np.array([[2.0, np.nan, -1.0], [2.0, np.nan, 0.0]])
    f = tg.function([x], [*T.unique_all(x), *T.unique_counts(x), *T.unique_inverse(x), T.unique_values(x)])
    wanted = [*np.unique_all(values), *np.unique_counts(values), *np.unique_inverse(values), np.unique_values(values)]
    for got, want in zip(f(values), wanted, strict=True):
        np.testing.assert_array_equal(got, np.sort(want) if want.dtype == "float64" else want)
    assert len(T.unique(values).eval()) == 4


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "STRICT", tg.Mode(linker="py")])
def test_topk_by_a_variable_takes_as_many_as_there_are(mode):
    x, k = T.dmatrix("x"), T.lscalar("k")
    f = tg.function(
        [x, k], [T.topk(x, k), *T.topk_and_argtopk(x, k, axis=0), tg.grad(T.topk(x, k).sum(), x)], mode=mode
    )
    value = np.array([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0], [0.0, 1.0, 1.0]])
    rows, columns, places, slope = f(value, 2)
    np.testing.assert_array_equal(rows, [[3, 2], [6, 5], [1, 1]])
    np.testing.assert_array_equal(columns, [[4, 6, 5], [3, 1, 2]])
    np.testing.assert_array_equal(places, [[1, 1, 1], [0, 0, 0]])
    np.testing.assert_array_equal(slope, [[1, 0, 1], [0, 1, 1], [0, 1, 1]])
    assert f(value, 0)[0].shape == (3, 0)
    for wrong in (4, -1):
        with pytest.raises(ShapeError):
            f(value, wrong)


@pytest.mark.parametrize("high", [100, 10**15])  # by tables, by sorting
def test_parts_of_unique_are_those_of_all(high, rng):
    x, values = T.lmatrix("x"), rng.integers(-high, high, (30, 40))
    values[3] = values[5]
    f = tg.function([x], [*T.unique_all(x), *T.unique_counts(x), *T.unique_inverse(x)])
    distinct, places, inverse, counts, *parts = f(values)
    np.testing.assert_array_equal(values.ravel()[places], distinct)
    np.testing.assert_array_equal(distinct[inverse], values)
    for got, want in zip(parts, (distinct, counts, distinct, inverse), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_unique_computes_what_is_asked_for():
    x = T.lvector("x")
    assert "unique_all" not in str(T.unique_counts(x)[1].term) + str(T.unique_inverse(x)[1].term)
    assert "unique_all" in str(T.unique(x, return_index=True)[1].term)


@pytest.mark.parametrize("of", [T.unique_values, T.unique_counts, T.unique_inverse, T.unique_all])
def test_gradients_of_distinct_elements_that_are_their_own(of):
    v = T.dvector("v")
    found = of(v)
    g = tg.grad(((found if of is T.unique_values else found[0]) ** 2).sum(), v)
    np.testing.assert_array_equal(g.eval({v: np.array([3.0, 1.0, 3.0])}), [6.0, 2.0, 0.0])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_unique_whole_numbers_of_a_short_range(dtype):
    """They are counted, not sorted: also where differences of numbers need the bit of the sign."""
    x = T.vector("x", dtype=dtype)
    f = tg.function([x], T.unique(x))
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    wide = np.arange(low, high + 1) if np.dtype(dtype).itemsize == 1 else [low, high]
    for values in ([high, high - 2, high, high - 1], [low + 1, low, low + 3, low + 1], [5] * 3, [7], [], wide):
        array = np.array(values, dtype)
        found = f(array)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, np.unique(array))
    many = np.arange(1000) * 7 % 100
    np.testing.assert_array_equal(f(many.astype(dtype)), range(100))
