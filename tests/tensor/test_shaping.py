"""Functions of shape, joining and padding agree with NumPy; wrong shapes are refused with a sentence."""

import numpy as np
import pytest
from helpers import arrays, check, quick
from hypothesis import given
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError
from termgraph.terms.evaluate import evaluate
from termgraph.terms.term import Input
from termgraph.terms.types import TensorType

SOME = ("float64", "int8", "bool", "complex64")


def axes(ndim):
    return st.integers(-ndim, ndim - 1)


# ---------------------------------------------------------------------- reshape
@given(arrays(SOME), st.data())
@quick(40)
def test_reshape_with_and_without_a_length_left_open(x, data):
    shape = list(data.draw(st.permutations(x.shape)))
    merged = [shape[0] * shape[1], *shape[2:]] if len(shape) > 1 and data.draw(st.booleans()) else shape
    check(lambda v: T.reshape(v, merged), lambda a: a.reshape(merged), x)
    if merged and x.size:
        merged[data.draw(st.integers(0, len(merged) - 1))] = -1
        check(lambda v: v.reshape(*merged), lambda a: a.reshape(*merged), x)


@given(arrays(SOME))
@quick()
def test_flattening(x):
    check(T.ravel, np.ravel, x)
    check(lambda v: v.flatten(), lambda a: a.flatten(), x)
    if x.ndim == 3:
        check(lambda v: T.flatten(v, 2), lambda a: a.reshape(a.shape[0], a.shape[1] * a.shape[2]), x)


@given(x=arrays(), order=st.sampled_from("CFfA"), data=st.data())
@quick()
def test_elements_column_by_column(x, order, data):
    there = {} if order == "A" else {"order": order}  # of an array that lies by columns "A" is "F" in NumPy
    check(lambda v: T.ravel(v, order=order), lambda a: np.ravel(a, **there), x)
    check(lambda v: v.flatten(order), lambda a: a.flatten(**there), x)
    shape = data.draw(st.permutations([*x.shape, 1]))
    check(lambda v: T.reshape(v, shape, order=order), lambda a: np.reshape(a, shape, **there), x)
    if x.size:
        check(lambda v: v.reshape(-1, 1, order=order), lambda a: a.reshape(-1, 1, **there), x)
    if x.ndim == 3:
        rest = lambda a: a.reshape((a.shape[0], a.shape[1] * a.shape[2]), order="C")  # noqa: E731
        check(lambda v: T.flatten(v, 2, "F"), lambda a: rest(np.swapaxes(a, 1, 2)), x)


def test_orders(rng):
    a, v = rng.normal(size=(3, 4)), T.dmatrix("v")
    np.testing.assert_array_equal(np.reshape(v, (2, 6), "F").eval({v: a}), np.reshape(a, (2, 6), order="F"))
    np.testing.assert_array_equal(np.ravel(v, "F").eval({v: a}), np.ravel(a, "F"))
    tg.verify_grad(lambda x: x.reshape((2, -1), order="F") ** 2, [a])
    n = T.lscalar("n")
    assert v.reshape((n, -1), order="F").eval({v: a, n: 6}).tolist() == a.reshape((6, -1), order="F").tolist()
    for make in (lambda: v.reshape((2, 6), order="K"), lambda: v.ravel("B"), lambda: T.dvector().flatten(order=None)):
        with pytest.raises(ValueError, match="order must be 'C', 'F' or 'A', got"):
            make()


def test_reshape_takes_symbolic_lengths():
    x, n = T.dmatrix("x"), T.lscalar("n")
    a = np.arange(12.0).reshape(3, 4)
    for shape in ((n, -1), [-1, n], T.stack([n, n])):
        y = x.reshape(shape)
        value = {x: a, n: 2} if shape.__class__ is not T.TensorVariable else {x: a[:2, :2], n: 2}
        assert evaluate([y], value)[0].shape[0] in (2, 6)
    assert x.reshape((x.shape[0], -1, 1)).type.shape == (None, None, 1)
    assert T.tensor("t", "float32", (None, 6)).reshape((-1, 3)).owner.inputs[1].owner.op.name == "mul"
    v = T.lvector("v")
    assert evaluate([T.reshape(x, v, ndim=3)], {x: a, v: [2, 3, 2]})[0].shape == (2, 3, 2)
    with pytest.raises(TypeError, match="pass ndim="):
        T.reshape(x, v)
    with pytest.raises(ShapeError, match=r"12 elements.* to \(5, 2\)"):
        evaluate([T.reshape(x, (5, 2))], {x: a})


