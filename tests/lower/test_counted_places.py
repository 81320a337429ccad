"""Places that grow evenly, in constants or added up of counts, are indices like those of loops: none is looked up."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"
HUGE = 2**62


def statements(f):
    return str(f.stage("storage"))


def rows(x):
    return np.arange(2)[:, None] if isinstance(x, np.ndarray) else T.arange(2)[:, None]


@pytest.mark.parametrize(
    "places",
    [
        [0, 3],
        [5, 3, 1],
        [[0, 1, 2], [4, 5, 6]],
        [[[7, 6]], [[5, 4]]],
        [-1, -3],
        [2, 2, 2],
        [3],
        [0, 1, 3],
        [[0, 1], [2, 4]],
    ],
)
def test_constant_places(places, rng):
    x, index = T.tensor("x", "float64", shape=(8, 3)), np.array(places)
    f = tg.function([x], [x[index], x[:, index % 3], T.inc_subtensor(x[index], 1), T.constant(index) * 2])
    a = rng.normal(size=(8, 3))
    added = a.copy()
    np.add.at(added, index, 1)
    for got, want in zip(f(a), (a[index], a[:, index % 3], added, index * 2), strict=True):
        np.testing.assert_array_equal(got, want)


def test_even_places_are_neither_looked_up_nor_checked(rng):
    x = T.tensor("x", "float64", shape=(8, 3))
    f = tg.function([x], x[np.array([1, 4, 7])])
    assert "value" not in statements(f) and "load{buf=in0, offset=3 + 9*i0 + i1}" in statements(f)
    uneven = tg.function([x], x[np.array([1, 4, 6])])
    assert "value" in statements(uneven)
    n = T.matrix("n")
    windows = tg.function([n], n[:, np.arange(2)[:, None] + T.arange(n.shape[1] - 1)])
    a = rng.normal(size=(3, 6))
    np.testing.assert_array_equal(windows(a), a[:, np.arange(2)[:, None] + np.arange(5)])
    assert "value" not in statements(windows)


def test_places_outside_are_refused():
    x = T.matrix("x")
    for index, bad in (([0, 2, 4], 4), ([-1, -4], -4)):
        f = tg.function([x], x[np.array(index)])
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size 3"):
            f(np.zeros((3, 2)))
    f = tg.function([x], x[T.arange(x.shape[0]) + np.array(1)])
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        f(np.zeros((3, 2)))


def test_sums_of_counts_are_numbers_too():
    x = T.matrix("x")
    n = T.arange(x.shape[0])
    results = [n + 3, 5 - n, n * 4 - n, n[:, None] * T.arange(x.shape[1]), n + HUGE + HUGE, n * HUGE * 4, -n - 1, n - n]
    k = np.arange(5)
    with np.errstate(all="ignore"):
        want = [
            k + 3,
            5 - k,
            k * 4 - k,
            k[:, None] * np.arange(2),
            k + np.int64(HUGE) + HUGE,
            k * HUGE * 4,
            -k - 1,
            k - k,
        ]
    for got, expected in zip(tg.function([x], results)(np.zeros((5, 2))), want, strict=True):
        assert got.dtype == "int64"
        np.testing.assert_array_equal(got, expected)


def test_what_is_folded_is_not_looked_up_by_divisions(rng):
    """A reshaped array that is written into is stored where the places written would be divided."""
    x = T.tensor4("x")
    both = T.nnet.fold(T.nnet.unfold(x, 2), (9, 9), 2)
    f = tg.function([x], [both, tg.grad((both**2).sum(), x)])
    assert "floordiv" not in statements(f)
    a = rng.normal(size=(2, 3, 9, 9))
    count = np.ones((9, 9)) * 4
    count[[0, -1]] /= 2
    count[:, [0, -1]] /= 2
    for got, want in zip(f(a), (a * count, 2 * a * count**2), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_joined_arrays_that_many_rows_read_are_stored(rng):
    x, y = T.dvector("x"), T.dvector("y")
    rows, columns = T.arange(x.shape[0])[:, None], T.arange(y.shape[0] - 1)
    f = tg.function([x, y], T.concatenate([x, y])[rows + columns])
    assert "pick" not in statements(f) and "index" not in statements(f)
    a, b = rng.normal(size=5), rng.normal(size=9)
    np.testing.assert_array_equal(f(a, b), np.concatenate([a, b])[np.arange(5)[:, None] + np.arange(8)])
    few = tg.function([x, y], T.concatenate([x, y])[np.arange(2)[:, None] + np.arange(2)])
    assert "temp" not in statements(few)  # of arrays that may be long
    np.testing.assert_array_equal(few(a, b), [a[:2], a[1:3]])


@pytest.mark.parametrize(
    "places",
    [[-(2**63), 2**63 - 1], [-(2**63), 0, 2**63 - 1], [2**62, -(2**63), -(2**62)], [[0, 2**62], [2**62, 2**63 - 1]]],
)
def test_numbers_from_one_end_of_an_integer_to_the_other_are_no_places(places):
    x, values = T.lvector("x"), np.array(places)
    f = tg.function([x], T.constant(values) * 3 + x[0], mode=tg.Mode(linker="c"))
    np.testing.assert_array_equal(f([5]), values * 3 + 5)


def test_places_that_a_routine_or_a_loop_is_given_are_an_array(rng):
    x, places, count = rng.standard_normal(5), np.array([21, 42]), np.arange(20)
    v, q = T.dvector("v"), T.lvector("q")
    total, _ = tg.scan(lambda i, t: t + v[i % 5], sequences=T.constant(count), outputs_info=T.constant(0.0))
    f = tg.function(
        [v, q],
        [T.isin(q, places), T.searchsorted(T.constant(count), q), total[-1], T.sort(T.constant(count[::-1].copy()))],
        mode=tg.Mode(linker="c"),
    )
    asked = np.array([21, 3, 42])
    found = f(x, asked)
    expected = np.isin(asked, places), np.searchsorted(count, asked), x[count % 5].sum(), count
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b)
