"""Products of arrays agree with NumPy over dtypes, ranks, strides and empty lengths."""

import numpy as np
import pytest
from helpers import arrays, check, quick, run, variable_for
from hypothesis import given
from hypothesis import strategies as st

import termgraph.tensor as T
from termgraph.terms.errors import ShapeError

DTYPES = ("bool", "int8", "int64", "uint16", "float32", "float64", "complex64", "complex128")
ROUNDING = 2e-5


def pair(draw, shape_a, shape_b):
    one = [draw(arrays(DTYPES, shape=s, finite=True)) for s in (shape_a, shape_b)]
    return [(a % 7).astype(a.dtype) if a.dtype.kind in "iu" else a for a in one]


sides = st.integers(0, 3)


@st.composite
def dot_operands(draw):
    n = draw(sides)
    lead = draw(st.lists(sides, max_size=2))
    tail = draw(st.sampled_from([(n,), (n, draw(sides)), (draw(sides), n, draw(sides))]))
    return pair(draw, (*lead, n), tail)


@given(case=dot_operands())
@quick(60)
def test_dot(case):
    check(T.dot, np.dot, *case, rtol=ROUNDING)


@st.composite
def matmul_operands(draw):
    n = draw(sides)
    batch = draw(st.lists(st.integers(1, 3), max_size=2))
    other = [draw(st.sampled_from([b, 1])) for b in batch][draw(st.integers(0, len(batch))) :]
    a = (n,) if draw(st.booleans()) and not batch else (*batch, draw(sides), n)
    b = (n,) if draw(st.booleans()) else (*other, n, draw(sides))
    return pair(draw, a, b)


@given(case=matmul_operands())
@quick(60)
def test_matmul_and_the_operator(case):
    check(T.matmul, np.matmul, *case, rtol=ROUNDING)
    check(lambda a, b: a @ b, np.matmul, *case, rtol=ROUNDING)


def test_the_operator_takes_arrays_on_either_side():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    check(lambda x: x @ b, lambda x: x @ b, a)
    check(lambda x: a @ x, lambda x: a @ x, b)
    check(lambda x, y: x.dot(y), np.dot, a, b)
    with pytest.raises(TypeError, match="expected a number"):
        T.dmatrix() @ "text"


@st.composite
def tensordot_operands(draw):
    k = draw(st.integers(0, 2))
    summed = draw(st.lists(st.integers(1, 3), min_size=k, max_size=k))
    left, right = draw(st.lists(sides, max_size=2)), draw(st.lists(sides, max_size=2))
    order_a = draw(st.permutations(range(len(left) + k)))
    order_b = draw(st.permutations(range(len(right) + k)))
    shape_a, shape_b = left + summed, summed + right
    axes = ([order_a.index(len(left) + i) for i in range(k)], [order_b.index(i) for i in range(k)])
    case = pair(draw, tuple(shape_a[i] for i in order_a), tuple(shape_b[i] for i in order_b))
    return case, axes


@given(case=tensordot_operands())
@quick(60)
def test_tensordot(case):
    operands, axes = case
    check(lambda a, b: T.tensordot(a, b, axes), lambda a, b: np.tensordot(a, b, axes), *operands, rtol=ROUNDING)


def test_tensordot_with_a_number_of_axes():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(12.0).reshape(3, 4)
    for axes, other in ((2, b), (1, b.T), (0, b)):
        check(lambda x, y, n=axes: T.tensordot(x, y, n), lambda x, y, n=axes: np.tensordot(x, y, n), a, other)
    check(lambda x, y: T.tensordot(x, y, (1, 0)), lambda x, y: np.tensordot(x, y, (1, 0)), a, b)


def test_fused_dimensions_must_agree_one_by_one():
    """2 x 3 against 3 x 2 has as many elements as 2 x 3, and still does not fit."""
    with pytest.raises(ShapeError, match="promised"):
        run(lambda a, b: T.tensordot(a, b, 2), np.ones((2, 3)), np.ones((3, 2)))
    with pytest.raises(ShapeError, match="dimension 0 of the first has length 2, dimension 0 of the second 3"):
        run(lambda a, b: T.tensordot(a, b, 2), np.ones((2, 3)), np.ones((3, 2)), known=True)


