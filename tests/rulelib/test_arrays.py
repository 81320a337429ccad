"""Reductions, joins, writes, choices and checks: one example per rule."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.control import check, ifelse
from termgraph.terms.ops.indexing import inc_subtensor, scatter_add, scatter_set, set_subtensor
from termgraph.terms.ops.reduce import all_, any_, argmax, argmin, cumsum, logsumexp, max_, min_, prod, sum_
from termgraph.terms.ops.shaping import join, make_vector, shape_i, specify_shape, unbroadcast
from termgraph.terms.ops.sorting import argsort, sort
from tests.rulelib.support import becomes, stays

x, y, z = T.dmatrix("x").term, T.dmatrix("y").term, T.dmatrix("z").term
v, w, s, t, n, m = (
    a.term for a in (T.dvector("v"), T.dvector("w"), T.dscalar("s"), T.dscalar("t"), T.lscalar("n"), T.lscalar("m"))
)
ROWS, COLUMNS = shape_i(x, axis=0), shape_i(x, axis=1)  # lengths: never below zero
c = T.tensor("c", dtype="float64", shape=(3, 4)).term
row, col, cube = T.drow("row").term, T.dcol("col").term, T.dtensor3("cube").term
k = T.lvector("k").term
i = T.lmatrix("i").term
p = T.tensor("p", dtype="bool", shape=(3, None)).term
b = T.tensor("b", dtype="bool", shape=()).term
three = T.tensor("three", dtype="float64", shape=(3,)).term
empty = T.tensor("empty", dtype="float64", shape=(0,)).term
F = "float64"


def total(a, *axis, dtype=F):
    return sum_(a, axis=axis, dtype=dtype)


def alloc(value, *lengths):
    return T.alloc(value, *lengths)


REDUCTIONS = [
    ("reductions.fold_nothing", total(i), ew.cast(i, dtype=F)),
    ("reductions.fold_nothing", prod(x, axis=(), dtype=F), x),
    ("reductions.extreme_nothing", max_(x, axis=()), x),
    ("reductions.extreme_nothing", min_(x, axis=()), x),
    ("reductions.truth_nothing", any_(x, axis=()), ew.neq(x, 0.0)),
    ("reductions.truth_nothing", all_(p, axis=()), p),
    ("reductions.logsumexp_nothing", logsumexp(x, axis=()), x),
    ("reductions.running_one", cumsum(row, axis=0), row),
    ("reductions.fold_fold", total(total(cube, 1), 1), total(cube, 1, 2)),
    (
        "reductions.fold_fold",
        prod(prod(cube, axis=(0,), dtype=F), axis=(1,), dtype=F),
        prod(cube, axis=(0, 2), dtype=F),
    ),
    ("reductions.max_max", max_(max_(cube, axis=(1,)), axis=(0,)), max_(cube, axis=(0, 1))),
    ("reductions.min_min", min_(min_(x, axis=(1,)), axis=(0,)), min_(x, axis=(0, 1))),
    ("reductions.truth_twice", any_(any_(x, axis=(1,)), axis=(0,)), any_(x, axis=(0, 1))),
    ("reductions.truth_twice", all_(all_(x, axis=(1,)), axis=(0,)), all_(x, axis=(0, 1))),
    ("reductions.sum_scaled", total(ew.mul(x, s), 0), ew.mul(s, total(x, 0))),
    ("reductions.sum_scaled", total(ew.mul(x, v), 0), ew.mul(v, total(x, 0))),
    ("reductions.sum_scaled", total(ew.mul(2.0, x), 0, 1), ew.mul(2.0, total(x, 0, 1))),
    ("reductions.sum_over", total(ew.true_div(x, s), 1), ew.true_div(total(x, 1), s)),
    ("reductions.sum_chosen", total(ew.switch(s, c, -np.inf), 0), ew.switch(s, total(c, 0), -np.inf)),
    ("reductions.sum_chosen", total(ew.switch(s, c, 2.0), 0, 1), ew.switch(s, total(c, 0, 1), 24.0)),
    ("reductions.sum_chosen_not", total(ew.switch(s, 2.0, c), 1), ew.switch(s, 8.0, total(c, 1))),
    ("reductions.sum_neg", total(ew.neg(x), 0), ew.neg(total(x, 0))),
    ("reductions.extreme_neg", max_(ew.neg(x), axis=(0,)), ew.neg(min_(x, axis=(0,)))),
    ("reductions.extreme_neg", min_(ew.neg(x), axis=(0,)), ew.neg(max_(x, axis=(0,)))),
    ("reductions.extreme_increasing", max_(ew.exp(x), axis=(0,)), ew.exp(max_(x, axis=(0,)))),
    ("reductions.extreme_increasing", min_(ew.tanh(x), axis=(0,)), ew.tanh(min_(x, axis=(0,)))),
    ("reductions.truth_not", any_(ew.logical_not(x), axis=(0,)), ew.logical_not(all_(x, axis=(0,)))),
    ("reductions.truth_not", all_(ew.logical_not(x), axis=(0,)), ew.logical_not(any_(x, axis=(0,)))),
    ("reductions.truth_neq", any_(ew.neq(x, 0.0), axis=(0,)), any_(x, axis=(0,))),
    ("reductions.truth_neq", all_(ew.neq(x, 0.0), axis=(0,)), all_(x, axis=(0,))),
    ("reductions.max_bool", max_(p, axis=(0,)), any_(p, axis=(0,))),
    ("reductions.min_bool", min_(p, axis=(0,)), all_(p, axis=(0,))),
    ("reductions.sum_alloc", total(alloc(s, ROWS, COLUMNS), 0, 1), ew.mul(s, ew.cast(ew.mul(ROWS, COLUMNS), dtype=F))),
    ("reductions.sum_alloc", total(alloc(v, ROWS, shape_i(v, axis=0)), 0), ew.mul(v, ew.cast(ROWS, dtype=F))),
    ("reductions.prod_alloc", prod(alloc(s, 3), axis=(0,), dtype=F), ew.pow_(s, 3.0)),
    ("reductions.extreme_alloc", max_(alloc(s, 3, n), axis=(0,)), alloc(s, n)),
    ("reductions.extreme_alloc", min_(alloc(s, 3), axis=(0,)), s),
    ("reductions.truth_alloc", any_(alloc(s, 3), axis=(0,)), ew.neq(s, 0.0)),
    ("reductions.truth_alloc", all_(alloc(s, 3), axis=(0,)), ew.neq(s, 0.0)),
    ("reductions.sum_join", total(join(v, w, axis=0), 0), ew.add(total(v, 0), total(w, 0))),
    ("reductions.of_sorted", max_(sort(x, axis=0), axis=(0,)), max_(x, axis=(0,))),
    ("reductions.sum_of_sorted", total(sort(x, axis=0), 0), total(x, 0)),
    ("reductions.arg_neg", argmax(ew.neg(x), axis=(1,)), argmin(x, axis=(1,))),
    ("reductions.arg_neg", argmin(ew.neg(x), axis=(1,)), argmax(x, axis=(1,))),
    ("reductions.arg_increasing", argmax(ew.exp(x), axis=(1,)), argmax(x, axis=(1,))),
    ("reductions.arg_increasing", argmin(ew.exp(x), axis=(1,)), argmin(x, axis=(1,))),
    ("reductions.arg_cast", argmax(ew.cast(p, dtype=F), axis=(1,)), argmax(p, axis=(1,))),
    ("reductions.arg_cast", argmin(ew.cast(p, dtype=F), axis=(1,)), argmin(p, axis=(1,))),
    ("reductions.sort_sort", sort(sort(x, axis=0), axis=0), sort(x, axis=0)),
    ("reductions.argsort_one", argsort(row, axis=0), ew.cast(alloc(0, 1, shape_i(row, axis=1)), dtype="int64")),
]
JOINS = [
    ("joins.one", join(x, axis=0), x),
    ("joins.nested", join(x, join(y, z, axis=0), axis=0), join(x, y, z, axis=0)),
    ("joins.nothing", join(v, empty, w, axis=0), join(v, w, axis=0)),
    ("joins.of_copies", join(alloc(s, n), alloc(s, m), axis=0), alloc(s, ew.add(n, m))),
    (
        "joins.of_numbers",
        join(make_vector(s, t, dtype=F), make_vector(s, dtype=F), axis=0),
        make_vector(s, t, s, dtype=F),
    ),
]
WRITES = [
    ("writes.set_all", set_subtensor(x, s, index=()), alloc(s, shape_i(x, axis=0), shape_i(x, axis=1))),
    ("writes.inc_all", inc_subtensor(x, v, index=()), ew.add(x, v)),
    (
        "writes.set_twice",
        set_subtensor(set_subtensor(x, v, n, index=("?",)), w, n, index=("?",)),
        set_subtensor(x, w, n, index=("?",)),
    ),
    ("writes.set_inc", set_subtensor(inc_subtensor(x, v, index=(0,)), w, index=(0,)), set_subtensor(x, w, index=(0,))),
    (
        "writes.inc_set",
        inc_subtensor(set_subtensor(x, v, index=(0,)), w, index=(0,)),
        set_subtensor(x, ew.add(v, w), index=(0,)),
    ),
    (
        "writes.added_twice",
        inc_subtensor(inc_subtensor(x, v, index=(0,)), w, index=(0,)),
        inc_subtensor(x, ew.add(v, w), index=(0,)),
    ),
    (
        "writes.added_twice",
        scatter_add(scatter_add(x, v, k, index=("a",)), w, k, index=("a",)),
        scatter_add(x, ew.add(v, w), k, index=("a",)),
    ),
    (
        "writes.set_twice",
        scatter_set(scatter_set(x, v, k, index=("a",)), w, k, index=("a",)),
        scatter_set(x, w, k, index=("a",)),
    ),
    ("writes.inc_zero", inc_subtensor(x, T.constant(0.0).term, index=(0,)), x),
    ("writes.add_zero", scatter_add(x, T.constant(0.0).term, k, index=("a",)), x),
    (
        "writes.inc_zeros",
        inc_subtensor(T.zeros((3, 4)).term, s, index=(0,)),
        set_subtensor(T.zeros((3, 4)).term, s, index=(0,)),
    ),
    ("writes.add_set", ew.add(set_subtensor(T.zeros((3, 4)).term, s, index=(0,)), c), inc_subtensor(c, s, index=(0,))),
    (
        "writes.add_scatter",
        ew.add(c, scatter_add(T.zeros((3, 4)).term, s, k, index=("a",))),
        scatter_add(c, s, k, index=("a",)),
    ),
]
CONTROL = [
    ("control.true", ifelse(T.constant(True).term, x, y, n=1), x),
    ("control.false", ifelse(T.constant(0).term, x, y, n=1), y),
    ("control.equal", ifelse(b, x, x, n=1), x),
    ("control.not", ifelse(ew.logical_not(b), x, y, n=1), ifelse(b, y, x, n=1)),
    ("control.then_same", ifelse(b, ifelse(b, x, y, n=1), z, n=1), ifelse(b, x, z, n=1)),
    ("control.else_same", ifelse(b, x, ifelse(b, y, z, n=1), n=1), ifelse(b, x, z, n=1)),
    ("control.item_chosen", nth(ifelse(T.constant(False).term, x, y, z, y, n=2), i=0), z),
    ("control.item_equal", nth(ifelse(b, x, y, x, z, n=2), i=0), x),
    ("control.check_true", check(x, T.constant(True).term, b), check(x, b)),
    ("control.check_nothing", check(x, T.constant(True).term), x),
    ("control.check_twice", check(check(x, b), b), check(x, b)),
    ("control.specify_known", specify_shape(x, shape_i(x, axis=1), known=(False, True)), x),
    ("control.unbroadcast", unbroadcast(x, axis=(0,)), x),
]


@pytest.mark.parametrize(
    ("name", "before", "after"), [r for r in [*REDUCTIONS, *JOINS, *WRITES, *CONTROL] if r[2] is not None]
)
def test_rule(name, before, after):
    becomes(before, after, name, n=np.array(2), m=np.array(3), k=np.array([0, 2, 1]), b=np.array(True))


a, e = T.dmatrix("a"), T.dvector("e")


def test_a_sum_of_no_elements_is_no_infinity():
    c, none, some = T.dscalar("c"), T.tensor("none", "float64", shape=(0,)), T.dvector("some")
    for x in (none, some):
        f = tg.function([c, x], T.switch(c, x, -np.inf).sum())
        assert f(0.0, np.zeros(0)) == 0.0
    assert f(0.0, np.ones(2)) == -np.inf and f(1.0, np.ones(2)) == 2.0
    row = T.tensor("row", "float64", shape=(1, 3))  # as long as the condition says, not as the arm does
    g = tg.function([a, row], T.switch(a, row, 0.0).sum(axis=0))
    np.testing.assert_array_equal(g(np.eye(3), np.ones((1, 3))), np.ones(3))


def test_users_examples():
    becomes(T.sum(a.sum(axis=0, keepdims=True), axis=(0, 1)), a.sum())
    r = T.drow("r")
    becomes(r.sum(axis=0), r.dimshuffle(1), "reductions.short_axes")
    becomes(r.max(axis=(0, 1)), r.dimshuffle(1).max(axis=0), "reductions.short_axes")
    becomes(a.T.sum(axis=0), a.sum(axis=1), "reductions.dimshuffle")
    becomes(a.dimshuffle(1, "x", 0).max(axis=2), a.max(axis=0).dimshuffle(0, "x"), "reductions.dimshuffle")
    becomes((a * e.dimshuffle(0, "x")).sum(axis=1), e * a.sum(axis=1), "reductions.sum_scaled")
    becomes((a / e.dimshuffle(0, "x")).sum(axis=1), a.sum(axis=1) / e, "reductions.sum_over")
    becomes(T.concatenate([e[:2], e[2:]]), e, "joins.of_slices")
    becomes(T.concatenate([a[:, :1], a[:, 1:2], a[:, 2:]], axis=1), a, "joins.of_slices")
    becomes(T.set_subtensor(a[:], 1.5), 1.5, "writes.set_all")
    becomes(T.set_subtensor(a[1:], a[1:]), a, "writes.set_same")
    becomes(T.set_subtensor(a[1:], a[1:] + e), T.inc_subtensor(a[1:], e), "writes.inc_old")
    vector = T.tensor("vector", dtype="float64", shape=(3,))
    becomes(T.stack([vector[0], vector[1], vector[2]]), vector, "joins.of_items")


def test_written_into_zeros():
    a, e, k = T.dmatrix("a"), T.dvector("e"), T.lvector("k")
    rows, fixed = T.arange(a.shape[0]), {"k": np.array([2, 0, -1])}
    hot = T.inc_subtensor(T.zeros_like(a)[rows, k], e)
    becomes(hot - T.exp(a), T.inc_subtensor((-T.exp(a))[rows, k], e), "writes.scatter_minus", **fixed)
    becomes(T.exp(a) - hot, T.inc_subtensor(T.exp(a)[rows, k], -e), "writes.minus_scatter", **fixed)
    becomes(hot.sum(axis=1), e, "writes.sum_scatter", **fixed)
    becomes(hot.sum(axis=0), T.inc_subtensor(T.zeros((a.shape[1],))[k], e), "writes.sum_scatter", **fixed)
    one = T.inc_subtensor(T.zeros_like(a)[rows, k], 1.5)
    becomes(one.sum(axis=1), T.alloc(1.5, a.shape[0]), "writes.sum_scatter", **fixed)
    several = T.inc_subtensor(T.zeros_like(a)[T.arange(k.shape[0]), k], T.alloc(1.5, k.shape[0]))
    first = T.switch(T.arange(a.shape[0]) < k.shape[0], 1.5, 0.0)
    for places in ([2, 0, -1], [1, 1]):  # a row for each label, or fewer labels than rows
        becomes(several.sum(axis=1), first, "writes.sum_scatter", k=np.array(places))
    for how in (T.set_subtensor, T.inc_subtensor):
        becomes(how(a[1:, 0], T.alloc(2.0, a.shape[0] - 1)), how(a[1:, 0], 2.0))
        becomes(how(a[k], T.alloc(2.0, k.shape[0], a.shape[1])), how(a[k], 2.0), **fixed)


def test_sums_of_what_was_written_elsewhere_stay():
    a, e, k = T.dmatrix("a"), T.dvector("e"), T.lvector("k")
    hot = T.inc_subtensor(a[T.arange(a.shape[0]), k], e)
    stays(hot.sum(axis=1), "writes.sum_scatter")  # not into zeros
    stays(T.inc_subtensor(T.zeros_like(a)[k], e).sum(axis=1), "writes.sum_scatter")  # whole rows


def test_deviations_from_the_mean_add_up_to_nothing():
    a, b, e = T.dmatrix("a"), T.dmatrix("b"), T.dvector("e")
    deviation = a - a.mean(axis=1, keepdims=True)
    scaled = deviation * e.dimshuffle(0, "x")
    becomes((T.exp(b) + scaled).sum(axis=1), T.exp(b).sum(axis=1), "deviations.vanish")
    becomes((T.exp(b) - scaled).sum(axis=1), T.exp(b).sum(axis=1), "deviations.vanish_from")
    becomes((scaled - T.exp(b)).sum(axis=1), -T.exp(b).sum(axis=1), "deviations.vanish_from")
    becomes(deviation.sum(axis=1), T.zeros((a.shape[0],)), "deviations.vanish_from")
    stays((T.exp(b) + scaled).sum(axis=0), "deviations.vanish")  # along the other axis
    stays((T.exp(b) + deviation * b).sum(axis=1), "deviations.vanish")  # weighted


@pytest.mark.parametrize(
    "expr",
    [
        max_(alloc(s, n), axis=(0,)),  # n may be 0
        total(ew.mul(v, x), 1),  # v varies along the axis
        total(ew.mul(i, s), 0),
        max_(ew.neg(i), axis=(0,)),  # the least integer is its own negative
        prod(ew.neg(x), axis=(0,), dtype=F),
        ifelse(b, x, y, n=1),
        check(x, b),
        inc_subtensor(x, v, n, index=("?",)),
        join(x, y, axis=1),
        join(alloc(s, n), alloc(t, n), axis=0),
    ],
    ids=str,
)
def test_does_not_fire(expr):
    stays(expr)


@pytest.mark.parametrize("linker", ["py", "auto"])
def test_a_write_to_all_of_an_array_checks_its_length(linker):
    """The rule that leaves the array out may not leave out that both are as long."""
    x, w = T.dvector("x"), T.dvector("w")
    f = tg.function([x, w], T.set_subtensor(x[:], w), mode=tg.Mode(linker=linker))
    assert f([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]).tolist() == [4, 5, 6]
    for n in (1, 2, 4, 0):
        with pytest.raises(ValueError):
            f(np.zeros(3), np.ones(n))
    m = T.dmatrix("m")
    g = tg.function([m, w], T.set_subtensor(m[:, :], w), mode=tg.Mode(linker=linker))
    assert g(np.zeros((2, 3)), [1.0, 2.0, 3.0]).tolist() == [[1, 2, 3]] * 2
