"""The driver and its plain twin do the same: results, steps in order, what was moved, and how many nodes were met."""

import pytest

from termgraph import db
from termgraph.rules import RuleSet
from termgraph.rules.checking.examples import examples
from termgraph.rules.memo import Memo
from termgraph.rules.rewrite import normalize
from tests.rulelib.plain import plainly
from tests.rulelib.support import LIBRARY
from tests.rulelib.test_random_graphs import grown

QUERIES = [("+canonicalize",), ("+specialize",), ("+fast_run",), ("+fast_compile",)]
VALUED = [r for r in LIBRARY.values() if "grad" not in r.tags]


def same(roots, rs):
    """Both ways; the number of steps."""
    want, plain = plainly(roots, rs)
    got, trace = normalize(roots, rs)
    assert all(g is w for g, w in zip(got, want, strict=True)), (got, want)
    assert trace.steps == plain.steps
    assert trace.moved == plain.moved
    assert (trace.visited, trace.counts) == (plain.visited, plain.counts)
    return len(plain.steps)


def fresh(rs):
    """A rule set that remembers no terms of another test."""
    return rs if rs.merges_commuted else RuleSet(rs.rules, rs.assume)


def graphs(rng, count, size=12):
    return [[x.term for x in grown(rng, size)[-2:]] for _ in range(count)]


@pytest.mark.parametrize("query", QUERIES, ids=" ".join)
def test_random_graphs(query, rng):
    chosen = db.query(*query)
    steps = 0
    for roots in graphs(rng, 40):
        steps += same(roots, fresh(chosen))
    assert steps > 10


def test_stages_that_share_a_memo(rng):
    """A memo saves visits and changes nothing else."""
    stages = [db.query(*q) for q in (("+canonicalize",), ("+stabilize",), ("+canonicalize",), ("+specialize",))]
    for roots in graphs(rng, 40):
        memo, want, got = Memo(stages), roots, roots
        for rs in stages:
            (want, plain), (got, trace) = plainly(want, rs), normalize(got, rs, memo=memo)
            assert all(g is w for g, w in zip(got, want, strict=True))
            assert trace.steps == plain.steps and trace.visited <= plain.visited


def check_rules(chosen):
    """Terms that each rule of the library applies to, rewritten by all rules of its stage together."""
    stages = [db.query(f"+{tag}") for tag in ("canonicalize", "stabilize", "specialize")]
    steps = 0
    for rule in chosen:
        for rs in (rs for rs in stages if rule in rs):
            for e in examples(rule, 1):
                steps += same([e.before], fresh(rs))
    assert steps >= len(chosen) // 4


def test_the_library():
    check_rules(VALUED[::9])


@pytest.mark.slow
def test_the_whole_library():
    check_rules(VALUED)
