"""Arrays that are woven into one, or joined: several readers read what is stored, and choose nothing."""

from __future__ import annotations

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

C = tg.Mode(linker="c")
needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def woven(x, y):
    whole = T.set_subtensor(T.zeros((x.shape[0], 2 * x.shape[1]))[:, ::2], x)
    return T.set_subtensor(whole[:, 1::2], y)


@needs_c
def test_several_readers_do_not_choose():
    x, y = T.matrices("x", "y")
    z = woven(T.sqr(x), y + 1)
    f = tg.function([x, y], z + z[::-1], mode=C)
    a, b = np.random.default_rng(0).normal(size=(2, 5, 7))
    expected = np.stack([a * a, b + 1], axis=-1).reshape(5, 14)
    np.testing.assert_allclose(f(a, b), expected + expected[::-1], rtol=1e-15)
    assert "tg_mod" not in f.source("c") and " % " not in f.source("c")


@needs_c
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 0), (4, 5)])
@pytest.mark.parametrize("name", ["idctn", "idstn", "dctn"])
def test_transforms_over_two_axes(name, shape):
    fft = pytest.importorskip("scipy.fft")
    x = T.matrix("x")
    f = tg.function([x], getattr(T.fft, name)(x), mode=C)
    a = np.random.default_rng(1).normal(size=shape)
    if 0 in shape:
        with pytest.raises(ValueError):
            f(a)
        return
    np.testing.assert_allclose(f(a), getattr(fft, name)(a), rtol=1e-10, atol=1e-12)


@needs_c
def test_one_reader_chooses_where_it_is():
    """Storing what is read once would move it twice."""
    x, y = T.matrices("x", "y")
    f = tg.function([x, y], woven(x, y).sum(axis=1), mode=C)
    a, b = np.random.default_rng(2).normal(size=(2, 5, 7))
    np.testing.assert_allclose(f(a, b), (a + b).sum(axis=1), rtol=1e-12)


@needs_c
def test_several_places_of_a_join_do_not_choose():
    x, y = T.matrices("x", "y")
    z = T.concatenate([x, y], axis=1)
    f = tg.function([x, y], z[:, 1:] - z[:, :-1], mode=C)
    assert " ? " not in f.source("c").split("kernel0(")[1].split("tg_plan")[0]
    for shape in ((4, 5), (1, 1), (3, 0), (0, 2)):
        a, b = np.random.default_rng(3).normal(size=(2, *shape))
        whole = np.concatenate([a, b], axis=1)
        np.testing.assert_array_equal(f(a, b), whole[:, 1:] - whole[:, :-1])


@needs_c
@pytest.mark.parametrize("mode", ["reflect", "nearest", "wrap", "constant"])
def test_footprints(mode):
    nd = pytest.importorskip("scipy.ndimage")
    x, cross = T.matrix("x"), [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
    f = tg.function([x], T.ndimage.maximum_filter(x, footprint=cross, mode=mode), mode=C)
    for shape in ((7, 5), (1, 1), (2, 30)):
        a = np.random.default_rng(4).normal(size=shape)
        np.testing.assert_array_equal(f(a), nd.maximum_filter(a, footprint=cross, mode=mode))
