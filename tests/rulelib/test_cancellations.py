"""The rules of rules/cancellations.py, and the gradients of losses that they keep finite."""

import numpy as np
import pytest
from accuracy import form, optimized, quiet, rewritten

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.evaluate import evaluate

RNG = np.random.default_rng(5)
X, Y, Z, W, U = (T.dmatrix(n) for n in "xyzwu")
DATA = {v: RNG.uniform(0.5, 2.0, size=(2, 3)) for v in (X, Y, Z, W, U)}
LABELS = (T.arange(2), np.array([2, 0]))


def scattered(values):
    return T.inc_subtensor(T.zeros((2, 3))[LABELS], values)


def picked(y):
    return 1.5 / y[LABELS]


def share(x, y):
    return y * T.exp(-T.logsumexp(x, axis=1, keepdims=True))


CASES = {
    "sum": (lambda x, y, z, w, u: y * (z / y + w), lambda x, y, z, w, u: z + y * w),
    "sum of a difference": (lambda x, y, z, w, u: y * (z / y - w), lambda x, y, z, w, u: z - y * w),
    "minus_from": (lambda x, y, z, w, u: y * (w - z / y), lambda x, y, z, w, u: y * w - z),
    "sum over": (lambda x, y, z, w, u: y * (z / (y * u) + w), lambda x, y, z, w, u: z / u + y * w),
    "sum of a difference, over": (lambda x, y, z, w, u: y * (z / (y * u) - w), lambda x, y, z, w, u: z / u - y * w),
    "minus_from over": (lambda x, y, z, w, u: y * (w - z / (y * u)), lambda x, y, z, w, u: y * w - z / u),
    "sum with a factor, over": (
        lambda x, y, z, w, u: y * (x * (z / (y * u)) + w),
        lambda x, y, z, w, u: x * z / u + y * w,
    ),
    "sum of a difference with a factor, over": (
        lambda x, y, z, w, u: y * (x * (z / (y * u)) - w),
        lambda x, y, z, w, u: x * z / u - y * w,
    ),
    "minus_from with a factor, over": (
        lambda x, y, z, w, u: y * (w - x * (z / (y * u))),
        lambda x, y, z, w, u: y * w - x * z / u,
    ),
    "labels": (lambda x, y, z, w, u: y * scattered(picked(y)), None),
    "labels of a negative": (lambda x, y, z, w, u: y * scattered(-picked(y)), None),
    "labels over a product": (lambda x, y, z, w, u: y * scattered(1.5 / (x[LABELS] * y[LABELS])), None),
    "labels minus": (lambda x, y, z, w, u: y * (scattered(-picked(y)) - w), None),
    "labels plus": (lambda x, y, z, w, u: y * (scattered(picked(y)) + w), None),
}


@pytest.mark.parametrize("name", CASES)
def test_cancellation(name):
    build, expected = CASES[name]
    old = build(X, Y, Z, W, U)
    new, fired = rewritten(old, "stabilize") if expected is None or "factor, over" in name else rewritten(old)
    assert f"cancellations.{name.split()[0]}" in fired, f"{old.term} became {new.term} by {fired}"
    if expected is not None:
        assert form(rewritten(new)[0]) == form(rewritten(expected(X, Y, Z, W, U))[0])
    was, now = evaluate([old, new], DATA)
    np.testing.assert_allclose(now, was, rtol=1e-12)


def by_hand(x):
    return T.exp(x) / T.exp(x).sum(axis=1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + T.exp(-x))


S = T.dmatrix("scores")
K = T.lvector("k")
ONEHOT = T.dmatrix("onehot")
ROWS = T.arange(K.shape[0])
LOSSES = {
    "op, labels": -T.sum(T.log(T.softmax(S, axis=1))[ROWS, K]),
    "op, log of labels": -T.sum(T.log(T.softmax(S, axis=1)[ROWS, K])),
    "categorical_crossentropy, labels": T.sum(T.nnet.categorical_crossentropy(T.nnet.softmax(S), K)),
    "categorical_crossentropy, one-hot": T.sum(T.nnet.categorical_crossentropy(T.nnet.softmax(S), ONEHOT)),
    "by hand, labels": -T.sum(T.log(by_hand(S))[ROWS, K]),
    "by hand, one-hot": -T.sum(ONEHOT * T.log(by_hand(S))),
    "log-softmax, one-hot": -T.sum(ONEHOT * T.log_softmax(S, axis=1)),
}
SCORES = np.array([[800.0, -800.0, 1.0], [1e4, 0.0, -5.0], [0.5, 0.1, -0.3]])


