"""The relational engine: miniKanren finds every step, the very steps that the compiled engine takes."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.function.mode import Mode
from termgraph.rules import RuleSet, relational
from termgraph.rules.checking.examples import examples
from tests.rulelib.support import LIBRARY
from tests.rulelib.test_random_graphs import grown

STAGES = ("canonicalize", "stabilize", "canonicalize", "specialize")
RELATIONAL = Mode(engine="relational", linker="py")
VALUED = [r for r in LIBRARY.values() if "grad" not in r.tags]


def same_steps(roots):
    """All stages in both engines; how many steps there were."""
    steps, asked = 0, 0
    left = right = list(roots)
    for name in STAGES:
        compiled = db.query("+fast_run", f"&{name}")
        compiled = compiled if compiled.merges_commuted else RuleSet(compiled.rules, compiled.assume)
        by_kanren = relational.relational(compiled)
        before = by_kanren.answered
        (left, how), (right, found) = compiled.rewrite_terms(left), by_kanren.rewrite_terms(right)
        assert all(a is b for a, b in zip(left, right, strict=True)), (left, right)
        assert [(s.rule, s.before, s.after) for s in how] == [(s.rule, s.before, s.after) for s in found]
        steps += len(found)
        asked += by_kanren.answered - before
    assert asked >= steps or not steps
    return steps


def test_random_graphs(rng):
    steps = [same_steps([x.term for x in grown(rng, 8)[-2:]]) for _ in range(15)]
    assert sum(steps) > 20


def test_what_rules_apply_to():
    steps = [same_steps([e.before]) for r in VALUED[::25] for e in examples(r, 1)]
    assert sum(map(bool, steps)) > len(steps) // 3


@pytest.mark.slow
def test_what_each_rule_applies_to():
    graphs = [[e.before] for r in VALUED for e in examples(r, 1)]
    assert sum(same_steps(g) > 0 for g in graphs) > len(graphs) // 2


x, y, m = T.dvector("x"), T.dvector("y"), T.dmatrix("m")
FUNCTIONS = {
    "softplus": ([x], T.log(1 + T.exp(x))),
    "gradient": ([x], tg.grad(T.log(1 + T.exp(x)).sum(), x)),
    "softmax": ([m], T.exp(m) / T.exp(m).sum(axis=1, keepdims=True)),
    "products": ([m, x], T.dot(T.dot(m, m), x)),
    "choices": ([x, y], T.where(x > 0, x * y / y, T.neg(T.neg(x)))),
    "shapes": ([m], m.T.T.reshape((-1,))[::-1][::-1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_whole_functions(name, monkeypatch):
    inputs, out = FUNCTIONS[name]
    counted = []
    asked = relational.run
    monkeypatch.setattr(relational, "run", lambda *a: counted.append(asked(*a)) or counted[-1])
    f = tg.function(inputs, out, mode=RELATIONAL)
    g = tg.function(inputs, out, mode=Mode(linker="py"))
    values = [np.arange(1.0, 10).reshape(3, 3) / 5 if v.ndim == 2 else np.array([0.5, 1.0, 2.0]) for v in inputs]
    np.testing.assert_array_equal(f(*values), g(*values))
    assert [r.rule for r in f.trace] == [r.rule for r in g.trace]
    assert sum(map(bool, counted)) >= len(list(f.trace)) > 0  # each step was an answer of kanren's


def test_the_mode_says_so():
    assert "relational" in repr(RELATIONAL) and Mode(linker="py") != RELATIONAL
    assert RELATIONAL.clone(engine="compiled") == Mode(linker="py")
    with pytest.raises(ValueError, match="engine must be one of compiled, relational, got 'prolog'"):
        Mode(engine="prolog")
