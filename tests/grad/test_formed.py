"""What is computed from gradients that wait waits too: which expressions, and that nothing else changes."""

import copy
import pickle
import threading

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.grad import waiting
from termgraph.tensor.variable import TensorVariable
from termgraph.terms.errors import MissingInputError, ShapeError, TypeMismatch, UnusedInputError
from termgraph.terms.op import OPS

MODE = tg.Mode(linker="auto")
pytestmark = pytest.mark.usefixtures("own_cache")
needs_c = pytest.mark.skipif(find_compiler() is None, reason="programs are kept of C code only")


def net(dtype="float64", seed=1):
    """A softmax layer behind a hidden one, with shared weights."""
    rng = np.random.default_rng(seed)
    x, y = T.matrix("x", dtype), T.matrix("y", dtype)
    shapes = {"w": (3, 4), "b": (4,), "v": (4, 2)}
    w, b, v = (tg.shared(rng.normal(size=s).astype(dtype), name) for name, s in shapes.items())
    cost = -(y * T.log(T.softmax(T.tanh(x @ w + b) @ v, axis=-1))).sum(axis=1).mean()
    return x, y, [w, b, v], cost


def numbers(rng, dtype="float64"):
    return [rng.normal(size=(5, 3)).astype(dtype), rng.random(size=(5, 2)).astype(dtype)]


def made_first(gradients):
    assert all(g.term is not None for g in gradients)
    return gradients


# ---------------------------------------------------------------------- expressions
EXPRESSIONS = {
    "0.1 * g": lambda g, w: 0.1 * g, "w - g / 2": lambda g, w: w - g / 2, "g * g": lambda g, w: g * g,
    "norm": lambda g, w: T.sqrt((g * g).sum()), "clip": lambda g, w: T.clip(g, -0.1, 0.1),
    "shorter": lambda g, w: g / T.maximum(1.0, T.sqrt(T.sum(T.sqr(g)))), "cast": lambda g, w: T.cast(g, "float32"),
    "choice": lambda g, w: T.switch(g > 0, g, w), "-abs": lambda g, w: -abs(g), "sign": lambda g, w: T.sign(g + w),
    "array": lambda g, w: g + np.float64(2.0), "of a rank": lambda g, w: w.sum() * g,
}  # fmt: skip


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_arithmetic_waits(name):
    form = EXPRESSIONS[name]
    x, y, weights, cost = net()
    with tg.config.change_flags(floatX="float64"):
        for w, at_once in zip(weights, made_first(tg.grad(cost, weights))):
            g = tg.grad(cost, w)
            e, expected = form(g, w), form(at_once, w)
            assert (e.dtype, e.ndim) == (expected.dtype, expected.ndim) and e.waits and g.waits
            assert e.term is expected.term
            assert e.type.dtype == expected.dtype and not e.waits and not g.waits and type(e) is TensorVariable
            assert e.owner.op is expected.owner.op and "test_formed" in e.where


LOOKS = [
    str, repr, copy.copy, tg.dprint, lambda e: e[0], lambda e: e.owner, lambda e: e.clone(), lambda e: e.index,
    lambda e: pickle.loads(pickle.dumps(e)), lambda e: e.tag.trace, lambda e: e.type, lambda e: e.broadcastable,
    lambda e: e.T, lambda e: e.sum(axis=0), lambda e: tg.grad(e.sum(), e),
]  # fmt: skip


@pytest.mark.parametrize("look", LOOKS)
def test_whoever_looks_sees_a_usual_variable(look, capsys):
    x, y, weights, cost = net()
    g = tg.grad(cost, weights[0])
    e = weights[0] - 0.1 * g
    e.name = "new"
    look(e)
    assert e.type.dtype == "float64" and e.name == "new" and type(e) is TensorVariable
    assert e.owner.inputs[1].owner.inputs[1] is g and e.owner.outputs[0] is e


def test_what_is_known_of_a_gradient_holds(rng):
    """The dtype and rank that it has while it waits are those of what is made, by whatever it is differentiated."""
    found = 0
    for dtype in ("float16", "float32", "float64"):
        for wide in ("float32", "float64"):
            w, k = T.tensor("w", dtype, (None, 3)), T.tensor("k", dtype, (1, None))
            b, s = T.tensor("b", wide, (3,)), T.tensor("s", dtype, ())
            h = T.maximum(T.exp(w) * k + b, 0) ** 2 + T.softplus(s) + T.erf(w / 2)
            h = T.concatenate([h, T.sigmoid(-h)], axis=0)[1:, ::-1]
            h = T.switch(h > 0.5, T.sqrt(h), T.sin(h) - T.cos(h)) + h.max(axis=1, keepdims=True)
            cost = T.cast(h.reshape((-1,)), wide).sum()
            wrt = [w, k, b, s, h]
            gradients = tg.grad(cost, wrt)
            waits = [*gradients, *[2 * g for g in gradients]]
            told = [(g.dtype, g.ndim) for g in waits]
            assert all(g.waits for g in waits) and told == [(v.dtype, v.ndim) for v in (*wrt, *wrt)]
            assert [(g.type.dtype, g.type.ndim) for g in waits] == told
            found += len(wrt)
    assert found == 30


