"""The shape of loop trees: row chains are one loop, views cost nothing, equal work is done once."""

from dataclasses import MISSING, fields

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.generate import generate
from termgraph.lower.lengths.index import Var, poly
from termgraph.lower.loops.tree import Columns, Kernel, Let, Loop, Reduce, Tiles, loops_of, walk
from termgraph.lower.lowering import lower
from termgraph.lower.push.kernel import FOLD, LOAD, Buf
from termgraph.lower.storage.policy import Store
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import indexing as ix
from termgraph.terms.ops import linalg as la
from termgraph.terms.ops import reduce as red
from termgraph.terms.ops import shaping as sh
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.term import Arg, Const, mk
from termgraph.terms.types import TensorType

FULL = ("s", None, None, None)


def arg(i, ndim, dtype="float64", shape=None):
    return Arg(i, TensorType.of(dtype, shape or (None,) * ndim))


x, y, v, w = arg(0, 2), arg(1, 2), arg(2, 1), arg(3, 1)
labels = arg(1, 1, "int64")


def total(t, *axis):
    return mk(red.sum_.bind(axis=axis, dtype=t.type.dtype), (t,))


def column(t):
    return mk(dimshuffle.bind(order=(0, "x")), (t,))


def row(t):
    return mk(dimshuffle.bind(order=("x", 0)), (t,))


def length(t, axis):
    return mk(sh.shape_i.bind(axis=axis), (t,))


def softmax(t):
    return mk(red.softmax.bind(axis=(1,)), (t,))


def cross_entropy():
    """Cross-entropy of rows, and its gradient."""
    log_p = mk(red.log_softmax.bind(axis=(1,)), (x,))
    every = mk(sh.arange.bind(dtype="int64"), (Const(0), length(x, 0), Const(1)))
    loss = ew.neg(mk(ix.gather.bind(index=("a", "a")), (log_p, every, labels)))
    classes = mk(sh.arange.bind(dtype="int64"), (Const(0), length(x, 1), Const(1)))
    hot = ew.cast(ew.eq(column(labels), row(classes)), dtype="float64")
    return [loss, ew.sub(softmax(x), hot)]


def layer_norm():
    n = ew.cast(length(x, 1), dtype="float64")
    centred = ew.sub(x, column(ew.true_div(total(x, 1), n)))
    spread = ew.sqrt(ew.add(ew.true_div(total(ew.sqr(centred), 1), n), 1e-5))
    return [ew.add(ew.mul(ew.true_div(centred, column(spread)), row(v)), row(w))]


CHAINS = {
    "softmax": [softmax(x)],
    "log_softmax": [mk(red.log_softmax.bind(axis=(1,)), (x,))],
    "logsumexp": [mk(red.logsumexp.bind(axis=(1,)), (x,))],
    "cross-entropy and gradient": cross_entropy(),
    "layer norm": layer_norm(),
}


@pytest.mark.parametrize("name", CHAINS)
def test_row_chains_are_one_row_loop(name):
    nodes = lower(CHAINS[name]).nodes
    kernels = loops_of(nodes)
    assert len(kernels) == 1, "\n" + str(lower(CHAINS[name]))
    assert isinstance(kernels[0].node, Loop)


def test_means_that_columns_need_are_not_read_back_by_the_rows():
    """Two passes: one over the rows, which stores the means, and one over the columns, which reads the matrix once."""
    n = ew.cast(length(x, 1), dtype="float64")
    means = ew.true_div(total(x, 1), n)
    centred = ew.sub(x, column(means))
    nodes = lower([total(ew.sqr(centred), 1), total(ew.exp(centred), 0), total(x, 0)]).nodes
    rows, columns = loops_of(nodes)
    assert isinstance(rows.node, Loop) and isinstance(columns.node, Columns)
    loads = [n.term for n in walk([rows]) if isinstance(n, Let) and n.term.op.family is LOAD]
    assert {t.op.params["buf"].kind for t in loads} == {"input"}


def test_what_a_product_needs_is_summed_where_it_is_made():
    slopes = ew.sub(ew.exp(v), w)
    lowered = lower([mk(la.dot, (slopes, x)), total(slopes, 0)])
    assert len(loops_of(lowered.nodes)) == 1 and len(lowered.statements.temps) == 1


def test_a_transposed_operand_of_a_product_is_not_copied():
    h = ew.tanh(x)
    lowered = lower([mk(la.dot, (h, y)), mk(la.dot, (transpose(h), x))])
    assert len(loops_of(lowered.nodes)) == 1 and len(lowered.statements.temps) == 1


