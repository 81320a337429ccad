"""Every rule of the library, run by the engine on terms of its own left side: it fires and agrees with its relation."""

import itertools
import warnings

import kanren
import numpy as np
import pytest
from unification import var

import termgraph as tg
import termgraph.tensor as T
from termgraph.rules import RuleSet
from termgraph.rules.checking.examples import examples, loose_examples
from termgraph.rules.facts import FACTS
from termgraph.rules.relation import results
from termgraph.rules.same_kind import different_kinds
from termgraph.terms.errors import RuleError, RuleWarning
from tests.rulelib.support import LIBRARY

VALUED = [r for r in LIBRARY.values() if "grad" not in r.tags]
TOPICS = sorted({r.topic for r in VALUED})
ASSUMED = frozenset(FACTS)  # goals about facts hold unless the values say otherwise: what matters here is matching


def compiled(rule, term):
    """What the compiled matcher of one rule makes of a term, at the root; None if it does not fire."""
    rules = RuleSet([rule], ASSUMED)
    rules.prepare()
    rules.meet_all([term])
    match = rules.candidate(term)
    found = match(term) if match else None
    return None if found is None else found[0]


@pytest.mark.parametrize("topic", TOPICS)
def test_every_rule_fires_and_agrees_with_its_relation(topic):
    silent = []
    for rule in (r for r in VALUED if r.topic == topic):
        fired = 0
        for e in itertools.islice(itertools.chain(examples(rule, 2), loose_examples(rule, 400)), 3):
            new = compiled(rule, e.before)
            allowed = list(results(rule, e.before, ASSUMED))
            if new is None:
                assert not allowed, f"{rule.name}: the relation gives {allowed} for {e.before}, the matcher nothing"
            else:
                fired += 1
                assert any(new is a for a in allowed), f"{rule.name} on {e.before}: {new} is not among {allowed}"
        silent += [] if fired else [rule.name]
    assert not silent


def test_all_rules_are_counted():
    assert len(VALUED) > 650 and {r.topic for r in VALUED} == set(TOPICS)


@pytest.mark.parametrize("name", ["logs.log1p", "algebra.sub_neg", "sigmoids.sigmoid", "dots.vector_last"])
def test_kanren_runs_the_same_rules(name):
    rule, q = LIBRARY[name], var()
    for e in examples(rule, 3):
        assert e.after in kanren.run(0, q, rule.relation(e.before, q))


def test_f45_both_sides_of_every_rule_are_of_one_kind():
    """Also for each operator that a metavariable stands for."""
    rules = list(LIBRARY.values())
    assert len(rules) > 800
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuleWarning)
        for r in rules:
            assert r.instances() is not None and different_kinds(r.lhs, r.rhs, r.guards) is None, r.name


def test_a_misspelt_removal_is_refused_with_what_was_meant():
    x = T.dvector("x")
    for mode in ("-logs.log1pp", tg.Mode().excluding("logs.log1pp")):
        with pytest.raises(RuleError, match=r"-logs\.log1pp is to leave out a rule.*did you mean .*logs\.log1p"):
            tg.function([x], T.log(1 + x), mode=mode)
    f = tg.function([x], T.log(1 + x), mode=tg.Mode().excluding("logs.log1p"))
    assert "logs.log1p" not in f.profile.rules


def test_expm1_plus_one_keeps_the_precision_of_the_one():
    x = T.fvector("x")
    given = np.float32([1e-4, 3e-3, 0.1])
    found = tg.function([x], T.expm1(x) + np.ones(1))(given)
    assert found.dtype == "float64" and np.allclose(found, np.expm1(given.astype(float)) + 1, rtol=1e-8, atol=0)
    assert tg.rewrite(T.expm1(x) + 1).owner.op is T.exp(x).owner.op
