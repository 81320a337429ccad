"""Rules wake when a graph has the operators they name; which are awake never changes a result."""

import numpy as np
import pytest

import termgraph.tensor as T
from termgraph import db
from termgraph.rules import rule, ruleset
from termgraph.rules.compiled import RuleSet
from termgraph.rules.lazy_activation import LazyActivation, below, families
from termgraph.terms.op import OPS
from termgraph.terms.ops.elementwise import add, cosh, exp, log, mul, sinh, tan
from termgraph.terms.ops.reduce import sum_
from tests.rulelib.test_random_graphs import grown

v = T.dvector("v").term


@pytest.fixture
def chain():
    """sinh becomes tan(exp), and tan(exp) goes away."""

    @ruleset("waking_test")
    def waking(x):
        yield rule("opens", sinh(x), tan(exp(x)))
        yield rule("closes", tan(exp(x)), x)

    yield RuleSet(waking.rules)
    from termgraph.rules import authoring

    authoring.forget([r.name for r in waking.rules])


def test_a_rule_wakes_for_what_another_rule_makes(chain):
    assert chain.rewrite(cosh(v)) is cosh(v)
    assert chain.rewrite(tan(v)) is tan(v)  # compiled while the second rule sleeps
    assert chain.rewrite(add(tan(v), exp(v))) is add(tan(v), exp(v))
    assert chain.rewrite(sinh(v)) is v
    assert chain.rewrite(tan(exp(v))) is v


def test_rules_sleep_until_everything_they_name_is_there(chain):
    opens, closes = chain.rules if chain.rules[0].name.endswith("opens") else chain.rules[::-1]
    assert families(closes.lhs) == {tan, exp} and below(closes.lhs) == {exp}
    sleepers = LazyActivation([opens, closes])
    assert sleepers.meet([tan]) == []
    assert [i.rule for i, _ in sleepers.meet([tan, exp])] == [closes]
    assert sleepers.meet([exp]) == [] and [i.rule for i, _ in sleepers.meet(OPS.values())] == [opens]


def test_what_a_graph_does_not_need_is_not_compiled():
    rules = db.query("+fast_run", "&stabilize").rules
    small, all_awake = RuleSet(rules), RuleSet(rules)
    small.rewrite(mul(v, v))
    all_awake.source(mul)
    assert small.find_matcher(mul) is False and all_awake.find_matcher(mul)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("stage", ["canonicalize", "stabilize", "specialize"])
def test_results_do_not_depend_on_what_was_met_before(stage, seed):
    rng = np.random.default_rng(seed)
    found = db.query("+fast_run", f"&{stage}")
    fresh, awake = RuleSet(found.rules, found.assume), RuleSet(found.rules, found.assume)
    awake.prepare()
    awake.meet(OPS.values())
    for _ in range(4):
        roots = [t.term for t in grown(rng, 15)]
        assert all(a is b for a, b in zip(fresh.rewrite_terms(roots)[0], awake.rewrite_terms(roots)[0], strict=True))
    logs = [log(exp(v)), sum_(exp(v))]
    assert fresh.rewrite(logs) == awake.rewrite(logs)
