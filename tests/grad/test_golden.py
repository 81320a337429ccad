"""Value and gradient of usual losses after fast_run: the graphs as printed, and how many loops and products they take.

The files in golden/ are read by people: one operation a line, nothing in them that one would not write by hand. After a
change on purpose write them anew with `GOLDEN=write pytest tests/grad/test_golden.py`, and read them.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.evaluate import evaluate


# ---------------------------------------------------------------------- losses: inputs, cost, parameters
def network():
    """One hidden layer: (inputs, logits, parameters)."""
    x, w1, w2 = T.dmatrices("x", "w1", "w2")
    b1, b2 = T.dvectors("b1", "b2")
    logits = T.dot(T.tanh(T.dot(x, w1) + b1), w2) + b2
    return [x, w1, b1, w2, b2], logits, [w1, b1, w2, b2]


def squared_error():
    inputs, out, wrt = network()
    t = T.dmatrix("t")
    return [*inputs, t], T.sqr(out - t).mean(), wrt


def one_hot_cross_entropy():
    inputs, logits, wrt = network()
    t = T.dmatrix("t")
    return [*inputs, t], -(t * T.log_softmax(logits, axis=1)).sum(axis=1).mean(), wrt


def cross_entropy_of_probabilities():
    """The softmax written out, its logarithm taken of the one probability that a label names."""
    inputs, logits, wrt = network()
    k = T.lvector("labels")
    p = T.exp(logits) / T.exp(logits).sum(axis=1, keepdims=True)
    return [*inputs, k], T.nnet.categorical_crossentropy(p, k).mean(), wrt


def cross_entropy_of_labels():
    """Theano's way: as many rows as there are labels, which need not be all rows of the logits."""
    inputs, logits, wrt = network()
    k = T.lvector("labels")
    return [*inputs, k], -T.log(T.nnet.softmax(logits))[T.arange(k.shape[0]), k].mean(), wrt


def softmax_cross_entropy():
    x, t = T.dmatrices("x", "t")
    return [x, t], -(t * T.log(T.softmax(x, axis=1))).sum(axis=1).mean(), [x]


def logistic_regression():
    x, w, b, y = T.dmatrix("x"), T.dvector("w"), T.dscalar("b"), T.dvector("y")
    p = 1 / (1 + T.exp(-T.dot(x, w) - b))
    return [x, w, b, y], (-y * T.log(p) - (1 - y) * T.log(1 - p)).mean(), [w, b]


def logsumexp():
    x = T.dmatrix("x")
    return [x], T.log(T.exp(x).sum(axis=1)).sum(), [x]


def normalised(x, gamma, beta):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / T.sqrt(T.sqr(centred).mean(axis=1, keepdims=True) + 1e-5) * gamma + beta


def layer_norm():
    x, t, gamma, beta = T.dmatrix("x"), T.dmatrix("t"), T.dvector("gamma"), T.dvector("beta")
    return [x, t, gamma, beta], T.sqr(normalised(x, gamma, beta) - t).sum(), [x, gamma, beta]


def layer_norm_network():
    x, w, t, gamma, beta = T.dmatrix("x"), T.dmatrix("w"), T.dmatrix("t"), T.dvector("gamma"), T.dvector("beta")
    out = T.nnet.relu(normalised(T.dot(x, w), gamma, beta))
    return [x, w, t, gamma, beta], T.sqr(out - t).sum(), [w, gamma, beta]


LOSSES = {
    f.__name__: f
    for f in (
        squared_error, one_hot_cross_entropy, cross_entropy_of_probabilities, cross_entropy_of_labels,
        softmax_cross_entropy, logistic_regression, logsumexp, layer_norm, layer_norm_network,
    )
}  # fmt: skip


# ---------------------------------------------------------------------- what becomes of them
GOLDEN = Path(__file__).parent / "golden"

# Loops over arrays and products of matrices (or of a matrix and a vector) that a program written by hand needs.
NEEDED = {
    # forward 2 products, backward 3; loops: tanh, loss with its slope, sum of slopes (b2), slope of tanh, sum (b1)
    "squared_error": (5, 5),
    "one_hot_cross_entropy": (5, 5),  # the same, with a softmax in place of the difference
    "cross_entropy_of_probabilities": (6, 5),  # one more: subtracting at the labels, one element a row
    "cross_entropy_of_labels": (7, 5),  # one more: the labelled rows may be fewer than all rows
    "softmax_cross_entropy": (1, 0),  # all in one pass over the rows
    "logistic_regression": (1, 2),  # x w and slopes x, which are left for w; one loop for loss, slopes and their sum
    "logsumexp": (1, 0),
    "layer_norm": (2, 0),  # a pass over the rows for loss and slope, and one over the columns for gamma and beta
    "layer_norm_network": (2, 2),  # the same with a product before and one after it
}


def value_and_gradient(name):
    inputs, cost, wrt = LOSSES[name]()
    return inputs, [cost, *tg.grad(cost, wrt)]


def one_operation_a_line(graph):
    """Results are numbered in the order in which they are computed."""
    names = {v: v.name for v in graph.inputs}
    lines = []
    for node in graph.toposort():
        operands = ", ".join(names.get(v) or str(np.asarray(v.data)) for v in node.inputs)
        names[node.outputs[0]] = f"v{len(lines)}"
        lines.append(f"v{len(lines)} = {node.op}({operands})")
    return "\n".join([*lines, "return " + ", ".join(names[v] for v in graph.outputs), ""])


@pytest.mark.parametrize("name", LOSSES)
def test_printed_graph(name):
    f = tg.function(*value_and_gradient(name), mode=tg.Mode(linker="py"))
    text = one_operation_a_line(f.maker.fgraph)
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", LOSSES)
def test_loops_and_products_are_those_of_a_program_written_by_hand(name):
    inputs, outputs = value_and_gradient(name)
    f = tg.function(inputs, outputs, mode=tg.Mode(linker="c"))
    plan = str(f.stage("schedule"))  # a line for each loop at the top and for each call
    loops, products = (len(re.findall(head, plan, re.MULTILINE)) for head in (r"^kernel\b", r"^gem[mv] ->"))
    assert (loops, products) == NEEDED[name]


@pytest.mark.parametrize("name", LOSSES)
def test_values(name, rng):
    inputs, outputs = value_and_gradient(name)
    lengths = {"x": (4, 3), "w1": (3, 5), "w2": (5, 2), "b1": (5,), "b2": (2,)}
    if "w1" not in {v.name for v in inputs}:
        lengths = {"gamma": (3,), "beta": (3,), "t": (4, 3), "w": (3,), "x": (4, 3), "y": (4,)}
    if name == "layer_norm_network":
        lengths["w"] = (3, 3)
    values = [
        rng.integers(0, 2, 4) if v.name == "labels" else rng.normal(size=lengths.get(v.name, (4, 2)[: v.type.ndim]))
        for v in inputs
    ]
    got = tg.function(inputs, outputs)(*values)
    for a, b in zip(got, evaluate(outputs, dict(zip(inputs, values)))):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
