"""Derivatives of functions that were written as formulas: also the second and third are finite where exp overflows."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.db.queries import STABLE_RULES

FORMULAS = {
    "log1p(exp)": lambda u, y: T.log1p(T.exp(u)).sum(),
    "log(exp + 1)": lambda u, y: T.log(T.exp(u) + 1).mean(),
    "log(1 + exp(-yu))": lambda u, y: T.log(1 + T.exp(-u * y)).sum(),
    "log(exp + exp)": lambda u, y: T.log(T.exp(u) + T.exp(y)).sum(),
    "log(sum(exp))": lambda u, y: T.log(T.exp(u).sum()),
    "log(mean(exp))": lambda u, y: T.log(T.mean(T.exp(u))),
    "log of a logistic": lambda u, y: T.log(1 / (1 + T.exp(-u))).sum(),
    "logistic": lambda u, y: (y / (1 + T.exp(-u))).sum(),
    "exp / (1 + exp)": lambda u, y: (y * T.exp(u) / (1 + T.exp(u))).sum(),
    "cross-entropy of logistic": lambda u, y: (
        -(y * T.log(1 / (1 + T.exp(-u))) + (1 - y) * T.log(1 - 1 / (1 + T.exp(-u)))).mean()
    ),
    "cross-entropy of sigmoid": lambda u, y: -(y * T.log(T.sigmoid(u)) + (1 - y) * T.log(1 - T.sigmoid(u))).sum(),
    "exp / sum(exp)": lambda u, y: (y * T.exp(u) / T.exp(u).sum()).sum(),
    "cross-entropy of exp / sum": lambda u, y: -(y * T.log(T.exp(u) / T.exp(u).sum())).sum(),
    "cross-entropy of softmax": lambda u, y: -(y * T.log(T.softmax(u, axis=0))).sum(),
    "silu": lambda u, y: (u / (1 + T.exp(-u))).sum(),
    "mish": lambda u, y: (u * T.tanh(T.log(1 + T.exp(u)))).sum(),
    "focal loss": lambda u, y: -((1 - T.sigmoid(u)) ** 2 * T.log(T.sigmoid(u))).sum(),
}
LARGE = [np.array([800.0, -800.0, 0.5]), np.array([1000.0, 1000.0, -1000.0]), np.array([-720.0, -10.0, 30.0])]


def slopes(formula, u, y):
    cost = formula(u, y)
    first = tg.grad(cost, u)
    second = tg.grad((first * T.cos(u)).sum(), u)
    return [first, tg.hessian(cost, u), second, tg.grad((second * T.sin(u)).sum(), u)]


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_finite_where_the_exponential_overflows(formula):
    u, y = T.dvectors("u", "y")
    f = tg.function([u, y], slopes(formula, u, y), on_unused_input="ignore")
    for point in LARGE:
        for found in f(point, [1.0, 0.0, 0.5]):
            assert np.isfinite(found).all()


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_the_same_where_nothing_overflows(formula):
    """Beside differences of the formula as it is written, by NumPy's meaning of each operator."""
    u, y = T.dvectors("u", "y")
    at, labels = np.array([0.3, -1.2, 0.7]), np.array([1.0, 0.0, 0.5])
    cost = formula(u, y)
    first = tg.grad(cost, u)
    outputs = [first, tg.hessian(cost, u)]
    plain = tg.Mode(optimizer="None", linker="py")
    written = tg.function([u, y], [cost, first], mode=plain, on_unused_input="ignore")
    step = 1e-6 * np.eye(3)
    want = [np.array([written(at + e, labels)[i] - written(at - e, labels)[i] for e in step]) / 2e-6 for i in (0, 1)]
    for mode in ("FAST_RUN", "STRICT", plain):
        f = tg.function([u, y], outputs, mode=mode, on_unused_input="ignore")
        for found, by_differences in zip(f(at, labels), want):
            np.testing.assert_allclose(found, by_differences, rtol=1e-5, atol=1e-8)