def test_reshape_refuses_what_cannot_be():
    x = T.tensor("x", "float64", (2, 3))
    with pytest.raises(ShapeError, match=r"\(2, 3\) \(6 elements\) to \(4, 2\)"):
        x.reshape((4, 2))
    with pytest.raises(ShapeError, match="only one length may be -1"):
        x.reshape((-1, -1))
    with pytest.raises(ShapeError, match="do not divide by 4"):
        x.reshape((4, -1))
    with pytest.raises(TypeError, match=r"newshape\[0\] must be an integer"):
        x.reshape((2.0, 3))
    with pytest.raises(ShapeError, match="must not be negative"):
        x.reshape((-2, -3))


# ---------------------------------------------------------------------- shape
@given(arrays(SOME))
@quick()
def test_shapes_and_sizes(x):
    check(lambda v: T.shape(v), lambda a: np.array(a.shape, dtype="int64"), x)
    check(lambda v: v.size, lambda a: np.int64(a.size), x)
    check(lambda v: v.shape[::-1], lambda a: np.array(a.shape[::-1], dtype="int64"), x)
    for d in range(x.ndim):
        check(lambda v, d=d: v.shape[d], lambda a, d=d: np.int64(a.shape[d]), x)
        check(lambda v, d=d: T.size(v, d), lambda a, d=d: np.int64(a.shape[d]), x)
    assert T.ndim(T.dmatrix()) == 2


def test_known_lengths_are_constants():
    x = T.tensor("x", "float64", (None, 3))
    n, m = x.shape
    assert n.owner.op.name == "shape_i" and m.data == 3 and x.shape[-1].data == 3
    assert x.shape[1:].data.tolist() == [3]
    assert T.zeros(x.shape).type.shape == (None, 3)
    assert T.shape(T.zeros((2, 3))).data.tolist() == [2, 3]
    with pytest.raises(IndexError, match="index 2 is out of range"):
        x.shape[2]


# ---------------------------------------------------------------------- axes
@given(arrays(SOME), st.data())
@quick(40)
def test_orders_of_axes(x, data):
    n = x.ndim
    order = data.draw(st.permutations(range(n)))
    check(lambda v: T.transpose(v), np.transpose, x)
    check(lambda v: v.T, lambda a: a.T, x)
    check(lambda v: v.transpose(*order), lambda a: a.transpose(*order), x)
    check(lambda v: v.dimshuffle(*order), lambda a: a.transpose(order), x)
    if n:
        a, b = data.draw(axes(n)), data.draw(axes(n))
        check(lambda v: T.swapaxes(v, a, b), lambda v: np.swapaxes(v, a, b), x)
        check(lambda v: T.moveaxis(v, a, b), lambda v: np.moveaxis(v, a, b), x)
        check(lambda v: T.rollaxis(v, a, b), lambda v: np.rollaxis(v, a, b), x)
        check(lambda v: T.moveaxis(v, order, range(n)), lambda v: np.moveaxis(v, order, range(n)), x)
    if n > 1:
        check(lambda v: v.mT, lambda a: a.mT, x)


@given(arrays(SOME), st.data())
@quick(40)
def test_axes_of_length_one(x, data):
    place = data.draw(axes(x.ndim + 1))
    check(lambda v: T.expand_dims(v, place), lambda a: np.expand_dims(a, place), x)
    check(lambda v: T.expand_dims(v, (0, -1)), lambda a: np.expand_dims(a, (0, -1)), x)
    check(lambda v: T.squeeze(v), np.squeeze, x)
    wide = np.expand_dims(x, place)
    check(lambda v: v.squeeze(place), lambda a: a.squeeze(place), wide)
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        check(getattr(T, name), getattr(np, name), x)
    check(lambda v: T.shape_padleft(v, 2), lambda a: a[None, None], x)
    check(lambda v: T.shape_padright(v), lambda a: a[..., None], x)