@pytest.mark.parametrize("name", LOSSES)
def test_cross_entropy_and_its_gradient_are_finite(name):
    given = {S: SCORES, K: np.array([1, 2, 0]), ONEHOT: np.eye(3)[[1, 2, 0]]}
    slope, fired = optimized(tg.grad(LOSSES[name], S))
    value, _ = optimized(LOSSES[name])
    loss, gradient = evaluate([value, slope], given)
    last = np.log(np.exp(SCORES[2]).sum())
    np.testing.assert_allclose(loss, 1600 + 10005 + last - 0.5, rtol=1e-14)
    expected = np.array([[1.0, -1.0, 0.0], [1.0, 0.0, -1.0], np.exp(SCORES[2] - last) - [1, 0, 0]])
    np.testing.assert_allclose(gradient, expected, rtol=1e-13, atol=1e-16, err_msg=f"{slope.term} by {fired}")


@pytest.mark.parametrize("written", ["log(sigmoid)", "log(1 - sigmoid)", "both"])
def test_binary_cross_entropy(written):
    p = sigmoid(S)
    loss = {"log(sigmoid)": -T.sum(T.log(p)), "log(1 - sigmoid)": -T.sum(T.log(1 - p))}.get(
        written, -T.sum(ONEHOT * T.log(p) + (1 - ONEHOT) * T.log(1 - p))
    )
    target = {"log(sigmoid)": 1.0, "log(1 - sigmoid)": 0.0}.get(written, np.eye(3))
    given = {S: SCORES, ONEHOT: np.eye(3)}
    slope = optimized(tg.grad(loss, S))[0]
    gradient = evaluate([slope], given)[0]
    exact = np.where(
        SCORES >= 0, 1 / (1 + np.exp(-np.abs(SCORES))), np.exp(-np.abs(SCORES)) / (1 + np.exp(-np.abs(SCORES)))
    )
    np.testing.assert_allclose(gradient, exact - target, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["logsumexp", "scaled", "scaled_neg", "share", "share_of", "shares", "shares_neg"])
def test_gradients_by_hand(name):
    total = T.sum(T.exp(X), axis=1)
    back = lambda v: T.dimshuffle(v, 0, "x")  # noqa: E731
    p, row = T.softmax(X, axis=1), T.sum(Z, axis=1)
    old, want = {
        "logsumexp": (T.exp(X) * back(1 / total), p),
        "scaled": (T.exp(X) * back(row / total), p * back(row)),
        "scaled_neg": (T.exp(X) * back(-(row / total)), -(p * back(row))),
        "share": ((Z * p) / T.exp(X), share(X, Z)),
        "share_of": (Z / T.exp(X) * p, share(X, Z)),
        "shares": (T.exp(X) * back(T.sum(share(X, Z), axis=1)), p * back(row)),
        "shares_neg": (T.exp(X) * back(-T.sum(share(X, Z), axis=1)), -(p * back(row))),
    }[name]
    new, fired = rewritten(old, *(("canonicalize", "stabilize") if name == "logsumexp" else ("stabilize",)))
    assert f"softmax_gradients.{name.split()[0]}" in fired, f"{old.term} became {new.term} by {fired}"
    was, now, wanted = evaluate([old, new, want], DATA)
    np.testing.assert_allclose(now, was, rtol=1e-12)
    np.testing.assert_allclose(now, wanted, rtol=1e-12)


def test_quiet():
    assert quiet(Y * (Z / W + U), "cancellations") and quiet(Y + (Z / Y - W), "cancellations")
    assert quiet(Y * scattered(picked(Z)), "cancellations") and quiet(T.exp(Y) * (Z + W), "softmax_gradients")
    assert quiet(3.0 * (Z / 3.0 + W), "cancellations"), "constants are not worth it"
