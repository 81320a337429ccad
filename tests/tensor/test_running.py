"""Running values that are no sums or products, beside NumPy; their derivatives beside differences."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

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


def test_logcumsumexp_of_other_numbers():
    assert T.logcumsumexp(T.fvector()).dtype == "float32"
    np.testing.assert_allclose(T.logcumsumexp([0, 0, 0]).eval(), np.log([1, 2, 3]))
    with pytest.raises(TypeError, match="real numbers"):
        T.logcumsumexp(T.zvector())