def test_dimshuffle_as_in_theano():
    x = T.dmatrix("x")
    assert x.dimshuffle("x", 1, 0).type.shape == (1, None, None)
    assert x.dimshuffle(("x", 0, 1)).term is x.dimshuffle("x", 0, 1).term
    assert x.dimshuffle(0, 1) is x
    assert T.drow("r").dimshuffle(1).type.shape == (None,)
    with pytest.raises(ValueError, match="drops dimension 0, whose length is 3"):
        T.tensor("t", "float64", (3, 1)).dimshuffle(1)
    with pytest.raises(ValueError, match="names a dimension twice"):
        x.dimshuffle(0, 0)
    with pytest.raises(ValueError, match="out of range"):
        x.dimshuffle(0, 2)
    with pytest.raises(ShapeError, match="length 3, not 1"):
        T.squeeze(T.tensor("t", "float64", (3, 1)), 0)
    with pytest.raises(ValueError, match="only length 1 can go"):
        evaluate([T.squeeze(x, 0)], {x: np.ones((2, 2))})


# ---------------------------------------------------------------------- broadcasting
@given(arrays(SOME, max_side=3), st.lists(st.integers(0, 3), max_size=2))
@quick()
def test_broadcast_to(x, lead):
    shape = (*lead, *[4 if n == 1 else n for n in x.shape])
    check(lambda v: T.broadcast_to(v, shape), lambda a: np.broadcast_to(a, shape), x)
    row = np.ones((1, 3))
    check(lambda v, r: T.broadcast_arrays(v, r), lambda v, r: np.broadcast_arrays(v, r), x[..., None], row)


def test_broadcasting_must_be_declared():
    x, n = T.dvector("x"), T.lscalar("n")
    y = T.broadcast_to(x, (n,))
    assert evaluate([y], {x: np.ones(3), n: 3})[0].shape == (3,)
    with pytest.raises(ShapeError, match="addbroadcast"):
        evaluate([y], {x: np.ones(1), n: 3})
    with pytest.raises(ShapeError, match="3 against 4|4 against 3"):
        evaluate([y], {x: np.ones(3), n: 4})
    with pytest.raises(ShapeError, match=r"\(3,\) does not broadcast to \(4,\)"):
        T.broadcast_to(T.tensor("t", "float64", (3,)), 4)
    with pytest.raises(ShapeError, match="2 dimensions, only 1"):
        T.alloc(T.dmatrix(), 3)
    z = T.addbroadcast(x, 0)
    assert z.type.shape == (1,) and T.unbroadcast(z, 0).type.shape == (None,)
    assert T.patternbroadcast(T.dmatrix(), (True, False)).type.shape == (1, None)
    with pytest.raises(ShapeError, match="1 was promised"):
        evaluate([z], {x: np.ones(2)})


def test_specify_shape_promises_lengths():
    x, n = T.dmatrix("x"), T.lscalar("n")
    assert T.specify_shape(x, None, 3).type.shape == (None, 3)
    assert T.specify_shape(x, (2, 3)).type.shape == (2, 3)
    assert T.specify_shape(x, None, None) is x
    checked = T.specify_shape(x, (n, None))
    assert evaluate([checked], {x: np.ones((2, 2)), n: 2})[0].shape == (2, 2)
    with pytest.raises(ShapeError, match="dimension 0 has length 2, 5 was promised"):
        evaluate([checked], {x: np.ones((2, 2)), n: 5})
    with pytest.raises(ShapeError, match="dimension 1: 3 against 4"):
        T.specify_shape(T.specify_shape(x, None, 3), None, 4)
    with pytest.raises(ValueError, match="1 lengths for an array with 2 dimensions"):
        T.specify_shape(x, (3,))


# ---------------------------------------------------------------------- joining
@st.composite
def alike(draw, min_dims=0):
    first = draw(arrays(SOME, min_dims=min_dims))
    return first, draw(arrays(("float32", "int16"), shape=first.shape))


@given(alike(), st.data())
@quick(40)
def test_stacking(pair, data):
    x, y = pair
    axis = data.draw(axes(x.ndim + 1))
    check(lambda a, b: T.stack([a, b, a], axis), lambda a, b: np.stack([a, b, a], axis), x, y)
    for name in ("vstack", "hstack", "dstack"):
        check(lambda a, b, f=name: getattr(T, f)([a, b]), lambda a, b, f=name: getattr(np, f)([a, b]), x, y)
    if x.ndim < 3:
        check(lambda a, b: T.column_stack([a, b]), lambda a, b: np.column_stack([a, b]), x, y)
    check(lambda a, b: T.concatenate([a, b], None), lambda a, b: np.concatenate([a, b], None), x, y)


