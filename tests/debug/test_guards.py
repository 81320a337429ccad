"""NanGuardMode, DebugMode, MonitorMode, breakpoints, intermediate values (FEATURES 61, 82, 83)."""

import pdb
from dataclasses import replace

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.compile import road
from termgraph.debug import BadInPlace, BadOutput, BadRewrite, NanGuardError, checked
from termgraph.debug.nanguard import first_bad
from termgraph.terms.op import Op
from termgraph.terms.ops.elementwise import add, mul
from termgraph.vm.program import Instruction, Program

v = T.dvector("v")
x = T.dscalar("x")
needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")


def test_f82_nan_names_node_variable_line_and_place():
    inner = v - 2
    inner.name = "inner"
    y = T.log(inner)
    f = tg.function([v], y * 2, mode=tg.NanGuardMode())
    assert np.isfinite(f([3.0, 4.0])).all()
    with pytest.raises(NanGuardError) as info:
        f([3.0, 1.0])
    text = str(info.value)
    assert info.value.kind == "NaN" and "test_guards.py" in text.splitlines()[0] and "T.log(inner)" in text
    assert "1 of 2 elements" in text and "first at [1]" in text and "operand 0: inner" in text


def test_f82_kinds_can_be_chosen():
    f = tg.function([v], 1 / v, mode=tg.NanGuardMode(inf_is_error=True, big_is_error=False))
    with pytest.raises(AssertionError, match="infinity"):
        f([0.0])
    assert np.isinf(tg.function([v], 1 / v, mode=tg.NanGuardMode(inf_is_error=False))([0.0]))[0]
    big = tg.function([v], v * 1e6, mode="NanGuardMode")
    with pytest.raises(NanGuardError, match="big value"):
        big([1e6])
    assert tg.function([v], v * 1e6, mode=tg.NanGuardMode(big_is_error=False))([1e6])[0] == 1e12
    with tg.config.change_flags({"NanGuardMode.nan_is_error": False}):
        tg.function([v], v + 1, mode=tg.NanGuardMode())([np.nan])


def test_f82_inputs_and_shared_variables():
    w = tg.shared(np.array([np.nan]), "w")
    f = tg.function([v], v + w, mode=tg.NanGuardMode())
    with pytest.raises(NanGuardError, match="shared variable w"):
        f([1.0])
    w.set_value([1.0])
    with pytest.raises(NanGuardError, match="infinity in the input v"):
        f([np.inf])


def test_f82_shared_variables_stay_as_they_were():
    w = tg.shared(np.ones(2), "w")
    f = tg.function([v], updates=[(w, T.log(v))], mode=tg.NanGuardMode())
    with pytest.raises(NanGuardError):
        f([-1.0, 1.0])
    assert np.array_equal(w.get_value(), [1, 1])


def test_f82_inside_a_fused_instruction():
    a, b = v.term, (v * 2).term
    fused = T.log(v - 5).term
    whole = add(fused, mul(fused, b))
    kernel = Instruction(Op("test_kernel", arity=2, infer=None, meaning=None), [0, 1], [2], [whole], False)
    given = {a: np.array([1.0]), b: np.array([2.0])}
    term, value, operands = first_bad(kernel, given, tg.NanGuardMode().kind_of)
    assert term is fused and np.isnan(value).all() and operands[0][0] == -4


@pytest.mark.machine("about the machine's observers")
def test_f82_off_costs_nothing():
    f = tg.function([v], v + 1)
    assert f.vm.observers == [] and not f._checks


def wrong_rewrite(monkeypatch, change):
    class Record:
        rule, where = "topic.wrong", "rules/topic.py:3"

        def __init__(self, before, after):
            self.before, self.after = before, after

    class Trace(list):
        counts, seconds = {"topic.wrong": 1}, {"topic.wrong": 0.0}
        body = None

        def origins(self):
            return {r.after: r.before for r in self}

    def run(value):
        roots = tuple([change(r) for r in value.roots])
        trace = Trace([Record(a, b) for a, b in zip(value.roots, roots)])
        return replace(value, roots=roots, traces=(*value.traces, trace))

    monkeypatch.setattr(road, "REWRITING", (road.Stage("wrong", run),))


