"""Indices that are stored, as several rows read them, are checked where they are stored, and nowhere else."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"


def statements(f):
    return str(f.stage("storage"))


EDGES = np.array([-100, *np.arange(12) + 0.5])
STEPS = np.array([-6] + 12 * [1])


def places_of(y):
    """Indices that are sums, so that they are stored where several rows need them."""
    return ((y[:, None] > EDGES) * STEPS).sum(1)


def giving(*places):
    return np.array(places) + 6.0


def test_each_place_is_checked_once(rng):
    x, y = T.dmatrix("x"), T.dvector("y")
    f = tg.function([x, y], [x[:, places_of(y)], tg.grad(T.sum(x[:, places_of(y)] ** 2), x)])
    shown = statements(f)
    assert shown.count("ival{index=value") == 1 and shown.count("gt(") == 1
    a = rng.normal(size=(3, 4))
    for at in (giving(0, 3, -1, -4, 3), giving(), giving(2)):
        k = places_of(at)
        slope = np.zeros_like(a)
        np.add.at(slope, (slice(None), k), 2 * a[:, k])
        for got, want in zip(f(a, at), [a[:, k], slope], strict=True):
            np.testing.assert_allclose(got, want)


@pytest.mark.parametrize("wrong", [4, -5])
@pytest.mark.parametrize("rows", [3, 1])
def test_places_outside_are_refused(wrong, rows):
    x, y = T.dmatrix("x"), T.dvector("y")
    f = tg.function([x, y], x[:, places_of(y)])
    with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 1 with size 4"):
        f(np.zeros((rows, 4)), giving(0, wrong, 1))


def test_places_that_are_not_read_are_not_checked(rng):
    x, y = T.dmatrix("x"), T.dvector("y")
    k = places_of(y)
    a, at = rng.normal(size=(3, 4)), giving(1, -2, 3, 9)
    want = a[:, places_of(at)[:3]]
    np.testing.assert_array_equal(tg.function([x, y], x[:, k[:3]])(a, at), want)
    chosen = tg.function([x, y], T.switch(k < 4, x[:, T.switch(k < 4, k, 0)], 0.0))
    np.testing.assert_array_equal(chosen(a, at), np.hstack([want, np.zeros((3, 1))]))


def test_places_along_axes_of_two_lengths_are_checked_for_each(rng):
    x, z, y = T.dmatrix("x"), T.dmatrix("z"), T.dvector("y")
    f = tg.function([x, z, y], [x[:, places_of(y)], z[:, places_of(y)]])
    a, b, at = rng.normal(size=(3, 4)), rng.normal(size=(3, 6)), giving(-1, 2, -3)
    for got, want in zip(f(a, b, at), [a[:, places_of(at)], b[:, places_of(at)]], strict=True):
        np.testing.assert_array_equal(got, want)
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 1 with size 4"):
        f(a, b, giving(0, 5, 2))


def test_places_that_are_numbers_too_stay_what_they_are(rng):
    x, y = T.dmatrix("x"), T.dvector("y")
    f = tg.function([x, y], [x[:, places_of(y)] * places_of(y), places_of(y)])
    a, at = rng.normal(size=(3, 4)), giving(-1, 2, -3)
    k = places_of(at)
    for got, want in zip(f(a, at), [a[:, k] * k, k], strict=True):
        np.testing.assert_array_equal(got, want)
