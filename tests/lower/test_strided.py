"""Random graphs of arguments that lie in memory in any way at all: read where they lie, they give the same results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lower.randomgraphs import Graphs, agree

from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.run.argument_orders import given_so, layout_of
from termgraph.backends.c.run.bind import compile_terms
from termgraph.lower.lengths.index import ONE, ZERO, Sym, poly
from termgraph.lower.memory.strides import (
    ANY,
    BACKWARDS,
    DENSE,
    FAR,
    REPEATED,
    ROWS,
    SECOND,
    distance,
    spans_rows,
    strides_of,
)
from termgraph.terms.evaluate import evaluate
from termgraph.terms.traverse import substitute
from termgraph.terms.types import TensorType

has_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def laid_out(values, rng):
    """An array of this shape that lies in memory in some way; the elements may be others, where some are repeated."""
    if not values.ndim:
        return values
    axes = rng.permutation(values.ndim)
    turned = values.transpose(axes)
    steps = [int(rng.choice([1, 1, 1, 2, 3, -1, -2])) for _ in turned.shape]
    more = [int(rng.choice([0, 0, 2])) for _ in turned.shape]
    room = np.zeros([abs(s) * n + m for n, s, m in zip(turned.shape, steps, more)], values.dtype)
    cut = [slice(None, abs(s) * n, abs(s)) for n, s in zip(turned.shape, steps)]
    view = room[tuple(cut)][tuple([slice(None, None, -1 if s < 0 else 1) for s in steps])]
    view[...] = turned
    view = view.transpose(np.argsort(axes))
    kind = rng.integers(8)
    if kind == 0 and values.ndim and 0 not in values.shape:  # one row for all
        axis = rng.integers(values.ndim)
        view = np.broadcast_to(np.take(view, [0], axis), values.shape)
    if kind == 1 and values.ndim == 2 and 0 not in values.shape:  # rows that overlap
        flat = np.ascontiguousarray(rng.standard_normal(sum(values.shape)).astype(values.dtype))
        view = np.lib.stride_tricks.sliding_window_view(flat, values.shape[1])[: values.shape[0]]
    assert view.shape == values.shape
    return view


def run(seed, steps):
    g, rng = Graphs(seed).grow(steps), np.random.default_rng(seed)
    views = [laid_out(v, rng) if v.dtype.kind == "f" else laid_out_indices(v) for v in g.values]
    outs = g.outputs()
    layouts = [layout_of(v, a.type) for v, a in zip(views, g.args)]
    args, instead, strided = given_so(g.args, layouts)
    roots = substitute(outs, instead)
    with np.errstate(all="ignore"):
        want = evaluate(outs, dict(zip(g.args, views)))
    turned = [v if found is None else v.transpose(found.order) for v, found in zip(views, layouts)]
    agree(compile_terms(args, roots, strided=strided)(*turned), want, g, outs, seed)
    return layouts


def laid_out_indices(values):
    """The same, backwards in memory."""
    return values[::-1].copy()[::-1] if values.ndim else values


@has_compiler
@pytest.mark.parametrize("seed", range(16))
def test_random_graphs_of_strided_arguments(seed):
    run(seed, 3 + seed % 8)


@has_compiler
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2250))
def test_many_random_graphs_of_strided_arguments(seed):
    run(seed, 4 + seed % 11)


def test_arrays_lie_in_many_ways():
    type_, rng = TensorType.of("float64", (None, None)), np.random.default_rng(0)
    layouts = {layout_of(laid_out(rng.standard_normal((3, 4)), rng), type_) for _ in range(200)}
    assert len(layouts) > 20 and {k for found in layouts if found for k in found.kinds} == set(range(6))


def test_kinds_say_what_the_strides_are():
    n, m = poly(Sym("n0_0")), poly(Sym("n0_1"))
    assert strides_of(0, (n, m), (DENSE, DENSE)) == (m, ONE)
    assert strides_of(0, (n, m), (DENSE, SECOND)) == (2 * m, poly(2))
    assert strides_of(0, (n, m), (REPEATED, BACKWARDS)) == (ZERO, -ONE)
    assert strides_of(0, (n, m), (DENSE, REPEATED)) == (ONE, ZERO)
    row, unit = strides_of(3, (n, m), (ROWS, DENSE))
    assert repr(row) == "s3_0" and unit is ONE
    assert spans_rows(row) and spans_rows(2 * row) and not spans_rows(-row) and not spans_rows(row + 1)
    assert not spans_rows(strides_of(3, (n, m), (ANY, DENSE))[0])
    assert distance(ONE, None) == 1 and distance(poly(-2), None) == 2
    assert distance(m, None) == distance(ZERO, None) == FAR
    assert distance(-row, (n, row)) < FAR <= distance(row, (row, ONE))


@st.composite
def strided_arrays(draw):
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    strides = [draw(st.integers(-9, 9)) for _ in shape]
    memory = np.arange(400, dtype="f8")
    return np.lib.stride_tricks.as_strided(memory[200:], shape, [8 * s for s in strides])


@given(strided_arrays())
@settings(max_examples=400, deadline=None)
def test_a_layout_finds_every_element(a):
    """What the kinds of strides and the order say is where NumPy says that elements are."""
    type_ = TensorType.of("float64", (None,) * a.ndim)
    found = layout_of(a, type_)
    if found is None:
        assert a.size == 0 or a.flags.c_contiguous
        return
    assert a.size and not a.flags.c_contiguous
    turned = a.transpose(found.order)
    lengths = [poly(n) for n in turned.shape]
    for d, (kind, stride) in enumerate(zip(found.kinds, strides_of(0, lengths, found.kinds))):
        own = turned.strides[d] // 8
        if stride.const is not None and turned.shape[d] > 1:
            assert stride.const == own
        within = zip(turned.strides[d + 1 :], turned.shape[d + 1 :])
        inside = max([abs(s) // 8 * n for s, n in within if n > 1 and s], default=1)
        assert kind != ROWS or own >= inside
