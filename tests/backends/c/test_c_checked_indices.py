"""Indices from data in C: what is met again where it is checked is not checked again; a bad one is an error."""

import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def test_an_index_that_is_read_at_several_places_of_one_loop_is_checked_once(rng):
    """Four corners of a cell: two rows and two columns, in the whole lanes and in what is left over after them."""
    x, i, j = T.tensor("float64", shape=(12, 16)), T.lvector("i"), T.lvector("j")
    corners = x[i, j] + 2 * x[i, j + 1] + 3 * x[i + 1, j] + 4 * x[i + 1, j + 1]
    f = tg.function([x, i, j], [corners, (corners * corners).sum()])
    extremes = re.findall(r"\b(k\d+_low) = k\d+ < ", f.source("c"))
    assert len(set(extremes)) == 4 and len(extremes) == 8
    data, at = rng.normal(size=(12, 16)), (rng.integers(-12, 11, 70), rng.integers(-16, 15, 70))
    at = tuple(np.where(k == -1, 0, k) for k in at)
    p, q = at
    wanted = data[p, q] + 2 * data[p, q + 1] + 3 * data[p + 1, q] + 4 * data[p + 1, q + 1]
    found, square = f(data, p, q)
    np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(square, (wanted**2).sum())
    for place, bad in ((0, 12), (69, 11), (3, -13), (66, 14)):
        p = np.zeros(70, int)
        p[place] = bad
        with pytest.raises(IndexError, match=f"{bad + (bad == 11)}.*12"):
            f(data, p, np.zeros(70, int))


def test_the_same_number_in_two_lengths_is_two_indices(rng):
    x, y, i = T.tensor("float64", shape=(5,)), T.tensor("float64", shape=(9,)), T.lvector("i")
    f = tg.function([x, y, i], x[i] * y[i])
    a, b = rng.normal(size=5), rng.normal(size=9)
    at = np.array([0, 4, -1, -5, 2])
    np.testing.assert_array_equal(f(a, b, at), a[at] * b[at])
    with pytest.raises(IndexError, match="5"):
        f(a, b, np.array([7]))


def test_an_index_checked_in_one_arm_is_checked_in_the_other(rng):
    x, i, t = T.tensor("float64", shape=(6,)), T.lscalar("i"), T.dscalar("t")
    f = tg.function([x, i, t], tg.ifelse(T.gt(t, 0), x[i] * 2, x[i] * 3))
    a = rng.normal(size=6)
    for k in (-6, 0, 5):
        np.testing.assert_allclose([f(a, k, 1.0), f(a, k, -1.0)], [a[k] * 2, a[k] * 3])
    for s in (1.0, -1.0):
        with pytest.raises(IndexError, match="6"):
            f(a, 6, s)
