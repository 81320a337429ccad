"""Products inside compiled loops whose right factor is packed once: all shapes of tile and strip, what is left out."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c import kept, strips
from termgraph.backends.c.compilers import find_compiler

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")


def layer(rows, units, dtype="float32", transposed=False):
    """The states of a recurrent layer, of inputs and weights."""
    x, u = T.tensor("x", dtype=dtype, shape=(None,) * 3), T.matrix("u", dtype=dtype)
    first = T.zeros((rows, units), dtype=dtype)
    states, _ = tg.scan(
        lambda x, h, u: T.tanh(x + h @ (u.T if transposed else u)), sequences=x, outputs_info=first, non_sequences=u
    )
    return x, u, states


def data(steps, rows, units, dtype="float32"):
    rng = np.random.default_rng(rows * 1000 + units)
    x, u = rng.standard_normal((steps, rows, units)), rng.standard_normal((units, units)) / np.sqrt(units)
    return x.astype(dtype), u.astype(dtype)


@pytest.mark.parametrize(("rows", "units"), [(2, 9), (4, 16), (5, 33), (7, 3), (13, 1), (20, 48), (32, 40), (6, 30), (64, 17)])
@pytest.mark.parametrize("transposed", [False, True])
def test_forward_and_backward(rows, units, transposed):
    x, u, states = layer(rows, units, transposed=transposed)
    outs = [states, *tg.grad((states**2).sum(), [u, x])]
    f, meaning = tg.function([x, u], outs), tg.function([x, u], outs, mode=tg.Mode(linker="py"))
    assert "tg_kept_product(st, c->kept0," in f.source("c")
    values = data(5, rows, units)
    for got, want in zip(f(*values), meaning(*values)):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    for n in (0, 1):
        np.testing.assert_allclose(f(values[0][:n], values[1])[0], meaning(values[0][:n], values[1])[0], rtol=1e-5)


def test_the_product_is_added_to_what_is_there():
    x, u, _ = layer(6, 20)
    v = T.fmatrix("v")
    h, _ = tg.scan(
        lambda x, h, u, v: T.tanh(T.dot(h, u) + T.dot(x, v)),
        sequences=x, outputs_info=T.zeros((6, 20), dtype="float32"), non_sequences=[u, v],
    )  # fmt: skip
    values = (*data(4, 6, 20), data(1, 6, 20)[1][:, ::-1])
    meaning = tg.function([x, u, v], h, mode=tg.Mode(linker="py"))
    np.testing.assert_allclose(tg.function([x, u, v], h)(*values), meaning(*values), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("rows", "dtype"), [(kept.FEWEST - 1, "float32"), (kept.MOST + 1, "float32"), (8, "float64")])
def test_others_go_to_blas(rows, dtype):
    x, u, states = layer(rows, 12, dtype)
    f = tg.function([x, u], states)
    assert "tg_kept" not in f.source("c")
    values = data(3, rows, 12, dtype)
    np.testing.assert_allclose(f(*values), tg.function([x, u], states, mode=tg.Mode(linker="py"))(*values), rtol=1e-4)


def test_a_factor_that_changes_is_not_kept():
    u = T.fmatrix("u")
    states, _ = tg.scan(lambda h: T.tanh(h @ h), outputs_info=u, n_steps=3)
    x = T.ftensor3("x")
    other, _ = tg.scan(lambda w, h: T.tanh(h @ w), sequences=x, outputs_info=T.zeros((8, 8), dtype="float32") + 0.1)
    assert "tg_kept" not in tg.function([u], states).source("c")
    assert "tg_kept" not in tg.function([x], other).source("c")


def test_weights_are_packed_anew_in_every_call():
    x, u, states = layer(8, 24)
    f = tg.function([x, u], states)
    a, b = data(3, 8, 24)
    once = f(a, b)
    assert not np.allclose(f(a, -b), once)
    np.testing.assert_array_equal(f(a, b), once)


def test_a_step_that_fails_leaves_the_loop():
    x, u, k = T.ftensor3("x"), T.fmatrix("u"), T.lvector("k")
    states, _ = tg.scan(
        lambda x, k, h, u: T.tanh(x + (h @ u) * u[k, 0]),
        sequences=[x, k], outputs_info=T.zeros((8, 16), dtype="float32"), non_sequences=u,
    )  # fmt: skip
    f = tg.function([x, u, k], states)
    a, b = data(4, 8, 16)
    for _ in range(3):
        with pytest.raises(IndexError, match="99"):
            f(a, b, np.array([0, 1, 99, 0]))
    assert f(a, b, np.zeros(4, int)).shape == (4, 8, 16)


@pytest.mark.parametrize("rows", range(1, 70))
def test_tiles_cover_all_rows(rows):
    heights = strips.tiles(rows)
    assert sum(heights) == rows and max(heights) <= strips.TALLEST and max(heights) - min(heights) <= 1