def test_a_kept_value_is_not_overwritten_before_it_is_read():
    """log-softmax and softmax of the same row: only the store of the softmax reads the kept exponentials."""
    (kernel,) = loops_of(lower([mk(red.log_softmax.bind(axis=(1,)), (x,)), ew.mul(softmax(x), y)]).nodes)
    places = [n.stored[0].name for n in walk([kernel]) if isinstance(n, Let) and n.stored is not None]
    assert places and set(places) == {"out1"}


def test_softmax_computes_each_exponential_once():
    nodes = lower([softmax(x)]).nodes
    exponentials = [n for n in walk(nodes) if isinstance(n, Let) and n.term.op is ew.exp_below_zero]
    assert sum(n.stored is None for n in exponentials) == 1


def shape(t):
    return length(t, 0), length(t, 1)


def reshape(t, *lengths):
    return mk(sh.reshape, (t, *lengths))


def transpose(t):
    return mk(dimshuffle.bind(order=(1, 0)), (t,))


VIEWS = {
    "reshape twice": [ew.add(reshape(ew.mul(reshape(x, ew.mul(*shape(x))), 2.0), *shape(x)), y)],
    "transposes that cancel": [transpose(ew.mul(transpose(x), 2.0))],
    "slices": [ew.sub(
        mk(ix.subtensor.bind(index=(("s", 1, None, None), ("s", None, -1, None))), (x,)),
        mk(ix.subtensor.bind(index=(("s", None, -1, None), ("s", 1, None, None))), (x,)),
    )],
    "broadcast rows": [ew.add(x, row(v))],
    "a reversed part": [mk(ix.subtensor.bind(index=(("s", None, None, -1), 0)), (x,))],
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_views_cost_no_division_and_no_storage(name):
    lowered = lower(VIEWS[name])
    assert len(loops_of(lowered.nodes)) == 1 and not lowered.statements.temps
    text = generate([x, y, v, w], VIEWS[name]).source
    kernels = text[text.index("static void kernel0") : text.index("TG_EXPORT int tg_plan")]
    assert "%" not in kernels and "/" not in kernels


def test_equal_lengths_are_one_symbol_so_that_loops_are_shared():
    nodes = lower([ew.add(v, w), ew.exp(w)]).nodes
    assert len(loops_of(nodes)) == 1


def test_what_is_needed_at_two_places_is_stored_once():
    heavy = ew.tanh(x)
    lowered = lower([ew.add(heavy, mk(dimshuffle.bind(order=(1, 0)), (heavy,)))])
    assert len(lowered.statements.temps) == 1


def test_sums_over_rows_use_the_lanes_of_columns():
    (kernel,) = loops_of(lower([total(x, 0)]).nodes)
    assert isinstance(kernel.node, Columns)
    (kernel,) = loops_of(lower([total(x, 0, 1)]).nodes)
    assert isinstance(kernel.node, Reduce) and kernel.node.lanes


def test_long_bodies_are_cut_into_parts():
    t = v
    for k in range(500):
        t = ew.tanh(ew.add(ew.mul(t, 0.5), 0.001 * k))
    (kernel,) = loops_of(lower([t]).nodes)
    assert isinstance(kernel.node, Tiles) and len(kernel.node.parts) > 5
    assert len(kernel.node.slots) <= 2


def test_a_product_reads_transposed_slices_in_place():
    a = mk(dimshuffle.bind(order=(1, 0)), (mk(ix.subtensor.bind(index=(("s", 2, None, None),)), (x,)),))
    lowered = lower([mk(la.dot, (a, y))])
    assert not lowered.statements.temps and not loops_of(lowered.nodes)


def test_an_epilogue_is_fused_after_a_product():
    lowered = lower([ew.tanh(ew.add(mk(la.dot, (x, y)), row(v)))])
    assert len(loops_of(lowered.nodes)) == 1


def test_chains_a_hundred_thousand_terms_deep_are_lowered():
    t = v
    for _ in range(30000):
        t = ew.neg(t)
    assert len(loops_of(lower([t]).nodes)) == 1


def test_source_is_the_same_every_time():
    outs = [softmax(x), total(x, 0), ew.add(x, row(v))]
    assert generate([x, y, v], outs).source == generate([x, y, v], outs).source


def test_static_lengths_are_baked_in():
    t = arg(0, 2, shape=(3, 4))
    source = generate([t], [ew.exp(t)]).source
    assert "tg_each(c, kernel0, 12, " in source and "n0_0" not in source


GOLDEN = """static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    double *restrict in2 = (double *)c->buf[2];
    double *restrict in3 = (double *)c->buf[3];
    double *restrict out0 = (double *)c->buf[4];
    #pragma GCC ivdep
    for (int64_t i0 = begin; i0 < end; i0++) {
        const double v0 = in2[i0];
        out0[i0] = ((tg_tanh_f64(((1.5 * v0) + 0.5)) * exp((-(v0 * v0)))) + log1p(fabs(in3[i0])));
    }
}"""


def test_a_kernel_reads_like_the_formula():
    out = ew.add(
        ew.mul(ew.tanh(ew.add(ew.mul(1.5, v), 0.5)), ew.exp(ew.neg(ew.sqr(v)))), ew.log1p(ew.abs_(w))
    )  # fmt: skip
    source = generate([x, y, v, w], [out]).source
    start = source.index("static void kernel0")
    assert source[start : source.index("\n}", start) + 2] == GOLDEN


def test_folds_are_shared_between_outputs():
    mean = ew.mul(total(x, 1), 0.25)
    nodes = lower([mean, ew.exp(mean), ew.sub(x, column(mean))]).nodes
    folds = {t for n in walk(nodes) if isinstance(n, Reduce) for t in n.folds}
    assert len(folds) == 1 and all(t.op.family is FOLD for t in folds)
    assert np.all([isinstance(n, Kernel) for n in nodes])


def test_partial_results_are_few_where_each_element_costs_a_call():
    for dtype, plain, called in (("float64", 64, 16), ("float32", 128, 32), ("int64", 0, 16)):
        m = arg(0, 2, dtype)
        heavy = total(ew.exp(m), 1)
        assert {n.lanes for n in walk(lower([total(m, 1)]).nodes) if isinstance(n, Reduce)} == {plain}
        assert {n.lanes for n in walk(lower([heavy]).nodes) if isinstance(n, Reduce)} == {called}


@pytest.mark.parametrize("op", ["set_subtensor", "inc_subtensor"])
def test_what_is_read_after_a_scatter_is_not_what_was_there_before(op):
    x, i = T.dvector("x"), T.lvector("i")
    new = getattr(T, op)(x[i], x * 0.5)
    outs = [T.exp(new), new.sum() * 0.125]
    values = np.array([1.0, -2.0, 3.0, 4.0]), np.array([3, 0, 2, 1])
    native, python = (tg.function([x, i], outs, mode=tg.Mode(linker=k)) for k in ("auto", "py"))
    for got, want in zip(native(*values), python(*values)):
        np.testing.assert_allclose(got, want, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("rows", [3, 40])
def test_rows_of_what_is_folded_over_columns(dtype, rows):
    """The exponentials of a row are kept for the division, whose own folds run along columns."""
    x = T.tensor("x", dtype=dtype, shape=(None, None, None))
    value = np.random.default_rng(0).standard_normal((2, rows, 17)).astype(x.type.np_dtype)
    for y in (T.softmax(x.var(axis=-2), axis=1), T.log_softmax(x.std(axis=1), axis=1), T.softmax(T.exp(x).sum(axis=1))):
        got, want = (tg.function([x], y, mode=tg.Mode(linker=linker))(value) for linker in ("auto", "py"))
        np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=0.05 if dtype == "bfloat16" else 2e-5)


def test_a_fixed_index_beside_an_array_of_indices(rng):
    """Where a constant array is written to a place, lengths are numbers, and so is an index of the other statement."""
    x, j = T.dtensor3("x"), T.lvector("j")
    taken = T.inc_subtensor(T.zeros_like(x)[j, :, 1], 1.0), T.set_subtensor(T.zeros_like(x)[0], rng.normal(size=(5, 6)))
    values = np.zeros((4, 5, 6)), np.array([0, 2, 2, -1])
    native, python = (tg.function([x, j], list(taken), mode=tg.Mode(linker=k)) for k in ("auto", "py"))
    for got, want in zip(native(*values), python(*values)):
        np.testing.assert_array_equal(got, want)


def test_a_statement_inside_its_loop_is_the_same_but_for_the_loop():
    i, j = Var(0, poly(3)), Var(1, poly(4))
    b = Buf("b", "float64", (poly(3), poly(4)), "temp")
    x = Store(
        b, b.offset([poly(i), poly(j)]), Const(1.0), [i, j], "add", 2, frozenset((i,)), frozenset((j,)), True, True
    )
    assert not any(getattr(x, f.name) == f.default for f in fields(x) if f.default is not MISSING)  # all are told
    assert vars(x.inside()) == vars(x) | {"vars": [j]}
