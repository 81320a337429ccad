"""Optimizers against plain NumPy loops written from the papers' formulas, and what they refuse."""

import copy

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import optim
from termgraph.function.compiled import MachineFunction

STEPS = 100
RNG = np.random.default_rng(0)
START = [RNG.normal(size=(3, 2)), RNG.normal(size=4)]
CURVES = [RNG.uniform(0.5, 2.0, size=(3, 2)), RNG.uniform(0.5, 2.0, size=4)]


def gradient(w, c):
    """Of `sum(c * (w - 1)**2) + sum(sin(w))`: not zero anywhere near the start, and of both signs."""
    return 2 * c * (w - 1) + np.cos(w)


def cost_of(params, curves):
    return sum((c * (w - 1) ** 2).sum() + T.sin(w).sum() for w, c in zip(params, curves))


def trained(optimizer, dtype="float64", steps=STEPS):
    params = [tg.shared(w.astype(dtype), name=f"w{i}") for i, w in enumerate(START)]
    curves = [T.as_tensor(c.astype(dtype)) for c in CURVES]
    step = tg.function([], updates=optimizer(cost_of(params, curves), params))
    for _ in range(steps):
        step()
    return [p.get_value() for p in params]


def reference(rule, steps=STEPS):
    """`rule(gradient, memory, t)` gives the step of one parameter; `memory` is a dictionary that it may fill."""
    params = [w.copy() for w in START]
    memories = [{} for _ in params]
    for t in range(1, steps + 1):
        for w, c, memory in zip(params, CURVES, memories):
            w += rule(gradient(w, c), memory, t, w)
    return params


def momentum(g, m, t, w):
    m["v"] = 0.9 * m.get("v", 0) + g
    return -0.01 * m["v"]


def nesterov(g, m, t, w):
    m["v"] = 0.9 * m.get("v", 0) + g
    return -0.01 * (g + 0.9 * m["v"])


def adagrad(g, m, t, w):
    m["s"] = m.get("s", 0.1) + g**2
    return -0.1 * g / (np.sqrt(m["s"]) + 1e-10)


def rmsprop(g, m, t, w):
    m["s"] = 0.9 * m.get("s", 0) + 0.1 * g**2
    return -0.001 * g / (np.sqrt(m["s"]) + 1e-8)


def rmsprop_centered(g, m, t, w):
    m["s"] = 0.9 * m.get("s", 0) + 0.1 * g**2
    m["m"] = 0.9 * m.get("m", 0) + 0.1 * g
    m["v"] = 0.5 * m.get("v", 0) + g / np.sqrt(m["s"] - m["m"] ** 2 + 1e-4)
    return -0.01 * m["v"]


def adadelta(g, m, t, w):
    m["s"] = 0.9 * m.get("s", 0) + 0.1 * g**2
    step = np.sqrt(m.get("d", 0) + 1e-6) / np.sqrt(m["s"] + 1e-6) * g
    m["d"] = 0.9 * m.get("d", 0) + 0.1 * step**2
    return -step


def moments(g, m):
    m["m"] = 0.9 * m.get("m", 0) + 0.1 * g
    m["s"] = 0.99 * m.get("s", 0) + 0.01 * g**2
    return m["m"], m["s"]


def adam(g, m, t, w):
    first, second = moments(g, m)
    return -0.05 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.99**t)) + 1e-8)


def nadam(g, m, t, w):
    first, second = moments(g, m)
    first = 0.9 * first / (1 - 0.9 ** (t + 1)) + 0.1 * g / (1 - 0.9**t)
    return -0.05 * first / (np.sqrt(second / (1 - 0.99**t)) + 1e-8)


def adamw(g, m, t, w):
    return adam(g, m, t, w) - 0.05 * 0.1 * w


def adamax(g, m, t, w):
    m["m"] = 0.9 * m.get("m", 0) + 0.1 * g
    m["u"] = np.maximum(0.99 * m.get("u", 0), np.abs(g) + 1e-8)
    return -0.05 * m["m"] / (1 - 0.9**t) / m["u"]


def lion(g, m, t, w):
    step = -0.01 * (np.sign(0.9 * m.get("m", 0) + 0.1 * g) + 0.1 * w)
    m["m"] = 0.99 * m.get("m", 0) + 0.01 * g
    return step


CASES = {
    "sgd": (optim.sgd(0.05), lambda g, m, t, w: -0.05 * g),
    "sgd with momentum": (optim.sgd(0.01, momentum=0.9), momentum),
    "momentum": (optim.momentum(0.01), momentum),
    "sgd with nesterov": (optim.sgd(0.01, momentum=0.9, nesterov=True), nesterov),
    "nesterov": (optim.nesterov(0.01), nesterov),
    "adagrad": (optim.adagrad(0.1, initial_accumulator=0.1), adagrad),
    "rmsprop": (optim.rmsprop(0.001, decay=0.9), rmsprop),
    "rmsprop centered": (
        optim.rmsprop(0.01, decay=0.9, eps=0.0, eps_root=1e-4, centered=True, momentum=0.5), rmsprop_centered,
    ),
    "adadelta": (optim.adadelta(), adadelta),
    "adam": (optim.adam(0.05, beta2=0.99), adam),
    "nadam": (optim.nadam(0.05, beta2=0.99), nadam),
    "adamw": (optim.adamw(0.05, beta2=0.99, weight_decay=0.1), adamw),
    "adamax": (optim.adamax(0.05, beta2=0.99), adamax),
    "lion": (optim.lion(0.01, weight_decay=0.1), lion),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_hundred_steps_are_those_of_the_formula(name):
    optimizer, rule = CASES[name]
    for ours, expected in zip(trained(optimizer), reference(rule), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-10)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_parameters_and_state_keep_their_dtype(name, dtype):
    params = [tg.shared(w.astype(dtype), name=f"w{i}") for i, w in enumerate(START)]
    updates = CASES[name][0](cost_of(params, [c.astype(dtype) for c in CURVES]), params)
    for variable, new in updates.items():
        assert new.dtype == variable.dtype
    assert {v.dtype for v in updates} <= {dtype, "int64"}


def test_float32_follows_float64():
    for ours, expected in zip(trained(CASES["adam"][0], "float32"), reference(adam)):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, expected, rtol=2e-4)


