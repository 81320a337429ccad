"""Programs of C segments with NumPy instructions between them."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.segments import KernelOp, link
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import indexing as ix
from termgraph.terms.ops import linalg as la
from termgraph.terms.ops import reduce as red
from termgraph.terms.ops import shaping as sh
from termgraph.terms.ops import sorting
from termgraph.terms.term import Arg, Const, mk
from termgraph.terms.types import TensorType
from termgraph.vm.machine import Machine

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def arg(i, ndim, dtype="float64"):
    return Arg(i, TensorType.of(dtype, (None,) * ndim))


def check(args, outs, *values):
    program = link(args, outs)
    got = Machine(program)(values)
    for g, w in zip(got, evaluate(outs, dict(zip(args, values)))):
        np.testing.assert_allclose(g, w, rtol=1e-10)
    return [isinstance(i.op, KernelOp) for i in program.instructions]


def test_all_in_c_is_one_instruction():
    x, y = arg(0, 2), arg(1, 2)
    outs = [ew.tanh(mk(la.dot, (x, y))), mk(red.sum_.bind(axis=(0,), dtype="float64"), (x,))]
    rng = np.random.default_rng(0)
    assert check([x, y], outs, rng.standard_normal((5, 4)), rng.standard_normal((4, 6))) == [True]


def test_what_has_no_routine_stands_between_two_segments():
    x = arg(0, 2)
    spd = ew.add(mk(la.dot, (x, x)), mk(sh.eye, (Const(4), Const(4), Const(0))))
    out = ew.exp(ew.mul(mk(la.expm, (ew.mul(spd, 0.01),)), 0.01))
    a = np.random.default_rng(1).standard_normal((4, 4))
    a = a @ a.T
    kinds = check([x], [out, ew.add(out, x)], a)
    assert kinds == [True, False, True]


def test_lengths_that_are_values():
    x, n = arg(0, 0), arg(1, 0, "int64")
    out = ew.exp(mk(sh.alloc, (x, n)))
    assert check([x, n], [out, ew.add(n, 1)], np.array(0.5), np.array(3)) == [True]
    assert check([x, n], [out], np.array(0.5), np.array(0)) == [True]


def test_lengths_that_an_earlier_segment_computes():
    x = arg(0, 1)
    count = mk(red.sum_.bind(axis=(0,), dtype="int64"), (ew.gt(x, 0.0),))
    double = ew.mul(count, 2)
    outs = [mk(sh.arange, (Const(0), double, Const(1))), double]
    assert check([x], outs, np.array([1.0, -1.0, 2.0])) == [True, True]


@pytest.mark.parametrize("k", [-9, -2, 0, 1, 3, 9])
def test_slices_whose_bounds_are_values(k):
    x, y, n = arg(0, 1), arg(1, 0), arg(2, 0, "int64")
    values = np.arange(5.0), np.array(7.0), np.array(k)
    for index in (("s", None, "?", None), ("s", "?", None, None), ("s", None, "?", -1), ("s", "?", None, -2)):
        read = ew.mul(mk(ix.subtensor.bind(index=(index,)), (x, n)), 2.0)
        written = [mk(op.bind(index=(index,)), (x, y, n)) for op in (ix.set_subtensor, ix.inc_subtensor)]
        assert check([x, y, n], [read, *written], *values) == [True]


def test_sorting_is_part_of_a_segment():
    x = arg(0, 1)
    out = ew.mul(mk(sorting.sort, (ew.neg(x),)), 2.0)
    assert check([x], [out], np.array([3.0, 1.0, 2.0])) == [True]


def test_distinct_values_are_left_to_numpy():
    x = arg(0, 1)
    out = ew.mul(mk(sorting.unique, (ew.neg(x),)), 2.0)
    assert check([x], [out], np.array([3.0, 1.0, 3.0])) == [True, False, True]


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int8"])
def test_numbers_at_the_ends_of_their_types_reach_a_segment(dtype):
    x, n = T.tensor("x", dtype=dtype, shape=()), T.lscalar("n")
    f = tg.function([x, n], [T.alloc(x, n, 2), T.arange(5)[n:]], mode=tg.Mode(linker="c"))
    ends = np.iinfo(dtype)
    for value in (ends.min, ends.min + 1, 0, 1, ends.max - 1, ends.max):
        filled, rest = f(np.asarray(value, dtype), np.asarray(2))
        assert (
            filled.dtype == dtype and filled.shape == (2, 2) and (filled == value).all() and rest.tolist() == [2, 3, 4]
        )
    for k in (-1, -9, -(2**63), 2**63 - 1):
        g = tg.function([n], T.arange(5)[n:], mode=tg.Mode(linker="c"))
        assert g(k).tolist() == np.arange(5)[k:].tolist()
