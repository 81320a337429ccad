"""Folds over a few elements are written out: right for every dtype and NaN, and no loop is left."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.lower.loops.tree import show
from termgraph.lower.lowering import lower
from termgraph.lower.push.small_folds import FEW_ROWS, MANY_PLACES, MOST
from termgraph.terms.ops.elementwise import sqr
from termgraph.terms.ops.reduce import max_, sum_
from termgraph.terms.term import Arg, mk
from termgraph.terms.types import TensorType

KINDS = ("sum", "prod", "max", "min", "any", "all")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint64", "bool"])
def test_small_folds_are_what_numpy_says(rng, dtype):
    inputs, outputs, values, expected = [], [], [], []
    for n in (1, 2, 3, 7, MOST, MOST + 1):
        value = rng.normal(size=(2, 4, n, 5)) * 3
        if dtype[0] == "f":
            value[rng.random(value.shape) < 0.05] = np.nan
            value[rng.random(value.shape) < 0.05] = -np.inf
        value = value.astype(dtype)
        x = T.tensor(f"x{n}", dtype=dtype, shape=value.shape)
        inputs.append(x)
        values.append(value)
        for kind in KINDS:
            outputs.append(getattr(T, kind)(x, axis=2))
            wide = value.astype("float32") if dtype == "float16" else value
            expected.append(getattr(np, kind)(wide, axis=2))
    with np.errstate(all="ignore"):
        found = tg.function(inputs, outputs, mode=tg.Mode(linker="c"))(*values)
        expected = [b.astype(a.dtype) for a, b in zip(found, expected)]
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=2e-3 if dtype == "float16" else 1e-5, atol=1e-5)


def test_windows_of_maxima_leave_one_vector_loop():
    x = Arg(0, TensorType("float32", (3, 5, 4)))
    assert "reduce" not in show(lower([max_.bind(axis=(2,))(x)]).nodes)
    y = Arg(0, TensorType("float32", (3, 5, MOST + 1)))
    assert "reduce" in show(lower([max_.bind(axis=(2,))(y)]).nodes)


def sums_of_rows(places, rows, columns):
    """A program that adds up rows at so many places."""
    x = T.tensor("x", dtype="float32", shape=(rows, columns))
    return x, [T.maximum(x, 0.1 * k).sum(axis=0) for k in range(places)]


@pytest.mark.parametrize(
    "places, rows, columns, loops",
    [
        (MANY_PLACES, MOST, 32, True),
        (MANY_PLACES, FEW_ROWS + 1, 32, True),
        (MANY_PLACES - 1, MOST, 32, False),  # so few are compiled soon, and faster written out
        (MANY_PLACES, FEW_ROWS, 32, False),
        (MANY_PLACES, MOST, 33, False),  # no whole vectors
    ],
)
def test_rows_are_added_up_in_loops_where_that_is_done_in_many_places(places, rows, columns, loops, rng):
    x, outputs = sums_of_rows(places, rows, columns)
    f = tg.function([x], outputs, mode=tg.Mode(linker="c"))
    assert ("reduce" in str(f.stage("loop tree")) or "columns" in str(f.stage("loop tree"))) == loops
    value = rng.normal(size=(rows, columns)).astype("float32")
    for k, found in enumerate(f(value)):
        np.testing.assert_allclose(found, np.maximum(value, 0.1 * k).sum(axis=0), rtol=1e-5)


def test_the_work_of_many_batch_norms_is_that_of_their_loops():
    """Rules that ran, by layer: 16 rows of which each had its own elements took four times as many."""

    def pushes(layers, rows):
        x = h = T.tensor("x", dtype="float32", shape=(rows, 32))
        for _ in range(layers):
            away = h - h.mean(axis=0)
            h = T.tanh(away / T.sqrt((away * away).mean(axis=0) + 1e-5))
        f = tg.function([x], [h, tg.grad((h * h).mean(), x)], mode=tg.Mode(linker="c"))
        return f.stage("storage").statements.pushes

    assert pushes(8, MOST) < 1.05 * pushes(8, MOST + 1)


def test_what_has_loops_of_its_own_stays_a_loop():
    x = Arg(0, TensorType("float64", (6, 4, 100)))
    text = show(lower([max_.bind(axis=(1,))(sum_.bind(axis=(2,), dtype="float64")(x))]).nodes)
    assert text.count("reduce") == 2


def test_extremes_of_more_than_two_arrays(rng):
    xs = [T.tensor(f"x{k}", dtype="float64", shape=(50,)) for k in range(5)]
    values = [rng.normal(size=50) for _ in xs]
    values[3][::7] = np.nan
    outputs = [op(op(op(op(*xs[:2]), xs[2]), xs[3]), xs[4]) for op in (T.maximum, T.minimum)]
    found = tg.function(xs, outputs, mode=tg.Mode(linker="c"))(*values)
    for a, b in zip(found, (np.max(values, 0), np.min(values, 0))):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (5, 2, 7, 9), (2, 1, 33, 1), (3, 4, 1, 40)])
@pytest.mark.parametrize("axes", [(0, 2, 3), (0, 1, 3), (1, 2, 3), (0, 3)])
def test_axes_side_by_side_are_one_loop_where_they_lie_so(rng, shape, axes):
    value = rng.normal(size=shape)
    x = T.tensor("x", dtype="float64", shape=shape)
    terms = [x, T.sqr(x), T.exp(x).dimshuffle(0, 1, 3, 2).dimshuffle(0, 1, 3, 2), x[..., ::2], x[:, ::-1]]
    f = tg.function([x], [t.sum(axis=axes) for t in terms])
    wanted = [value, value**2, np.exp(value), value[..., ::2], value[:, ::-1]]
    for found, right in zip(f(value), wanted):
        np.testing.assert_allclose(found, right.sum(axes), rtol=1e-12, atol=1e-12)


def test_a_plane_is_one_loop():
    def loops(x):
        return show(lower([mk(sum_.bind(axis=(0, 2, 3), dtype="float64"), (sqr(x),))]).nodes).count("reduce i")

    assert loops(Arg(0, TensorType("float64", (None, 4, None, None)))) == 2
    assert loops(Arg(0, TensorType("float64", (None, None, 7, 9)))) == 2


def stacked(count, x, width):
    """So many windows of an image, as a filter reads them."""
    return [x[i : i + width, j : j + width] for i, j in (divmod(k, 8) for k in range(count))]


@pytest.mark.parametrize("count", [2, 25, 65])
@pytest.mark.parametrize("axis", [0, 1])
def test_what_is_folded_along_stacked_arrays_chooses_none_of_them(count, axis, rng):
    """Each element would be a choice between the arrays, in a loop that is no vector loop: 15 to 35 times as slow."""
    image = T.fmatrix("image")
    value = rng.normal(size=(26, 26)).astype("float32")
    windows, found = T.stack(stacked(count, image, 16), axis=axis), np.stack(stacked(count, value, 16), axis=axis)
    centre = T.expand_dims(image[4:20, 4:20], axis)
    near, far = T.exp(-((windows - centre) ** 2)), np.exp(-((found - np.expand_dims(value[4:20, 4:20], axis)) ** 2))
    f = tg.function(
        [image],
        [(near * windows).sum(axis=axis) / near.sum(axis=axis), T.abs(windows - centre).max(axis=axis)],
        mode=tg.Mode(linker="c"),
    )
    assert ("pick" in str(f.stage("schedule"))) == (count > 64)
    blurred, most = f(value)
    np.testing.assert_allclose(blurred, (far * found).sum(axis=axis) / far.sum(axis=axis), rtol=2e-5, atol=1e-5)
    np.testing.assert_allclose(most, abs(found - np.expand_dims(value[4:20, 4:20], axis)).max(axis=axis), rtol=1e-6)


def test_stacks_of_long_parts_and_of_unknown_length(rng):
    x, y, z = T.dmatrix("x"), T.tensor("y", dtype="float64", shape=(5, None)), rng.normal(size=(6, 7))
    known, unknown = T.concatenate([x[:3], y, x[-1:]]), T.concatenate([x, y])
    known = T.specify_shape(known, (9, None))
    f = tg.function(
        [x, y], [T.exp(known).sum(axis=0), (known**2).min(axis=0), T.exp(unknown).sum(axis=0)], mode=tg.Mode(linker="c")
    )
    k, u = np.concatenate([z[:3], z[1:], z[-1:]]), np.concatenate([z, z[1:]])
    for got, want in zip(f(z, z[1:]), [np.exp(k).sum(0), (k**2).min(0), np.exp(u).sum(0)]):
        np.testing.assert_allclose(got, want, rtol=1e-12)
