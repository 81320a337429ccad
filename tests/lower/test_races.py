"""What runs at once writes to different places: every store of a parallel loop depends on its count."""

import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.cuda.generate import generate
from termgraph.lower.loops.tree import Kernel, Loop, Write, walk

SHAPES = ((None,), (1,), (1, None), (None, 1), (1, 1), (1, 3, None))


def racing(nodes):
    """The loops whose iterations may run at once and of which some store does not depend on the count."""
    loops = [n.node for n in nodes if isinstance(n, Kernel) and n.parallel and isinstance(n.node, Loop)]
    loops += [n for n in walk(nodes) if isinstance(n, Loop) and n.simd]
    stores = [(loop, m) for loop in loops for m in walk([loop]) if isinstance(m, Write) and m.buf.kind != "row"]
    return [f"{loop.var}: {m}" for loop, m in stores if loop.var not in m.offset.fv and loop.var.extent.const != 1]


def scatters(shape):
    """Updates of an array at places that may come again, along each dimension and several."""
    x = T.tensor("x", dtype="float32", shape=shape)
    i, j = T.lvector("i"), T.lmatrix("j")
    for axis, write in itertools.product(range(len(shape)), (T.inc_subtensor, T.set_subtensor)):
        for index in (i, i % x.shape[axis], j % x.shape[axis]):
            yield [x, i, j], write(x[(slice(None),) * axis + (index,)], 2)
    yield [x, i, j], T.inc_subtensor(x[(i % 1,) * len(shape)], T.cast(i, "float32"))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_stores_to_one_place_do_not_run_at_once(shape):
    for inputs, out in scatters(shape):
        f = tg.function(inputs, [out], mode=tg.Mode(linker="c"), on_unused_input="ignore")
        assert racing(f.stage("schedule").nodes) == []


def one_place():
    x, i = T.tensor("x", dtype="float64", shape=(1,)), T.lvector("i")
    return [x, i], [T.inc_subtensor(x[i % x.shape[0]], 1.0), T.set_subtensor(x[i % 1], T.cast(i, "float64"))]


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_all_additions_to_the_only_element_count():
    inputs, outputs = one_place()
    n = 3_000_000
    added, last = tg.function(inputs, outputs, mode=tg.Mode(linker="c"))(np.zeros(1), np.arange(n))
    assert added == [n] and last == [n - 1]


def test_the_device_adds_to_the_only_element_atomically():
    inputs, outputs = one_place()
    with tg.config.change_flags(linker="py"):
        work = tg.function(inputs, outputs[:1]).maker.work
    assert "atomicAdd(" in generate(work.args, work.linked_roots).source