def test_errors_do_not_wait():
    x, w = T.tensor("x", "float64", (None, 3)), T.matrix("w", "float64")
    cost = T.tanh(x @ w).sum()
    with pytest.raises(ShapeError):
        tg.grad(cost, w) + T.tensor("c", "float64", (4, None))  # only the gradient knows that it has 3 rows
    z = T.tensor("z", "float64", (None, 4))
    of_w, of_z = tg.grad(T.tanh(x @ w).sum() + z.sum(), [w, z])
    assert not (of_w + of_z).waits
    with pytest.raises(TypeError):
        tg.grad(cost, w) & 1
    with pytest.raises(OverflowError):
        tg.grad(cost, w) * 10**400
    s = tg.shared(np.zeros((3, 2), "float32"), "s")
    g = tg.grad((x.astype("float32") @ s).sum(), s)
    with pytest.raises(TypeMismatch, match="float64"):
        tg.function([x], updates=[(s, s - T.dscalar("rate") * g)])
    with pytest.raises(TypeMismatch, match="dimension"):
        tg.function([x], updates={s: T.sqr(tg.grad((x.astype("float32") @ s).sum(), s)).sum()})
    g = tg.grad((x.astype("float32") @ s).sum(), s)
    with pytest.raises(MissingInputError, match="the input rate"):
        tg.function([x], (x.astype("float32") @ s).sum(), updates={s: s - T.fscalar("rate") * g})
    with pytest.raises(UnusedInputError, match="not used"):
        tg.function([x, T.fscalar("q")], (x.astype("float32") @ s).sum(), updates={s: s - g})


def test_a_long_sum_is_made_without_recursion():
    x, y, weights, cost = net()
    total = g = tg.grad(cost, weights[0])
    for _ in range(3000):
        total = total + g
    assert total.waits
    assert total.term.type.ndim == 2 and not g.waits


