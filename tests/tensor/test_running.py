"""Running values that are no sums or products, beside NumPy; their derivatives beside differences."""

import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.dtypes import numpy_dtype
from termgraph.terms.errors import ShapeError

X = np.array([[1000.0, 1.0, 1000.0], [-1000.0, -np.inf, 2.0], [-np.inf, -np.inf, 3.0]])


def wanted(x, axis, reverse):
    x, axis = (x.ravel(), 0) if axis is None else (x, axis)
    found = np.logaddexp.accumulate(np.flip(x, axis) if reverse else x, axis)
    return np.flip(found, axis) if reverse else found


@pytest.mark.parametrize("mode", ["auto", "py"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_logcumsumexp(axis, reverse, mode):
    x = T.dmatrix("x")
    y = T.logcumsumexp(x, axis, reverse)
    f = tg.function([x], [y, tg.grad(T.exp(y - 1000).sum(), x)], mode=tg.Mode(linker=mode))
    for values in (X, X[:1], X[:, :0], X[:0], X.T[::-1]):
        got, slope = f(values)
        np.testing.assert_allclose(got, wanted(values, axis, reverse), rtol=1e-14)
        assert np.isfinite(slope).all() and slope.shape == values.shape


@pytest.mark.parametrize("mode", ["auto", "py"])
def test_derivatives_of_logcumsumexp(mode, rng):
    x, y = rng.normal(size=(2, 3, 4)) * 3
    tg.verify_grad(lambda v: T.logcumsumexp(v, 1, reverse=True), [x], rng=rng, mode=tg.Mode(linker=mode))
    v = T.dvector("v")
    cost = (T.logcumsumexp(v) ** 2).sum()
    second = tg.function([v], tg.hessian(cost, v))(x[0])
    first = tg.function([v], tg.grad(cost, v))
    steps = 1e-6 * np.eye(4)
    np.testing.assert_allclose(
        second, [(first(x[0] + d) - first(x[0] - d)) / 2e-6 for d in steps], rtol=1e-5, atol=1e-6
    )
    mapped = tg.function([w := T.dmatrix("w")], tg.vmap(T.logcumsumexp)(w))
    np.testing.assert_allclose(mapped(y), np.logaddexp.accumulate(y, 1), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "uint8", "bool"])
def test_running_extremes(dtype, rng):
    x = T.tensor("x", dtype=dtype, shape=(None, None))
    values = (rng.normal(size=(7, 5)) * 9).astype(numpy_dtype(dtype))
    if x.type.kind == "f":
        values[2, 3] = np.nan
    cases = [(name, axis, reverse) for name in ("max", "min") for axis in (None, 0, 1) for reverse in (False, True)]
    f = tg.function([x], [getattr(T, f"cum{name}")(x, axis, reverse) for name, axis, reverse in cases])
    for (name, axis, reverse), got in zip(cases, f(values)):
        wide, along = (values.ravel(), 0) if axis is None else (values, axis)
        ufunc = {"max": np.maximum, "min": np.minimum}[name]
        want = ufunc.accumulate(np.flip(wide, along) if reverse else wide, along)
        assert got.dtype == values.dtype
        np.testing.assert_array_equal(got.astype(float), (np.flip(want, along) if reverse else want).astype(float))
    assert [got.shape for got in f(values[:0])[::2][:3]] == [(0,), (0, 5), (0, 5)]


def test_slopes_of_running_extremes(rng):
    v = T.dvector("v")
    f = tg.function([v], [tg.grad(y.sum(), v) for y in (T.cummax(v), T.cummin(v), T.cummax(v, reverse=True))])
    np.testing.assert_array_equal(
        f([1.0, 1, 0, 2, 2, np.nan, 3]), [[3, 0, 0, 2, 0, 2, 0], [2, 0, 3, 0, 0, 2, 0], [0, 0, 0, 0, 0, 6, 1]]
    )
    tg.verify_grad(lambda x: T.cummax(x, 0) * T.cummin(x, 1, reverse=True), [rng.normal(size=(4, 5))], rng=rng)
    with pytest.raises(TypeError, match="cummax is defined for real numbers only"):
        T.cummax(T.zvector())


@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(reverse, rng):
    stack, pair = T.tensor3("stack"), {"gain": T.dmatrix("gain"), "offset": T.dmatrix("offset")}

    def follow(a, b):
        return {"gain": a["gain"] * b["gain"], "offset": a["offset"] * b["gain"] + b["offset"]}

    products = T.associative_scan(T.matmul, stack, reverse=reverse)
    lines = T.associative_scan(follow, pair, reverse=reverse, axis=1)
    f = tg.function([stack, *pair.values()], [products, lines["offset"]])
    m, a, b = rng.normal(size=(4, 3, 3)), *rng.normal(size=(2, 2, 5))
    got, offsets = f(m, a, b)
    order = slice(None, None, -1 if reverse else 1)
    want = list(itertools.accumulate(m[order], np.matmul))
    np.testing.assert_allclose(got, want[order], rtol=1e-12)
    state, steps = 0.0, []
    for gain, offset in zip(a.T[order], b.T[order]):
        steps.append(state := state * gain + offset)
    np.testing.assert_allclose(offsets, np.transpose(steps[order]), rtol=1e-12)
    tg.verify_grad(lambda x: T.associative_scan(T.matmul, x, reverse=reverse), [m], rng=rng)


def test_what_associative_scan_refuses():
    x, y = T.dmatrix("x"), T.tensor("y", dtype="float64", shape=(3,))
    with pytest.raises(TypeError, match="fn must give what it takes.*cast its results"):
        T.associative_scan(lambda a, b: T.cast(a + b, "float32"), x)
    with pytest.raises(ShapeError, match="one length along axis 0, got \\[2, 3\\]"):
        T.associative_scan(lambda a, b: a, [y, T.tensor("z", dtype="float64", shape=(2,))])
    with pytest.raises(ValueError, match="holds no array"):
        T.associative_scan(T.maximum, [])


def test_logcumsumexp_of_other_numbers():
    assert T.logcumsumexp(T.fvector()).dtype == "float32"
    np.testing.assert_allclose(T.logcumsumexp([0, 0, 0]).eval(), np.log([1, 2, 3]))
    with pytest.raises(TypeError, match="real numbers"):
        T.logcumsumexp(T.zvector())
