"""Sums of products of matrices that begin with zeros, beside what else is computed from them."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
RAW = tg.Mode(linker="c", optimizer="None")


def drawn(*shapes):
    rng = np.random.default_rng(5)
    values = [rng.standard_normal(s) for s in shapes]
    return [T.tensor(f"x{k}", dtype="float64", shape=s) for k, s in enumerate(shapes)], values


def agree(outputs, xs, values):
    f = tg.function(xs, outputs(T, *xs), mode=RAW)
    for a, b in zip(f(*values), outputs(np, *values)):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def total(m, a, b, c):
    zeros = m.zeros((4, 4))
    return T.add(zeros, a @ b, b @ c) if m is T else a @ b + b @ c


def beside(m, a, b, c):
    return [total(m, a, b, c), total(m, a, b, c) + a @ c]


def both(m, a, b, c):
    return [total(m, a, b, c) + a @ c, total(m, a, b, c) + c @ b]


def itself(m, a, b, c):
    return [total(m, a, b, c) + m.sin(total(m, a, b, c)) @ c]


@pytest.mark.parametrize("outputs", [beside, both, itself])
def test_a_sum_that_something_else_reads_is_kept(outputs):
    agree(outputs, *drawn((4, 4), (4, 4), (4, 4)))


def test_zeros_and_products_of_one_row_are_repeated():
    def outputs(m, a, row, c, d):
        first = T.add(T.zeros((1, 7)), a @ c, a @ d) if m is T else a @ c + a @ d
        return [first, row @ c + a @ d]

    agree(outputs, *drawn((4, 3), (1, 3), (3, 7), (3, 7)))
