"""Products inside compiled loops whose right factor is packed once: all shapes of tile and strip, what is left out."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.text import micro_kernels, packed_factors
from termgraph.backends.c.text.library_calls import LETTER
from termgraph.lower.schedule import products_ahead

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")


def layer(rows, units, dtype="float32", transposed=False):
    """The states of a recurrent layer, of inputs and weights; without a number of rows, any number."""
    x, u = T.tensor("x", dtype=dtype, shape=(None,) * 3), T.matrix("u", dtype=dtype)
    first = T.zeros((x.shape[1] if rows is None else rows, units), dtype=dtype)
    states, _ = tg.scan(
        lambda x, h, u: T.tanh(x + h @ (u.T if transposed else u)), sequences=x, outputs_info=first, non_sequences=u
    )
    return x, u, states


def data(steps, rows, units, dtype="float32"):
    rng = np.random.default_rng(rows * 1000 + units)
    x, u = rng.standard_normal((steps, rows, units)), rng.standard_normal((units, units)) / np.sqrt(units)
    return x.astype(dtype), u.astype(dtype)


SHAPES = [(2, 9), (4, 16), (5, 33), (7, 3), (13, 1), (20, 48), (32, 40), (6, 30), (64, 17)]


CASES = [(rows, units, bool(k % 2), "float32") for k, (rows, units) in enumerate([*SHAPES, *SHAPES[:2]])]
CASES += [(5, 33, False, "float64"), (20, 17, True, "float64")]


@pytest.mark.parametrize(("rows", "units", "transposed", "dtype"), CASES)
def test_forward_and_backward(rows, units, transposed, dtype):
    x, u, states = layer(rows, units, dtype, transposed)
    outs = [states, *tg.grad((states**2).sum(), [u, x])]
    f, meaning = tg.function([x, u], outs), tg.function([x, u], outs, mode=tg.Mode(linker="py"))
    assert f"tg_kept_product_{LETTER[dtype]}(st, c->kept0," in f.source("c")
    values, bound = data(5, rows, units, dtype), 1e-4 if dtype == "float32" else 1e-12
    for got, want in zip(f(*values), meaning(*values)):
        np.testing.assert_allclose(got, want, rtol=bound, atol=bound)
    for n in (0, 1):
        np.testing.assert_allclose(f(values[0][:n], values[1])[0], meaning(values[0][:n], values[1])[0], rtol=1e-5)


def test_equal_products_of_several_loops_have_places_of_their_own():
    """The gradient of an LSTM over any number of steps has loops with one and the same product."""
    units, words = 8, 50
    x, e, o = T.lmatrix("x"), T.fmatrix("e"), T.fmatrix("o")
    w, u, b = T.fmatrix("w"), T.fmatrix("u"), T.fvector("b")

    def step(x, h, c, w, u, b):
        z = x @ w + h @ u + b
        i, f, g, o = (z[:, k * units : (k + 1) * units] for k in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return T.sigmoid(o) * T.tanh(c), c

    zeros = T.zeros((x.shape[0], units), dtype="float32")
    (h, _), _ = tg.scan(step, sequences=e[x.T], outputs_info=[zeros, zeros], non_sequences=[w, u, b])
    cost = T.log_softmax(h.reshape((-1, units)) @ o, axis=1)[:, 0].mean()
    given = [x, e, w, u, b, o]
    outs = [cost, *tg.grad(cost, given[1:])]
    with tg.config.change_flags({"threads": 1, "blas.threads": 1}):
        f = tg.function(given, outs)
    places = [line for line in f.source("c").splitlines() if line.startswith("    tg_kept *")]
    assert places and len(places) == len(set(places))
    rng = np.random.default_rng(0)
    shapes = [(words, units), (units, 4 * units), (units, 4 * units), (4 * units,), (units, words)]
    values = [rng.integers(0, words, (3, 5)), *(rng.uniform(-0.5, 0.5, s).astype("float32") for s in shapes)]
    for got, want in zip(f(*values), tg.function(given, outs, mode=tg.Mode(linker="py"))(*values)):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


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


@pytest.mark.parametrize(
    ("rows", "dtype"), [(packed_factors.FEWEST - 1, "float32"), (packed_factors.MOST + 1, "float64")]
)
def test_others_go_to_blas(rows, dtype):
    x, u, states = layer(rows, 12, dtype)
    f = tg.function([x, u], states)
    assert "tg_kept" not in f.source("c")
    values = data(3, rows, 12, dtype)
    np.testing.assert_allclose(f(*values), tg.function([x, u], states, mode=tg.Mode(linker="py"))(*values), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_whose_number_is_not_known(dtype):
    x, u, states = layer(None, 12, dtype)
    f, meaning = tg.function([x, u], states), tg.function([x, u], states, mode=tg.Mode(linker="py"))
    assert f"tg_kept_product_{LETTER[dtype]}(st" in f.source("c")
    for rows in (0, 1, 2, 3, 11, packed_factors.MOST, packed_factors.MOST + 1):
        values = data(3, rows, 12, dtype)
        np.testing.assert_allclose(f(*values), meaning(*values), rtol=1e-4, atol=1e-6)


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
    heights = micro_kernels.tiles(rows)
    assert sum(heights) == rows and max(heights) <= micro_kernels.TALLEST and max(heights) - min(heights) <= 1


# ---------------------------------------------------------------------- products made for a few steps at once
@pytest.fixture
def tiles_wanted(monkeypatch):
    """The text for processors that have the instructions; where they are missing, the compiler takes BLAS."""
    monkeypatch.setattr(packed_factors, "processor_flags", lambda: frozenset({"avx2", "fma"}))


def projected(rows, outside=None, dtype="float32", **options):
    """The states of a layer whose inputs are multiplied in each step, and its variables x, w, u."""
    x, w, u = [T.tensor(name, dtype=dtype, shape=(None,) * ndim) for name, ndim in (("x", 3), ("w", 2), ("u", 2))]
    states, _ = tg.scan(
        lambda x, h, w, u: T.tanh(x @ w + h @ u),
        sequences=x if outside is None else outside(x), outputs_info=T.zeros((rows, 11), dtype=dtype),
        non_sequences=[w, u], **options,
    )  # fmt: skip
    return [x, w, u], states


def projected_data(steps, rows, inputs):
    rng = np.random.default_rng(steps)
    shapes = [(steps, rows, inputs), (inputs, 11), (11, 11)]
    return [(rng.standard_normal(s) / 3).astype("float32") for s in shapes]


def compare(variables, outs, values, in_blocks):
    with tg.config.change_flags(**{"cache.programs": False}):
        f, meaning = tg.function(variables, outs), tg.function(variables, outs, mode=tg.Mode(linker="py"))
    assert ("int64_t now = steps - t" in f.source("c")) is in_blocks
    for given in values:
        for got, want in zip(f(*given), meaning(*given)):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rows", [2, 7, 20, 64])
def test_blocks_of_steps(rows, tiles_wanted):
    variables, states = projected(rows)
    block = -(-products_ahead.ROWS // rows)
    lengths = sorted({0, 1, block - 1, block, block + 1, 2 * block, 3 * block - 1})
    compare(variables, [states], [projected_data(n, rows, 5) for n in lengths], True)
    compare(variables, [states], [projected_data(3, rows, n) for n in (0, 1, 4, 26)], True)


@pytest.mark.parametrize(
    "outside", [lambda x: x[::-1], lambda x: x[1:], lambda x: x[::2], lambda x: x.transpose(1, 0, 2)], ids=range(4)
)
def test_sequences_that_are_views(outside, tiles_wanted):
    variables, states = projected(20, outside)
    values = projected_data(20, 20, 5)
    compare(variables, [states], [values], True)
    backwards = projected(20, outside, go_backwards=True)
    compare(*backwards[:1], [backwards[1]], [values], True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forward_and_backward_of_blocks(dtype, tiles_wanted):
    variables, states = projected(20, dtype=dtype)
    outs = [states, *tg.grad((states**2).sum(), variables)]
    compare(variables, outs, [[v.astype(dtype) for v in projected_data(n, 20, 5)] for n in (1, 5, 13)], True)


def test_rows_read_last_first(tiles_wanted):
    x, w, u = T.ftensor3("x"), T.tensor("w", dtype="float32", shape=(None, 11)), T.fmatrix("u")
    steps, _, inputs = x.shape
    all_rows = (x.reshape((steps * 6, inputs)) @ w).reshape((steps, 6, 11))
    states, _ = tg.scan(
        lambda p, h, u: T.tanh(p + h @ u),
        sequences=all_rows[::-1], outputs_info=T.zeros((6, 11), dtype="float32"), non_sequences=u,
    )  # fmt: skip
    compare([x, w, u], [states], [projected_data(n, 6, 5) for n in (0, 1, 16, 35)], True)


def test_products_that_others_read_are_made_before(tiles_wanted):
    x, w, u = T.ftensor3("x"), T.fmatrix("w"), T.fmatrix("u")
    flat = x.reshape((x.shape[0] * 20, x.shape[2])) @ w
    states, _ = tg.scan(
        lambda p, h, u: T.tanh(p + h @ u),
        sequences=flat.reshape((x.shape[0], 20, 11)), outputs_info=T.zeros((20, 11), dtype="float32"), non_sequences=u,
    )  # fmt: skip
    compare([x, w, u], [states, flat], [projected_data(7, 20, 5)], False)


def test_processors_with_wider_vectors_multiply_before(monkeypatch):
    monkeypatch.setattr(packed_factors, "processor_flags", lambda: frozenset({"avx2", "fma", "avx512f"}))
    variables, states = projected(20)
    compare(variables, [states], [projected_data(7, 20, 5)], False)


def test_weights_that_the_call_updates(tiles_wanted):
    w = tg.shared(projected_data(7, 20, 5)[1], name="w")
    x, u = T.ftensor3("x"), T.fmatrix("u")
    states, _ = tg.scan(
        lambda x, h, w, u: T.tanh(x @ w + h @ u),
        sequences=x, outputs_info=T.zeros((20, 11), dtype="float32"), non_sequences=[w, u],
    )  # fmt: skip
    updates = [(w, w - np.float32(0.1) * tg.grad((states**2).sum(), w))]
    a, first, b = projected_data(7, 20, 5)
    found = []
    for mode in (None, tg.Mode(linker="py")):
        f = tg.function([x, u], states, updates=updates, mode=mode)
        w.set_value(first)
        found.append([f(a, b), f(a, b), w.get_value()])
    for got, want in zip(*found):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


VIEWS = [lambda w: w[::-1], lambda w: w[:, ::-1], lambda w: w[::-1].T, lambda w: w[::2, ::2]]


@pytest.mark.parametrize("view", VIEWS, ids=["rows", "columns", "both", "strides"])
@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
def test_a_factor_that_blas_cannot_read_is_copied_before_the_loop(view, left):
    u = T.tensor("u", dtype="float32", shape=(12, 12))
    v = view(u)
    n = v.type.shape[0]
    states, _ = tg.scan(
        lambda h, v: T.tanh(v @ h if left else h @ v), outputs_info=T.ones((n, n), dtype="float32"), non_sequences=v,
        n_steps=40,
    )  # fmt: skip
    f, meaning = tg.function([u], states), tg.function([u], states, mode=tg.Mode(linker="py"))
    step = f.source("c").partition("static int loop")[2].partition("\n}\n")[0]
    assert step.count("tg_each(") == 1 and ("tg_kept_product_s(" in step) is not left
    given = projected_data(4, 12, 5)[1].repeat(3, 0)[:12, :1] * np.arange(12, dtype="float32") / 9
    np.testing.assert_allclose(f(given), meaning(given), rtol=1e-4, atol=1e-5)
