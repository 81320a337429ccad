"""Reductions agree with NumPy and SciPy in values, dtypes and shapes; bad axes are refused with a sentence."""

import numpy as np
import pytest
import scipy.special
from helpers import COMPLEX, DTYPES, FLOATS, INTS, REALS, arrays, check, quick, rounding, run, with_axes
from hypothesis import assume, given
from hypothesis import strategies as st

import termgraph.tensor as T
from termgraph.terms import facts
from termgraph.terms.errors import MissingInputError, ShapeError
from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import OPS, Lift
from termgraph.terms.ops import reduce as ops
from termgraph.terms.term import Input
from termgraph.terms.types import TensorType


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "max", "min", "ptp", "count_nonzero"])
@given(case=with_axes(), keepdims=st.booleans())
@quick()
def test_numpy_reductions(name, case, keepdims):
    x, axis = case
    reference = getattr(np, name)
    if name in ("max", "min", "ptp"):
        assume(x.size)
    if name == "ptp":
        assume(x.dtype != bool)
    check(
        lambda v: getattr(T, name)(v, axis=axis, keepdims=keepdims),
        lambda a: reference(a, axis=axis, keepdims=keepdims),
        x,
        rtol=rounding(x.dtype),
    )


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@given(case=with_axes(REALS + COMPLEX, finite=True), keepdims=st.booleans())
@quick(80)
def test_moments(name, case, keepdims):
    x, axis = case
    if x.dtype.kind in "iu":
        x = np.clip(x, 0 if x.dtype.kind == "u" else -50, 50)  # else cancellation decides, not the formula
    check(
        lambda v: getattr(T, name)(v, axis=axis, keepdims=keepdims),
        lambda a: getattr(np, name)(a, axis=axis, keepdims=keepdims),
        x,
        rtol=rounding(x.dtype),
    )


@given(case=with_axes(REALS, min_side=1), keepdims=st.booleans())
@quick()
def test_median(case, keepdims):
    x, axis = case
    assume(x.dtype != bool)
    if x.dtype.kind in "iu":
        x = np.clip(x, 0, 100)
    check(
        lambda v: T.median(v, axis=axis, keepdims=keepdims),
        lambda a: np.median(a, axis=axis, keepdims=keepdims),
        x,
        rtol=rounding(x.dtype),
    )


def test_moments_of_special_values():
    for special in ([np.nan, 1.0], [np.inf, 1.0], [np.inf, -np.inf], []):
        for name in ("mean", "var", "std"):
            check(getattr(T, name), getattr(np, name), np.array(special))


@given(
    case=with_axes(("float64", "int32", "complex128"), min_side=1, finite=True), ddof=st.sampled_from([0, 1, 2, 0.5])
)
@quick()
def test_degrees_of_freedom(case, ddof):
    x, axis = case
    x = np.where(abs(x) < 100, x, 0)
    check(lambda v: T.var(v, axis=axis, ddof=ddof), lambda a: np.var(a, axis=axis, ddof=ddof), x)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@given(case=with_axes(REALS + COMPLEX, single=True, min_side=1), keepdims=st.booleans())
@quick()
def test_positions(name, case, keepdims):
    x, axis = case
    check(
        lambda v: getattr(T, name)(v, axis=axis, keepdims=keepdims),
        lambda a: getattr(np, name)(a, axis=axis, keepdims=keepdims),
        x,
    )


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@given(case=with_axes(single=True))
@quick()
def test_running_sums(name, case):
    x, axis = case
    check(
        lambda v: getattr(T, name)(v, axis=axis), lambda a: getattr(np, name)(a, axis=axis), x, rtol=rounding(x.dtype)
    )


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
@given(case=with_axes(REALS, min_side=1))
@quick(80)
def test_soft_family(name, case):
    x, axis = case
    reference = getattr(scipy.special, name)
    wide = x.astype("float64") if x.dtype.kind in "biu" or x.dtype == np.float16 else x
    out = "float16" if x.dtype == np.float16 else wide.dtype
    check(lambda v: getattr(T, name)(v, axis=axis), lambda a: np.asarray(reference(wide, axis=axis), out), x)


