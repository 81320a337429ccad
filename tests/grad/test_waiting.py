"""Gradients whose graphs are made when somebody looks at them: which, when, and that nothing else changes."""

import copy
import pickle
import threading

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.grad import made, waiting
from termgraph.grad.reverse import cuts
from termgraph.rules import defined, rule, ruleset
from termgraph.tensor.variable import TensorConstant, TensorVariable
from termgraph.terms.errors import MissingInputError, UnusedInputError
from termgraph.terms.op import OPS
from termgraph.terms.ops.derivative import missing_gradient, pullback, undefined_gradient
from termgraph.terms.ops.elementwise import erfcx

LINKER = "auto"
COMPARISONS = ("eq", "ge", "gt", "le", "lt", "neq")  # one rule for all
pytestmark = pytest.mark.usefixtures("own_cache")
needs_c = pytest.mark.skipif(find_compiler() is None, reason="programs are kept of C code only")


def net(rows=None):
    x, w, v = T.tensor("x", "float64", (rows, 3)), T.matrix("w", "float64"), T.matrix("v", "float64")
    return x, w, v, (T.tanh(x @ w) @ v).sum()


def numbers(rng):
    return [rng.normal(size=s) for s in ((5, 3), (3, 3), (3, 3))]


def test_a_gradient_is_made_when_it_is_looked_at():
    x, w, v, cost = net()
    gradients = tg.grad(cost, [w, v, w])
    assert all(g.waits and isinstance(g, TensorVariable) for g in gradients)
    at_once = made.gradients_of([(cost, T.ones((), "float64").term)], [w, v, w])
    gradients[1].name = "dv"
    assert all(g.dtype == "float64" and g.ndim == 2 and g.waits for g in gradients)  # this much is known
    assert gradients[0].type.ndim == 2 and not any(g.waits for g in gradients)  # all of a cost are made together
    assert [type(g) for g in gradients] == [TensorVariable] * 3
    assert [g.term for g in gradients] == [g.term for g in at_once]
    assert gradients[1].name == "dv" and gradients[1].owner.outputs[0] is gradients[1]


LOOKS = [
    str, repr, copy.copy, tg.dprint, lambda g: g + 1, lambda g: g.owner, lambda g: g.clone(), lambda g: g.index,
    lambda g: pickle.loads(pickle.dumps(g)), lambda g: g.tag.trace,
]  # fmt: skip


@pytest.mark.parametrize("look", LOOKS)
def test_whoever_looks_sees_a_usual_variable(look, capsys):
    x, w, v, cost = net()
    g = tg.grad(cost, w)
    look(g)
    assert g.type.dtype == "float64" and g.owner.op.nout == 1 and "test_waiting" in g.where
    assert type(g.clone()) is TensorVariable


def test_a_gradient_that_is_a_constant_is_one():
    x = T.tensor("x", "float64", (3,))
    g = tg.grad((2 * x).sum(), x)
    assert g.term is not None and g.eval({x: np.ones(3)}).tolist() == [2.0] * 3
    x = T.dscalar("x")
    g = tg.grad(x, x)
    assert g.waits and g.term is not None
    assert isinstance(g, TensorConstant) and g.data == 1.0 and g.owner is None
    assert tg.function([x], [x * 1.5, tg.grad(x * 1.5, x)])(2.0) == [3.0, 1.5]


