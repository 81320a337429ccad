"""Every kind of index agrees with NumPy, for reading, replacing and adding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError
from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import Lift
from termgraph.terms.ops import indexing as ops
from termgraph.terms.ops.basic import dimshuffle

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def value_of(output, inputs):
    return evaluate([output], inputs)[0]


def variable(draw, array):
    """A variable for the array, with all, some or no lengths known (but those that may have to broadcast)."""
    shape = tuple(n if n == 1 or draw(st.booleans()) else None for n in array.shape)
    return T.tensor("x", dtype=array.dtype.name, shape=shape)


@st.composite
def indexed_arrays(draw):
    shape = draw(SHAPES)
    array = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    if array.ndim and draw(st.booleans()):
        array = array[::-1]
    basic = hnp.basic_indices(shape, allow_newaxis=True)
    key = draw(basic if 0 in shape or not shape or draw(st.booleans()) else advanced_keys(shape))
    return array, key, variable(draw, array)


@st.composite
def advanced_keys(draw, shape):
    """A mix of slices, integers, integer arrays, masks and new axes."""
    common = draw(hnp.array_shapes(max_dims=2, max_side=3))
    key, axis = [], 0
    while axis < len(shape):
        kind = draw(st.sampled_from(["slice", "int", "array", "mask", "new", "stop", "ellipsis"]))
        if kind == "stop":
            break
        if kind == "ellipsis":
            if all(part is not Ellipsis for part in key):
                key.append(...)
                axis += draw(st.integers(0, len(shape) - axis))
        elif kind == "new":
            key.append(None)
        elif kind == "slice":
            key.append(draw(st.slices(shape[axis])))
            axis += 1
        elif kind == "int":
            key.append(draw(st.integers(-shape[axis], shape[axis] - 1)))
            axis += 1
        elif kind == "array":
            key.append(draw(hnp.arrays(np.int64, common, elements=st.integers(-shape[axis], shape[axis] - 1))))
            axis += 1
        elif common == (1,):  # a mask selects one place, so that it broadcasts with the other arrays
            mask = np.zeros(shape[axis : axis + 2], bool)
            mask.flat[draw(st.integers(0, mask.size - 1))] = True
            key.append(mask)
            axis += mask.ndim
    return tuple(key)


def numpy_reads(array, key):
    try:
        return array[key]
    except IndexError:
        return None


@settings(max_examples=250, deadline=None)
@given(case=indexed_arrays())
def test_reading_and_writing_agree_with_numpy(case):
    array, key, x = case
    expected = numpy_reads(array, key)
    if expected is None:
        return
    part = x[key]
    np.testing.assert_array_equal(value_of(part, {x: array}), expected)
    values = np.random.default_rng(0).normal(size=expected.shape)
    replaced, added = array.copy(), array.copy()
    replaced[key] = values
    np.add.at(added, key, values)
    np.testing.assert_array_equal(value_of(T.set_subtensor(part, values), {x: array}), replaced)
    np.testing.assert_allclose(value_of(part.inc(values), {x: array}), added)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_symbolic_bounds_and_indices(data):
    n = data.draw(st.integers(1, 6))
    array = np.arange(float(n * 2)).reshape(n, 2)
    x, i, start, stop, step = T.dmatrix("x"), T.iscalar("i"), T.lscalar("a"), T.bscalar("b"), T.lscalar("s")
    bound = st.integers(-8, 8)
    env = {i: data.draw(st.integers(-n, n - 1)), start: data.draw(bound), stop: data.draw(bound)}
    env[step] = data.draw(bound.filter(bool))
    given_ = {x: array, **{v: np.asarray(k, v.type.dtype) for v, k in env.items()}}
    assert (value_of(x[i], given_) == array[env[i]]).all()
    sliced = x[start:stop:step, 0]
    assert sliced.owner.op.params["index"] == (("s", "?", "?", "?"), 0)
    expected = array[env[start] : env[stop] : env[step], 0]
    np.testing.assert_array_equal(value_of(sliced, given_), expected)
    replaced = array.copy()
    replaced[env[start] : env[stop] : env[step], 0] = 7
    np.testing.assert_array_equal(value_of(sliced.set(7), given_), replaced)


def test_symbolic_arrays_masks_and_lists_of_variables():
    array = np.arange(12.0).reshape(3, 4)
    x, rows, mask, i = T.dmatrix("x"), T.lvector("rows"), T.tensor("m", dtype="bool", shape=(None, None)), T.iscalar()
    env = {x: array, rows: [2, 0, 2], mask: array > 5, i: np.int32(1)}
    np.testing.assert_array_equal(value_of(x[rows], env), array[[2, 0, 2]])
    np.testing.assert_array_equal(value_of(x[mask], env), array[array > 5])
    np.testing.assert_array_equal(value_of(x[x > 3].set(0), env), np.where(array > 3, 0, array))
    np.testing.assert_array_equal(value_of(x[rows, i], env), array[[2, 0, 2], 1])
    np.testing.assert_array_equal(value_of(x[i, None, rows], env), array[1, None, [2, 0, 2]])
    added = array.copy()
    np.add.at(added, [2, 0, 2], 1.0)
    np.testing.assert_array_equal(value_of(x[rows].inc(1), env), added)


def test_static_lengths_follow_the_index():
    x = T.tensor("x", dtype="float32", shape=(6, None, 3))
    i, v = T.iscalar("i"), T.tensor("v", dtype="int64", shape=(4, 1))
    assert x[1:5:2].type.shape == (2, None, 3)
    assert x[::-1, i, None].type.shape == (6, 1, 3)
    assert x[i:].type.shape == (None, None, 3)
    assert x[:, 3:1, 0].type.shape == (6, 0)
    assert x[v, :, v].type.shape == (4, 1, None)
    assert x[v].type.shape == (4, 1, None, 3)
    assert x[:, 0:-1].type.shape == (6, None, 3)
    assert x[...].type == x.type and x[()].owner.op.params["index"] == ()


@pytest.mark.parametrize(
    "key, error, message",
    [
        (4, IndexError, "index 4 is out of bounds for axis 0 of length 3"),
        ((0, -5), IndexError, "index -5 is out of bounds for axis 1 of length 4"),
        ([0, 3], IndexError, "index 3 is out of bounds for axis 0 of length 3"),
        ((0, 0, 0), IndexError, "x has 2 dimensions, 3 are indexed"),
        ((..., ...), IndexError, "only one Ellipsis"),
        (1.0, IndexError, "got float 1.0"),
        ("name", IndexError, "got str 'name'"),
        (T.dscalar("d"), IndexError, "got d of type"),
        (T.tensor("t", "bool", ()), IndexError, "T.switch"),
        (slice(None, None, 0), ValueError, "step cannot be zero"),
        (slice(1.5), TypeError, "slice bound must be an integer, got float 1.5"),
        (slice(T.dscalar("d"), None), TypeError, "slice bound must be an integer.*// divides integers"),
        (slice(T.dvector("v"), None), TypeError, "slice bound must be an integer without dimensions"),
        (np.ones((2, 4), bool), IndexError, "axis 0 of x: length 2 against 3"),
        (([0, 1], [0, 1, 2]), ShapeError, r"index arrays of shapes \(2,\) and \(3,\)"),
    ],
)
def test_bad_indices_are_refused_while_building(key, error, message):
    x = T.tensor("x", dtype="float64", shape=(3, 4))
    with pytest.raises(error, match=message):
        x[key]


def test_out_of_range_at_run_time_names_index_axis_and_length():
    x, i, v = T.dmatrix("x"), T.lscalar("i"), T.lvector("v")
    mask = T.tensor("m", dtype="bool", shape=(None,))
    for expression in (x[:, i], x[:, v], x[:, i].set(0), x[:, v].inc(0)):
        with pytest.raises(IndexError, match="index 7 is out of bounds for axis 1 with size 2"):
            value_of(expression, {x: np.ones((3, 2)), i: 7, v: [7]})
    with pytest.raises(IndexError, match="boolean index has length 2 in dimension 0.*length 3"):
        value_of(x[mask], {x: np.ones((3, 2)), mask: [True, False]})
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        value_of(x[::i], {x: np.ones((3, 2)), i: 0})


def test_writing_checks_its_arguments():
    x, f, i = T.dmatrix("x"), T.fmatrix("f"), T.imatrix("i")
    with pytest.raises(TypeError, match=r"must be the result of indexing, got x"):
        T.set_subtensor(x, 0)
    with pytest.raises(TypeError, match="made by mul"):
        T.inc_subtensor(x * 2, 0)
    with pytest.raises(TypeError, match=r"dtype float64 do not fit .* of dtype int32.*T.cast"):
        T.set_subtensor(i[0], 0.5)
    assert T.set_subtensor(i[0], 2.0).owner.inputs[1].data == 2
    assert T.set_subtensor((i > 0)[0], 1).type.dtype == "bool"
    with pytest.raises(OverflowError, match="300 does not fit"):
        T.set_subtensor(T.bmatrix()[0], 300)
    with pytest.raises(ShapeError, match=r"values of shape \(2,\) do not fit the indexed part of shape \(3,\)"):
        T.set_subtensor(T.tensor("y", dtype="float64", shape=(4, 5))[:3, 0], [1.0, 2.0])
    with pytest.raises(TypeError, match="set_subtensor"):
        x[0] = 1
    assert T.set_subtensor(f[0], 1.5).owner.inputs[1].type.dtype == "float32"
    assert T.set_subtensor(f[0], T.dvector()).owner.inputs[1].owner.op.name == "cast"


def test_writing_through_dimshuffles_and_new_axes():
    array = np.arange(6.0).reshape(2, 3)
    x = T.dmatrix("x")
    part = x[1:, None]
    out = value_of(T.set_subtensor(part, np.array([[[7.0, 8, 9]]])), {x: array})
    np.testing.assert_array_equal(out, [[0, 1, 2], [7, 8, 9]])
    flipped = dimshuffle(x[:, :2], order=(1, 0))
    out = value_of(T.inc_subtensor(flipped, np.array([[1.0, 2], [3, 4]])), {x: array})
    np.testing.assert_array_equal(out, [[1, 4, 2], [5, 8, 5]])
    with pytest.raises(ShapeError, match="values of shape"):
        T.set_subtensor(part, np.ones((1, 2, 3)))


def test_writing_keeps_the_argument_unchanged_and_the_index():
    array = np.zeros(3)
    x = T.dvector("x")
    made = T.set_subtensor(x[1:], x[:-1])
    assert made.owner.op.params == x[1:].owner.op.params and made.owner.inputs[0] is x
    value_of(made, {x: array})
    assert (array == 0).all()


def test_a_length_that_turns_out_to_be_one_does_not_stretch():
    x, v, i, j = T.dvector("x"), T.dvector("v"), T.lvector("i"), T.lvector("j")
    with pytest.raises(ShapeError, match="values of set_subtensor.*length 1.*declared"):
        value_of(x[:2].set(v), {x: [1.0, 2, 3], v: [5.0]})
    with pytest.raises(ShapeError, match="values of scatter_add"):
        value_of(x[i].inc(v), {x: [1.0, 2, 3], v: [5.0], i: [0, 1]})
    with pytest.raises(ShapeError, match="index arrays of gather"):
        value_of((x[:, None] + x)[i, j], {x: [1.0, 2, 3], i: [0, 1], j: [0]})
    np.testing.assert_array_equal(value_of(x[:1].set(v), {x: [1.0, 2, 3], v: [5.0]}), [5, 2, 3])


def test_ops_apply_to_rule_patterns():
    class Pattern:
        apply_op = Lift(3, lambda op, args: (op, args))

    p, x = Pattern(), T.dvector("x")
    op, args = ops.subtensor(p, index=(("s", 1, None, None),))
    assert op is ops.subtensor.bind(index=(("s", 1, None, None),)) and args == (p,)
    assert ops.set_subtensor(x.term, p, index=(0,)) == (ops.set_subtensor.bind(index=(0,)), (x.term, p))


@pytest.mark.parametrize("key", [True, False, (True, 1), (slice(None), True), (..., False), (1, True, slice(0, 2))])
def test_what_a_truth_value_selects_is_replaced(key):
    x, value = T.dmatrix("x"), np.arange(6.0).reshape(2, 3)
    changed, added, new = value.copy(), value.copy(), value[key] * 2 + 1
    changed[key] = new
    added[key] += 1
    found = tg.function([x], [T.set_subtensor(x[key], new), T.inc_subtensor(x[key], 1.0)])(value)
    np.testing.assert_array_equal(found[0], changed)
    np.testing.assert_array_equal(found[1], added)