@given(alike(1), st.data())
@quick(40)
def test_concatenation(pair, data):
    x, y = pair
    axis = data.draw(axes(x.ndim))
    y = np.repeat(y, 2, axis)
    check(lambda a, b: T.concatenate([a, b], axis), lambda a, b: np.concatenate([a, b], axis), x, y)
    check(lambda a, b: T.join(axis, a, b, a), lambda a, b: np.concatenate([a, b, a], axis), x, y)


def test_joining_refuses_what_does_not_fit():
    a, b = T.tensor("a", "float64", (2, 3)), T.tensor("b", "float64", (2, 4))
    assert T.concatenate([a, b], 1).type.shape == (2, 7)
    with pytest.raises(ShapeError, match="operand 1 differs in dimension 1: 3 against 4"):
        T.concatenate([a, b], 0)
    with pytest.raises(TypeError, match="operand 1 has 1 dimensions, operand 0 has 2"):
        T.concatenate([a, T.dvector()])
    with pytest.raises(ValueError, match="at least one array"):
        T.stack([])
    with pytest.raises(ValueError, match="without dimensions"):
        T.concatenate([T.dscalar(), T.dscalar()])
    x, y = T.dmatrix("x"), T.dmatrix("y")
    with pytest.raises(ShapeError, match="differ in another dimension"):
        evaluate([T.join(0, x, y)], {x: np.ones((1, 2)), y: np.ones((1, 3))})
    assert T.as_tensor([T.dscalar(), 1.0, 2]).type.shape == (3,)


@given(arrays(SOME), st.lists(st.integers(0, 3), max_size=4))
@quick(40)
def test_tile(x, reps):
    check(lambda v: T.tile(v, reps), lambda a: np.tile(a, reps), x)


@given(arrays(SOME, min_dims=1), st.data())
@quick(40)
def test_repeat(x, data):
    axis = data.draw(st.one_of(st.none(), axes(x.ndim)))
    times = data.draw(st.integers(0, 3))
    check(lambda v: T.repeat(v, times, axis), lambda a: np.repeat(a, times, axis), x)
    check(lambda v, n: T.repeat(v, n, axis), lambda a, n: np.repeat(a, int(n), axis), x, np.array(times))
    each = np.arange(x.size if axis is None else x.shape[axis]) % 3
    if each.size != 1:  # NumPy stretches a single count
        check(lambda v, n: T.repeat(v, n, axis), lambda a, n: np.repeat(a, n, axis), x, each)


# ---------------------------------------------------------------------- splitting and reordering
@given(arrays(SOME, min_dims=1), st.data())
@quick(40)
def test_split(x, data):
    axis = data.draw(axes(x.ndim))
    n = x.shape[axis]
    cuts = sorted(data.draw(st.lists(st.integers(0, n + 1), max_size=3)))
    check(lambda v: T.split(v, cuts, axis=axis), lambda a: np.split(a, cuts, axis=axis), x)
    parts = data.draw(st.integers(1, 4))
    check(lambda v: T.array_split(v, parts, axis=axis), lambda a: np.array_split(a, parts, axis=axis), x)
    if n % parts == 0:
        check(lambda v: T.split(v, parts, axis=axis), lambda a: np.split(a, parts, axis=axis), x)


def test_split_as_in_theano():
    x, sizes = T.dvector("x"), T.lvector("sizes")
    parts = T.split(x, sizes, 3, 0)
    values = evaluate(parts, {x: np.arange(6.0), sizes: [1, 2, 3]})
    assert [v.tolist() for v in values] == [[0], [1, 2], [3, 4, 5]]
    assert [p.type.shape for p in T.split(T.tensor("t", "float64", (6,)), [1, 2, 3], 3)] == [(1,), (2,), (3,)]
    with pytest.raises(ValueError, match="add up to 5, axis 0 has 6"):
        T.split(T.tensor("t", "float64", (6,)), [2, 3], 2)
    with pytest.raises(ValueError, match="do not divide into 4 equal parts"):
        T.split(T.tensor("t", "float64", (6,)), 4)
    with pytest.raises(ShapeError, match="cannot reshape"):
        evaluate(T.split(x, 4), {x: np.arange(6.0)})
    assert [v.type.shape for v in T.unstack(T.tensor("t", "float64", (2, 3)))] == [(3,), (3,)]


