"""Reductions of some elements, and from a number on: where=, initial=, mean= and correction= as in NumPy."""

import warnings

import numpy as np
import pytest
from helpers import COMPLEX, DTYPES, FLOATS, REALS, arrays, assert_same, check, quick, rounding, with_axes
from hypothesis import given
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError

MODES = ["FAST_RUN", "FAST_COMPILE", "STRICT", "DEBUG_MODE", tg.Mode(linker="py")]


@st.composite
def masked(draw, dtypes=DTYPES, **more):
    """An array, axes, and a mask that broadcasts to it."""
    x, axis = draw(with_axes(dtypes, **more))
    shape = [draw(st.sampled_from([n, n, 1])) for n in x.shape][draw(st.integers(0, x.ndim)) :]
    return x, axis, draw(arrays(["bool"], shape=tuple(shape)))


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all"])
@given(case=masked(), keepdims=st.booleans())
@quick()
def test_of_some_elements(name, case, keepdims):
    x, axis, m = case
    args = {"axis": axis, "keepdims": keepdims}
    check(
        lambda v, w: getattr(T, name)(v, **args, where=w),
        lambda a, w: getattr(np, name)(a, **args, where=w),
        x, m, rtol=rounding(x.dtype),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["max", "min", "sum", "prod"])
@given(case=masked(), keepdims=st.booleans(), initial=st.sampled_from([0, 1]), all_count=st.booleans())
@quick()
def test_from_a_number_on(name, case, keepdims, initial, all_count):
    x, axis, m = case
    args = {"axis": axis, "keepdims": keepdims, "initial": initial}
    where = (lambda w: {}) if all_count else (lambda w: {"where": w})
    check(
        lambda v, w: getattr(T, name)(v, **args, **where(w)),
        lambda a, w: getattr(np, name)(a, **args, **where(w)),
        x, m, rtol=rounding(x.dtype),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@given(case=masked(REALS + COMPLEX, finite=True), keepdims=st.booleans())
@quick(80)
def test_moments_of_some_elements(name, case, keepdims):
    x, axis, m = case
    if x.dtype.kind in "iu":
        x = np.clip(x, 0, 50)
    args = {"axis": axis, "keepdims": keepdims}
    check(
        lambda v, w: getattr(T, name)(v, **args, where=w),
        lambda a, w: getattr(np, name)(a, **args, where=w),
        x, m, rtol=rounding(x.dtype),
    )  # fmt: skip


def test_what_is_left_out_does_not_count_even_as_nan(rng):
    x = rng.normal(size=(4, 5))
    m = rng.random((4, 5)) < 0.6
    x[~m] = np.nan
    x[0, ~m[0]] = np.inf
    v, w = T.dmatrix(), T.tensor(dtype="bool", shape=(None, None))
    for name, more in (("sum", {}), ("mean", {}), ("var", {}), ("prod", {}), ("max", {"initial": -9.0})):
        cost = getattr(T, name)(v, axis=1, where=w, **more)
        f = tg.function([v, w], [cost, tg.grad(cost.sum(), v)])
        value, slope = f(x, m)
        np.testing.assert_allclose(value, getattr(np, name)(x, axis=1, where=m, **more))
        assert np.isfinite(slope).all() and not slope[~m].any()


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0), (3, 4)])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "bool", "complex64"])
def test_the_largest_of_nothing_is_the_initial_number(mode, shape, dtype):
    x = np.ones(shape, dtype)
    v = T.tensor(dtype=dtype, shape=(None, None))
    f = tg.function([v], [v.max(axis=1, initial=0), v.min(axis=(0, 1), initial=0)], mode=mode)
    for got, want in zip(f(x), [x.max(axis=1, initial=0), x.min(axis=(0, 1), initial=0)], strict=True):
        assert_same(got, want)
    if dtype != "bool":  # whose largest is `any` by a rule
        with pytest.raises(ValueError, match=r"(?s)test_counted\.py.*(no elements|zero-size)"):
            tg.function([v], v.max(), mode=mode)(np.ones((0, 2), dtype))


def test_gradients(rng):
    x, start = rng.normal(size=(3, 4)), rng.normal(size=())
    m = np.array([True, False, True, True])
    for f in (
        lambda v, s: T.sum(v, where=m, initial=s), lambda v, s: T.prod(v, axis=1, where=m, initial=s),
        lambda v, s: T.max(v, axis=0, initial=s), lambda v, s: T.min(v, axis=1, where=m, initial=s),
        lambda v, s: T.std(v, axis=1, where=m) * s, lambda v, s: T.var(v, mean=s),
    ):  # fmt: skip
        tg.verify_grad(f, [x, start], rng=np.random.RandomState(1))


