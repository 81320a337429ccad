"""Promises that a user can check in a few lines, each test named after its number: graphs, gradients, stages, loops.

The promises about `function()` are in tests/function, those about printing in docs/seeds.md.
"""

import importlib
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.ops import elementwise as ew


def walk(v):
    """Variables and applications above a variable, as (parent, child) pairs."""
    pairs, stack = [], [v]
    while stack:
        part = stack.pop()
        above = [part.owner] if isinstance(part, tg.Variable) and part.owner else getattr(part, "inputs", [])
        pairs += [(part, a) for a in above]
        stack += above
    return pairs


def ops_of(f):
    return [node.op.name for node in f.maker.fgraph.toposort()]


# ---------------------------------------------------------------------- graph structures
def test_f1_the_graph_alternates_and_is_acyclic():
    x, y, z = T.dvectors("xyz")
    e = x + y * z
    pairs = walk(e)
    assert pairs and all(isinstance(a, tg.Variable) != isinstance(b, tg.Variable) for a, b in pairs)
    assert e.owner.outputs[0] is e and x.owner is None
    with pytest.raises(ValueError):
        tg.Apply(ew.exp, [x], [e])  # already the output of another application
    placeholder = tg.Variable(type=x.type)
    with pytest.raises(ValueError):
        tg.Apply(ew.add, [placeholder + 1, x], [placeholder])
    with pytest.raises(TypeError):
        tg.Apply(ew.add, [x, object()], [T.dvector()])


def test_f2_variables_know_where_they_come_from():
    x = T.dmatrix("x")
    for v in (x, x.max(axis=1), *T.linalg.qr(x)):
        assert all(hasattr(v, field) for field in ("type", "owner", "index", "name"))
        assert v.owner is None or v.owner.outputs[v.index] is v
    assert issubclass(tg.Constant, tg.Variable) and type(x).__name__ == "TensorVariable"
    assert (-T.ivector()).type == T.ivector


def test_f3_apply_has_one_class_under_all_its_names():
    for module in ("gof", "gof.graph", "graph.basic", "tensor"):
        assert importlib.import_module(f"termgraph.{module}").Apply is tg.Apply
    assert tg.gof.graph.Apply is tg.Apply


def test_f4_ops_are_shared_and_make_nodes():
    x, y, z = T.dvectors("xyz")
    assert (x + y).owner.op is (y + z).owner.op
    assert ew.add.make_node(x, y).outputs[0].type == x.type
    with pytest.raises((TypeError, ValueError)):
        T.dot(T.dtensor3("t"), None)


def test_f5_types_are_sets_of_constraints():
    good = np.ones((1, 5), "int32")
    assert T.irow.filter(good) is good and T.irow != T.dmatrix and T.irow.shape == (1, None)
    for bad in (np.ones((1, 5)), np.ones(5, "int32"), np.ones((2, 5), "int32")):
        with pytest.raises(TypeError):
            T.irow.filter(bad)


def test_f6_one_function_for_all_shapes_and_strides():
    assert tg.TensorType(dtype="float64", broadcastable=(False, True)) == tg.TensorType("float64", shape=(None, 1))
    x = T.dmatrix("x")
    f = tg.function([x], x * 2)
    for a in (np.ones((3, 4)), np.ones((0, 7)), np.ones((4, 3)).T):
        np.testing.assert_array_equal(f(a), a * 2)
    with tg.config.change_flags(floatX="float32"):
        assert T.matrix().dtype == "float32"


def test_f7_constants():
    c = T.constant(np.arange(3.0))
    with pytest.raises(AttributeError):
        c.data = np.zeros(3)
    x = T.dvector("x")
    with pytest.raises(TypeError, match="Constant cannot be an input"):
        tg.function([x, c], x + c)
    np.testing.assert_array_equal(tg.function([x], x + c)([1.0, 1.0, 1.0]), [1, 2, 3])


def test_f8_literals_become_constants():
    one = (T.dscalar("x") + 1).owner.inputs[1]
    assert isinstance(one, tg.Constant) and one.type == T.lscalar and one.data == 1
    x = T.dvector("x")
    np.testing.assert_array_equal((x + [1, 2]).eval({x: [1.0, 2.0]}), [2, 4])


def test_f9_operators_build_ops():
    x = T.dmatrix("x")
    inner = (x * 2.0).owner.inputs[1]
    assert inner.owner.op.name == "dimshuffle" and [float(c.data) for c in inner.owner.inputs] == [2.0]
    assert [v.owner.op.name for v in (x + x, -x, x - 1, x**2, x.sum(), T.tanh(x))] == [
        "add", "neg", "sub", "pow", "sum", "tanh",
    ]  # fmt: skip
    assert {"sum", "true_div"} <= {node.op.name for _, node in walk(T.mean(x)) if isinstance(node, tg.Apply)}


def test_f16_walking_from_outputs_to_inputs():
    from termgraph.tensor.graph import ancestors, graph_inputs

    x, y = T.dvectors("xy")
    e = T.exp(x + y) * x
    assert set(graph_inputs([e])) == {x, y} and {e, x, y} <= set(ancestors([e]))


def test_f18_rewriting_makes_graphs_smaller():
    x, y = T.dvectors("xy")
    assert tg.rewrite(x * y / y).term is x.term
    a = T.dvector("a")
    f = tg.function([a], a + a**10)
    assert f([0, 1, 2]).tolist() == [0.0, 2.0, 1026.0] and ops_of(f).count("pow") == 0


# ---------------------------------------------------------------------- language
def test_f38_clones_plug_graphs_together():
    x, y, z = T.dvectors("xyz")
    middle = x + y
    new = tg.clone(middle * 2, replace={middle: z})
    assert new.eval({z: [1.0]}).tolist() == [2.0]


