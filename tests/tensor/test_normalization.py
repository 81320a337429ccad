"""Normalization by the batch and by neighbouring channels, against NumPy; gradients, running averages, errors."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

C = tg.Mode(linker="c")


def by_hand(x, gamma, beta, axes, epsilon=1e-4):
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    shape = [1 if d in axes else n for d, n in enumerate(x.shape)]
    return (x - mean) / np.sqrt(var + epsilon) * gamma.reshape(shape) + beta.reshape(shape), mean, var


@pytest.mark.parametrize("mode", [C, tg.Mode(linker="py")])
@pytest.mark.parametrize(
    "axes, shape, which",
    [
        ("spatial", (4, 3, 5, 6), (0, 2, 3)),
        ("per-activation", (4, 3, 5), (0,)),
        ((0, -1), (4, 3, 5), (0, 2)),
        ("spatial", (1, 2, 1, 3), (0, 2, 3)),
    ],
)
def test_training_takes_the_statistics_of_the_batch(rng, mode, axes, shape, which):
    rest = [n for d, n in enumerate(shape) if d not in which]
    value, gamma, beta = rng.normal(size=shape), rng.normal(size=rest), rng.normal(size=rest)
    old_mean, old_var = rng.normal(size=rest), rng.uniform(1, 2, size=rest)
    x = T.TensorType("float64", (None,) * len(shape))("x")
    names = [T.TensorType("float64", (None,) * len(rest))(n) for n in ("g", "b", "m", "v")]
    g, b, m, v = names
    outputs = T.nnet.batch_normalization_train(x, g, b, axes, running_average_factor=0.3, running_mean=m, running_var=v)
    got = tg.function([x, *names], list(outputs), mode=mode)(value, gamma, beta, old_mean, old_var)
    y, mean, var = by_hand(value, gamma, beta, which)
    n = value.size / mean.size
    for a, wanted in zip(
        got,
        (
            y,
            mean,
            1 / np.sqrt(var + 1e-4),
            0.7 * old_mean + 0.3 * mean.squeeze(which),
            0.7 * old_var + 0.3 * var.squeeze(which) * n / (n - 1),
        ),
    ):
        np.testing.assert_allclose(a, wanted, atol=1e-12)
    used = T.nnet.batch_normalization_test(x, g, b, m, v, axes)
    got = tg.function([x, *names], used, mode=mode)(value, gamma, beta, old_mean, old_var)
    wide = [a.reshape(mean.shape) for a in (gamma, beta, old_mean, old_var)]
    np.testing.assert_allclose(got, (value - wide[2]) / np.sqrt(wide[3] + 1e-4) * wide[0] + wide[1], atol=1e-12)


def test_parameters_may_have_all_dimensions_and_large_means_lose_no_digits(rng):
    x, g = T.tensor("x", dtype="float32", shape=(64, 3)), T.tensor("g", dtype="float32", shape=(1, 3))
    value = (rng.normal(size=(64, 3)) + 1e4).astype("f")
    y = T.nnet.batch_normalization_train(x, g, np.zeros((1, 3), "f"))[0]
    exact = by_hand(value.astype("d"), np.ones(3), np.zeros(3), (0,))[0]
    assert (
        np.abs(tg.function([x, g], y, mode=C)(value, np.ones((1, 3), "f")) - exact).max() < 3e-3
    )  # a last place of the mean is 1e-3
    assert y.dtype == "float32"


def test_gradients_of_batch_normalization(rng):
    value, gamma, beta = rng.normal(size=(3, 2, 2, 2)), rng.normal(size=2), rng.normal(size=2)

    def train(x, g, b):
        return T.nnet.batch_normalization_train(x, g, b, "spatial")[0]

    def use(x, g, b):
        return T.nnet.batch_normalization_test(x, g, b, [0.1, 0.2], [1.0, 2.0], "spatial")

    for f in (train, use):
        tg.verify_grad(f, [value, gamma, beta], rng=rng, mode="FAST_COMPILE")


def neighbours(x, n, k, alpha, beta):
    squares = np.pad(x**2, [(0, 0), (n // 2, n // 2)] + [(0, 0)] * (x.ndim - 2))
    return x / (k + alpha * sum(squares[:, i : i + x.shape[1]] for i in range(n))) ** beta


@pytest.mark.parametrize(
    "shape, n", [((2, 7, 4, 3), 5), ((2, 3, 4), 4), ((1, 2, 3, 2, 2), 5), ((3, 6), 1), ((0, 3, 2, 2), 3)]
)
def test_neighbouring_channels(rng, shape, n):
    value = rng.normal(size=shape)
    for x in (T.tensor("x", dtype="float64", shape=shape), T.TensorType("float64", (None,) * len(shape))("x")):
        y = T.nnet.local_response_normalization(x, n, k=1.5, alpha=0.2, beta=0.6)
        for mode in (C, tg.Mode(linker="py")):
            np.testing.assert_allclose(
                tg.function([x], y, mode=mode)(value), neighbours(value, n, 1.5, 0.2, 0.6), atol=1e-13
            )
    if 0 not in shape:
        tg.verify_grad(
            lambda v: T.nnet.local_response_normalization(v, n, k=1.5, alpha=0.2), [value], rng=rng, mode="FAST_COMPILE"
        )


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_neighbouring_channels_keep_the_dtype(rng, dtype):
    x, value = T.tensor4("x", dtype=dtype), rng.normal(size=(2, 5, 4, 4)).astype(dtype)
    got = tg.function([x], T.nnet.local_response_normalization(x), mode=C)(value)
    assert got.dtype == dtype
    np.testing.assert_allclose(
        got, neighbours(value.astype("d"), 5, 2.0, 1e-4, 0.75), rtol=2e-3 if dtype == "float16" else 1e-6
    )


@pytest.mark.parametrize(
    "build, error, message",
    [
        (lambda x: T.nnet.local_response_normalization(x, n=0), ValueError, "at least 1, got 0"),
        (lambda x: T.nnet.local_response_normalization(T.lmatrix("i")), TypeError, "takes floating-point images"),
        (lambda x: T.nnet.batch_normalization_train(x, 1, 1, epsilon=0), ValueError, "epsilon must be at least"),
        (lambda x: T.nnet.batch_normalization_train(x, 1, 1, "rows"), ValueError, "axes must be"),
        (lambda x: T.nnet.batch_normalization_train(x, T.dmatrix(), 1), ValueError, "has 2 dimensions, expected 4"),
        (lambda x: T.nnet.batch_normalization_train(x, x, x, running_mean=x), ValueError, "running_var, or neither"),
        (lambda x: T.nnet.batch_normalization(x, x, x, x, x, mode="high"), ValueError, "mode must be"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(build, error, message):
    with pytest.raises(error, match=message):
        build(T.dtensor4("x"))
