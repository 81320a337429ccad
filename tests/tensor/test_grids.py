"""Positions on grids, and what is computed over whole arrays: unravel_index, mgrid, cov, allclose."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.errors import ShapeError

MODES = [tg.Mode(linker="py"), tg.Mode(linker="auto")]


@pytest.mark.parametrize("shape", [(4,), (2, 3), (3, 1, 5), (2, 2, 2, 2)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_unravel_and_ravel_undo_each_other(shape, order):
    numbers = np.arange(np.prod(shape)).reshape(-1, 1)
    i = T.lmatrix("i")
    places = T.unravel_index(i, shape, order)
    f = tg.function([i], [*places, T.ravel_multi_index(places, shape, order=order)])
    *found, back = f(numbers)
    for ours, theirs in zip(found, np.unravel_index(numbers, shape, order), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(back, numbers)


def test_positions_take_one_division_for_each_dimension_but_the_slowest():
    i = T.lvector("i")
    text = str(tg.function([i], T.unravel_index(i, (4, 5, 6)), mode=tg.Mode(linker="py")).stage("place"))
    assert text.count("floor_div(") == 2 and text.count("mod(") < 3


def test_lengths_and_positions_may_be_symbolic():
    n, m, i = T.lscalar("n"), T.lscalar("m"), T.ivector("i")
    f = tg.function(
        [n, m, i], [*T.unravel_index(i, (n, m)), T.ravel_multi_index([i, i], (n, m), mode=["clip", "wrap"])]
    )
    rows, columns, back = f(3, 4, [0, 5, 11])
    assert rows.tolist() == [0, 1, 2] and columns.tolist() == [0, 1, 3]
    assert back.tolist() == np.ravel_multi_index(([0, 5, 11],) * 2, (3, 4), mode=("clip", "wrap")).tolist()
    with pytest.raises(ValueError, match="not within"):
        f(2, 2, [4])


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: T.unravel_index(T.dvector("x"), (2,)), TypeError, "must be integers"),
        (lambda: T.unravel_index(3, (2, 2), "K"), ValueError, "order"),
        (lambda: T.ravel_multi_index([1], (2, 2)), ValueError, "1 positions"),
        (lambda: T.ravel_multi_index([1, 1], (2, 2), "up"), ValueError, "raise, wrap or clip"),
        (lambda: T.mgrid[3], TypeError, "slices"),
        (lambda: T.ogrid[0:, 1:2], TypeError, "with an end"),
    ],
)
def test_bad_arguments_are_named(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_positions_outside_are_refused_when_they_run():
    i = T.lscalar("i")
    for mode in MODES:
        with pytest.raises(ValueError, match="outside the array"):
            tg.function([i], T.ravel_multi_index([i, 0], (2, 2)), mode=mode)(2)


def test_grids():
    n = T.lscalar("n")
    dense = tg.function([n], T.mgrid[0:n, 1 : 2 * n : 2])(4)
    np.testing.assert_array_equal(dense, np.mgrid[0:4, 1:8:2])
    np.testing.assert_allclose(T.mgrid[0:1:5j].eval(), np.mgrid[0:1:5j])
    for ours, theirs in zip(T.ogrid[-2:3, 0:1:3j, 5:0:-2], np.ogrid[-2:3, 0:1:3j, 5:0:-2], strict=True):
        np.testing.assert_allclose(ours.eval(), theirs)


@pytest.mark.parametrize("shape", [(5,), (3, 6), (4, 4)])
@pytest.mark.parametrize(
    "how", [{}, {"bias": True}, {"ddof": 0}, {"rowvar": False}, {"fweights": True}, {"aweights": True},
            {"fweights": True, "aweights": True}]
)  # fmt: skip
def test_covariances(shape, how):
    rng = np.random.default_rng(3)
    x = rng.normal(size=shape)
    n = x.T.shape[0] if how.get("rowvar", True) or x.ndim < 2 else x.shape[0]
    weights = {"fweights": rng.integers(1, 5, n), "aweights": rng.uniform(0.5, 2, n)}
    given = {k: weights.get(k, v) for k, v in how.items()}
    v = T.tensor("v", dtype="float64", shape=(None,) * x.ndim if x.ndim == 1 else (x.shape[0], None))
    got = tg.function([v], T.cov(v, **given))(x)
    np.testing.assert_allclose(got, np.cov(x, **given), rtol=1e-12)


def test_covariances_of_two_and_of_complex_numbers_and_their_gradient():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 5)), rng.normal(size=5)
    np.testing.assert_allclose(T.cov(x, y).eval(), np.cov(x, y))
    z = x + 1j * rng.normal(size=x.shape)
    np.testing.assert_allclose(T.cov(z).eval(), np.cov(z))
    tg.verify_grad(lambda v: T.cov(v), [x], rng=rng)
    with pytest.raises(ValueError, match="vectors and matrices"):
        T.cov(np.zeros((2, 2, 2)))


def test_allclose():
    a, b = T.dvectors("a", "b")
    for mode in MODES:
        f = tg.function(
            [a, b], [T.allclose(a, b), T.allclose(a, b, equal_nan=True), T.allclose(a, b, rtol=0.5)], mode=mode
        )
        assert [bool(v) for v in f([1, 2], [1, 2 + 1e-9])] == [True, True, True]
        assert [bool(v) for v in f([1, np.nan], [1, np.nan])] == [False, True, False]
        assert [bool(v) for v in f([1, 2], [1, 3.0])] == [False, False, True]


def test_indices_of_a_negative_length_are_refused():
    n = T.lscalar("n")
    for make in (lambda: T.indices((-1, 2)), lambda: T.indices((2, n)).eval({n: -1})):
        with pytest.raises(ShapeError):
            make()
    np.testing.assert_array_equal(T.indices((2, n)).eval({n: 3}), np.indices((2, 3)))
    np.testing.assert_array_equal(T.indices((n, 2)).eval({n: 0}), np.indices((0, 2)))


@pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")
def test_positions_are_checked_in_c():
    i, n = T.lvector("i"), T.lscalar("n")
    with tg.config.change_flags(linker="c"):
        f = tg.function([i, n], [*T.unravel_index(i, (n, 3)), T.ravel_multi_index((i % n, i % 3), (n, 3))])
    assert str(f.why_not_native()) == "everything is compiled"
    want = [*np.unravel_index([5, 0, 4], (2, 3)), np.ravel_multi_index(([1, 0, 0], [2, 0, 1]), (2, 3))]
    for have, expected in zip(f([5, 0, 4], 2), want, strict=True):
        np.testing.assert_array_equal(have, expected)
    for wrong in ([6], [-1]):
        with pytest.raises(ValueError, match="an index is not within an array of shape"):
            f(wrong, 2)
