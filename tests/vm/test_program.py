"""Programs: instructions over slots, liveness, demand; and the machine that runs them."""

import numpy as np
import pytest

from termgraph.terms.errors import GraphError, ShapeError
from termgraph.terms.op import Op
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.elementwise import add, exp, log, mul, neg
from termgraph.terms.term import Arg, Const, mk
from termgraph.terms.types import TensorType, TupleType
from termgraph.vm.machine import Machine
from termgraph.vm.program import Program, demand_groups

VECTOR = TensorType("float64", (None,))
x, y, c = Arg(0, VECTOR), Arg(1, VECTOR), Arg(2, TensorType("bool", ()))


class Choice(Op):
    """A lazy op for the tests: the second or third input."""

    lazy = True

    def choose(self, condition, n):
        return (1,) if condition else (2,)


choice = Choice(
    "test_choice", arity=3, infer=lambda c, a, b: a, meaning=lambda c, a, b: a if c else b
)  # fmt: skip


def _boom(v):
    raise ZeroDivisionError("boom")


boom = Op("test_boom", arity=1, infer=lambda a: a, meaning=_boom)


def test_instructions_in_order_and_freed_after_last_use():
    p = Program.from_terms([x, y], [exp(add(x, mul(x, y)))])
    assert [str(i.op) for i in p.instructions] == ["mul", "add", "exp"]
    assert p.frees == [(), (2,), (3,)]
    assert p.outputs == (4,)


def test_shared_subterms_are_computed_once():
    e = exp(x)
    assert len(Program.from_terms([x], [add(e, mul(e, e))]).instructions) == 3


def test_outputs_that_are_inputs_constants_or_the_same():
    k = Const(np.arange(2.0))
    p = Program.from_terms([x], [x, k, x])
    a = np.ones(2)
    assert p.instructions == []
    out = Machine(p)([a])
    assert out[0] is a and out[2] is a
    assert np.array_equal(out[1], [0, 1])


def test_several_results():
    def two(a):
        return a.min(keepdims=True), a * 2

    op = Op("test_two", arity=1, nout=2, infer=lambda a: TupleType((a, a)), meaning=two)
    t = mk(op, (x,))
    low, double = mk(nth.bind(i=0), (t,)), mk(nth.bind(i=1), (t,))
    p = Program.from_terms([x], [add(double, double), low])
    assert [i.op.name for i in p.instructions] == ["test_two", "add"]
    out = Machine(p)([np.array([3.0, 1.0])])
    assert np.array_equal(out[0], [12.0, 4.0]) and np.array_equal(out[1], [1.0])


def test_missing_leaf_is_refused():
    with pytest.raises(GraphError, match=r"\$1"):
        Program.from_terms([x], [add(x, y)])


def test_long_chain():
    t = x
    for i in range(100_000):
        t = neg(t) if i % 2 else add(t, y)
    p = Program.from_terms([x, y], [t])
    assert len(p.instructions) == 100_000
    assert Machine(p)([np.ones(1), np.ones(1)])[0].shape == (1,)


def test_gc_frees_and_nogc_keeps():
    p = Program.from_terms([x], [exp(neg(x))])
    seen = []
    m = Machine(p, observers=[lambda i, ins, slots, s: seen.append(slots[1] is None)])
    m([np.ones(1)])
    assert m.storage == []
    keep = Machine(p, allow_gc=False)
    keep([np.ones(1)])
    assert np.array_equal(keep.storage[1], [-1.0])
    keep.free()
    assert keep.storage == []


def test_results_are_arrays_also_of_no_dimensions():
    s = Arg(0, TensorType("float64", ()))
    out = Machine(Program.from_terms([s], [exp(s)]))([np.array(0.0)])
    assert isinstance(out[0], np.ndarray) and out[0].shape == ()


def test_hidden_one_does_not_broadcast():
    m = Machine(Program.from_terms([x, y], [add(x, y)]))
    with pytest.raises(ShapeError, match="not declared to broadcast"):
        m([np.ones(3), np.ones(1)])
    with pytest.raises(ShapeError, match="3 against 2"):
        m([np.ones(3), np.ones(2)])


def test_declared_one_broadcasts():
    one = Arg(1, TensorType("float64", (1,)))
    out = Machine(Program.from_terms([x, one], [add(x, one)]))([np.arange(3.0), np.ones(1)])
    assert np.array_equal(out[0], [1, 2, 3])


def test_known_length_against_unknown_is_checked():
    three = Arg(1, TensorType("float64", (3,)))
    m = Machine(Program.from_terms([x, three], [add(x, three)]))
    with pytest.raises(ShapeError):
        m([np.ones(1), np.ones(3)])


def test_f58_lazy_branch_with_error_is_not_run():
    m = Machine(Program.from_terms([x, y, c], [choice(c, neg(x), boom(y))]))
    values = [np.ones(1), np.ones(1)]
    assert np.array_equal(m([*values, np.array(True)])[0], [-1.0])
    with pytest.raises(ZeroDivisionError, match="boom"):
        m([*values, np.array(False)])


def test_f58_nested_and_shared_between_branches():
    ran = []
    shared = exp(x)
    inner = choice(c, boom(y), mul(shared, y))
    outer = choice(c, neg(shared), inner)
    p = Program.from_terms([x, y, c], [outer])
    m = Machine(p, observers=[lambda i, ins, slots, s: ran.append(ins.op.name)])
    m([np.ones(1), np.ones(1), np.array(True)])
    assert ran == ["exp", "neg", "test_choice"]
    ran.clear()
    m([np.ones(1), np.ones(1), np.array(False)])
    assert ran == ["exp", "mul", "test_choice", "test_choice"]


def test_f58_condition_that_is_itself_lazy():
    inner = mk(choice, (c, c, boom(c)))
    m = Machine(Program.from_terms([x, y, c], [choice(inner, x, boom(y))]))
    assert np.array_equal(m([np.ones(1), np.ones(1), np.array(True)])[0], [1.0])


def test_f58_gc_on_demand_frees_what_was_read():
    alive = []
    t = neg(exp(x))
    p = Program.from_terms([x, y, c], [choice(c, log(t), y)])
    m = Machine(p, observers=[lambda i, ins, slots, s: alive.append(sum(v is not None for v in slots))])
    m([np.ones(1), np.ones(1), np.array(True)])
    assert max(alive) <= 5


def test_demand_groups():
    shared = exp(x)
    p = Program.from_terms([x, y, c], [choice(c, neg(shared), log(shared)), mul(x, y)])
    groups = {i.op.name: g for i, g in zip(p.instructions, demand_groups(p))}
    assert groups["mul"] == frozenset() == groups["test_choice"]
    assert groups["neg"] != groups["log"] and len(groups["exp"]) == 2


def test_errors_keep_their_type_and_name_the_op():
    class Strange(Exception):
        def __init__(self, a, b):
            super().__init__(a, b)

    def fail(v):
        raise Strange(1, 2)

    op = Op("test_strange", arity=1, infer=lambda a: a, meaning=fail)
    with pytest.raises(Strange) as info:
        Machine(Program.from_terms([x], [op(x)]))([np.ones(2)])
    assert "test_strange failed" in "".join(info.value.__notes__)
    with pytest.raises(ZeroDivisionError, match=r"test_boom failed: boom[\s\S]*shape \(2,\)"):
        Machine(Program.from_terms([x], [boom(x)]))([np.ones(2)])