def test_soft_family_far_out():
    x = np.array([[1e4, 1e4 + 1, -1e4], [-np.inf, 0.0, 1.0]])
    for name in ("logsumexp", "softmax", "log_softmax"):
        check(lambda v, n=name: getattr(T, n)(v, axis=1), lambda a, n=name: getattr(scipy.special, n)(a, axis=1), x)
    assert run(lambda v: T.logsumexp(v), np.array([])) == -np.inf
    assert run(lambda v: T.logsumexp(v), np.array([-np.inf, -np.inf])) == -np.inf
    assert run(lambda v: T.logsumexp(v), np.array([np.inf, 1.0])) == np.inf
    assert run(lambda v: T.softmax(v, axis=0), np.empty((0, 3))).shape == (0, 3)
    z = np.array([1 + 2j, 3 - 1j])
    check(T.logsumexp, scipy.special.logsumexp, z)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
def test_dtype_of_accumulation(dtype):
    x = np.array([[1, 0, 3], [1, 1, 1]]).astype(dtype)
    for out in ("float64", "complex128", "int64", "bool"):
        if np.dtype(dtype).kind == "c" and out != "complex128":
            with pytest.raises(TypeError, match="imaginary"):
                T.sum(T.cmatrix(), dtype=out)
            continue
        for name in ("sum", "prod", "cumsum"):
            check(lambda v, n=name, o=out: getattr(T, n)(v, axis=0, dtype=o),
                  lambda a, n=name, o=out: getattr(np, n)(a, axis=0, dtype=o), x)  # fmt: skip


def test_acc_dtype_makes_a_float32_sum_more_exact():
    x = np.full(100_001, 0.1, dtype="float32")
    exact = np.float32(x.astype("float64").sum())
    assert run(lambda v: T.sum(v, acc_dtype="float64"), x) == exact
    plain = run(T.sum, x)
    assert plain.dtype == np.float32 and abs(plain - exact) < 1
    s = T.sum(T.fvector("x"), acc_dtype="float64")
    assert s.type.dtype == "float32"
    assert s.owner.op.name == "cast" and s.owner.inputs[0].owner.op.params["dtype"] == "float64"


def test_mean_is_a_sum_and_a_division():
    m = T.mean(T.tensor("x", dtype="float64", shape=(2, 3)), axis=1)
    assert m.owner.op.name == "true_div" and m.owner.inputs[0].owner.op.name == "sum"
    assert m.type.shape == (2,)


@given(arrays(("float64", "int8", "float32"), min_dims=2, max_dims=2, min_side=1, finite=True), st.data())
@quick()
def test_average_with_weights(x, data):
    x = np.where(abs(x.astype(float)) < 100, x, 1).astype(x.dtype)
    axis = data.draw(st.sampled_from([None, 0, 1]))
    shape = x.shape if axis is None else data.draw(st.sampled_from([x.shape, (x.shape[axis],)]))
    weights = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    check(lambda v, w: T.average(v, axis, w), lambda a, w: np.average(a, axis, w), x, weights)


def test_methods_and_pairs():
    x = np.arange(6.0).reshape(2, 3)
    for name in ("sum", "prod", "mean", "var", "std", "max", "min", "argmax", "argmin", "any", "all", "cumsum"):
        check(lambda v, n=name: getattr(v, n)(1), lambda a, n=name: getattr(a, n)(1), x)
    check(lambda v: T.max_and_argmax(v, 1), lambda a: [a.max(1), a.argmax(1)], x)


def test_terms_in_terms_out():
    t = Input("t", TensorType("float32", (2, 3)))
    s = T.mean(T.sum(t, axis=0, keepdims=True))
    assert s.type is TensorType("float32", ()) and T.sum(t, axis=1) is ops.sum_(t, axis=(1,), dtype="float32")


class Hole:
    """Stands for a rule's metavariable: an operand of the highest rank."""

    apply_op = Lift(3, lambda op, args: (op, args))


