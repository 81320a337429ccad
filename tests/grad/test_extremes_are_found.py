"""Gradients of extremes ask where the extreme is, by equality: every loop must round what it compares alike."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "auto"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="what C rounds")

COMPARED = {
    "a sum with a product of rows": lambda a, b: T.log(abs(a) + 0.1) + 0.95 * b[0],
    "products of rows and columns": lambda a, b: a[:, 0][:, None] * b[:, 0] + b[:, 1][:, None] * 0.7,
    "a choice and an extreme of another": lambda a, b: T.where(b > 0, T.sqrt(abs(b)), -9.0) + 0.95 * a.max(1)[:, None],
    "all elements": lambda a, b: a * b + 0.3 * a,
    "functions in two stages": lambda a, b: T.sin(T.tanh(a).max(1)[:, None] * 0.5 + 0.95 * b),
    "sums of exponentials": lambda a, b: T.exp(a[:, None] * b[None] - b).sum(-1),
}
READ = {
    "largest of rows": lambda x: x.max(1),
    "least of columns": lambda x: x.min(0),
    "largest of all": lambda x: x.max(),
    "beside its extreme": lambda x: (x - 0.3 * x.max(1, keepdims=True)) ** 2,
    "larger of two": lambda x: T.maximum(x[:, 1:], x[:, :-1] * 0.99 + 0.01),
}


def bellman(x, steps):
    """Values of a plan: each step looks for the best next place."""

    def step(v, _):
        rest = x[:, None] ** 0.33 + 0.9 * x[:, None] - x
        return (T.where(rest > 0, T.log(T.where(rest > 0, rest, 1.0)), -1e10) + 0.95 * v).max(1), None

    return tg.loop(step, T.zeros(x.shape[0]), length=steps)[0]


def slopes_agree(inputs, cost, values, mode="FAST_RUN"):
    slopes = tg.grad(cost, inputs)
    wanted = tg.function(inputs, slopes, mode=tg.Mode(linker="py"))(*values)
    for k, found in enumerate(tg.function(inputs, slopes, mode=mode)(*values)):
        np.testing.assert_allclose(found, wanted[k], rtol=1e-7, atol=1e-9 * (1 + abs(wanted[k]).max()), err_msg=f"{k}")


def weighed(y):
    return (T.cos(T.arange(y.size) * 0.7) * y.flatten()).sum()


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", COMPARED)
def test_every_extreme_is_found_again(name, known, rng):
    shapes = [(13, 13), (3, 3)]
    for shape in shapes if known else [shapes]:
        a, b = (T.tensor(n, dtype="float64", shape=shape if known else (None, None)) for n in "ab")
        cost = sum(weighed(read(COMPARED[name](a, b))) for read in READ.values())
        for used in [shape] if known else shapes:
            slopes_agree([a, b], cost, [rng.normal(size=used), rng.normal(size=used)])


@pytest.mark.parametrize("steps", [2, 3, 9])
def test_best_next_places(steps):
    for shape in ((12,), (None,)):
        x = T.tensor("x", dtype="float64", shape=shape)
        slopes_agree([x], weighed(bellman(x, steps)), [np.linspace(0.5, 3, 12)])


def test_programs_that_ask_nothing_join_products_with_sums():
    x, y = T.dmatrices("x", "y")
    for cost, apart in (((x * y + x).max(1).sum(), True), ((T.maximum(x * y + x, 0)).sum(), False)):
        f = tg.function([x, y], tg.grad(cost, [x, y]))
        assert f.maker.work.multiply_add is not apart


def test_masks_of_the_largest_hold_them(rng):
    a, b = T.dmatrices("a", "b")
    x = T.log(abs(a) + 0.1) + 0.95 * b[0]
    top = T.sort(x, axis=1)[:, -3]
    f = tg.function([a, b], [(x >= x.max(1)[:, None]).sum(1), (x < top[:, None]).sum(1), (x <= x.min()).sum()])
    for n in (3, 13, 40):
        most, below, least = f(rng.normal(size=(n, n)), rng.normal(size=(n, n)))
        assert (most == 1).all() and (below == n - 3).all() and least == 1


def test_functions_are_rounded_alike(rng):
    a, b = (T.tensor(n, dtype="float64", shape=(54, 54)) for n in "ab")
    for f in (lambda x: T.arctan2(x, 1 + x * x), T.erf):
        x = f(f(a).max(1)[:, None] * 0.5 + 0.95 * b)
        slopes_agree([a, b], weighed(READ["larger of two"](x)) + weighed(x.max(0)), [*rng.normal(size=(2, 54, 54))])


def test_one_element_found_by_dividing(rng):
    a, b = T.dmatrices("a", "b")
    x = T.log(abs(a) + 0.1) + 0.95 * b[0]
    f = tg.function([a, b], [x.flatten()[x.argmax()] - x.max(), T.exp(x.flatten()[x.argmin()])])
    values = rng.normal(size=(2, 5, 7))
    beside, least = f(*values)
    assert beside == 0
    np.testing.assert_allclose(least, np.exp((np.log(abs(values[0]) + 0.1) + 0.95 * values[1][0]).min()))