def test_f39_f40_reverse_and_forward():
    w = T.dscalar("w")
    assert tg.grad(tg.grad(w**3, w), w).eval({w: 2.0}) == 12
    x, v = T.dvector("x"), T.dvector("v")
    y = T.stack([x[0] * x[1], T.sin(x[0])])
    at = {x: np.array([0.5, 2.0]), v: np.array([1.0, -1.0])}
    jacobian = np.array([[2.0, 0.5], [np.cos(0.5), 0.0]])
    np.testing.assert_allclose(tg.Lop(y, x, v).eval(at), jacobian.T @ at[v])
    np.testing.assert_allclose(tg.Rop(y, x, v).eval(at), jacobian @ at[v])


def test_f41_f42_loops_and_their_gradients():
    x, w = T.dvector("x"), T.dscalar("w")
    out, _ = tg.scan(lambda v, s: T.tanh(w * s + v), sequences=x, outputs_info=T.constant(0.0))
    unrolled = T.constant(0.0)
    for i in range(4):
        unrolled = T.tanh(w * unrolled + x[i])
    at = {x: np.array([0.1, 0.2, -0.3, 0.4]), w: 0.7}
    np.testing.assert_allclose(out[-1].eval(at), unrolled.eval(at))
    grads = [tg.grad(e, w) for e in (out[-1], unrolled)]
    np.testing.assert_allclose(*[g.eval(at) for g in grads])
    assert ops_of(tg.function([x, w], grads[0])).count("loop") <= 2
    until, _ = tg.scan(lambda v: (v * 2, tg.until(v * 2 > 50)), outputs_info=T.constant(1.0), n_steps=100)
    assert until.eval()[-1] == 64
    with pytest.raises((ValueError, tg.MissingInputError), match="strict|shared"):
        tg.scan(lambda v: v + tg.shared(1.0, name="hidden"), sequences=x, strict=True)


# ---------------------------------------------------------------------- stages
def test_f45_a_rule_keeps_the_type():
    from termgraph.rules import RuleSet, rule, ruleset
    from termgraph.rules.defined import forget

    @ruleset("acceptance")
    def narrowing(a):
        yield rule("to_integer", ew.sin(ew.sin(a)), ew.cast(a, dtype="int64"))

    try:
        x = T.dvector("x")
        assert RuleSet(narrowing).rewrite(T.sin(T.sin(x))).type == x.type
    finally:
        forget([r.name for r in narrowing])


def test_f46_f47_f48_canonicalize_stabilize_specialize():
    x, y = T.dvectors("xy")
    assert repr(tg.rewrite(x * x, "+canonicalize").term) == "sqr(x)"
    assert tg.rewrite(T.constant(2) + T.constant(2)).term.value == 4
    assert ops_of(tg.function([x], T.exp(x) + 1 / T.exp(x) * T.exp(x))).count("exp") == 1
    s = T.dscalar("s")
    assert float(tg.function([s], T.log(1 + s))(1e-20)) == 1e-20
    big = np.array([0.0, 1000.0])
    np.testing.assert_array_equal(tg.function([x], T.exp(x) / T.exp(x).sum())(big), [0, 1])
    np.testing.assert_array_equal(tg.function([x], T.log(T.nnet.softmax(x)))(big), [-1000, 0])


def test_f51_the_last_step_needs_no_memory_for_all():
    n = T.lscalar("n")
    out, _ = tg.scan(lambda s: s * 0.5 + 1, outputs_info=T.zeros(1000), n_steps=n)
    f = tg.function([n], out[-1], profile=True, mode=tg.Mode(linker="py"))
    f(3)
    few = f.profile.peak_bytes
    f(300)
    assert f.profile.peak_bytes <= 2 * few


def test_f52_unsafe_leaves_assertions_out():
    x = T.dvector("x")
    checked = tg.Assert("positive")(x, T.all(x > 0)) * 2
    assert "check" in ops_of(tg.function([x], checked, mode="FAST_RUN"))
    assert "check" not in ops_of(tg.function([x], checked, mode="UNSAFE"))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_f55_f56_code_is_shown_and_kept(tmp_path):
    code = """
import numpy as np, termgraph as tg, termgraph.tensor as T
x = T.dvector("x")
f = tg.function([x], T.exp(x) * 2, mode=tg.Mode(linker="c"))
f(np.ones(3))
print("exp" in f.source("c"), len(f.profile.stages))
"""
    flags = {"TERMGRAPH_FLAGS": f"cache.dir={tmp_path}"}

    def run():
        return subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **flags}, capture_output=True, text=True, check=True
        ).stdout.split()

    first, second = run(), run()
    assert first[0] == second[0] == "True" and int(second[1]) < int(first[1])  # a warm start has fewer stages


def test_f65_a_users_rule_fires_and_can_be_left_out():
    from termgraph.rules import rule, ruleset
    from termgraph.rules.defined import forget

    @ruleset("canonicalize")
    def acceptance(a):
        yield rule("bessel", ew.sin(ew.cosh(a)), ew.tanh(a))

    try:
        x = T.dscalar("x")
        e = T.sin(T.cosh(x))
        assert ops_of(tg.function([x], e)) == ["tanh"]
        assert ops_of(tg.function([x], e, mode=tg.Mode().excluding("acceptance.bessel"))) == ["cosh", "sin"]
    finally:
        forget([r.name for r in acceptance])


def test_f93_a_growing_carry():
    grown, _ = tg.loop(lambda s, _: (T.concatenate([s, s[-1:] + 1]), ()), T.zeros(1), length=4)
    assert grown.eval().tolist() == [0, 1, 2, 3, 4]
