"""What runs at once writes to different places: every store of a parallel loop depends on its count."""

import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.cuda.generate import generate
from termgraph.lower.lengths.index import ONE, Sym, Var, evaluate, poly, unravelled, values
from termgraph.lower.lengths.meeting import never_meet
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


# ---------------------------------------------------------------------- places that are counted
def meeting(nodes):
    """Writes of parallel loops of known lengths of which two come to one place: every place is worked out."""
    for kernel in walk(nodes):
        if isinstance(kernel, Kernel) and kernel.parallel and isinstance(kernel.node, Loop):
            for loops, write in nests(kernel.node, ()):
                counts = list(itertools.product(*(range(v.extent.const) for v in loops)))
                places = [evaluate(write.offset, dict(zip(loops, c))) for c in counts]
                kept = 1 if kernel.meets else len(loops)  # of such only iterations of the outermost loop run at once
                holders = {}
                for c, place in zip(counts, places):
                    if holders.setdefault(place, c[:kept]) != c[:kept]:
                        yield f"{write} of {holders[place]} and {c}"
                        break


def nests(loop, outside):
    """The loops around each write of a nest of which all lengths are numbers."""
    loops = (*outside, loop.var)
    for m in loop.body:
        if isinstance(m, Loop):
            yield from nests(m, loops)
        elif isinstance(m, Write) and m.buf.kind != "row" and not values(m.offset):
            if all(v.extent.const is not None for v in loops) and m.offset.fv <= set(loops):
                yield loops, m


def counted(n=6):
    """Additions at places that are counted, as gradients of matrices and windows made of vectors and images."""
    rng = np.random.default_rng(1)
    c, r, w = T.vector("c", shape=(n,)), T.vector("r", shape=(n,)), T.matrix("w", shape=(n, n))
    given = [rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal((n, n))]
    yield "toeplitz", [c, r, w], tg.grad((T.linalg.toeplitz(c, r) * w).sum(), [c, r]), given
    yield "hankel", [c, r, w], tg.grad((T.linalg.hankel(c, r) * w).sum(), [c, r]), given
    yield "circulant", [c, r, w], tg.grad((T.linalg.circulant(c) * w).sum(), [c]), given
    i, j = T.arange(c.shape[0]), T.arange(r.shape[0])
    for name, place in [("half", i // 2), ("rest", i % 3), ("twice", 2 * i % c.shape[0]), ("back", c.shape[0] - 1 - i)]:
        yield name, [c, r, w], [T.inc_subtensor(c[place], r), T.set_subtensor(c[place], r)], given
    for name, place in [("sums", i[:, None] + j), ("differences", i[:, None] - j), ("rows", i[:, None] * 2 + j % 2)]:
        wide = T.zeros(3 * c.shape[0])
        yield name, [c, r, w], [T.inc_subtensor(wide[place], w), T.set_subtensor(wide[place], w)], given
    yield "beside a slice", [c, r, w], [T.inc_subtensor(w[:, i // 2], w), T.set_subtensor(w[i // 2, ::-1], w)], given
    x = T.tensor("x", dtype="float64", shape=(1, 1, n, n))
    image = [rng.standard_normal((1, 1, n, n))]
    for step in ((1, 1), (2, 1), (2, 3)):
        yield f"windows {step}", [x], [tg.grad(T.sqr(T.nnet.images2neibs(x, (2, 3), step)).sum(), x)], image
    yield "unfold", [x], [tg.grad(T.sqr(T.nnet.unfold(x, (2, 2))).sum(), x)], image
    yield "convolve", [c, r], tg.grad(T.sqr(T.convolve(c, r)).sum(), [c, r]), given[:2]


COUNTED = list(counted())


@pytest.mark.parametrize("case", COUNTED, ids=[name for name, *_ in COUNTED])
def test_counted_places_that_meet_do_not_run_at_once(case):
    _, inputs, outputs, given = case
    f = tg.function(inputs, outputs, mode=tg.Mode(linker="c"), on_unused_input="ignore")
    assert list(meeting(f.stage("schedule").nodes)) == []
    expected = tg.function(inputs, outputs, mode=tg.Mode(linker="py"), on_unused_input="ignore")(*given)
    for found, right in zip(f(*given), expected):
        np.testing.assert_allclose(found, right, rtol=1e-12)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_many_threads_lose_no_additions(rng):
    c, r, w = T.vector("c"), T.vector("r"), T.matrix("w")
    grads = tg.grad((T.linalg.toeplitz(c, r) * w).sum(), [c, r])
    given = [np.zeros(1500), np.zeros(1500), rng.standard_normal((1500, 1500))]
    expected = (
        [np.trace(given[2], offset=-k) for k in range(1500)],
        [0, *(np.trace(given[2], offset=k) for k in range(1, 1500))],
    )
    for found, right in zip(tg.function([c, r, w], grads, mode=tg.Mode(linker="c"))(*given), expected):
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)


def test_places_that_tell_the_counts():
    n = poly(Sym("n"))
    i, j, k = Var(0, n), Var(1, poly(3)), Var(2, poly(4))
    a, b, c = poly(i), poly(j), poly(k)
    row, column = unravelled((n, poly(3)), poly(Var(0, n * 3)))
    for place, vars_ in [
        ([a], [i]), ([a * 2 + 1], [i]), ([-a + n], [i]), ([a, b], [i, j]), ([a + b, b], [i, j]), ([a * 3 + b], [i, j]),
        ([a * 12 + b + c * 3], [i, j, k]), ([b * n + a], [i, j]), ([row, column], [Var(0, n * 3)]),
        ([b], [j, Var(4, ONE)]), ([], []),
    ]:  # fmt: skip
        assert never_meet(place, vars_), place
    for place, vars_ in [
        ([], [i]), ([b], [i, j]), ([a + b], [i, j]), ([a - b], [i, j]), ([a * 2 + b], [i, j]), ([a * b], [i, j]),
        ([a * 11 + b + c * 3], [i, j, k]), ([row], [Var(0, n * 3)]), ([column], [Var(0, n * 3)]), ([a * n], [i]),
        ([a * a], [i]),
    ]:  # fmt: skip
        assert not never_meet(place, vars_), place
