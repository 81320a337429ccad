"""The sign of a product read off its bound, so that only the bound is kept for the gradient."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

X = np.random.default_rng(0).standard_normal((6, 4)).astype("float32")


def fired(*outputs):
    f = tg.function(list(INPUTS), list(outputs), on_unused_input="ignore", mode=tg.Mode(linker="py"))
    return "bounded.sign" in f.profile.rules


x, w, b = INPUTS = T.fmatrix("x"), T.fmatrix("w"), T.fvector("b")


def layer(z):
    return T.maximum(z, 0)


def test_it_fires_where_only_the_bound_reads_the_product():
    z = x @ w
    assert fired(layer(z), T.gt(z, 0)) and fired(layer(z + b), T.gt(z + b, 0))
    loss = T.sqr(layer(z + b) @ w).sum()
    assert fired(*tg.grad(loss, [w, b]))


def test_it_is_quiet_elsewhere():
    z = x @ w
    assert not fired(T.gt(z, 0))  # there is no bound
    assert not fired(layer(z), T.gt(z, 0), T.exp(z))  # the product is needed anyway
    assert not fired(layer(z + b), T.gt(z + b, 0), T.exp(z))
    assert not fired(T.maximum(z, 1), T.gt(z, 0))
    assert not fired(layer(T.exp(x)), T.gt(T.exp(x) - 1, 0))  # no product
    assert not fired(layer(z + T.exp(x)), T.gt(z + T.exp(x), 0))  # what is computed beside it would be kept instead


@pytest.mark.parametrize("mode", ["FAST_RUN", "STRICT"])
def test_signs_are_those_of_the_product(mode):
    special = np.array([[np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45]], "float32")
    one, i = np.eye(1, dtype="float32"), T.fmatrix("i")
    z = T.dot(w, i)
    f = tg.function([w, i], [layer(z), T.gt(z, 0)], mode=mode)
    assert "bounded.sign" in f.profile.rules
    assert np.array_equal(f(one, special)[1], special > 0)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
def test_the_product_is_not_kept_for_the_gradient():
    v = T.tensor("v", dtype="float32", shape=(512, 64))
    weights = [tg.shared(np.eye(64, dtype="float32")) for _ in range(8)]
    h = v
    for m in weights:
        h = layer(h @ m)
    f = tg.function([v], [h.sum(), *tg.grad(h.sum(), weights)], mode=tg.Mode(linker="c"))
    kept = 512 * 64 * 4
    assert f.memory().temporaries < 10.5 * kept  # eight results of layers and two cotangents, not twice eight