def test_debug_mode_blames_the_rule(monkeypatch):
    wrong_rewrite(monkeypatch, lambda t: add(t, t))
    w = tg.shared(1.0)
    f = tg.function([x], x * x, mode="DEBUG_MODE")
    with pytest.raises(BadRewrite) as info:
        f(3.0)
    error = info.value
    assert f.profile.rules == {"topic.wrong": 1} and f.trace[0].rule == "topic.wrong"
    assert error.rule == "topic.wrong" and "rules/topic.py:3" in str(error) and "test_guards.py" in str(error)
    assert [float(value) for value in error.values] == [9, 18]
    scope = {}
    exec(error.script, scope)
    assert w.get_value() == 1


def test_debug_mode_accepts_better_numbers(monkeypatch):
    wrong_rewrite(monkeypatch, lambda t: t.args[0])  # log(exp(v)) becomes v, finite where exp overflows
    f = tg.function([v], T.log(T.exp(v)), mode=tg.DebugMode(check_rules=False))
    monkeypatch.undo()
    wrong_rewrite(monkeypatch, lambda t: t.args[0].args[0])
    f = tg.function([v], T.log(T.exp(v)), mode=tg.DebugMode())
    assert np.array_equal(f([1000.0, 1.0]), [1000, 1])


def test_debug_mode_checks_memory_and_types():
    def change(a):
        a += 1
        return a * 1

    spoil = Op("test_spoil", arity=1, infer=lambda t: t, meaning=change)
    with pytest.raises(BadInPlace, match="changed its operand 0"):
        tg.function([v], spoil(v * 2), mode="DEBUG_MODE")([1.0])
    liar = Op("test_liar", arity=1, infer=lambda t: t, meaning=lambda a: a.astype("float32"))
    with pytest.raises(Exception, match="promises TensorType"):
        tg.function([v], liar(v), mode="DEBUG_MODE")([1.0])


@pytest.mark.machine("tampers with an instruction of one operation")
def test_debug_mode_checks_instructions():
    f = tg.function([v], v * 3, mode="DEBUG_MODE")
    instruction = f.vm.program.instructions[-1]
    run = f.vm._steps[-1]
    f.vm._steps[-1] = (lambda *values: run[0](*values) + 1, *run[1:])
    with pytest.raises(BadOutput, match="differs from the NumPy meaning"):
        f([1.0])
    assert instruction.op.name == "mul"


def test_debug_mode_on_ordinary_functions():
    w = tg.shared(np.ones(3), "w")
    f = tg.function([v, x], [tg.ifelse(x > 0, v.sum(), x), v * w], updates=[(w, w + v)], mode="DEBUG_MODE")
    total, product = f([1.0, 2.0, 3.0], 1.0)
    assert total == 6 and np.array_equal(product, [1, 2, 3]) and np.array_equal(w.get_value(), [2, 3, 4])


def test_f61_monitor_sees_every_node():
    seen = []
    mode = tg.MonitorMode(
        pre_func=lambda i, node, fn: seen.append(("pre", i, node.op.name, [c[0].copy() for c in fn.inputs])),
        post_func=lambda i, node, fn: seen.append(("post", i, node.op.name, fn.outputs[0][0].copy())),
        optimizer="None",
    )
    f = tg.function([v], T.exp(v + v), mode=mode)
    f([0.0])
    assert [s[:3] for s in seen] == [("pre", 0, "add"), ("post", 0, "add"), ("pre", 1, "exp"), ("post", 1, "exp")]
    assert seen[-1][3][0] == 1


def test_f61_callback_with_storage():
    seen = {}
    mode = tg.MonitorMode(callback=lambda node, storage: seen.update({str(k): a for k, a in storage.items()}))
    total = v + v
    total.name = "total"
    tg.function([v], T.exp(total), mode=mode)([1.0])
    assert seen["total"][0] == 2 and seen["v"][0] == 1


