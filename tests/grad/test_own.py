"""Gradients of user-written ops, folded graphs, lazy choices, checks; recomputation; errors with their paths."""

import numpy as np
import pytest
from gradcases import check

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import DisconnectedInputError, GradNotImplementedError, NullTypeGradError
from termgraph.terms.evaluate import evaluate
from termgraph.terms.traverse import subterms


class Cube(tg.Op):
    __props__ = ()

    def make_node(self, x):
        x = T.as_tensor(x)
        return tg.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] ** 3

    def grad(self, inputs, output_grads):
        return [3 * inputs[0] ** 2 * output_grads[0]]


class Weighted(tg.Op):
    """x * 2 ** n, differentiated by x; declared undefined by n when that is asked for."""

    __props__ = ("how",)

    def __init__(self, how):
        self.how = how

    def make_node(self, x, n):
        x, n = T.as_tensor(x), T.as_tensor(n)
        return tg.Apply(self, [x, n], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(inputs[0] * 2.0 ** inputs[1])

    def L_op(self, inputs, outputs, output_grads):
        x, n = inputs
        by_n = {
            "undefined": tg.grad_undefined(self, 1, n, "n is a count"),
            "missing": tg.grad_not_implemented(self, 1, n),
            "disconnected": tg.DisconnectedType()(),
            "short": None,
        }[self.how]
        return [output_grads[0] * outputs[0] / x, by_n][: 1 if self.how == "short" else 2]

    def R_op(self, inputs, eval_points):
        return [eval_points[0] * 2.0 ** inputs[1]]


class Opaque(Cube):
    grad = None


def test_f17_user_ops_with_grad(rng):
    check(lambda x: Cube()(x) * x, rng.normal(size=3))
    check(lambda x: tg.grad(Cube()(x).sum(), x), rng.normal(size=3))
    x, v = T.dvector("x"), T.dvector("v")
    np.testing.assert_allclose(evaluate([tg.Rop(Cube()(x), x, v)], {x: [2.0], v: [1.0]})[0], [12])


def test_f17_user_ops_with_l_op_and_r_op():
    x, n, v = T.dscalars("x", "n", "v")
    given = {x: 3.0, n: 2.0, v: 1.0}
    for how in ("undefined", "missing", "disconnected"):
        y = Weighted(how)(x, n)
        assert float(evaluate([tg.grad(y, x)], given)[0]) == 4
        assert float(evaluate([tg.Rop(y, x, v)], given)[0]) == 4
    with pytest.raises(NullTypeGradError, match="n is a count") as caught:
        tg.grad(T.exp(Weighted("undefined")(x, n)), n)
    lines = [line.split("   (")[0].strip() for line in str(caught.value).splitlines()]
    assert lines[-3:] == ["exp(Weighted{how='undefined'}(x, n))", "Weighted{how='undefined'}(x, n)", "n"]
    with pytest.raises(GradNotImplementedError, match="declared by Weighted"):
        tg.grad(Weighted("missing")(x, n), n)
    with pytest.raises(ValueError, match="one gradient per input: 2, got 1"):
        tg.grad(Weighted("short")(x, n), x)


def test_f17_an_op_without_gradient_names_op_and_path():
    x = T.dvector("x")
    hidden = T.exp(x)
    hidden.name = "hidden"
    cost = (Opaque()(hidden) * 2).sum()
    with pytest.raises(GradNotImplementedError) as caught:
        tg.grad(cost, x)
    lines = str(caught.value).splitlines()
    assert "Opaque" in lines[0] and "defines neither grad nor L_op" in lines[0]
    assert [line.split("   (")[0].strip() for line in lines[2:]] == [
        "sum{axis=(0,)}(mul(Opaque(exp(x)), 2))",
        "mul(Opaque(exp(x)), 2)",
        "Opaque(exp(x))",
        "hidden",
        "x",
    ]
    assert all("test_own.py:" in line for line in lines[2:])
    g = tg.grad(cost + x.sum(), [x], null_gradients="return")
    assert g == [None]
    assert tg.grad(T.exp(x).sum() + 0 * cost.owner.inputs[0].shape[0], x) is not None


# ---------------------------------------------------------------------- three errors
def test_disconnected_inputs():
    x, y = T.dvectors("x", "y")
    cost = (x**2).sum()
    with pytest.raises(DisconnectedInputError, match="does not depend on y. It depends on: x"):
        tg.grad(cost, y)
    with pytest.warns(UserWarning, match="does not depend on y"):
        g = tg.grad(cost, y, disconnected_inputs="warn")
    assert evaluate([g], {y: [1.0, 2.0]})[0].tolist() == [0, 0]
    assert tg.grad(cost, [x, y], disconnected_inputs="ignore", return_disconnected="none")[1] is None
    g = tg.grad(cost, y, disconnected_inputs="ignore", return_disconnected="disconnected")
    assert isinstance(g.type, tg.DisconnectedType)
    with pytest.raises(DisconnectedInputError, match="another variable named x"):
        tg.grad(cost, T.dvector("x"))
    with pytest.raises(DisconnectedInputError, match="other than through a length") as caught:
        tg.grad(cost * y.shape[0], y)
    assert "shape_i" in str(caught.value) and "test_own.py" in str(caught.value)
    with pytest.raises(DisconnectedInputError):
        tg.grad((tg.disconnected_grad(x) * 2).sum(), x)
    with pytest.raises(ValueError, match="disconnected_inputs must be one of"):
        tg.grad(cost, y, disconnected_inputs="maybe")


def test_steps_are_connected_with_derivative_zero():
    x = T.dvector("x")
    for y in (T.floor(x), T.cast(x > 0, "float64"), T.cast(T.argmax(x), "float64"), T.zeros_like(x) + T.round(x)):
        assert evaluate([tg.grad(y.sum(), x)], {x: [1.0, 2.0]})[0].tolist() == [0, 0]


def test_costs_and_inputs_that_have_no_gradient():
    x, n = T.dvector("x"), T.lvector("n")
    with pytest.raises(TypeError, match="must be a scalar"):
        tg.grad(x, x)
    with pytest.raises(TypeError, match="int64: a whole number"):
        tg.grad(T.argmax(x), x)
    with pytest.raises(TypeError, match="complex"):
        tg.grad(T.zscalar("z"), x)
    with pytest.raises(NullTypeGradError, match=r"n is not defined: it has dtype int64") as caught:
        tg.grad((x * n).sum(), n)
    lines = [line.split("   (")[0].strip() for line in str(caught.value).splitlines()]
    assert lines[1:] == ["The path from the cost to the input:", "sum{axis=(0,)}(mul(x, n))", "mul(x, n)", "n"]
    with pytest.raises(TypeError, match="must be a variable"):
        tg.grad(1.0, x)
    with pytest.raises(TypeError, match=r"wrt\[1\] must be a variable"):
        tg.grad(x.sum(), [x, 2])
    assert evaluate([tg.grad((x * n).sum(), x)], {x: [1.0], n: [3]})[0].tolist() == [3]


# ---------------------------------------------------------------------- folded graphs
def test_op_from_graph(rng):
    a, b = T.dvectors("a", "b")
    norm = tg.OpFromGraph([a, b], [T.sqrt((a**2 + b**2).sum()), a * b])
    check(lambda x, y: norm(x, y)[0] * norm(x, y)[1], rng.normal(size=3), rng.normal(size=3))
    check(lambda x, y: norm(x, y)[1], rng.normal(size=3), rng.normal(size=3))
    check(lambda x: tg.grad(norm(x, T.exp(x))[0], x), rng.normal(size=3))
    x, v = T.dvector("x"), T.dvector("v")
    given = {x: [3.0, 4.0], v: [1.0, 0.0]}
    assert float(evaluate([tg.Rop(norm(x, T.zeros_like(x))[0], x, v)], given)[0]) == pytest.approx(0.6)


def test_op_from_graph_with_its_own_gradient():
    a, x, v = T.dscalars("a", "x", "v")
    given = {x: 2.0, v: 1.0}
    whole = tg.OpFromGraph(
        [a], [a**2], lop_overrides=lambda ins, outs, gs: [gs[0] * 100], rop_overrides=lambda i, e: [e[0] * 7]
    )
    assert float(evaluate([tg.grad(whole(x), x)], given)[0]) == 100
    assert float(evaluate([tg.Rop(whole(x), x, v)], given)[0]) == 7
    b = T.dscalar("b")
    part = tg.OpFromGraph([a, b], [a * b], lop_overrides=[None, lambda ins, outs, gs: gs[0] * 5])
    ga, gb = tg.grad(part(x, v), [x, v])
    assert [float(g) for g in evaluate([ga, gb], given)] == [1, 5]


def test_lazy_choice():
    c, x, y = T.dscalar("c"), T.dscalar("x"), T.dscalar("y")
    z = tg.ifelse(c > 0, x**2, y**3)
    g = tg.function([c, x, y], tg.grad(z, [x, y]))
    assert [float(v) for v in g(1.0, 3.0, 2.0)] == [6, 0]
    assert [float(v) for v in g(-1.0, 3.0, 2.0)] == [0, 12]
    a, b = tg.ifelse(c > 0, [x, y], [y, x])
    g = tg.function([c, x, y], tg.grad(a * 2 + b * 3, [x, y]), on_unused_input="ignore")
    assert [float(v) for v in g(1.0, 0.0, 0.0)] == [2, 3]
    assert [float(v) for v in g(0.0, 0.0, 0.0)] == [3, 2]
    v = T.dscalar("v")
    r = tg.Rop([z, a], x, v)
    assert [float(t) for t in evaluate(r, {c: 1.0, x: 3.0, y: 2.0, v: 1.0})] == [6, 1]


def test_checks_and_prints_pass_gradients():
    x = T.dscalar("x")
    y = tg.Assert("positive")(x, x > 0) ** 2
    assert float(tg.grad(y, x).eval({x: 3.0})) == 6


# ---------------------------------------------------------------------- recomputation
def layers(x, ws, every=None):
    def run(x, ws):
        for w in ws:
            x = T.tanh(T.dot(x, w))
        return x

    if every is None:
        return run(x, ws)
    for i in range(0, len(ws), every):
        x = tg.checkpoint(lambda x, *group: run(x, group))(x, *ws[i : i + every])
    return x


def test_checkpoint_gives_the_same_gradient(rng):
    ws = T.dmatrices("a", "b", "c", "d")
    x = T.dmatrix("x")
    values = [rng.normal(size=(3, 3)) for _ in ws]
    given = [rng.normal(size=(2, 3)), *values]
    plain = tg.function([x, *ws], tg.grad(layers(x, ws).sum(), [x, *ws]))
    saving = tg.function([x, *ws], tg.grad(layers(x, ws, 2).sum(), [x, *ws]))
    for a, b in zip(plain(*given), saving(*given)):
        np.testing.assert_allclose(a, b)
    s = T.dscalar("s")
    outside = T.exp(s)
    f = tg.checkpoint(lambda x: [T.sin(x) * outside, x * 2])
    a, b = f(s)
    slope = 2 * np.exp(0.5) * (np.sin(0.5) * (1 + 0.5) + 0.5 * np.cos(0.5))
    assert float(tg.grad(a * b, s).eval({s: 0.5})) == pytest.approx(slope)
    check(lambda s: tg.grad(tg.checkpoint(lambda s: T.sin(s) ** 2)(s).sum(), s), rng.normal(size=3))


def live_forward_values(depth, every):
    """How many forward values wait for the backward pass: arguments of gradient terms made before the loss."""
    ws = [T.dmatrix() for _ in range(depth)]
    x = T.dmatrix("x")
    cost = layers(x, ws, every).sum()
    from termgraph.terms.ops.call import inline_calls

    roots = inline_calls([cost.term, *[g.term for g in tg.grad(cost, ws)]])
    forward = set(subterms(roots[:1]))
    kept = set()
    for t in subterms(roots[1:]):
        if t not in forward:
            kept.update(a for a in t.args if a in forward and a.op.name == "tanh")
    return len(kept)


@pytest.mark.parametrize("root", [4, 8, 16])
def test_checkpoint_keeps_the_square_root_of_the_depth(root):
    """Of n layers in groups of sqrt(n): what enters each group, and what is computed again inside one of them."""
    depth = root**2
    assert live_forward_values(depth, None) == depth
    assert live_forward_values(depth, root) <= 2 * root
