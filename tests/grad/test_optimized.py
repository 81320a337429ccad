"""What is left of gradients after fast_run: no more products and passes over the data than one would write by hand."""

from collections import Counter

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.traverse import count_nodes


def ops_of(inputs, outputs):
    f = tg.function(inputs, outputs, on_unused_input="ignore", mode=tg.Mode(linker="py"))
    return Counter(n.op.name for n in f.maker.fgraph.toposort())


def value_and_gradient(cost, wrt):
    return [cost, *tg.grad(cost, wrt)]


def test_logsumexp_is_one_reduction_and_its_gradient_a_softmax():
    x = T.dvector("x")
    for cost in (T.logsumexp(x), T.log(T.exp(x).sum())):
        assert ops_of([x], value_and_gradient(cost, [x])) == {"logsumexp": 1, "softmax": 1}


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_network_needs_three_products_per_layer(depth):
    """Forward one product per layer; backward two, except that nothing goes back to the data: 3 n - 1."""
    x = T.dmatrix("x")
    ws = [T.dmatrix(f"w{i}") for i in range(depth)]
    bs = [T.dvector(f"b{i}") for i in range(depth)]
    h = x
    for w, b in zip(ws, bs):
        h = T.tanh(T.dot(h, w) + b)
    left = ops_of([x, *ws, *bs], value_and_gradient(T.sqr(h).sum(), [*ws, *bs]))
    assert left["dot"] == 3 * depth - 1
    assert left["tanh"] == depth
    assert left["sum"] == 1 + depth  # the cost, and one for each bias
    assert not {"alloc", "cast", "shape_i", "neg"} & set(left)
    assert left["dimshuffle"] == 2 * depth - 1  # transposes, read by the products without a copy


def test_logistic_regression_needs_two_products():
    x, w, y = T.dmatrix("x"), T.dvector("w"), T.dvector("y")
    logits = T.dot(x, w)
    cost = (T.softplus(logits) - y * logits).sum()
    left = ops_of([x, w, y], value_and_gradient(cost, [w]))
    assert left == {"dot": 2, "softplus": 1, "sigmoid": 1, "mul": 1, "sub": 2, "sum": 1}


def test_softmax_cross_entropy_of_logits():
    x, t = T.dmatrix("x"), T.dmatrix("t")
    cost = -(t * T.log_softmax(x, axis=1)).sum()
    left = ops_of([x, t], value_and_gradient(cost, [x]))
    assert left["log_softmax"] + left["softmax"] == 2
    assert left["sum"] == 2  # the cost, and the targets of a row
    assert not {"alloc", "cast", "shape_i"} & set(left)


def test_a_sum_of_elementwise_ops_costs_one_more_pass(rng):
    x = T.dvector("x")
    y = (T.sin(x) * T.exp(x)).sum()
    left = ops_of([x], value_and_gradient(y, [x]))
    assert left == {"sin": 1, "cos": 1, "exp": 1, "mul": 2, "add": 1, "sum": 1}  # (sin x + cos x) exp x


def test_a_chain_of_many_operations():
    x = T.dscalar("x")
    y = x
    for i in range(30_000):
        y = (ew.sin, ew.tanh)[i % 2](y) if i % 3 else y * x
    g = tg.grad(y, x)
    assert g.type.ndim == 0
    assert tg.Rop(y, x, T.constant(1.0)).type.ndim == 0


@pytest.mark.slow
def test_the_gradient_of_a_chain_of_1e5_operations_is_linear_in_it():
    """How long it takes is for benchmarks/grad.py to say; here, that nothing recurses and no part is made twice."""
    x = T.dscalar("x")
    y = x
    for i in range(100_000):
        y = (ew.sin, ew.tanh)[i % 2](y) if i % 3 else y * x
    assert count_nodes([tg.grad(y, x).term]) < 7 * 100_000


def test_compiled_values(rng):
    """A compiled gradient on the default backend equals the reference semantics."""
    x, w = T.dmatrix("x"), T.dmatrix("w")
    cost = T.log_softmax(T.dot(T.maximum(x, 0), w), axis=1)[:, 0].sum()
    vx, vw = rng.normal(size=(4, 3)), rng.normal(size=(3, 2))
    from termgraph.terms.evaluate import evaluate

    gradient = tg.grad(cost, [x, w])
    for a, b in zip(tg.function([x, w], gradient)(vx, vw), evaluate(gradient, {x: vx, w: vw})):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.parametrize(
    "largest",
    [
        lambda x, y: T.tanh(x).max(axis=1),
        lambda x, y: T.exp(x * 1 + T.zeros_like(x)).max(),
        lambda x, y: T.log1p(abs(x)).min(axis=0),
        lambda x, y: T.maximum(T.sigmoid(x), T.sigmoid(y)),
        lambda x, y: T.minimum(x + y * x, x + y),
    ],
)
def test_gradients_find_what_is_largest(largest, rng):
    """However compiled code rounds f(max(x)) and f(x): the largest of the values is one of them."""
    x, y = T.dmatrix("x"), T.dmatrix("y")
    gradient = tg.grad(largest(x, y).sum(), [x, y], disconnected_inputs="ignore")
    with tg.config.change_flags(linker="auto"):
        compiled = tg.function([x, y], gradient, on_unused_input="ignore")
    meaning = tg.function([x, y], gradient, mode="None", on_unused_input="ignore")
    for length in (1, 3, 8, 37):
        values = rng.normal(size=(2, 6, length))
        for got, want in zip(compiled(*values), meaning(*values)):
            np.testing.assert_allclose(got, want, rtol=1e-10)


@pytest.mark.parametrize("mode", ["None", "FAST_COMPILE", "FAST_RUN"])
def test_quotients_are_rounded_alike_where_they_are_compared(mode):
    """Dividing by a number, or multiplying by its reciprocal: one of the two, wherever the smallest is looked for."""
    x, start, scale = T.dvector("x"), T.dscalar("start"), T.dscalar("scale")
    smallest = (T.set_subtensor(x[0], start) / (1 + scale * scale)).min()
    with tg.config.change_flags(linker="auto"):
        f = tg.function([x, start, scale], tg.grad(smallest, start), mode=mode)
    for k in range(30):
        np.testing.assert_allclose(f(np.ones(5), -0.7 - k / 7, 0.9 + k / 3), 1 / (1 + (0.9 + k / 3) ** 2), rtol=1e-12)
