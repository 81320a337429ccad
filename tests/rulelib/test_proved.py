"""The prover finds nothing in the whole library that a rule does not declare; the checker nothing that is not accepted.

`termgraph rules prove` and `termgraph rules lint` do the same with more samples, and CI runs them.
"""

import pytest

from termgraph import db
from termgraph.db import checking
from termgraph.rules import prove
from tests.rulelib.support import LIBRARY

TOPICS = sorted({r.topic for r in LIBRARY.values()})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TOPICS)
def test_every_rule_declares_what_it_changes(name):
    report = prove([r for r in LIBRARY.values() if r.topic == name], samples=2)
    assert report.ok, "\n\n".join(v.details() for v in report.bad)
    assert all(v.trials or v.kind == "derivative" for v in report)


@pytest.mark.filterwarnings("ignore")
def test_what_strict_adds_zeros_to_keeps_their_signs():
    rules = [r for r in db.query("+fast_run", assume=()).rules if "plus_zero" in LIBRARY[r.name].assumes]
    report = prove(rules, samples=8)
    assert len(rules) > 20 and report.ok, "\n\n".join(v.details() for v in report.bad)


def test_only_derivative_rules_are_not_tried():
    kinds = {v.rule.name: v.kind for v in prove([r for r in LIBRARY.values() if "grad" in r.tags], samples=1)}
    assert set(kinds.values()) == {"derivative"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_rule_is_wrong_on_other_terms(rng):
    report = prove(LIBRARY.values(), samples=16, seed=int(rng.integers(1, 1 << 31)))
    assert not [v for v in report if v.kind == "WRONG"], str(report)


def test_every_accepted_finding_has_a_reason():
    assert all(len(a.reason.split()) > 8 for a in checking.accepted_findings())
