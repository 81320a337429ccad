"""The rules of rules/softmax.py and rules/logsumexp.py: along any axes, kept or dropped, with and without a shift."""

import numpy as np
import pytest
from accuracy import check_rule, quiet

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.ops.elementwise import add, exp, log, true_div

MILD = [np.array([[0.3, -0.7, 1.2], [2.5, 0.0, -1.0]])]
LARGE = [np.array([[700.0, -700.0, 690.0], [1e5, 1e5, -1e5], [1e-20, 0.0, -1e-20], [-800.0, -801.0, -1e5]])]
ROWS = [np.array([[700.0, -5.0, 690.0], [1.0, 3.0, -2.0]]), np.array([[2.0, 1e3, 0.5], [1e-3, 7.0, 3.0]])]


def lse(x, axis=1, keepdims=False):
    return T.log(T.sum(T.exp(x), axis=axis, keepdims=keepdims))


def softmax(x, axis=1):
    return T.exp(x) / T.exp(x).sum(axis=axis, keepdims=True)


def top(x, axis=1):
    return x - T.max(x, axis=axis, keepdims=True)


CASES = {
    "logsumexp.log_sum_exp": (lse, lambda x: T.logsumexp(x, axis=1), {}),
    "logsumexp.mean": (lambda x: T.log(T.sum(T.exp(x), axis=1) / T.sum(x * x, axis=1)),
                       lambda x: T.logsumexp(x, axis=1) - T.log(T.sum(x * x, axis=1)), {}),
    "logsumexp.mean kept": (lambda x: T.log(T.exp(x).sum(axis=1, keepdims=True) / (2 + x * x)),
                            lambda x: T.logsumexp(x, axis=1, keepdims=True) - T.log(2 + x * x), {}),
    "logsumexp.scaled": (lambda x: T.log(3.0 * T.sum(T.exp(x), axis=1)),
                         lambda x: T.logsumexp(x, axis=1) + T.log(T.full((1,), 3.0, dtype=x.dtype)), {}),
    "logsumexp.shifted": (lambda x: T.max(x, axis=1) + lse(top(x)), lambda x: T.logsumexp(x, axis=1), {}),
    "logsumexp.shifted leading": (lambda x: T.max(x) + T.log(T.sum(T.exp(x - T.max(x)))), T.logsumexp, {}),
    "softmax.quotient": (softmax, lambda x: T.softmax(x, axis=1), {}),
    "softmax.quotient leading": (lambda x: T.exp(x) / T.exp(x).sum(), lambda x: T.softmax(x, axis=None), {}),
    "softmax.shift_max": (lambda x: softmax(top(x)), lambda x: T.softmax(x, axis=1), {}),
    "softmax.shift_max leading": (lambda x: T.softmax(x - T.max(x), axis=None), lambda x: T.softmax(x, axis=None), {}),
    "softmax.exp_log_softmax": (lambda x: T.exp(T.log_softmax(x, axis=1)), lambda x: T.softmax(x, axis=1), {}),
    "log_softmaxes.log_softmax": (lambda x: T.log(softmax(x)), lambda x: T.log_softmax(x, axis=1), {}),
    "log_softmaxes.difference": (lambda x: x - lse(x, 1, True), lambda x: T.log_softmax(x, axis=1), {}),
    "log_softmaxes.difference leading": (lambda x: x - lse(x, None), lambda x: T.log_softmax(x, axis=None), {}),
    "log_softmaxes.shift_max": (lambda x: top(x) - lse(top(x), 1, True), lambda x: T.log_softmax(x, axis=1), {}),
    "log_softmaxes.shift_max leading": (lambda x: T.log_softmax(x - T.max(x), axis=None),
                                        lambda x: T.log_softmax(x, axis=None), {}),
    "log_softmaxes.piece gather": (lambda x: T.log(softmax(x)[T.arange(2), np.array([2, 0])]),
                             lambda x: T.log_softmax(x, axis=1)[T.arange(2), np.array([2, 0])], {}),
    "log_softmaxes.piece subtensor": (lambda x: T.log(T.softmax(x, axis=1)[:, 1]),
                                lambda x: T.log_softmax(x, axis=1)[:, 1], {}),
}  # fmt: skip
TWO = {
    "softmax.quotient kept scaled": (lambda x, y: y * T.exp(x) / T.sum(T.exp(x), axis=1, keepdims=True),
                       lambda x, y: y * T.softmax(x, axis=1)),
    "softmax.quotient leading scaled": (lambda x, y: y * T.exp(x) / T.sum(T.exp(x)),
                                        lambda x, y: y * T.softmax(x, axis=None)),
    "softmax.shift": (lambda x, y: T.softmax(x - T.sum(y, axis=1, keepdims=True), axis=1),
                      lambda x, y: T.softmax(x, axis=1)),
    "softmax.shift plus": (lambda x, y: T.softmax(x + T.sum(y, axis=1, keepdims=True), axis=1),
                           lambda x, y: T.softmax(x, axis=1)),
    "softmax.quotient kept over": (lambda x, y: T.exp(x) / T.sum(T.exp(x), axis=1, keepdims=True) / y,
                          lambda x, y: T.softmax(x, axis=1) / y),
    "softmax.quotient leading over": (lambda x, y: T.exp(x) / T.sum(T.exp(x), axis=0) / y,
                             lambda x, y: T.softmax(x, axis=0) / y),
    "softmax.quotient kept scaled, over": (lambda x, y: x * T.exp(x) / T.sum(T.exp(x), axis=1, keepdims=True) / y,
                            lambda x, y: x * T.softmax(x, axis=1) / y),
    "softmax.quotient leading scaled, over": (lambda x, y: x * T.exp(x) / T.sum(T.exp(x), axis=0) / y,
                                    lambda x, y: x * T.softmax(x, axis=0) / y),
    "softmax.piece": (lambda x, y: T.exp(y) / T.sum(T.exp(x), axis=1, keepdims=True),
                      lambda x, y: T.exp(y - T.logsumexp(x, axis=1, keepdims=True))),
    "softmax.piece dropped": (lambda x, y: (T.exp(x) / T.sum(T.exp(x), axis=1, keepdims=True))[:, 1],
                              lambda x, y: T.exp(x[:, 1] - T.logsumexp(x, axis=1))),
    "softmax.expectation": (lambda x, y: T.sum(y * T.exp(x), axis=1) / T.sum(T.exp(x), axis=1),
                            lambda x, y: T.sum(y * T.softmax(x, axis=1), axis=1)),
    "softmax.attention": (lambda x, y: T.dot(T.exp(x), y.T) / T.sum(T.exp(x), axis=1, keepdims=True),
                          lambda x, y: T.dot(T.softmax(x, axis=1), y.T)),
    "log_softmaxes.shift": (lambda x, y: T.log_softmax(x - T.sum(y, axis=1, keepdims=True), axis=1),
                            lambda x, y: T.log_softmax(x, axis=1)),
    "log_softmaxes.shift plus": (lambda x, y: T.log_softmax(x + T.sum(y), axis=1),
                                 lambda x, y: T.log_softmax(x, axis=1)),
    "log_softmaxes.scaled": (lambda x, y: T.log(y * softmax(x)), lambda x, y: T.log(y) + T.log_softmax(x, axis=1)),
    "log_softmaxes.divided": (lambda x, y: T.log(softmax(x) / y), lambda x, y: T.log_softmax(x, axis=1) - T.log(y)),
    "logaddexps.two": (lambda x, y: T.log(T.exp(x) + T.exp(y)), T.logaddexp),
    "logaddexps.base_two": (lambda x, y: T.log2(T.exp2(x) + T.exp2(y)), T.logaddexp2),
    "logaddexps.difference": (lambda x, y: T.log(T.exp(x) - T.exp(y)), lambda x, y: x + T.log1mexp(y - x)),
    "logaddexps.factored": (lambda x, y: x + T.log1p(T.exp(y - x)), T.logaddexp),
    "shares.two": (lambda x, y: T.exp(x) / (T.exp(x) + T.exp(y)), lambda x, y: T.sigmoid(x - y)),
    "shares.two weighed": (lambda x, y: y * T.exp(x) / (T.exp(x) + T.exp(y)), lambda x, y: y * T.sigmoid(x - y)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rule(name):
    build, expected, options = CASES[name]
    rows = 2 if name.endswith("gather") else None
    check_rule(name.split()[0], build, expected, at=[d[:rows] for d in MILD], shape=True, ulps=16, near=1.0)
    check_rule(name.split()[0], build, expected, at=[d[:rows] for d in LARGE], shape=True, ulps=16, near=1.0)


@pytest.mark.parametrize("name", TWO)
def test_rule_of_two(name):
    build, expected = TWO[name]
    check_rule(name.split()[0], build, expected, at=ROWS, shape=True, ulps=16, near=1e3)


def test_three_terms():
    terms = [np.array([[700.0, -5.0]]), np.array([[1e3, -800.0]]), np.array([[-1e5, -801.0]])]
    check_rule(
        "logaddexps.three",
        lambda x, y, z: log(add(exp(x.term), exp(y.term), exp(z.term))),
        lambda x, y, z: T.logaddexp(T.logaddexp(x, y), z),
        at=terms,
        shape=True,
        near=1.0,
    )


def together(xs):
    """How the rules add several up."""
    pairs = [T.logaddexp(*xs[i : i + 2]) for i in range(0, len(xs) - 1, 2)] + list(xs[len(xs) // 2 * 2 :])
    first = pairs[0] if len(pairs) == 1 else T.logaddexp(pairs[0], pairs[1])
    return first if len(pairs) < 3 else T.logaddexp(first, pairs[2])


@pytest.mark.parametrize("n, name", [(3, "three"), (4, "four"), (5, "five"), (6, "six")])
def test_several_terms(n, name, rng):
    terms = [scale * rng.normal(size=(1, 3)) for scale in (700.0, 3.0, 1e3, 1.0, 20.0, 5.0)[:n]]

    def total(xs):
        return add(*[exp(x.term) for x in xs])

    how = {"at": terms, "shape": True, "ulps": 16, "near": 1e3}
    check_rule(f"logaddexps.{name}", lambda *xs: log(total(xs)), lambda *xs: together(xs), **how)
    check_rule(
        f"shares.{name}",
        lambda *xs: true_div(exp(xs[0].term), total(xs)),
        lambda *xs: T.exp(xs[0] - together(xs)),
        **how,
    )


@pytest.mark.parametrize("n, name", [(2, "two"), (3, "three"), (4, "four"), (5, "five"), (6, "six")])
def test_shares_that_divide_once(n, name):
    xs = T.dvectors(*[f"x{i}" for i in range(n)])
    part = xs[0] / sum(T.exp(x) for x in xs)
    f = tg.function(xs, [*[T.exp(x) * part for x in xs], part])
    assert f"shares.{name}_of" in {record.rule for record in f.trace}
    values = [np.array([2.0 + i, -3.0 * i]) for i in range(n)]
    total = sum(np.exp(values))
    for found, x in zip(f(*values), values):
        np.testing.assert_allclose(found, values[0] * np.exp(x) / total, rtol=1e-13)


@pytest.mark.parametrize("n", range(2, 7))
def test_slopes_of_such_logarithms_are_finite(n):
    xs = T.dvectors(*[f"x{i}" for i in range(n)])
    total = T.log(sum(T.exp(x) for x in xs))
    f = tg.function(xs, [total, *tg.grad((total**2).sum(), xs)])
    values = [np.array([800.0 + i, -800.0 - i]) for i in range(n)]
    value, *slopes = f(*values)
    want = np.logaddexp.reduce(values)
    np.testing.assert_allclose(value, want, rtol=1e-14)
    for x, slope in zip(values, slopes):
        np.testing.assert_allclose(slope, 2 * want * np.exp(x - want), rtol=1e-11)


def test_axis_zero_needs_no_dimshuffle():
    options = {"at": LARGE, "shape": True, "ulps": 16, "near": 1.0}
    check_rule("softmax.quotient", lambda x: T.exp(x) / T.exp(x).sum(axis=0), lambda x: T.softmax(x, axis=0), **options)


def test_quiet():
    x, v = T.dmatrix("x"), T.dvector("v")
    assert quiet(T.exp(x) / T.exp(x).sum(axis=1), "softmax.quotient"), "divides columns by sums of rows"
    assert quiet(T.exp(x) / T.exp(2 * x).sum(axis=0), "softmax.quotient")
    assert quiet(T.exp(T.fmatrix("f")) / T.exp(T.fmatrix("f")).sum(axis=0, dtype="float64"), "softmax")
    assert quiet(T.softmax(x + v, axis=1), "softmax") and quiet(T.softmax(x + v.dimshuffle(0, "x"), axis=0), "softmax")
    assert quiet(T.log(T.sum(T.exp(x) + 1, axis=1)), "logsumexp")
    assert quiet(v + T.logsumexp(x - T.max(x, axis=1, keepdims=True), axis=1), "logsumexp")
    assert quiet(x - T.logsumexp(x, axis=1), "log_softmaxes") and quiet(T.log(T.exp(x) - 2 * T.exp(x)), "logaddexps")