def test_parts_that_were_asked_about_stay():
    """A formula around a variable of `wrt`, `consider_constant` or `known_grads` is none of the functions."""
    x = T.dvector("x")
    inner = T.exp(x)
    cost = T.log(1 + inner).sum()
    by_inner, by_x = tg.grad(cost, [inner, x])
    f = tg.function([x], [by_inner, by_x, tg.grad(cost, x, consider_constant=[inner], disconnected_inputs="ignore")])
    at = np.array([0.5, -2.0])
    found = f(at)
    np.testing.assert_allclose(found[0], 1 / (1 + np.exp(at)))
    np.testing.assert_allclose(found[1], 1 / (1 + np.exp(-at)))
    np.testing.assert_array_equal(found[2], [0.0, 0.0])
    softened = T.log(1 + inner)
    by_softened, by_x = tg.grad((softened**2).sum(), [softened, x])
    for got, want in zip(
        tg.function([x], [by_softened, by_x])(at),
        (2 * np.log1p(np.exp(at)), 2 * np.log1p(np.exp(at)) / (1 + np.exp(-at))),
    ):
        np.testing.assert_allclose(got, want)


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_derivatives_by_what_was_computed_are_those_by_a_variable(formula):
    """Newton's second step: derivatives of derivatives by a point that derivatives of the same formula led to."""
    u, y, free = T.dvectors("u", "y", "free")
    values = np.array([0.3, -1.2, 0.7]), np.array([1.0, 0.0, 0.5])
    for point in (u - 0.1 * tg.grad(formula(u, y), u), u * formula(u, y)):

        def derivatives(x):
            cost = formula(x, y) + (x**3).sum()
            first = tg.grad(cost, x)
            third = tg.grad((tg.hessian_vector_product(cost, x, y) * x).sum(), x)
            return [first, tg.hessian(cost, x), tg.jacobian(first, x, vectorize=False), tg.Lop(first, x, y), third]

        found = tg.function([u, y], [point, *derivatives(point)])(*values)
        wanted = tg.function([free, y], derivatives(free), on_unused_input="ignore")(found[0], values[1])
        for ours, right in zip(found[1:], wanted):
            np.testing.assert_allclose(ours, right, rtol=1e-9, atol=1e-12)


PAIRS = {
    "softplus": (lambda u: T.log(1 + T.exp(u)), T.softplus),
    "sigmoid": (lambda u: 1 / (1 + T.exp(-u)), T.sigmoid),
    "softmax": (lambda u: T.exp(u) / T.exp(u).sum(), lambda u: T.softmax(u, axis=0)),
    "logsumexp": (lambda u: T.log(T.exp(u).sum()), lambda u: T.logsumexp(u, axis=0)),
}


@pytest.mark.parametrize("formula, function", PAIRS.values(), ids=PAIRS)
def test_a_formula_and_its_function_stay_apart(formula, function):
    u = T.dvector("u")
    a, b = formula(u), function(u)
    cost = (T.exp(a) * b).sum()
    whole = tg.grad(cost, u)
    by_a, by_b, by_u = tg.grad(cost, [a, b, u])
    held = tg.grad(cost, u, consider_constant=[a])
    known = tg.grad((T.exp(a) * b).sum(), u, known_grads={a: T.ones_like(a)})
    slope = tg.Lop(b, u, T.ones_like(b))
    wanted = [T.exp(a) * b, T.exp(a), whole, tg.Lop(b, u, T.exp(a)), slope + tg.Lop(b, u, T.exp(a))]
    results = tg.function([u], [by_a, by_b, by_u, held, known, *wanted])(np.array([0.3, -1.2, 0.7]))
    for found, right in zip(results[:5], results[5:]):
        np.testing.assert_allclose(found, right, rtol=1e-12)


def test_gradient_at_a_computed_point_inside_a_loop():
    """Leapfrog steps take gradients at positions that were computed; the gradient of it all is a second derivative."""
    q0 = T.dvector("q0")

    def step(q, _):
        q = q - 0.1 * tg.grad((T.log(1 + T.exp(q))).sum(), q)
        return q - 0.1 * tg.grad((T.log(1 + T.exp(q))).sum(), q), None

    q, _ = tg.loop(step, q0, length=3)
    slope = tg.function([q0], tg.grad(q.sum(), q0))(np.array([900.0, -900.0]))
    np.testing.assert_allclose(slope, [1.0, 1.0])


def test_lines_of_what_was_put_together_are_the_users():
    x = T.dvector("x")
    cost = T.log(1 + T.exp(x)).sum()
    first = tg.grad(cost, x)
    with pytest.raises(ValueError, match="test_stable"):
        tg.function([x], first + T.ones(3))(np.ones(2))


def test_every_rule_is_there():
    assert {rule.name for rule in db.query(include=STABLE_RULES)} == set(STABLE_RULES)