def test_two_that_look_at_the_same_time():
    for _ in range(20):
        x, w, v, cost = net()
        gradients, seen = tg.grad(cost, [w, v]), []
        look = lambda g, seen=seen: seen.append(g.term)  # noqa: E731
        threads = [threading.Thread(target=look, args=(g,)) for g in (*gradients, *gradients)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(set(map(id, seen))) == 2 and not any(g.waits for g in gradients)


def test_errors_do_not_wait():
    x, w, v, cost = net()
    with pytest.raises(ValueError, match="not part of|does not depend|disconnected"):
        tg.grad(cost, T.matrix("unused"))
    with pytest.raises(TypeError, match="whole"):
        tg.grad((x * T.lmatrix("i")).sum(), T.lmatrix("i"))
    with pytest.raises(TypeError, match="declared by undefined_grad"):
        tg.grad(tg.undefined_grad(cost) * 2, w)
    with pytest.raises(TypeError, match="scalar"):
        tg.grad(w, w)
    with pytest.warns(UserWarning):
        assert not tg.grad(cost, [w, T.matrix("unused")], disconnected_inputs="warn")[1].waits
    assert not tg.grad(cost, w, consider_constant=[x]).waits and not tg.grad(None, w, known_grads={cost: 1.0}).waits
    length = (w.shape[0] * v.sum()).astype("float64")
    with pytest.raises(ValueError, match="depend"):
        tg.grad(length, w)  # on its length only


def nodes(t):
    """The applications of ops in a term with holes."""
    stack = [t]
    while stack:
        t = stack.pop()
        if getattr(t, "op", None) is not None:
            yield t
            stack += getattr(t, "args", ())


def test_what_is_sure_has_rules_without_exceptions():
    rules, with_rules = db.query("+grad"), set()
    for r in rules:
        for instance in r.instances():
            of = getattr(instance.lhs.args[0], "op", None) if instance.lhs.op is pullback else None
            if of is None or of.family.name not in waiting.SURE:
                continue
            with_rules.add(of.family.name)
            found = [t.op.family for t in nodes(instance.rhs) if t.op.kind == "derivative"]
            assert not {missing_gradient, undefined_gradient} & set(found), r.name
    for name in waiting.SURE:
        op = OPS[name]
        assert name in with_rules or op.kind == "length" or hasattr(op, "pullback_terms") or name in COMPARISONS, name
        assert cuts(op) == (op.kind == "length"), name


# ---------------------------------------------------------------------- functions
def values(f, args):
    return [np.asarray(v) for v in f(*args)]


def compiled_twice(make, args):
    """What a function gives when it is compiled, and when it is found; both beside gradients that were made before."""
    found = []
    for looked_at in (True, False, False):
        inputs, outputs = make()
        if looked_at:
            assert all(o.term is not None for o in outputs)
        f = tg.function(inputs, outputs, mode=tg.Mode(linker=LINKER))
        found.append((values(f, args), f, outputs))
    for results, _, _ in found[1:]:
        for a, b in zip(found[0][0], results, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    return found[-1][1:]


@needs_c
@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 2]])
def test_a_function_that_is_found_makes_no_gradient(order, rng):
    def make():
        x, w, v, cost = net()
        outputs = [cost, *tg.grad(cost, [w, v])]
        return [x, w, v], [outputs[k] for k in order]

    f, outputs = compiled_twice(make, numbers(rng))
    assert f.maker.work.warm and all(o.waits for k, o in zip(order, outputs) if k)
    assert any("tanh" in str(node.op) for node in f.maker.fgraph.toposort()) and len(f.trace) > 0  # worked out now
    assert not any(o.waits for o in outputs)
    g = pickle.loads(pickle.dumps(f))
    for a, b in zip(values(f, args := numbers(rng)), values(g, args)):
        np.testing.assert_array_equal(a, b)


@needs_c
def test_names_tell_functions_apart(rng):
    args = numbers(rng)

    def gradients(*of, by=lambda x, w, v: [w, v], more=lambda x, w, v: [], scale=1.0):
        x, w, v, cost = net()
        cost = cost * scale
        other = (w * v).sum()
        costs = {"cost": cost, "other": other}
        made_ = {name: tg.grad(c, by(x, w, v)) for name, c in costs.items()}
        return [x, w, v], [cost, other, *[made_[n][k] for n, k in of], *more(x, w, v)]

    cases = [
        lambda: gradients(("cost", 0), ("cost", 1)), lambda: gradients(("cost", 1), ("cost", 0)),
        lambda: gradients(("other", 0), ("other", 1)), lambda: gradients(("cost", 0), ("other", 1)),
        lambda: gradients(("cost", 0), ("cost", 1), by=lambda x, w, v: [v, w]),
        lambda: gradients(("other", 0), ("cost", 0), ("cost", 0)),
        lambda: gradients(("cost", 0), ("cost", 1), more=lambda x, w, v: [w + v]),
        lambda: gradients(("cost", 0), ("cost", 1), scale=2.0),
    ]  # fmt: skip
    assert len({compiled_twice(make, args)[0].maker.work.captured.digest() for make in cases}) == len(cases)


@needs_c
def test_shared_variables_and_parameters_between(rng):
    first = rng.normal(size=(3, 4))

    def make():
        x, w, b = T.dmatrix("x"), tg.shared(first, "w"), tg.shared(np.ones(4), "b")
        h = T.tanh(x @ w)
        cost = T.log(1 + T.exp(h + b)).mean()
        return [x], [cost, h, *tg.grad(cost, [b, h, w])]

    f, outputs = compiled_twice(make, [rng.normal(size=(5, 3))])
    assert f.maker.work.warm and outputs[-1].waits and len(f.get_shared()) == 2


@needs_c
def test_filters_of_shared_variables(rng):
    first = rng.normal(size=(2, 3, 3, 3)).astype("float32")

    def make():
        x, w = T.tensor4("x", "float32"), tg.shared(first, "w")
        cost = (T.nnet.conv2d(x, w) ** 2).mean()
        return [x], [cost, tg.grad(cost, w)]

    f, outputs = compiled_twice(make, [rng.normal(size=(2, 3, 8, 8)).astype("float32")])
    assert f.maker.work.warm and outputs[1].waits
    (w,) = f.get_shared()
    w.set_value(rng.normal(size=(2, 3, 5, 5)).astype("float32"))  # other lengths: compiled anew
    images = rng.normal(size=(2, 3, 8, 8)).astype("float32")
    again = f(images)
    x = T.tensor4("x", "float32")
    cost = (T.nnet.conv2d(x, w) ** 2).mean()
    expected = tg.function([x], [cost, tg.grad(cost, w)[:]])(images)
    for a, b in zip(again, expected):
        np.testing.assert_allclose(a, b, rtol=1e-4)


