"""Values of a row that are kept in a result, until the statement that reads them writes the result over them."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
STEPS = {
    "spread": lambda a: T.exp(-abs(a)),
    "bounded": T.tanh,
    "root": lambda a: T.sqrt(a * a + 1),
    "quotient": lambda a: 1 / (1 + a * a),
}


def chosen(a, b, h):
    return T.switch(a > b.max(axis=1, keepdims=True) * 0.3, a, h(b))


def divided(a, b, h):
    return h(a) / (1 + (h(b) ** 2).sum(axis=1, keepdims=True))


def drawn(rng, x, y):
    """Some values of rows, each made of earlier ones, of which several are results."""
    known = [x, y]
    steps = list(STEPS.values())
    for _ in range(rng.integers(3, 7)):
        a, b = (known[rng.integers(len(known))] for _ in "ab")
        h = steps[rng.integers(len(steps))]
        kinds = [h(a) * b, h(a), chosen(a, b, h), h(a) - h(b).sum(axis=1, keepdims=True), divided(a, b, h), a * b + 1]
        known.append(kinds[rng.integers(len(kinds))])
    made = known[2:]
    return [made[k] for k in rng.permutation(len(made))[: rng.integers(2, 5)]], made[-1]


def same(inputs, outputs, values):
    f = tg.function(inputs, outputs, on_unused_input="ignore")
    g = tg.function(inputs, outputs, on_unused_input="ignore", mode=tg.Mode(linker="py"))
    for got, wanted in zip(f(*values), g(*values), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def test_a_store_that_reads_what_is_made_of_a_row_does_not_write_over_it(rng):
    x, y = T.dmatrices("x", "y")
    b = T.exp(-abs(y)) * x
    s = T.switch(y > b.max(axis=1, keepdims=True) * 0.3, y, b)
    same([x, y], [s, tg.grad(T.tanh(s).sum(), x)], rng.normal(size=(2, 4, 5)))


@pytest.mark.parametrize("seed", range(20))
def test_several_results_of_rows(seed):
    rng = np.random.default_rng(seed)
    x, y = T.dmatrices("x", "y")
    outputs, last = drawn(rng, x, y)
    if seed % 2:
        outputs.append(tg.grad(T.tanh(last).sum(), x, disconnected_inputs="ignore"))
    same([x, y], outputs, rng.normal(size=(2, 4, 5)))