@given(arrays(SOME), st.data())
@quick(40)
def test_flip_roll_and_turn(x, data):
    check(lambda v: T.flip(v), np.flip, x)
    shift = data.draw(st.integers(-9, 9))
    check(lambda v: T.roll(v, shift), lambda a: np.roll(a, shift), x)
    if x.ndim:
        axis = data.draw(axes(x.ndim))
        check(lambda v: T.flip(v, axis), lambda a: np.flip(a, axis), x)
        check(lambda v: T.roll(v, shift, axis), lambda a: np.roll(a, shift, axis), x)
        check(lambda v, s: T.roll(v, s, axis), lambda a, s: np.roll(a, int(s), axis), x, np.array(shift))
        check(lambda v: T.flipud(v), np.flipud, x)
    if x.ndim > 1:
        check(T.fliplr, np.fliplr, x)
        check(lambda v: T.roll(v, (shift, 1), (0, 1)), lambda a: np.roll(a, (shift, 1), (0, 1)), x)
        k = data.draw(st.integers(-3, 5))
        check(lambda v: T.rot90(v, k, (1, 0)), lambda a: np.rot90(a, k, (1, 0)), x)


def test_roll_by_a_fraction_is_refused():
    for shift in (1.5, T.dscalar("s")):
        with pytest.raises(TypeError, match="roll: shift must be an integer"):
            T.roll(T.dvector(), shift)


# ---------------------------------------------------------------------- padding
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp"])
@given(x=arrays(("float64", "int16"), min_dims=1, max_dims=2, min_side=1, finite=True), data=st.data())
@quick(20)
def test_pad(mode, x, data):
    widths = [tuple(data.draw(st.lists(st.integers(0, 6), min_size=2, max_size=2))) for _ in range(x.ndim)]
    for width in (widths, widths[0], widths[0][0], [widths[0]]):
        if mode == "linear_ramp" and x.dtype.kind == "i":
            break  # where a ramp meets a whole number is up to rounding
        check(lambda v, w=width: T.pad(v, w, mode), lambda a, w=width: np.pad(a, w, mode), x)
    if mode == "constant":
        check(lambda v: T.pad(v, 2, constant_values=(1, 2)), lambda a: np.pad(a, 2, constant_values=(1, 2)), x)
    if mode == "linear_ramp" and x.dtype.kind == "f":
        check(lambda v: T.pad(v, 2, mode, end_values=(1, 2)), lambda a: np.pad(a, 2, mode, end_values=(1, 2)), x)


@pytest.mark.parametrize("mode", ["maximum", "mean", "median", "minimum"])
@given(x=arrays(("float64", "int16", "bool"), min_dims=1, max_dims=2, min_side=1, finite=True), data=st.data())
@quick(20)
def test_pad_by_statistics_of_the_ends(mode, x, data):
    if mode == "median" and x.dtype == bool:
        x = x.astype("int8")
    widths = [tuple(data.draw(st.lists(st.integers(0, 3), min_size=2, max_size=2))) for _ in range(x.ndim)]
    for n in (None, 1, 2, (2, 9), ((3, 1),)):
        how = {"mode": mode, "stat_length": n}
        check(lambda v: T.pad(v, widths, **how), lambda a: np.pad(a, widths, **how), x)  # noqa: B023


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
@given(x=arrays(("float64", "int16", "uint8"), min_dims=1, max_dims=2, min_side=1, finite=True), data=st.data())
@quick(20)
def test_pad_by_odd_reflections(mode, x, data):
    widths = [tuple(data.draw(st.lists(st.integers(0, 9), min_size=2, max_size=2))) for _ in range(x.ndim)]
    how = {"mode": mode, "reflect_type": "odd"}
    check(lambda v: T.pad(v, widths, **how), lambda a: np.pad(a, widths, **how), x)


