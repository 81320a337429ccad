"""What T.nnet has beside layers: CTC, dropout, windows, upsampling; their gradients, and what they refuse."""

import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

nnet = T.nnet


def by_paths(x, labels, steps, blank=0):
    """-log of the sum over all ways to read the labels in so many steps."""
    chances, total = np.exp(x) / np.exp(x).sum(-1, keepdims=True), 0.0
    for path in itertools.product(range(x.shape[1]), repeat=steps):
        if [k for k, _ in itertools.groupby(path) if k != blank] == list(labels):
            total += np.prod([chances[t, k] for t, k in enumerate(path)])
    return -np.log(total) if total else np.inf


@pytest.mark.parametrize("blank", [0, 2])
def test_ctc_is_the_sum_over_all_ways(blank, rng):
    x, letters = rng.normal(size=(5, 5, 3)), [k for k in range(3) if k != blank]
    a, b = letters
    labels, sizes, steps = (
        np.array([[a, b], [a, a], [b, 9], [7, 7], [a, a]]),
        np.array([2, 2, 1, 0, 2]),
        [5, 4, 3, 2, 2],
    )
    given, marks, lengths = T.dtensor3("x"), T.lmatrix("labels"), T.lvectors("steps", "sizes")
    loss = nnet.ctc_loss(given, marks, *lengths, blank=blank)
    finite = T.switch(T.isinf(loss), 0, loss).sum()
    f = tg.function([given, marks, *lengths], [loss, tg.grad(finite, given)])
    got, slope = f(x, labels, steps, sizes)
    want = [by_paths(x[:, i], labels[i, : sizes[i]], steps[i], blank) for i in range(5)]
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert np.isinf(want[4]) and not slope[:, 4].any()  # two steps do not do for two equal labels
    change = rng.normal(size=x.shape) * 1e-6
    up, down = (np.sum(f(x + s * change, labels, steps, sizes)[0][:4]) for s in (1, -1))
    np.testing.assert_allclose(np.sum(slope * change) * 2, up - down, rtol=1e-6)


def test_ctc_with_impossible_classes_and_many_steps(rng):
    x = rng.normal(size=(300, 2, 6)).astype("float32")
    x[:, :, 5] = -np.inf
    given = T.ftensor3("x")
    loss = nnet.ctc_loss(given, np.array([[1, 2, 3], [4, -1, -1]]))
    value, slope = tg.function([given], [loss, tg.grad(loss.sum(), given)])(x)
    assert value.dtype == "float32" and np.isfinite(value).all() and np.isfinite(slope).all()
    np.testing.assert_allclose(slope.sum(axis=2), 0, atol=1e-5)  # a softmax is below


def test_ctc_refuses():
    x, labels = T.dtensor3("x"), T.lmatrix("labels")
    for given in ((T.dmatrix("m"), labels), (T.ltensor3("i"), labels), (x, T.lvector("v")), (x, T.dmatrix("d"))):
        with pytest.raises(TypeError, match="ctc_loss"):
            nnet.ctc_loss(*given)
    with pytest.raises(ValueError, match="blank"):
        nnet.ctc_loss(T.tensor("x", dtype="float64", shape=(None, None, 3)), labels, blank=3)


def test_dropout_keeps_the_mean_and_its_gradient_is_where_it_keeps():
    x = T.fmatrix("x")
    y = nnet.dropout(x, 0.25, T.random.RandomStream(seed=4))
    f = tg.function([x], [y, tg.grad(y.sum(), x)])
    ones = np.ones((200, 100), "float32")
    (first, slope), (second, _) = f(ones), f(ones)
    np.testing.assert_array_equal(first, slope)
    assert first.dtype == "float32" and set(np.unique(first)) == {0, np.float32(1 / 0.75)}
    assert abs(first.mean() - 1) < 0.02 and (first != second).any()


@pytest.mark.parametrize(("p", "wanted"), [(0, 1.0), (1, 0.0)])
def test_dropout_of_nothing_and_of_all(p, wanted):
    assert nnet.dropout(np.ones(3), p, T.random.RandomStream(seed=4)).eval().tolist() == [wanted] * 3