def test_patterns_are_one_op_or_refused():
    p = Hole()
    assert T.sum(p, axis=(0,), dtype="float32") == (ops.sum_.bind(axis=(0,), dtype="float32"), (p,))
    assert T.max(p, axis=1) == (ops.max_.bind(axis=(1,)), (p,))
    with pytest.raises(TypeError, match="needs axis="):
        T.max(p)
    with pytest.raises(TypeError, match="needs dtype="):
        T.sum(p, axis=(0,))
    with pytest.raises(TypeError, match=r"T.mean composes its result"):
        T.mean(p, axis=0)


def test_an_empty_reduction_is_the_identity_or_an_error():
    empty = np.empty((0, 2))
    assert run(lambda v: T.sum(v, 0), empty).tolist() == [0, 0]
    assert run(lambda v: T.prod(v, 0), empty).tolist() == [1, 1]
    assert run(lambda v: T.any(v, 0), empty).tolist() == [False, False]
    assert run(lambda v: T.all(v, 0), empty).tolist() == [True, True]
    for name in ("max", "min", "argmax"):
        with pytest.raises(ValueError, match="empty|zero-size"):
            run(lambda v, n=name: getattr(T, n)(v, 0), empty)


def test_bad_axes_and_operands_are_refused():
    x = T.dmatrix("x")
    with pytest.raises(ValueError, match="axis 2 is out of range for an array with 2 dimensions"):
        T.sum(x, axis=2)
    with pytest.raises(ValueError, match="names a dimension twice"):
        T.sum(x, axis=(0, -2))
    with pytest.raises(TypeError, match="axis must be an integer, got 'rows'"):
        T.max(x, axis="rows")
    with pytest.raises(TypeError, match="axis must be known while building"):
        T.sum(x, axis=T.lscalar("k"))
    with pytest.raises(ValueError, match="one dimension, or all of them"):
        T.argmax(T.dtensor3(), axis=(0, 1))
    with pytest.raises(TypeError, match="real numbers"):
        T.softmax(T.zmatrix())
    with pytest.raises(TypeError, match="expected a number"):
        T.sum("text")
    with pytest.raises(ValueError, match="sorted"):
        ops.sum_(x.term, axis=(1, 0))


def test_facts_of_reductions():
    assert (ops.sum_, OPS["add"]) in facts.reduction.rows()
    assert {row[0].name for row in facts.reduction.rows()} >= {"sum", "prod", "max", "min", "any", "all"}


def test_the_evaluator_enforces_declared_broadcasting():
    x, y = T.dvector("x"), T.dvector("y")
    with pytest.raises(ShapeError, match=r"length 1 in dimension 0.*addbroadcast") as caught:
        evaluate([x + y], {x: np.ones(1), y: np.ones(3)})
    assert "while evaluating add(x, y)" in caught.value.__notes__[0]
    assert evaluate([T.addbroadcast(x, 0) + y], {x: np.ones(1), y: np.ones(3)})[0].shape == (3,)
    assert evaluate([x + y], {x: np.ones(1), y: np.ones(1)})[0].shape == (1,)
    with pytest.raises(ShapeError, match="3 against 4|4 against 3"):
        evaluate([x + y], {x: np.ones(4), y: np.ones(3)})
    with pytest.raises(MissingInputError, match="no value was given for y"):
        evaluate([x + y], {x: np.ones(4)})
    with pytest.raises(TypeError, match="expected 1 dimensions"):
        evaluate([x + y], {x: np.ones((4, 1)), y: np.ones(4)})


def test_the_evaluator_takes_deep_chains_and_cut_points():
    x = T.dscalar("x")
    y = x
    for _ in range(20_000):
        y = y + 1
    assert evaluate([y, x * 2], {x: 1.0}) == [20_001, 2]
    assert evaluate([y * 2], {y: 5.0}) == [10]


def test_float_and_integer_lists_cover_every_dtype():
    assert set(REALS + COMPLEX) == set(DTYPES) and len(INTS) == 8 and len(FLOATS) == 3
