"""Windows, phases, places put in and taken out, losses: what the matrix of all functions does not draw."""

import numpy as np
import pytest
import scipy.special as sps

import termgraph as tg
import termgraph.tensor as T

PY = tg.Mode("py")
WINDOWS = ("hanning", "hamming", "blackman", "bartlett")


def test_windows_of_symbolic_lengths():
    n, beta = T.lscalar("n"), T.dscalar("beta")
    f = tg.function([n, beta], [*[getattr(T, w)(n) for w in WINDOWS], T.kaiser(n, beta)], mode=PY)
    slope = tg.function([n, beta], tg.grad(T.kaiser(n, beta).sum(), beta), mode=PY)
    for k in (0, 1, 2, 9):
        *found, kaiser = f(k, 5.0)
        for w, got in zip(WINDOWS, found):
            np.testing.assert_allclose(got, getattr(np, w)(k), atol=1e-15)
        np.testing.assert_allclose(kaiser, np.kaiser(k, 5.0), rtol=1e-13)
    numeric = (np.kaiser(9, 5.001).sum() - np.kaiser(9, 4.999).sum()) / 0.002
    assert abs(slope(9, 5.0) - numeric) < 1e-6
    with pytest.raises(TypeError, match="number of points must be an integer"):
        T.hanning(4.5)


def test_phases():
    p = T.dmatrix("p")
    given = np.cumsum(np.random.default_rng(0).uniform(-4, 4, (3, 9)), axis=1)
    for options in ({}, {"axis": 0}, {"discont": 4.0}, {"period": 1.0}):
        np.testing.assert_allclose(T.unwrap(p, **options).eval({p: given}), np.unwrap(given, **options), atol=1e-13)
    half = np.array([0.0, np.pi, 0.0, -np.pi])  # half a period is moved to the side it came from
    np.testing.assert_array_equal(T.unwrap(half).eval(), np.unwrap(half))
    assert T.unwrap(T.fvector("q")).type.dtype == "float32"


def test_places_beside_unknown_lengths():
    x, k = T.lvector("x"), T.lscalar("k")
    v = np.arange(5)
    f = tg.function([x, k], [T.delete(x, k), T.insert(x, k, [7, 8])], mode=PY)
    for place in (0, 2, 4, -1, -5):
        for got, want in zip(f(v, place), (np.delete(v, place), np.insert(v, place, [7, 8]))):
            np.testing.assert_array_equal(got, want)
    for obj in ([0, 3], [], v > 2, slice(None, None, -2)):
        np.testing.assert_array_equal(T.delete(x, obj).eval({x: v}), np.delete(v, obj))
    for make in (
        lambda: T.delete(x, 5),
        lambda: T.delete(x, -6),
        lambda: T.insert(x, 6, 0),
        lambda: T.insert(x, -6, 0),
    ):
        with pytest.raises((IndexError, ValueError), match="an index is out of bounds"):
            tg.function([x], make(), mode=PY)(v)
    with pytest.raises(IndexError, match="out of bounds"):
        f(v, 5)
    with pytest.raises(ValueError, match="only where the length of the axis is known"):
        T.insert(x, [0, -1], 1)
    with pytest.raises(ValueError, match="kth 3 is out of range"):
        T.partition([1, 2, 3], 3)


def test_attention_with_masks():
    rng = np.random.default_rng(1)
    q, k, v = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 5, 6))
    seen = rng.uniform(size=(3, 5)) < 0.7
    seen[:, 0] = True
    scores = q @ k.swapaxes(1, 2) / 2
    for mask, masked in ((seen, np.where(seen, scores, -np.inf)), (seen * 3.0, scores + seen * 3.0)):
        found = T.nnet.scaled_dot_product_attention(q, k, v, attn_mask=mask).eval()
        np.testing.assert_allclose(found, sps.softmax(masked, -1) @ v, rtol=1e-12)
    causal = T.nnet.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0).eval()
    want = sps.softmax(np.where(np.tri(3, 5, dtype=bool), 2 * scores, -np.inf), -1) @ v
    np.testing.assert_allclose(causal, want, rtol=1e-12)


def test_losses_refuse_what_they_would_take_otherwise():
    x, column, labels = T.dvector("x"), T.dmatrix("column"), T.lvector("labels")
    with pytest.raises(ValueError, match="reshape one of them"):
        T.nnet.mse_loss(x, column)
    with pytest.raises(ValueError, match="'mean', 'sum' or 'none'"):
        T.nnet.l1_loss(x, x, "average")
    with pytest.raises(TypeError, match="integer labels of 1 dimensions or probabilities of 2"):
        T.nnet.cross_entropy(column, x)
    with pytest.raises(ValueError, match="even length"):
        T.nnet.glu(np.ones(3))
    numbers = (T.nnet.mse_loss, T.nnet.l1_loss, T.nnet.huber_loss, T.nnet.smooth_l1_loss)
    assert {loss(T.fvector("f"), 1).type.dtype for loss in numbers} == {"float32"}
    scores = np.array([[1e4, 0.0], [0.0, -1e4]])
    f = tg.function([column, labels], T.nnet.cross_entropy(column, labels, "sum"), mode=PY)
    assert f(scores, [1, 1]) == 2e4