@needs_c
@pytest.mark.parametrize("stops", [False, True])
def test_loops_are_as_sure_as_one_step(stops, rng):
    first = rng.normal(size=(3, 3)) / 2

    def make(of=T.tanh):
        x, w, s = T.dmatrix("x"), tg.shared(first, "w"), T.dvector("s")

        def step(row, state, w):
            new = of(row + state @ w)
            return (new, tg.until(new.sum() > 100.0)) if stops else new

        states, _ = tg.scan(step, sequences=x, outputs_info=s, non_sequences=w)
        cost = (states**2).mean() + states[-1].sum()
        return [x, s], [cost, *tg.grad(cost, [w, s, x])]

    f, outputs = compiled_twice(make, [rng.normal(size=(6, 3)), rng.normal(size=3)])
    assert stops or (f.maker.work.warm and all(g.waits for g in outputs[1:]))
    assert not make(T.arctan)[1][1].waits  # not known to be sure
    with pytest.raises(TypeError, match="declared by undefined_grad"):
        make(tg.undefined_grad)


def test_where_graphs_have_to_be_made(rng):
    args = numbers(rng)
    x, w, v, cost = net()
    expected = tg.function([x, w, v], [cost, *[g[:] for g in tg.grad(cost, [w, v])]])(*args)
    alone = tg.function([x, w, v], tg.grad(cost, [w, v]))(*args)  # whose inputs are not known without their graphs
    y = T.dmatrix("y")
    given = tg.function([x, w, y], [cost, *tg.grad(cost, [w, v])], givens={v: y * 1.0})(*args)
    for a, b in zip([*alone, *given], [*expected[1:], *expected]):
        np.testing.assert_allclose(a, b)
    with pytest.raises(MissingInputError, match="the input x"):
        h = T.tanh(x @ w)
        cost = (h @ v).sum()
        tg.function([h, v], [cost, tg.grad(cost, w)])  # above h nothing is given
    s = tg.shared(args[1], "s")
    cost = (T.tanh(x @ s)).sum()
    step = tg.function([x], [cost, tg.grad(cost, s)], updates=[(s, s - 0.1 * tg.grad(cost, s))])
    _, g = step(args[0])
    np.testing.assert_allclose(s.get_value(), args[1] - 0.1 * g)
    with pytest.raises(UnusedInputError, match="not used"):
        tg.function([x, w, v, T.dscalar("q")], [cost, tg.grad(cost, x)])


def test_with_test_values_nothing_waits():
    with tg.config.change_flags(compute_test_value="raise"):
        x = T.dvector("x")
        x.tag.test_value = np.ones(3)
        g = tg.grad((x**2).sum(), x)
        assert not g.waits and g.tag.test_value.tolist() == [2.0] * 3


@needs_c
def test_gradients_without_their_cost(rng):
    args = numbers(rng)

    def make():
        x, w, v, cost = net()
        return [x, w, v], tg.grad(cost, [w, v])

    f, outputs = compiled_twice(make, args)
    assert f.maker.work.warm and all(g.waits for g in outputs)
    x, y = T.dscalar("x"), T.dscalar("y")
    cost = x**2 + y + tg.shared(1.0)
    assert tg.function([x], tg.grad(cost, x))(3.0) == 6.0  # whose cost needs more than is given
    f = tg.function([x, y], tg.grad(x**2 + y, x), mode=tg.Mode(linker=LINKER))
    assert f(3.0, 1.0) == 6.0  # y belongs to what it was made from
    draw = T.random.RandomStream(1).normal()
    f = tg.function([x], tg.grad(x * x + 0.0 * draw, x))
    assert f(2.0) == 4.0
    both = tg.function([x], [tg.grad(x**3, x), tg.grad(tg.grad(x**3, x), x)], mode=tg.Mode(linker=LINKER))
    assert both(2.0) == [12.0, 12.0]


def test_a_rule_that_is_defined_later_is_not_theirs(monkeypatch):
    """Nor does a gradient that cannot be made get in the way of whoever defines a rule."""
    x = T.dvector("x")
    g = tg.grad(T.tanh(x).sum(), x)
    broken = tg.grad(T.tanh(x).sum(), x)
    monkeypatch.setattr(waiting.held_by(broken), "_make", lambda *given: 1 / 0)
    assert g.waits and broken.waits
    try:

        @ruleset("canonicalize")
        def made_for_a_test(y):
            yield rule("none", erfcx(erfcx(erfcx(y))), erfcx(erfcx(erfcx(y + 0))))

        assert not g.waits and broken.waits
        with pytest.raises(ZeroDivisionError):
            broken.owner
    finally:
        defined.forget(["made_for_a_test.none"])
