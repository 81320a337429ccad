"""One function of what is chosen, and masks that exclude each other: which functions are left, and the values."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

V = np.array([-800.0, -3.0, -0.0, 0.0, 2.0, 800.0])
C = np.array([True, False, True, False, True, True])


def built(inputs, outputs, mode=None):
    return tg.function(inputs, outputs, mode=mode or tg.Mode(linker="py"))


def calls(f, name):
    return f.source("py").count(f" {name}(")


def condition():
    return T.vector("c", dtype="bool")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_logistic_loss_and_its_gradient_compute_one_function_each(dtype):
    c, v = condition(), T.vector("v", dtype=dtype)
    loss = T.switch(c, -T.softplus(-v), -T.softplus(v)).sum()
    f = built([c, v], [loss, tg.grad(loss, v)])
    assert calls(f, "softplus") == calls(f, "sigmoid") == 1, f.source("py")
    x = V.astype(dtype)
    value, slope = f(C, x)
    w = np.where(C, x, -x)
    np.testing.assert_allclose(value, -np.logaddexp(0, -w).sum(), rtol=1e-6)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(slope, np.where(C, 1, -1) / (1 + np.exp(w)), rtol=1e-5, atol=1e-300)


@pytest.mark.parametrize("sign", [(1, 1), (-1, -1), (1, -1), (-1, 1)])
@pytest.mark.parametrize("name", ["exp", "log1p", "tanh", "gammaln"])
def test_signs_of_the_arms(name, sign):
    c, u, v = condition(), T.vector("u"), T.vector("v")
    function = getattr(T, name)
    f = built([c, u, v], T.switch(c, sign[0] * function(u), sign[1] * function(v)))
    assert calls(f, name) == 1, f.source("py")
    plain = tg.function([c, u, v], T.switch(c, sign[0] * function(u), sign[1] * function(v)), mode="FAST_COMPILE")
    a, b = np.abs(V[::-1]) / 100, np.abs(V) / 100
    np.testing.assert_array_equal(f(C, a, b), plain(C, a, b))


def test_a_function_that_others_need_stays():
    c, u, v = condition(), T.vector("u"), T.vector("v")
    f = built([c, u, v], [T.switch(c, T.exp(u), T.exp(v)), T.exp(v) + 1])
    assert calls(f, "exp") == 2, f.source("py")


def test_functions_of_smaller_arms_stay():
    """Ten exponentials and ten are fewer than a hundred."""
    c, u, v = T.matrix("c", dtype="bool"), T.row("u"), T.col("v")
    f = built([c, u, v], T.switch(c, T.exp(u), T.exp(v)))
    assert calls(f, "exp") == 2, f.source("py")
    a, b = np.arange(3.0)[None], np.arange(2.0)[:, None]
    m = np.array([[True, False, True], [False, True, False]])
    np.testing.assert_array_equal(f(m, a, b), np.where(m, np.exp(a), np.exp(b)))


def test_arms_of_different_dtypes_keep_their_precision():
    c, u, v = condition(), T.vector("u", dtype="float32"), T.vector("v")
    f = built([c, u, v], T.switch(c, T.exp(u), T.exp(v)))
    a = np.full(6, 1.1, "float32")
    np.testing.assert_array_equal(f(C, a, a.astype(float)), np.where(C, np.exp(a), np.exp(a.astype(float))))


@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_negated_whole_numbers_wrap_around_as_before(dtype):
    c, u, v = condition(), T.vector("u", dtype=dtype), T.vector("v", dtype="int64")
    f = built([c, u, v], T.switch(c, -u, -v))
    a, b = np.array([1, 3, 6, 0, 6, 3], dtype), np.arange(6)
    np.testing.assert_array_equal(f(C, a, b), np.where(C, -a, -b))


def test_what_a_mask_hides_may_be_infinite():
    """Masks are products in gradients: 0 * inf would be NaN, a choice is not."""
    c, u, v = condition(), T.vector("u"), T.vector("v")
    f = built([c, u, v], T.switch(c, u, 0.0) * 2 - 3 * T.switch(c, 0.0, v))
    np.testing.assert_array_equal(f(C, np.where(C, V, np.inf), np.where(C, np.nan, V)), np.where(C, 2 * V, -3 * V))


def test_strictly_only_what_is_exact():
    c, u, v = condition(), T.vector("u"), T.vector("v")
    f = tg.function(
        [c, u, v], [T.switch(c, u, 0.0) + T.switch(c, 0.0, v), T.switch(c, T.exp(u), T.exp(v))], mode="STRICT"
    )
    assert "choices.masks" not in {r.rule for r in f.trace}
    assert "choices.function" in {r.rule for r in f.trace}
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(f(C, V, V)[1], np.exp(V))


def test_a_factor_is_not_bounded_where_the_condition_says_so():
    x, w = T.matrix("x"), T.vector("w")
    f = tg.function([x, w], [T.nnet.prelu(x, w), T.switch(x >= 0, T.exp(x), w * T.minimum(x, 0))])
    assert "choices.bounded_factor" in {r.rule for r in f.trace} and "minimum" not in f.source("py")
    a, b = np.array([[1.0, -1.0, 0.0], [-np.inf, np.inf, np.nan], [-3.0, 5e-324, -5e-324]]), np.array([2.0, -0.5, 3.0])
    with np.errstate(all="ignore"):
        for got, want in zip(f(a, b), (np.where(a > 0, a, b * a), np.where(a >= 0, np.exp(a), b * a)), strict=True):
            np.testing.assert_array_equal(got, want)
    g = tg.function([x, w], T.switch(x > 1, x, w * T.minimum(x, 0)))  # a bound of its own
    np.testing.assert_array_equal(g(a[:1] + 0.5, b), np.where(a[:1] > 0.5, a[:1] + 0.5, b * np.minimum(a[:1] + 0.5, 0)))