def test_two_that_look_at_the_same_time():
    for _ in range(20):
        x, y, weights, cost = net()
        new = [w - 0.1 * g for w, g in zip(weights, tg.grad(cost, weights))]
        seen = []
        look = lambda e, seen=seen: seen.append(e.owner.inputs[1].term)  # noqa: E731
        threads = [threading.Thread(target=look, args=(e,)) for e in (*new, *new)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(set(map(id, seen))) == 3 and not any(e.waits for e in new)


def test_steps_of_many_weights_are_made_at_once():
    weights = [tg.shared(np.ones(2)) for _ in range(waiting.MOST + 1)]
    cost = sum(T.tanh(w).sum() for w in weights)
    assert not (2 * tg.grad(cost, weights)[0]).waits and (2 * tg.grad(cost, weights[1:])[0]).waits


def test_element_by_element_ops_only():
    x, y, weights, cost = net()
    for form in (lambda g: g.T, lambda g: g[0], lambda g: g.sum(axis=0), lambda g: g @ g.T, lambda g: g.shape[0]):
        assert not form(tg.grad(cost, weights[0])).waits
    assert all(OPS[n].kind == "elementwise" for n in ("add", "mul", "cast", "switch", "clip", "sqrt"))


# ---------------------------------------------------------------------- functions
O = tg.optim
STEPS = {
    "sgd": O.sgd(0.1), "momentum": O.momentum(0.1), "nesterov": O.nesterov(0.1), "adam": O.adam(0.01),
    "nadam": O.nadam(0.01), "adamw": O.adamw(0.01), "adamax": O.adamax(0.01), "rmsprop": O.rmsprop(0.01),
    "centered": O.rmsprop(0.01, centered=True, momentum=0.5), "adagrad": O.adagrad(0.1), "adadelta": O.adadelta(),
    "lion": O.lion(0.01, weight_decay=0.1), "clip": O.chain(O.clip(0.1), O.sgd(0.1)),
    "by norm": O.chain(O.clip_by_norm(0.1), O.momentum(0.1)),
    "by all norms": O.chain(O.clip_by_global_norm(0.1), O.adamw(0.01)),
    "schedule": O.sgd(O.exponential_decay(0.1, 0.5, 3)),
}  # fmt: skip


@needs_c
@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_is_found_makes_no_gradient(name, rng):
    dtype = "float32" if list(STEPS).index(name) % 2 else "float64"
    args, found = numbers(rng, dtype), []
    for looked_at in (True, False, False):
        x, y, weights, cost = net(dtype)
        updates = STEPS[name](cost, weights)
        assert looked_at or any(u.waits for u in updates.values())
        if looked_at:
            made_first(updates.values())
        f = tg.function([x, y], cost, updates=updates, mode=MODE)
        waits = all(updates[w].waits for w in weights)
        costs = [f(*args) for _ in range(3)]
        found.append([*costs, *(s.get_value() for s in updates)])
    assert f.maker.work.warm and waits
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    assert len(f.trace) > 0 and not any(u.waits for u in updates.values())  # worked out now
    g = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(f(*args), g(*args))


@needs_c
def test_names_tell_steps_apart(rng):
    def step(form, by=lambda a, b: [a, b], more=lambda f: f):
        def make():
            x, a, b = T.dmatrix("x"), tg.shared(np.eye(3), "a"), tg.shared(np.ones((3, 3)), "b")
            cost = more((T.tanh(x @ a) @ b).sum())
            first, second = tg.grad(cost, by(a, b))
            return x, cost, dict(zip((a, b), form(a, b, first, second)))

        return make

    cases = [
        step(lambda a, b, g, h: (a - 0.1 * g, b - 0.1 * h)), step(lambda a, b, g, h: (a - 0.1 * h, b - 0.1 * g)),
        step(lambda a, b, g, h: (a - 0.2 * g, b - 0.1 * h)), step(lambda a, b, g, h: (a + 0.1 * g, b - 0.1 * h)),
        step(lambda a, b, g, h: (a - 0.1 * g, b - 0.1 * h), by=lambda a, b: [b, a]),
        step(lambda a, b, g, h: (b - 0.1 * g, a - 0.1 * h)), step(lambda a, b, g, h: (a - 0.1 * g, b - 0.1 * g)),
        step(lambda a, b, g, h: (a - 0.1 * g, b - 0.1 * h), more=lambda f: 2 * f),
        step(lambda a, b, g, h: (g, h)), step(lambda a, b, g, h: (a - 0.1 * g, h)),
    ]  # fmt: skip
    args, names = rng.normal(size=(4, 3)), set()
    for make in cases:
        found = []
        for looked_at in (True, False, False):
            x, cost, updates = make()
            if looked_at:
                made_first(updates.values())
            f = tg.function([x], cost, updates=updates, mode=MODE)
            found.append([f(args), *(s.get_value() for s in updates)])
        for other in found[1:]:
            for one, two in zip(found[0], other, strict=True):
                np.testing.assert_array_equal(one, two)
        names.add(f.maker.work.captured.digest())
        assert f.maker.work.warm
    assert len(names) == len(cases)


@needs_c
def test_gradients_and_what_is_computed_from_them(rng):
    args = numbers(rng)
    for looked_at in (True, False, False):
        x, y, weights, cost = net()
        rate = T.dscalar("rate")
        gradients = tg.grad(cost, weights)
        norm = T.sqrt(sum(T.sqr(g).sum() for g in gradients))
        outputs = [norm, cost, gradients[1], gradients[0] * rate]
        if looked_at:
            made_first(outputs)
            expected = tg.function([x, y, rate], outputs, mode=MODE)(*args, 0.5)
            continue
        f = tg.function([x, y, tg.In(rate, value=0.5)], outputs, mode=MODE)
        for a, b in zip(expected, f(*args)):
            np.testing.assert_array_equal(a, b)
    assert f.maker.work.warm and norm.waits and gradients[0].waits
    assert norm.owner.op.name == "sqrt" and not gradients[0].waits


def test_where_graphs_have_to_be_made(rng):
    args = numbers(rng)
    x, y, weights, cost = net()
    expected = tg.function([x, y], [2 * g for g in made_first(tg.grad(cost, weights))])(*args)
    doubled = [2 * g for g in tg.grad(cost, weights)]
    alone = tg.function([x, y], doubled)(*args)  # whose shared variables are not known without their graphs
    given = tg.function([x, y], [2 * g for g in tg.grad(cost, weights)], givens={weights[0]: weights[0] * 1.0})(*args)
    first = 2 * (g := tg.grad(cost, weights)[0])
    assert g.term is not None and first.waits
    for a, b in zip([*alone, *given, tg.function([x, y], first)(*args)], [*expected, *expected, expected[0]]):
        np.testing.assert_allclose(a, b)
    g = tg.grad(cost, weights)[0]
    with tg.config.change_flags(compute_test_value="ignore"):
        assert not (2 * g).waits
