"""Activations and losses agree with their formulas in double precision, and do not overflow."""

import numpy as np
import pytest
import scipy.special
from helpers import FLOATS, arrays, check, quick, run
from hypothesis import given
from hypothesis import strategies as st

import termgraph.tensor as T
from termgraph.terms.errors import ShapeError

N = T.nnet


def wide(function):
    """The formula in double precision, its result in the dtype of the argument."""
    return lambda x, *rest: np.asarray(function(x.astype("float64"), *rest)).astype(x.dtype)


FORMULAS = {
    N.relu: lambda x: np.maximum(x, 0),
    N.leaky_relu: lambda x: np.where(x > 0, x, 0.01 * x),
    N.relu6: lambda x: np.minimum(np.maximum(x, 0), 6),
    N.elu: lambda x: np.where(x > 0, x, np.expm1(x)),
    N.selu: lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    N.silu: lambda x: x * scipy.special.expit(x),
    N.softsign: lambda x: x / (1 + np.abs(x)),
    N.sigmoid: scipy.special.expit,
    N.softplus: lambda x: np.logaddexp(0, x),
    N.log_sigmoid: scipy.special.log_expit,
    N.hard_sigmoid: lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    N.gelu: lambda x: x * scipy.special.ndtr(x),
    N.softmax: lambda x: scipy.special.softmax(x, -1),
    N.log_softmax: lambda x: scipy.special.log_softmax(x, -1),
}


@pytest.mark.parametrize("function", FORMULAS, ids=lambda f: getattr(f, "__name__", str(f)))
@given(x=arrays(FLOATS, min_dims=1, min_side=1, finite=True))
@quick(25)
def test_activations(function, x):
    check(function, wide(FORMULAS[function]), x, rtol=2e-2 if x.dtype == np.float16 else 2e-6)


def test_activations_with_parameters():
    x = np.linspace(-4, 4, 9)
    check(lambda v: N.relu(v, 0.3), lambda v: np.where(v > 0, v, 0.3 * v), x)
    slopes = np.linspace(0, 1, 9)
    check(N.relu, lambda v, a: np.where(v > 0, v, a * v), x, slopes)
    check(lambda v: N.elu(v, 2), lambda v: np.where(v > 0, v, 2 * np.expm1(v)), x)
    check(lambda v: N.swish(v, 1.7), lambda v: v * scipy.special.expit(1.7 * v), x)
    check(lambda v: N.gelu(v, approximate=True), lambda v: v * scipy.special.ndtr(v), x, rtol=1e-3)
    assert np.abs(run(N.ultra_fast_sigmoid, x) - scipy.special.expit(x)).max() < 0.07
    assert run(N.elu, np.array([1000.0])) == 1000
    check(N.relu, lambda v: np.maximum(v, 0), np.arange(-3, 3))


def test_float32_stays_float32():
    x = T.fmatrix("x")
    assert {f(x).type.dtype for f in FORMULAS} == {"float32"}
    assert N.binary_crossentropy(x, T.fmatrix()).type.dtype == "float32"
    assert N.sigmoid_binary_crossentropy(x, 1).type.dtype == "float32"


def test_binary_crossentropy():
    scores, target = np.array([-800.0, -3, 0, 2, 40, 800]), np.array([0.0, 1, 0.5, 0, 1, 0])
    exact = -(target * scipy.special.log_expit(scores) + (1 - target) * scipy.special.log_expit(-scores))
    np.testing.assert_allclose(run(N.sigmoid_binary_crossentropy, scores, target), exact)
    middle = slice(1, 4)
    probabilities = scipy.special.expit(scores)
    got = run(N.binary_crossentropy, probabilities[middle], target[middle])
    np.testing.assert_allclose(got, exact[middle])


@given(data=st.data(), shape=st.sampled_from([(3,), (2, 3), (2, 2, 4), (0, 3)]))
@quick(25)
def test_categorical_crossentropy(data, shape):
    scores = data.draw(arrays(["float32", "float64"], shape=shape, finite=True)).astype("float64")
    labels = np.random.default_rng(0).integers(0, shape[-1], shape[:-1])
    logs = scipy.special.log_softmax(scores, -1)
    losses = -np.take_along_axis(logs, labels[..., None], -1)[..., 0]
    one_hot = np.eye(shape[-1])[labels]
    check(N.categorical_crossentropy, lambda p, y: losses, np.exp(logs), labels, rtol=1e-9)
    check(N.categorical_crossentropy, lambda p, y: losses, np.exp(logs), one_hot, rtol=1e-9)
    check(N.crossentropy_softmax_1hot, lambda x, y: (losses, np.exp(logs)), scores, labels, rtol=1e-9)


def test_the_bias_forms():
    rng = np.random.default_rng(0)
    x, b, y = rng.normal(size=(4, 3)), rng.normal(size=3), np.array([0, 2, 1, 1])
    logs = scipy.special.log_softmax(x + b, 1)
    expected = (-logs[np.arange(4), y], np.exp(logs), (x + b).argmax(1))
    check(N.crossentropy_softmax_argmax_1hot_with_bias, lambda *_: expected, x, b, y)
    check(N.crossentropy_softmax_1hot_with_bias, lambda *_: expected[:2], x, b, y)
    check(N.softmax_with_bias, lambda *_: expected[1], x, b)
    best = (*expected[:2], np.exp(logs).max(1), expected[2])
    check(lambda x, b, y: N.crossentropy_softmax_max_and_argmax_1hot(x + b, y), lambda *_: best, x, b, y)


def test_labels_are_checked():
    with pytest.raises(TypeError, match="integer labels of 1"):
        N.categorical_crossentropy(T.dmatrix(), T.dvector())
    with pytest.raises(ShapeError, match="one label for each row"):
        N.categorical_crossentropy(T.tensor(dtype="float64", shape=(4, 3)), T.tensor(dtype="int64", shape=(5,)))
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
        run(N.crossentropy_softmax_1hot, np.ones((2, 3)), np.array([0, 3]))
