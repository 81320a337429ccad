"""Random bits of vector loops are made for many places before they are used, and are the same bits."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.text.made_before import before_loops

LINKER = "c"
LENGTHS = [0, 1, 7, 8, 9, 255, 256, 257, 1000]


def drawn(make, linker):
    """What two calls draw, of a stream that begins anew."""
    f = tg.function([], make(T.random.RandomStream(seed=3)), mode=tg.Mode(linker=linker))
    return [f(), f()]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", ["uniform", "normal", "integers", "permutation"])
def test_bits_are_those_of_the_virtual_machine(name, n):
    def make(r):
        if name == "permutation":
            return r.permutation(n)
        return r.integers(0, 1 << 60, (n,)) if name == "integers" else getattr(r, name)(size=(n,))

    for mine, wanted in zip(drawn(make, "c"), drawn(make, "py")):
        np.testing.assert_allclose(mine, wanted, rtol=1e-14, atol=1e-14)
        if name != "normal":
            np.testing.assert_array_equal(mine, wanted)


def test_rows_of_unknown_lengths_and_two_streams_in_one_loop():
    x = T.dmatrix("x")

    def made(linker):
        r = T.random.RandomStream(seed=5)
        drawn = x + r.normal(size=x.shape) * r.uniform(size=x.shape)
        return tg.function([x], T.concatenate([drawn.T, [drawn.sum(axis=1)]]), mode=tg.Mode(linker=linker))

    native, wanted = made("c"), made("py")
    for shape in ((3, 5), (1, 300), (40, 17)):
        given = np.ones(shape)
        np.testing.assert_allclose(native(given), wanted(given), rtol=1e-13)


def test_halves_of_a_block_are_made_together():
    normal = tg.function([], T.random.RandomStream(seed=1).normal(size=(500,)))
    text = str(normal.stage("print"))
    assert text.count("tg_philox_fill(g") == 1 and "tg_philox(g" not in text


@pytest.mark.parametrize("n", [1, 5, 16, 17, 1000])
def test_sums_of_draws(n):
    def make(r):
        return T.stack([r.normal(size=(n,)).sum(), (r.uniform(size=(n,)) * 2).max()])

    for mine, wanted in zip(drawn(make, "c"), drawn(make, "py")):
        np.testing.assert_allclose(mine, wanted, rtol=1e-12, atol=1e-12)
    r = T.random.RandomStream(seed=1)
    text = str(tg.function([], r.normal(size=(n + 40,)).sum()).stage("print"))
    assert "tg_philox_fill(g" in text and "tg_philox(g" not in text


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_whole_numbers_become_the_nearest_float(dtype, rng):
    x = T.vector("x", dtype=dtype)
    info = np.iinfo(dtype)
    edges = [info.min, info.max, 0, 1, 2**53 + 1, 2**62 + 2**9 + 1, info.max - 2**10, info.max - 2**9 + 1]
    many = rng.integers(info.min, info.max, 1000, dtype=dtype, endpoint=True)
    values = np.concatenate([np.array(edges, dtype), many, many >> np.array(20, dtype), many >> np.array(40, dtype)])
    f = tg.function([x], T.cast(x, "float64"))
    assert "tg_double" in str(f.stage("print"))
    np.testing.assert_array_equal(f(values), values.astype("float64"))


DRAWS = {
    "standard_t": lambda r, n: r.standard_t(4.0, (n,)),
    "dirichlet": lambda r, n: r.dirichlet(T.constant(np.linspace(0.2, 2, n)), (3,)),
    "gamma": lambda r, n: T.log(r.gamma(T.arange(n) / 9 + 0.3, 2.0, (n,))),
    "beta": lambda r, n: r.normal(0.0, 1.0, (n,)) * r.beta(2.0, 0.5, (n,)),
    "poisson": lambda r, n: T.exp(-r.poisson(4.0, (n,)) / 3) + r.gamma(2.5, 1.0, (n,)),
    "binomial": lambda r, n: T.sin(r.binomial(10, 0.3, (n,)) * r.uniform(0.0, 1.0, (n,))),
    "negative_binomial": lambda r, n: T.exp(-1.0 * r.negative_binomial(5, 0.4, (n,))),
    "sums": lambda r, n: T.log(r.gamma(2.0, 1.0, (3, n))).sum(axis=1),
    "columns": lambda r, n: T.log(r.gamma(2.0, 1.0, (n, 5))).sum(axis=0),
}


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 255, 256, 257, 1000])
@pytest.mark.parametrize("name", DRAWS)
def test_draws_that_are_made_before_a_loop(name, n):
    for mine, wanted in zip(*[drawn(lambda r: DRAWS[name](r, n), linker) for linker in ("c", "py")]):
        np.testing.assert_allclose(mine, wanted, rtol=1e-11, atol=1e-13)


def test_which_draws_are_made_before():
    def text(found):
        return str(tg.function([], found).stage("print"))

    r = T.random.RandomStream(seed=1)
    assert "drawn0_0[" in text(r.standard_t(4.0, (500,)))
    assert "drawn0_1[" in text(T.log(r.gamma(2.0, 1.0, (500,)) / r.gamma(3.0, 1.0, (500,))))
    assert "drawn0" not in text(r.gamma(2.0, 1.0, (500,)) * 3)  # nothing else there has vectors to gain


def test_a_draw_by_what_a_loop_writes_stays_in_it():
    lines = [
        "#pragma GCC ivdep",
        "for (int64_t i0 = begin; i0 < end; i0++) {",
        "    out0[i0] = in0[i0] + 1;",
        "    const double v0 = out0[i0];",
        "    out1[i0] = log(tg_gamma_draw(g0, g1, i0, v0));",
        "}",
    ]
    assert not any("drawn0" in line for line in before_loops(lines))
    before = [line.replace("out0[i0];", "in0[i0];") for line in lines]
    drawn = "drawn0_0[i0 - drawn0_from] = tg_gamma_draw_ahead(drawn0_bits0[0] + (i0 - drawn0_from), 2, g0, g1, i0, v0);"
    assert any(drawn in line for line in before_loops(before))


BY_REJECTION = {
    "gamma": lambda r: r.gamma(2.0, 1.0, (700,)),
    "below one": lambda r: r.gamma(0.3, 1.0, (700,)),
    "shapes": lambda r: r.gamma(np.linspace(0.1, 4.0, 700), 1.0),
    "beta": lambda r: r.beta(0.4, np.linspace(0.1, 4.0, 700)),
    "poisson": lambda r: r.poisson(300.0, (5, 70)),
    "binomial": lambda r: r.binomial(1000, 0.3, (3,)),
}


@pytest.mark.parametrize("name", BY_REJECTION)
def test_the_first_bits_of_draws_are_made_before(name):
    """The numbers are those of the virtual machine, however many bits a draw takes."""
    f = tg.function([], BY_REJECTION[name](T.random.RandomStream(seed=3)), mode=tg.Mode(linker="c"))
    assert "_draw_ahead(" in f.source("c")
    assert ("first0_0[4][256]" in f.source("c")) == (name in ("below one", "beta"))
    for mine, wanted in zip(drawn(BY_REJECTION[name], "c"), drawn(BY_REJECTION[name], "py")):
        np.testing.assert_array_equal(mine, wanted)