def test_dropout_refuses():
    rng = T.random.RandomStream(seed=4)
    with pytest.raises(ValueError, match="from 0 to 1, got 50"):
        nnet.dropout(T.vector("x"), 50, rng)
    with pytest.raises(TypeError, match="random stream"):
        nnet.dropout(T.vector("x"), 0.5, 7)
    with pytest.raises(TypeError, match="floats"):
        nnet.dropout(T.lvector("x"), 0.5, rng)


def test_windows_that_leave_something_over():
    with pytest.raises(ValueError, match="ignore_borders"):
        nnet.images2neibs(np.ones((1, 1, 3, 4)), (2, 2))
    x = T.dtensor4("x")
    with pytest.raises(ValueError, match="reshape"):
        tg.function([x], nnet.images2neibs(x, (2, 2)))(np.ones((1, 1, 3, 4)))
    values = np.arange(12.0).reshape(1, 1, 3, 4)
    rows = nnet.images2neibs(x, (2, 2), mode="ignore_borders")
    back = nnet.neibs2images(rows, (2, 2), x.shape, mode="ignore_borders")
    rows, back = tg.function([x], [rows, back])(values)
    assert rows.tolist() == [[0, 1, 4, 5], [2, 3, 6, 7]]
    np.testing.assert_array_equal(back[0, 0], [[0, 1, 2, 3], [4, 5, 6, 7], [0, 0, 0, 0]])


@pytest.mark.parametrize("build", [
    lambda x: nnet.images2neibs(x, (3, 1), (1, 2), mode="wrap_centered"),
    lambda x: nnet.neibs2images(nnet.images2neibs(x, (2, 2)), (2, 2), x.shape),
    lambda x: nnet.bilinear_upsampling(x, 3),
    lambda x: nnet.frac_bilinear_upsampling(x, ((3, 2), (2, 3))),
])  # fmt: skip
def test_gradients(build, rng):
    tg.verify_grad(build, [rng.normal(size=(2, 1, 4, 4))])


def theanos_upsampling(x, up, down):
    """As Theano's documentation says it: a convolution with a pyramid of images spread apart, edges doubled."""
    kernel = np.concatenate([np.arange(1, up + 1), np.arange(up - 1, 0, -1)]) / up
    for axis in (0, 1):
        n = x.shape[axis]
        edged = np.concatenate([x.take([0], axis), x, x.take([n - 1], axis)], axis)
        around = (2 * n - 1) * up + 1
        padded = np.pad(kernel, (around // 2, around - around // 2))
        starts = np.arange(0, n * up, down)
        weights = np.array([padded[s + np.arange(n + 2) * up][::-1] for s in starts])
        x = np.moveaxis(np.tensordot(weights, edged, (1, axis)), 0, axis)
    return x


@pytest.mark.parametrize(("up", "down"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (3, 2), (5, 3), (2, 3), (6, 4)])
def test_upsampling_is_theanos(up, down, rng):
    x = rng.normal(size=(3, 5))
    common = np.gcd(up, down)
    want = theanos_upsampling(x, up // common, down // common)
    given = {"ratio": up} if down == 1 else {"frac_ratio": (up, down)}
    np.testing.assert_allclose(nnet.bilinear_upsampling(x[None, None], **given).eval()[0, 0], want, atol=1e-12)


def test_upsampling_refuses():
    x = np.ones((1, 1, 2, 2))
    for given in ({}, {"ratio": 2, "frac_ratio": (1, 2)}, {"ratio": 0}, {"ratio": 1.5}, {"frac_ratio": (1.5, 2)}):
        with pytest.raises(ValueError, match="upsampling"):
            nnet.bilinear_upsampling(x, **given)
    with pytest.raises(TypeError, match="4|images"):
        nnet.bilinear_upsampling(np.ones((2, 2)), 2)


def test_causal_convolutions_look_back_only(rng):
    x, w = T.dtensor3("x"), T.tensor("w", dtype="float64", shape=(2, 1, 3))
    f = tg.function([x, w], nnet.causal_conv1d(x, w, filter_dilation=2))
    values, filters = rng.normal(size=(1, 1, 9)), rng.normal(size=(2, 1, 3))
    later = values.copy()
    later[0, 0, 5:] = 7
    first, second = f(values, filters), f(later, filters)
    assert first.shape == (1, 2, 9)
    np.testing.assert_array_equal(first[:, :, :5], second[:, :, :5])
    with pytest.raises(ValueError, match="filter_shape"):
        nnet.causal_conv1d(x, T.dtensor3("filters"))