@given(x=arrays(FLOATS, min_dims=2, max_dims=2, min_side=1, finite=True), ddof=st.sampled_from([0, 1, 0.5]))
@quick()
@pytest.mark.parametrize("name", ["var", "std"])
def test_known_means(name, x, ddof):
    ours, numpys = getattr(T, name), getattr(np, name)
    check(
        lambda v: ours(v, axis=1, mean=v.mean(axis=1, keepdims=True), ddof=ddof),
        lambda a: numpys(a, axis=1, ddof=ddof),
        x, rtol=rounding(x.dtype),
    )  # fmt: skip
    check(lambda v: ours(v, correction=ddof), lambda a: numpys(a, correction=ddof), x, rtol=rounding(x.dtype))
    check(lambda v: T.var(v, mean=2.0), lambda a: np.var(a, mean=2.0), x, rtol=rounding(x.dtype))


def test_no_array_is_made_on_the_way():
    v, w = T.dmatrix(), T.tensor(dtype="bool", shape=(None, None))
    for made in (v.sum(where=w), v.prod(axis=1, where=w), v.max(axis=1, where=w, initial=0.0), v.any(where=w)):
        kernels = str(tg.function([v, w], made, mode=tg.Mode(linker="c")).stage("schedule"))
        assert kernels.count("kernel") == 1 and "tmp" not in kernels


def test_methods_and_numpys_functions():
    a = np.array([[1.0, -2.0], [3.0, -4.0]])
    v = T.dmatrix()
    for f in (
        lambda x: x.sum(where=x > 0), lambda x: x.mean(axis=0, where=x > 0), lambda x: x.max(initial=9.0),
        lambda x: np.sum(x, where=x > 0, initial=2), lambda x: np.var(x, where=x > 0), lambda x: x.all(where=x > 0),
    ):  # fmt: skip
        np.testing.assert_allclose(f(v).eval({v: a}), f(a))


def test_what_is_refused():
    v, row = T.dmatrix("v"), T.row("row")
    for make, error, text in (
        (lambda: v.max(where=v > 0), ValueError, "no elements where the mask is true; give initial="),
        (lambda: v.sum(where=T.ones((2, 3, 4), "bool")), ShapeError, "where has 3 dimensions, more than the 2 of v"),
        (lambda: v.sum(where=v), TypeError, "where must be a mask of truth values, got v"),
        (lambda: v.sum(initial=[1, 2]), ShapeError, "initial must be a number"),
        (lambda: T.lvector().sum(initial=0.5), TypeError, "without loss"),
        (lambda: T.bvector().max(initial=300), (OverflowError, TypeError), "300|without loss"),
        (lambda: v.var(ddof=1, correction=1), ValueError, "mean the same"),
        (lambda: v.var(mean=np.ones((2, 2, 2))), ShapeError, "the mean has 3 dimensions"),
        (lambda: row.sum(where=np.ones((2, 3), bool)), (ShapeError, ValueError), "1"),
        (lambda: v.any(initial=True), TypeError, "initial"),
    ):
        with warnings.catch_warnings(), pytest.raises(error, match=text):
            warnings.simplefilter("error")
            make()
    f = tg.function([row, v], row.sum(where=v > 0))
    with pytest.raises(ShapeError, match=r"test_counted\.py"):
        f(np.ones((1, 3)), np.ones((2, 3)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("mask", [False, np.zeros(4, bool), "symbolic"])
def test_moments_of_no_element_are_nan(mask, mode):
    x, m = T.dvector("x"), T.vector("m", dtype="bool")
    where = m if isinstance(mask, str) else mask
    found = [T.mean(x, where=where), T.var(x, where=where), T.std(x, where=where)]
    f = tg.function([x, m], found, mode=mode, on_unused_input="ignore")
    assert np.isnan(f(np.arange(4.0), np.zeros(4, bool))).all()
    found = [
        T.nanmean(x, where=where),
        T.nanvar(x, where=where),
        T.nanmean(x, where=T.isnan(x)),
        T.nanmean(m, where=where),
    ]
    f = tg.function([x, m], found, mode=mode, on_unused_input="ignore")
    assert np.isnan(f(np.arange(4.0), np.zeros(4, bool))).all()


def test_truth_values_begin_with_the_truth_of_a_number():
    b = T.vector("b", dtype="bool")
    for values in ([True], [False], [True, False]):
        for name in ("max", "min"):
            for initial in (3, 0, 0.5, True):
                got = getattr(T, name)(b, initial=initial).eval({b: np.array(values)})
                assert_same(got, getattr(np.array(values), name)(initial=initial))
