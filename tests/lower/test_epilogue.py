"""Loops after matrix products: in the product's place, item by item in a batch, and never where that would be wrong."""

import numpy as np
import pytest

from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.generate import generate
from termgraph.backends.c.run.bind import compile_terms
from termgraph.lower.loops.tree import Call, Kernel, walk
from termgraph.lower.lowering import lower
from termgraph.lower.schedule.product_epilogues import finish_products
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import linalg as la
from termgraph.terms.ops import reduce as red
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.term import Arg, mk
from termgraph.terms.types import TensorType


def arg(i, ndim, dtype="float64"):
    return Arg(i, TensorType.of(dtype, (None,) * ndim))


def shuffled(t, *order):
    return mk(dimshuffle.bind(order=order), (t,))


def columns(t):
    return mk(red.sum_.bind(axis=(0,), dtype="float64"), (t,))


a, b, a3, b3, a4, b4, v = arg(0, 2), arg(1, 2), arg(2, 3), arg(3, 3), arg(4, 4), arg(5, 4), arg(6, 1)
product, batch, batch4 = mk(la.dot, (a, b)), mk(la.matmul, (a3, b3)), mk(la.matmul, (a4, b4))
bias = shuffled(v, "x", "x", 0)
CASES = {  # outputs; whether the product takes the room of one; whether its batch is finished item by item
    "bias and relu": ([ew.maximum(ew.add(product, shuffled(v, "x", 0)), 0.0)], True, False),
    "batch, bias and relu": ([ew.maximum(ew.add(batch, bias), 0.0)], True, True),
    "batch of batches": ([ew.tanh(ew.add(batch4, shuffled(v, "x", "x", "x", 0)))], True, True),
    "rows read twice": ([mk(red.softmax.bind(axis=(2,)), (batch,))], False, True),
    "the product is a result too": ([ew.add(batch, bias), batch], False, False),
    "read again after the write": ([ew.exp(product), columns(product)], None, False),
    "read from elsewhere": ([shuffled(ew.add(product, 1.0), 1, 0)], False, False),
    "another item": ([ew.add(batch, mk(dimshuffle.bind(order=(1, 0, 2)), (batch,)))], False, False),
    "a smaller result": ([mk(red.sum_.bind(axis=(2,), dtype="float64"), (ew.add(batch, bias),))], False, False),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_where_products_are_finished(name):
    outs, in_place, by_item = CASES[name]
    lowered = lower(outs)
    nodes, shared = finish_products(lowered.nodes, lowered.statements.temps, [])
    assert in_place is None or bool(shared) == in_place, str(lowered)
    inside = [n for k in nodes if isinstance(k, Kernel) for n in walk([k]) if isinstance(n, Call)]
    assert bool(inside) == by_item, str(lowered)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("name", CASES)
def test_results(name):
    outs = CASES[name][0]
    args = [a, b, a3, b3, a4, b4, v]
    rng = np.random.default_rng(0)
    for n in (5, 1, 0):
        shapes = [(n, n), (n, n), (n, n, n), (n, n, n), (2, n, n, n), (2, n, n, n), (n,)]
        values = [rng.standard_normal(s) for s in shapes]
        if n == 0 and name == "rows read twice":
            continue
        for got, want in zip(compile_terms(args, outs)(*values), evaluate(outs, dict(zip(args, values)))):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_a_new_value_of_a_shared_variable_keeps_its_own_room():
    program = generate([a, b], [], updates=[(0, ew.add(product, 1.0))], cells=[arg(2, 2)])
    assert program.source.count("char *buf") == 1 and "out0" in program.source
    lowered = lower([ew.add(product, 1.0)])
    assert not finish_products(lowered.nodes, lowered.statements.temps, lowered.statements.outputs)[1]
