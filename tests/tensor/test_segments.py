"""Sums, products and extremes of segments: JAX's meaning, gradients, errors, and indices that need no check."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.errors import ShapeError

FOLDS = {
    "segment_sum": (np.add, 0),
    "segment_prod": (np.multiply, 1),
    "segment_max": (np.maximum, -np.inf),
    "segment_min": (np.minimum, np.inf),
}
C = tg.Mode(linker="c")
LINKERS = ["py", pytest.param("c", marks=pytest.mark.skipif(find_compiler() is None, reason="no C compiler"))]


def folded(name, x, ids, count):
    ufunc, start = FOLDS[name]
    out = np.full((count, *x.shape[1:]), start, x.dtype)
    inside = (ids >= 0) & (ids < count)
    ufunc.at(out, ids[inside], x[inside])
    return out


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("name", FOLDS)
def test_rows_are_folded_by_their_numbers(name, linker, rng):
    x, ids, n = T.dmatrix("x"), T.lvector("ids"), T.lscalar("n")
    fold = getattr(T, name)
    f = tg.function([x, ids, n], [fold(x, ids, 4), fold(x, ids, n), fold(x, ids)], mode=tg.Mode(linker=linker))
    for rows, n in ((0, 0), (0, 3), (1, 0), (50, 5)):
        values, places = rng.normal(size=(rows, 3)), rng.integers(-2, 7, rows)
        values[rng.random(values.shape) < 0.1] = np.nan
        known, given, counted = f(values, places, n)
        np.testing.assert_allclose(known, folded(name, values, places, 4), rtol=1e-12)
        np.testing.assert_allclose(given, folded(name, values, places, n), rtol=1e-12)
        np.testing.assert_allclose(counted, folded(name, values, places, max([-1, *places]) + 1), rtol=1e-12)


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("name", FOLDS)
def test_gradients_reach_what_decides(name, linker, rng):
    x = T.dmatrix("x")
    ids, weights = np.array([0, 1, 2, 0, 1, 4, 4, 0, 2, 9, -1, 2]), rng.normal(size=(5, 3))
    values = rng.normal(size=(12, 3))
    values[3, 1] = values[7, 1] = values[2] = 0  # products with two zeros, and with one
    found = getattr(T, name)(x, ids, 5)
    cost = (T.switch(T.isinf(found), 0, found) * weights).sum()
    f, g = (tg.function([x], v, mode=tg.Mode(linker=linker)) for v in (cost, tg.grad(cost, x)))
    steps = np.zeros_like(values)
    for k in np.ndindex(values.shape):
        step = np.zeros_like(values)
        step[k] = 1e-6
        steps[k] = (f(values + step) - f(values - step)) / 2e-6
    np.testing.assert_allclose(g(values), steps, atol=1e-7)


def test_equal_extremes_share_their_gradient():
    x = T.dvector("x")
    g = tg.function([x], tg.grad(T.segment_max(x, [0, 0, 1, 0], 2).sum(), x))
    np.testing.assert_array_equal(g([3.0, 1.0, 2.0, 3.0]), [0.5, 0, 1, 0.5])


def test_batches_are_mapped(rng):
    x, ids = T.dmatrix("x"), T.lmatrix("ids")
    for name in FOLDS:
        many = tg.vmap(lambda v, i, name=name: getattr(T, name)(v, i, 3))(x, ids)
        values, places = rng.normal(size=(4, 6)), rng.integers(0, 3, (4, 6))
        wanted = [folded(name, v, i, 3) for v, i in zip(values, places)]
        np.testing.assert_allclose(tg.function([x, ids], many)(values, places), wanted)


def test_errors_name_what_is_wrong():
    x, ids = T.dvector("x"), T.lvector("ids")
    with pytest.raises(TypeError, match="segment_ids must be a vector of integers"):
        T.segment_sum(x, x, 3)
    with pytest.raises(TypeError, match="num_segments must be an integer"):
        T.segment_sum(x, ids, x)
    with pytest.raises(ValueError, match="num_segments must not be negative, got -1"):
        T.segment_sum(x, ids, -1)
    with pytest.raises(TypeError, match="complex numbers have no order"):
        T.segment_max(T.zvector("z"), ids, 3)
    with pytest.raises(ShapeError, match="a number for each row"):
        T.segment_sum(np.ones(3), [0, 1], 2)
    for linker in ("py", "auto"):
        f = tg.function([x, ids], T.segment_sum(x, ids, 2), mode=tg.Mode(linker=linker))
        with pytest.raises(ShapeError, match="segment_sum: segment_ids needs a number for each row of data"):
            f([1.0, 2.0, 3.0], [0, 1])


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
def test_an_index_that_is_within_by_its_form_is_not_checked(rng):
    x, i = T.dvector("x"), T.lvector("i")
    x9 = T.specify_shape(x, 9)
    within = [x9[T.clip(i, 0, 8)], x9[i % 9], T.segment_max(x, i, 4), x9[T.where((i > 0) & (i <= 5), i, 2)]]
    may_leave = [
        x9[i],
        x9[T.clip(i, 0, 9)],
        x9[T.clip(i, -1, 8)],
        x9[T.where((i > 0) | (i <= 5), i, 2)],
        x[T.clip(i, 0, 8)],
    ]
    for checked, results in ((False, within), (True, may_leave)):
        for v in results:
            text = tg.function([x, i], v, mode=C, on_unused_input="ignore").source("c")
            assert ("_high" in text) == checked, (v, text)
    given = rng.normal(size=9)
    places = np.array([-9, -3, 0, 4, 8, 100, 5, 7, -(2**62)])
    for found, wanted in zip(
        tg.function([x, i], within[:2])(given, places), [given[np.clip(places, 0, 8)], given[places % 9]]
    ):
        np.testing.assert_array_equal(found, wanted)