def test_f83_breakpoint_stops_when_the_condition_holds(monkeypatch, capsys):
    stops = []

    def set_trace():
        import sys

        stops.append(float(sys._getframe(1).f_locals["monitored"][0]))

    monkeypatch.setattr(pdb, "set_trace", set_trace)
    watched, also = tg.PdbBreakpoint("error too large")(x > 2, x * 10, v)
    f = tg.function([x, v], [watched, also])
    for k in range(5):
        assert f(k, [1.0])[0] == 10 * k
    assert stops == [30.0, 40.0]
    assert "'error too large' was reached" in capsys.readouterr().out
    with pytest.raises(TypeError, match="must be a scalar"):
        tg.PdbBreakpoint("n")(v > 1, x)


def test_f83_values_may_be_replaced(monkeypatch):
    def set_trace():
        import sys

        sys._getframe(1).f_locals["monitored"][0] = np.array(7.0)

    monkeypatch.setattr(pdb, "set_trace", set_trace)
    assert tg.function([x], tg.PdbBreakpoint("n")(x > 0, x) + 1)(1.0) == 8


def test_intermediate_values():
    y = T.exp(x)
    z = y * 2
    values = tg.eval_intermediate_values([z, y], {x: 0.0})
    assert values[y] == 1 and values[z] == 2 and list(values)[0] is x
    w = tg.shared(5.0)
    assert tg.eval_intermediate_values(x + w, {x: 1.0})[w] == 5


def test_program_of_a_monitored_function_is_not_deferred():
    w = tg.shared(np.ones(2))
    f = tg.function([], updates=[(w, w + 1)], mode=tg.MonitorMode())
    assert f._deferred == [] and isinstance(f.vm.program, Program)


@pytest.mark.parametrize("linker", ["py", pytest.param("auto", marks=needs_c)])
def test_f82_inside_a_kernel_and_a_loop(linker):
    ratio = v / v.sum()
    entropy = -(ratio * T.log(ratio)).sum()
    f = tg.function([v], entropy, mode=tg.NanGuardMode(inf_is_error=False, linker=linker))
    with pytest.raises(NanGuardError) as info:
        f([1.0, 2.0, -1.0])
    assert "NaN in the result of log(" in str(info.value) and "1 of 3 elements" in str(info.value)
    assert "test_guards.py" in str(info.value).splitlines()[0] and "T.log(ratio)" in str(info.value)

    states, _ = tg.scan(lambda r, h: T.sqrt(h) - r, sequences=v, outputs_info=x, name="walk")
    g = tg.function([v, x], states[-1] * 2, mode=tg.NanGuardMode(linker=linker))
    assert g([0.5, 0.5], 4.0) == pytest.approx(2 * (np.sqrt(1.5) - 0.5))
    with pytest.raises(NanGuardError) as info:
        g([0.5, 3.0, 0.5], 4.0)
    text = str(info.value)
    assert info.value.kind == "NaN" and "T.sqrt(h) - r" in text and "NaN in the result of sqrt(" in text
    assert text.splitlines()[-1] == "  in step 2 of loop 'walk'"


def test_f82_in_a_loop_inside_a_loop():
    def outer(row, total):
        inner, _ = tg.scan(lambda e, s: s + T.log(s + e), sequences=row, outputs_info=total, name="inner")
        return inner[-1]

    m = T.dmatrix("m")
    sums, _ = tg.scan(outer, sequences=m, outputs_info=x, name="outer")
    f = tg.function([m, x], sums, mode=tg.NanGuardMode(inf_is_error=False, linker="py"))
    with pytest.raises(NanGuardError) as info:
        f([[1.0, 1.0], [1.0, -5.0]], 1.0)
    lines = str(info.value).splitlines()
    assert "T.log(s + e)" in lines[1] and lines[-2:] == ["  in step 1 of loop 'inner'", "  in step 1 of loop 'outer'"]