def test_pad_by_axis():
    a = np.arange(6.0).reshape(2, 3)
    for by_axis, widths in (({0: 2, -1: (1, 3)}, [(2, 2), (1, 3)]), ({1: 1}, [(0, 0), (1, 1)]), ({}, 0)):
        check(lambda v, w=by_axis: T.pad(v, w, "edge"), lambda x, w=widths: np.pad(x, w, "edge"), a)
    check(lambda v: T.pad(v, 1, "empty")[1:-1, 1:-1], lambda x: x, a)
    with pytest.raises(ValueError, match="pad: axis 2 is out of range"):
        T.pad(a, {2: 1})
    with pytest.raises(ValueError, match="of a stat_length of 0 elements there is no maximum"):
        T.pad(a, 1, "maximum", stat_length=0)
    with pytest.raises(ValueError, match="reflect_type must be 'even' or 'odd'"):
        T.pad(a, 1, "reflect", reflect_type="both")
    with pytest.raises(TypeError, match="reflect_type='odd' takes numbers"):
        T.pad(a > 0, 1, "reflect", reflect_type="odd")


def test_pad_by_symbolic_widths():
    for mode in ("constant", "edge", "wrap"):
        check(lambda v, n, m=mode: T.pad(v, ((n, 1), (0, n)), m), lambda a, n, m=mode: np.pad(a, ((n, 1), (0, n)), m),
              np.arange(6.0).reshape(2, 3), np.array(2))  # fmt: skip
    with pytest.raises(ValueError, match="unknown mode 'mode'"):
        T.pad(T.dvector(), 1, "mode")
    with pytest.raises(ValueError, match="must not be negative"):
        T.pad(T.dvector(), -1)
    with pytest.raises(ValueError, match="is empty"):
        T.pad(T.tensor("t", "float64", (0,)), 1, "edge")


# ---------------------------------------------------------------------- terms
def test_terms_in_terms_out():
    t = Input("t", TensorType("float64", (2, 3)))
    assert T.reshape(t, (3, 2)).type.shape == (3, 2)
    assert T.transpose(t) is T.swapaxes(t, 0, 1)
    assert T.concatenate([t, t], 1).type.shape == (2, 6)
    assert T.shape(t).value.tolist() == [2, 3]
    assert T.expand_dims(t, 0) is T.dimshuffle(t, "x", 0, 1)
    assert T.zeros_like(t) is T.zeros_like(t)


def test_repeats_are_one_number_for_each_element():
    x, n = T.dvector("x"), T.lvector("n")
    f = tg.function([x, n], T.repeat(x, n))
    for wrong in ([1, 2], [], [1, 1, 1, 1]):
        with pytest.raises(ShapeError):
            f([1.0, 2.0, 3.0], np.array(wrong, "int64"))
    assert f([1.0, 2.0, 3.0], [2, 0, 1]).tolist() == [1.0, 1.0, 3.0]
    assert tg.function([x], T.repeat(x, [2]))([1.0, 2.0]).tolist() == [1.0, 1.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="must not be negative"):
        T.repeat(x, [1, -1, 2])


@pytest.mark.parametrize("mode", ["auto", "py"])
def test_repeats_that_no_call_may_have_are_refused(mode):
    x, n, m = T.dvector("x"), T.lvector("n"), T.dmatrix("m")
    computed = tg.function([m, n], T.repeat(m, n * 2 - 1, axis=1), mode=tg.Mode(linker=mode))
    f = tg.function([x, n], T.repeat(x, n), mode=tg.Mode(linker=mode))
    for wrong in ([-1, 2], [-1, 1], [1, -3], [2**63 - 1, 1], [2**62 + 1, 2**62], [-(2**63), 0]):
        with pytest.raises(ValueError, match="negative"):
            f([1.0, 2.0], np.array(wrong))
    with pytest.raises(ValueError, match="repeats must not be negative"):
        computed([[1.0, 2.0]], [0, 1])
    assert computed([[1.0, 2.0]], [1, 2]).tolist() == [[1.0, 2.0, 2.0, 2.0]]
    assert f([1.0, 2.0], [2, 0]).tolist() == [1.0, 1.0]
    narrow = T.vector("narrow", dtype="int8")
    f = tg.function([x, narrow], T.repeat(x, narrow), mode=tg.Mode(linker=mode))
    assert len(f([1.0, 2.0], np.array([127, 127], "int8"))) == 254
    with pytest.raises(ValueError, match="negative"):
        f([1.0, 2.0], np.array([127, -127], "int8"))