def test_losses_as_pytorch_defines_them():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    v, w = T.dmatrix("v"), T.dmatrix("w")
    loss = T.nnet.smooth_l1_loss(v, w, beta=0.0)
    value, slope = tg.function([v, w], [loss, tg.grad(loss, v)], mode=PY)(x, y)
    np.testing.assert_allclose(value, abs(x - y).mean())
    np.testing.assert_allclose(slope, np.sign(x - y) / 20)
    assert T.nnet.kl_div(T.fmatrix("a"), T.fmatrix("b"), "batchmean").type.dtype == "float32"
    for a, b, axis in ((x[:, :1], y, 1), (x[0], y, 0), (x[0], y, -1), (y, x[:, :1], 1)):
        found = T.nnet.cosine_similarity(a, b, axis).eval()
        a, b = np.broadcast_arrays(a, b)
        np.testing.assert_allclose(found, (a * b).sum(axis) / np.sqrt((a * a).sum(axis) * (b * b).sum(axis)))


def test_cross_entropy_of_weighted_and_missing_labels():
    rng = np.random.default_rng(1)
    scores, weight = rng.normal(size=(6, 4)), np.array([0.5, 2.0, 1.0, 3.0])
    labels, smooth = np.array([0, 3, 2, -100, 1, 3]), 0.1
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    there = labels >= 0
    per_class = -logs * weight
    own = per_class[np.arange(6), np.where(there, labels, 0)]
    want = np.where(there, (1 - smooth) * own + smooth * per_class.mean(1), 0)
    x = T.dmatrix("x")
    options = {"label_smoothing": smooth, "weight": weight, "ignore_index": -100}
    for reduction, value in {"none": want, "sum": want.sum(), "mean": want.sum() / weight[labels[there]].sum()}.items():
        got = T.nnet.cross_entropy(x, labels, reduction, **options)
        np.testing.assert_allclose(got.eval({x: scores}), value, rtol=1e-12)
    slope = T.grad(T.nnet.cross_entropy(x, labels, **options), x).eval({x: scores})
    assert (slope[3] == 0).all() and (slope[there] != 0).all()
    without = T.nnet.cross_entropy(x, labels, ignore_index=-100).eval({x: scores})
    np.testing.assert_allclose(without, -logs[there, labels[there]].mean(), rtol=1e-12)
    shares = np.exp(logs)
    by_share = T.nnet.cross_entropy(x, shares, weight=weight).eval({x: scores})
    np.testing.assert_allclose(by_share, (shares * per_class).sum(1).mean(), rtol=1e-12)
    assert T.nnet.cross_entropy(T.fmatrix(), T.lvector(), weight=[1.0, 2.0]).dtype == "float32"
    for wrong in (np.ones((4, 4)), 2.0):
        with pytest.raises(ValueError, match="weight must be a vector"):
            T.nnet.cross_entropy(x, labels, weight=wrong)
    with pytest.raises(TypeError, match="ignore_index is for integer labels"):
        T.nnet.cross_entropy(x, shares, ignore_index=0)


def test_rows_of_halves_are_normalised_in_float32():
    x = np.array([[1000.0, -3000.0, 2000.0], [300.0, 0.0, -600.0]], "float16")
    wide = x.astype("float64")
    apart = wide - wide.mean(1, keepdims=True)
    for found, want in (
        (T.nnet.layer_norm(x), apart / np.sqrt((apart**2).mean(1, keepdims=True))),
        (T.nnet.rms_norm(x), wide / np.sqrt((wide**2).mean(1, keepdims=True))),
        (T.nnet.cosine_similarity(x, x), np.ones(2)),
    ):
        assert found.type.dtype == "float16"
        np.testing.assert_allclose(found.eval(), want, rtol=2e-3)


def test_targets_and_options_that_are_not_what_they_look_like():
    scores = T.dmatrix("scores")
    for bad in (np.array([[0], [1], [2]]), np.ones((3, 1))):
        with pytest.raises(ValueError, match="one integer label for each vector of scores"):
            T.nnet.cross_entropy(scores, bad)
    with pytest.raises(ValueError, match="one integer label"):
        T.nnet.cross_entropy(np.ones((3, 4)), [1])
    with pytest.raises(ValueError, match="'mean', 'sum' or 'none'"):
        T.nnet.cross_entropy(scores, [1], np.ones(4))  # weights of classes, in PyTorch
    with pytest.raises(ValueError, match="delta must be above 0"):
        T.nnet.huber_loss(scores, scores, delta=-1.0)
    with pytest.raises(ValueError, match="beta must not be negative"):
        T.nnet.smooth_l1_loss(scores, scores, beta=-1.0)
    with pytest.raises(ValueError, match="'batchmean'"):
        T.nnet.kl_div(scores, scores, "average")
    with pytest.raises(TypeError):
        T.nnet.scaled_dot_product_attention(scores, scores, scores, None, 0.0, True)


def test_places_that_numpy_refuses():
    x, mask = T.dvector("x"), T.vector("mask", dtype="bool")
    with pytest.raises(IndexError, match="integer"):
        T.delete(x, 1.7)
    for one in (True,), (True, False):
        with pytest.raises(IndexError, match="mask must have the lengths"):
            tg.function([x], T.delete(x, np.array(one)), mode=PY)(np.ones(3))
        with pytest.raises(IndexError, match="mask must have the lengths"):
            tg.function([x, mask], T.delete(x, mask), mode=PY)(np.ones(3), np.array(one))
    assert tg.function([x], T.delete(x, []), mode=PY)(np.ones(3)).shape == (3,)
    for partition in (T.partition, T.argpartition):
        with pytest.raises(ValueError, match="kth 9 is out of range"):
            partition([3, 1, 2], np.array([1, 9]))
        with pytest.raises(TypeError, match="kth must be an integer"):
            partition([3, 1, 2], 1.5)