class Part(tg.Op):
    __props__ = ("says_so",)

    def __init__(self, says_so):
        self.says_so = says_so
        if says_so:
            self.view_map = {0: [0]}

    def make_node(self, a):
        return tg.Apply(self, [a], [a.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][1:]


def test_debug_mode_checks_promises_about_views():
    assert tg.function([v], Part(True)(v) * 2, mode="DEBUG_MODE")([1.0, 2.0]) == [4.0]
    with pytest.raises(
        BadInPlace, match=r"output 0 of Part.* shares memory with its operand 0; .*view_map = {0: \[0\]}"
    ):
        tg.function([v], Part(False)(v) * 2, mode="DEBUG_MODE")([1.0, 2.0])


@needs_c
def test_debug_mode_compares_compiled_kernels_with_the_meaning(monkeypatch):
    from termgraph.terms.ops.elementwise import tanh
    from termgraph.terms.spelling import Spelling

    def outputs():
        return [T.tanh(v) * 3 + v, T.softmax(v, axis=0)]

    mode = tg.DebugMode(linker="auto")
    assert tg.function([v], outputs(), mode=mode)([0.5, 1.0])[0][0] == pytest.approx(3 * np.tanh(0.5) + 0.5)
    monkeypatch.setattr(tanh, "c", Spelling(f="(1.5 * tanh({0}))"))
    wrong = tg.function([v], outputs(), mode=mode)
    assert [i.op.kind for i in wrong.vm.program.instructions] == ["kernel"]
    with pytest.raises(BadOutput, match=r"(?s)test_guards.py.*differs from the NumPy meaning of add\("):
        wrong([0.5, 1.0])


def test_debug_mode_knows_what_rounds_on_the_way(rng):
    """Sums in 16 bits of which a wider result is made, and steps of which each carries on what the last one rounded."""
    w, h = T.vector("w", dtype="float16"), T.vector("h", dtype="float16")
    cost = T.cast((w * h).sum(), "float32") ** 2
    f = tg.function([w, h], [cost, tg.grad(cost, w)], mode=checked.DebugMode(linker="auto"))
    for _ in range(20):
        f(*rng.normal(size=(2, 9)).astype("float16"))
    x = T.dvector("x")
    chaos, _ = tg.loop(lambda c, _: (3.9 * c * (1 - c) + 1e-9 * T.sin(c).sum(), None), x, length=30)
    f = tg.function([x], chaos, mode=checked.DebugMode(linker="auto"))
    for _ in range(5):
        f(rng.uniform(0.1, 0.9, 8))


def test_debug_mode_still_sees_a_wrong_step(monkeypatch):
    x = T.dvector("x")
    out, _ = tg.loop(lambda c, _: (T.tanh(c) + 1, None), x, length=3)
    f = tg.function([x], out, mode=checked.DebugMode(linker="auto"))
    agree = checked.DebugMode.agree
    monkeypatch.setattr(
        checked.DebugMode, "agree", lambda self, t, a, b, *ways: agree(self, t, a, np.asarray(b) + 1e-5, *ways)
    )
    with pytest.raises(BadOutput):
        f([0.5, -0.5])


@pytest.mark.parametrize("linker", ["py", "auto"])
def test_f82_bits_of_random_draws_are_no_big_numbers(linker):
    stream = T.random.RandomStream(3)
    draws = [stream.normal(size=(4,)), stream.uniform(size=(4,)), stream.gamma(2.0, size=(4,)), stream.permutation(5)]
    noisy, updates = tg.scan(lambda r: r * stream.normal(size=()), sequences=v)
    f = tg.function([v], [*draws, noisy], updates=updates, mode=tg.NanGuardMode(linker=linker))
    assert np.isfinite(f(np.ones(3))[-1]).all()
    with pytest.raises(NanGuardError, match="big value in the result of mul"):
        tg.function([v], noisy * v * 1e12, updates=updates, mode=tg.NanGuardMode(linker=linker))(np.ones(3))