def test_one_step_of_adam_on_a_network_is_one_native_call():
    x, y = T.fmatrix("x"), T.fmatrix("y")
    w, v = (tg.shared(RNG.normal(size=s).astype("float32"), name=n) for s, n in [((4, 8), "w"), ((8, 2), "v")])
    cost = T.mean((T.tanh(x @ w) @ v - y) ** 2)
    f = tg.function([x, y], cost, updates=optim.adam(1e-2)(cost, [w, v]), mode=tg.Mode(linker="c"))
    assert not isinstance(f, MachineFunction)
    data = RNG.normal(size=(16, 4)).astype("float32")
    losses = [float(f(data, data[:, :2])) for _ in range(50)]
    assert losses[-1] < 0.5 * losses[0]


def test_a_schedule_is_a_function_of_the_step_and_a_shared_rate_can_be_changed():
    w = tg.shared(np.zeros(1), name="w")
    rates = optim.piecewise_constant(1.0, {2: 0.1})
    step = tg.function([], updates=optim.sgd(rates)([T.as_tensor(np.array([-1.0]))], [w]))
    seen = []
    for _ in range(4):
        step()
        seen.append(float(w.get_value()[0]))
    np.testing.assert_allclose(np.diff([0, *seen]), [1.0, 1.0, 0.1, 0.1])

    rate = tg.shared(np.float64(0.5))
    step = tg.function([], updates=optim.sgd(rate)([T.as_tensor(np.array([-1.0]))], [w]))
    w.set_value(np.zeros(1))
    step()
    rate.set_value(0.25)
    step()
    np.testing.assert_allclose(w.get_value(), [0.75])


def test_clipping_bounds_elements_norms_and_the_norm_of_all():
    grads = [np.array([3.0, -4.0]), np.array([[0.0, 12.0]])]
    params = [tg.shared(np.zeros_like(g)) for g in grads]

    def stepped(clipping):
        made = optim.chain(clipping, optim.scale_by_learning_rate(1.0))([T.as_tensor(g) for g in grads], params)
        return [np.asarray(v.eval()) for v in list(made.values())[:2]]

    np.testing.assert_allclose(stepped(optim.clip(1.0))[0], [-1.0, 1.0])
    np.testing.assert_allclose(stepped(optim.clip_by_norm(1.0))[0], [-0.6, 0.8])
    np.testing.assert_allclose(stepped(optim.clip_by_norm(6.0))[0], [-3.0, 4.0])
    np.testing.assert_allclose(stepped(optim.clip_by_global_norm(6.5))[1], [[0.0, -6.0]])
    zeros = optim.clip_by_global_norm(1.0)([T.as_tensor(np.zeros(2))], params[:1])
    assert not np.isnan(next(iter(zeros.values())).eval()).any()


def test_state_is_named_after_its_parameter():
    w = tg.shared(np.zeros(2), name="w")
    names = [v.name for v in optim.adam()((w**2).sum(), [w])]
    assert names == ["w", "adam.count", "adam.mean(w)", "adam.square(w)"]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: optim.adam(beta1=1.0), ValueError, "beta1 must be at least 0 and below 1"),
        (lambda: optim.sgd(0.1, nesterov=True), ValueError, "nesterov=True looks ahead"),
        (lambda: optim.clip_by_norm(0.0), ValueError, "must be positive"),
        (lambda: optim.linear(0.0, 1.0, 0), ValueError, "steps must be positive"),
        (lambda: optim.sgd(0.1)(T.dscalar("c"), [T.dscalar("x")]), TypeError, "not a shared variable"),
        (lambda: optim.sgd(0.1)([T.dvector()], [tg.shared(np.arange(3), name="n")]), TypeError, "'n' has dtype int64"),
        (lambda: optim.sgd(0.1)([], [tg.shared(np.zeros(3))]), ValueError, "0 gradients for 1 parameters"),
        (lambda: optim.adam(T.dscalar("cost"), [tg.shared(0.0)]), TypeError, r"write adam\(rate\)\(cost, parameters\)"),
        (lambda: tg.function([], updates=optim.sgd(0.1)), TypeError, "gives updates when it is called"),
    ],
)
def test_mistakes_say_what_to_write(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_parameter_is_listed_once():
    w = tg.shared(np.zeros(2), name="w")
    with pytest.raises(ValueError, match="'w' is listed twice"):
        optim.sgd(0.1)((w**2).sum(), [w, w])


@pytest.mark.parametrize("word", ["updates", "minimize", "step", "init"])
def test_methods_of_other_libraries_say_what_to_write(word):
    with pytest.raises(AttributeError, match=rf"no '{word}'.*adam\(\.\.\.\)\(cost, params\)"):
        getattr(tg.optim.adam(0.1), word)
    assert copy.copy(tg.optim.adam(0.1)).name == "adam"


def test_classes_of_other_libraries_are_told_from_functions():
    with pytest.raises(AttributeError, match=r"no attribute 'AdamW'; write updates = tg.optim.adamw\(rate\)"):
        tg.optim.AdamW
    assert not hasattr(tg.optim, "lbfgs")