@pytest.mark.parametrize(
    "a, b, subscripts",
    [
        ((3,), (3,), "i,i->i"),
        ((3, 2), (3, 2), "bi,bi->b"),
        ((3, 4), (3, 4, 2), "bi,bij->bj"),
        ((3, 2, 4), (3, 4), "bij,bj->bi"),
        ((3, 2, 4), (3, 4, 5), "bij,bjk->bik"),
        ((3, 2, 4), (3, 5, 4, 2), "bij,bljm->bilm"),
        ((3,), (3, 2), "i,ij->ij"),
    ],
)
def test_batched_dot(a, b, subscripts):
    x, y = np.arange(np.prod(a), dtype="float64").reshape(a), np.arange(np.prod(b), dtype="float32").reshape(b)
    check(T.batched_dot, lambda x, y: np.einsum(subscripts, x, y), x, y, rtol=ROUNDING)


def test_batched_tensordot():
    x, y = np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(2, 4, 3)
    check(lambda a, b: T.batched_tensordot(a, b, 1), lambda a, b: a @ b, x, y)
    check(lambda a, b: T.batched_tensordot(a, b, [[1, 2], [2, 1]]), lambda a, b: np.einsum("bij,bji->b", a, b), x, y)
    with pytest.raises(ValueError, match="batch dimension"):
        T.batched_tensordot(T.dtensor3(), T.dtensor3(), [[0], [1]])


@given(data=st.data())
@quick()
def test_outer_inner_vdot_kron(data):
    a = data.draw(arrays(DTYPES, max_dims=2, finite=True))
    b = data.draw(arrays(DTYPES, max_dims=2, finite=True))
    a, b = [(v % 7).astype(v.dtype) if v.dtype.kind in "iu" else v for v in (a, b)]
    check(T.outer, np.outer, a, b, rtol=ROUNDING)
    if a.ndim and b.ndim:
        check(T.kron, np.kron, a, b, rtol=ROUNDING)
    check(T.vdot, np.vdot, a, a, rtol=ROUNDING)
    check(T.inner, np.inner, a, a, rtol=ROUNDING)
    if a.ndim:
        check(T.vecdot, np.vecdot, a, a, rtol=ROUNDING)


def test_cross_and_trace():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)).astype("float32")
    check(T.cross, np.cross, a, b)
    check(lambda x, y: T.cross(x.T, y, axisa=0, axisc=0), lambda x, y: np.cross(x.T, y, axisa=0, axisc=0), a, b)
    with pytest.raises(ShapeError, match="length 3"):
        T.cross(variable_for(np.ones(2), known=True), T.dvector())
    with pytest.raises(ShapeError, match="3 was promised"):
        run(T.cross, np.ones(4), np.ones(4))
    for dtype in ("int8", "float32", "bool"):
        x = (rng.normal(size=(3, 4, 2)) * 5).astype(dtype)
        check(T.trace, np.trace, x, rtol=ROUNDING)
        check(lambda x: T.trace(x, 1, 2, 0), lambda x: x.trace(1, 2, 0), x, rtol=ROUNDING)


def test_shape_errors_name_both_shapes():
    a, b = np.ones((2, 3)), np.ones((4, 5))
    for name in ("dot", "matmul"):
        for known in (False, True):
            with pytest.raises(ShapeError, match=r"shapes \(2, 3\) and \(4, 5\) do not fit.*\(3\).*\(4\)"):
                run(getattr(T, name), a, b, known=known)
    stacked = np.ones((2, 4, 5))
    for known in (False, True):
        with pytest.raises(ShapeError, match=r"shapes \(2, 3\) and \(2, 4, 5\) do not fit"):
            run(T.matmul, a, stacked, known=known)
    with pytest.raises(ShapeError, match="batch dimensions of matmul"):
        run(T.matmul, np.ones((2, 3, 3)), np.ones((4, 3, 3)), known=True)
    with pytest.raises(ValueError, match="multiply by a number"):
        T.matmul(T.dscalar(), T.dmatrix())


def test_dot_of_matrices_is_one_op():
    x, y, v = T.dmatrix("x"), T.fmatrix("y"), T.dvector("v")
    assert T.dot(x, y).term is (x @ y).term is x.dot(y).term
    assert T.dot(x, v).owner.op is T.dot(v, v).owner.op
    assert T.tensordot(x, x, [[1], [0]]).term is T.dot(x, x).term
    assert T.dot(x.term, v.term) is T.dot(x, v).term
