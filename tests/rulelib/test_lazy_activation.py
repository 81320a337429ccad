"""Rules wake when a graph has the operators they name; which are awake never changes a result."""

import itertools

import numpy as np
import pytest

import termgraph.tensor as T
from termgraph import db
from termgraph.rules import rule, ruleset
from termgraph.rules.compiled import RuleSet
from termgraph.rules.intervals import known_ranges, tells
from termgraph.rules.lazy_activation import LazyActivation, below, families, named
from termgraph.terms.op import OPS
from termgraph.terms.ops.elementwise import add, cosh, exp, log, mul, sinh, tan
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.traverse import subterms
from tests.rulelib.support import LIBRARY
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
    from termgraph.rules import defined

    defined.forget([r.name for r in waking.rules])


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


def test_a_rule_sleeps_for_nothing_that_one_of_its_forms_does_without():
    for r in LIBRARY.values():
        for form in r.instances():
            assert named(r) <= families(form.lhs), f"{form} does without some of {named(r)}"


def test_what_a_graph_does_not_need_is_not_compiled():
    rules = db.query("+fast_run", "&stabilize").rules
    small, all_awake = RuleSet(rules), RuleSet(rules)
    small.rewrite(mul(v, v))
    all_awake.source(mul)
    assert small.find_matcher(mul) is False and all_awake.find_matcher(mul)


def integers(rng, n, constants, dtypes=("int64", "int64", "int8", "uint8")):
    """Random terms of integers of several dtypes; without constants most of them have no range of their own."""
    pool = [T.vector(f"i{k}", dtype=d) for k, d in enumerate(dtypes)]
    binary = [T.add, T.sub, T.mul, T.maximum, T.minimum, T.bitwise_or, T.bitwise_xor]
    for _ in range(n):
        i, j = rng.integers(0, len(pool), 2)
        step = int(rng.integers(0, 12))
        if step == 0 and constants:
            pool.append(T.maximum(pool[i], int(rng.integers(0, 5))))
        elif step == 1 and constants:
            pool.append(pool[i] % int(rng.integers(1, 9)))
        elif step == 2:
            pool.append(-pool[i])
        elif step == 3:
            pool.append(pool[i][::-1])
        else:
            pool.append(binary[step % 7](pool[i], pool[j]))
    return pool


@pytest.mark.parametrize("constants", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_rules_about_order_sleep_until_ranges_are_known_and_miss_nothing(seed, constants):
    rng = np.random.default_rng(seed)
    found = db.query("+fast_run", "&canonicalize")
    fresh, awake = RuleSet(found.rules, found.assume), RuleSet(found.rules, found.assume)
    awake.prepare()
    awake.meet_everything(OPS.values())
    for n in (10, 20):
        pool = integers(rng, n, constants)
        roots = [t.term for t in (*pool, *itertools.starmap(T.lt, itertools.pairwise(pool)))]
        assert fresh.rewrite_terms(roots)[0] == awake.rewrite_terms(roots)[0]


@pytest.mark.parametrize("seed", range(8))
def test_where_no_term_tells_of_a_range_none_is_known(seed):
    roots = [t.term for t in integers(np.random.default_rng(seed), 30, False, [("int64", "uint8")[seed % 2]] * 4)]
    quiet = [t for t in roots if not any(map(tells, subterms([t])))]
    assert len(quiet) > 6
    for x, y in itertools.product(quiet, quiet):
        assert known_ranges(x, y) is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("stage", ["canonicalize", "stabilize", "specialize"])
def test_results_do_not_depend_on_what_was_met_before(stage, seed):
    rng = np.random.default_rng(seed)
    found = db.query("+fast_run", f"&{stage}")
    fresh, awake = RuleSet(found.rules, found.assume), RuleSet(found.rules, found.assume)
    awake.prepare()
    awake.meet_everything(OPS.values())
    for _ in range(4):
        roots = [t.term for t in grown(rng, 15)]
        assert all(a is b for a, b in zip(fresh.rewrite_terms(roots)[0], awake.rewrite_terms(roots)[0], strict=True))
    logs = [log(exp(v)), sum_(exp(v))]
    assert fresh.rewrite(logs) == awake.rewrite(logs)
