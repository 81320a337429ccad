"""What is decided without matching: screens, quick looks at sums, marks shared by stages, twins, names of locals."""

import warnings

import numpy as np
import pytest

import termgraph.tensor as T
from termgraph import db
from termgraph.db.database import STAGES
from termgraph.rules import RuleSet, rule, ruleset
from termgraph.rules.clients import USES
from termgraph.rules.collecting import _is_collected_sum, _Sum
from termgraph.rules.collecting_products import _is_collected_product, _Product
from termgraph.rules.facts import FACTS, nonnegative
from termgraph.rules.memo import Memo
from termgraph.rules.source import MARK, reuse_names
from termgraph.terms.op import Op
from termgraph.terms.ops.elementwise import (
    abs_,
    add,
    exp,
    hypot,
    log,
    log1p,
    maximum,
    mul,
    neg,
    sin,
    sub,
    tanh,
    true_div,
)
from termgraph.terms.term import Const
from termgraph.terms.traverse import children_first
from tests.rulelib.test_random_graphs import grown

x, y, z = (T.dmatrix(n).term for n in "xyz")
ALL = ("+fast_run", "-inplace", "-scan", "-fuse")


@pytest.mark.parametrize("seed", range(12))
def test_what_the_screen_refuses_no_rule_matches(seed):
    rs = db.query(*ALL)
    rng = np.random.default_rng(seed)
    terms = children_first([v.term for v in grown(rng, 60)])
    terms = children_first([*terms, *db.query("+fast_run", "&canonicalize").rewrite_terms(terms)[0]])
    rs.meet_all(terms)
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t in terms:
            if t.args and not rs.candidate(t) and (match := rs.find_matcher(t.op)):
                refused += 1
                assert match(t) is None, t
    assert refused


@pytest.mark.parametrize("seed", range(5))
def test_a_quick_look_never_takes_a_sum_or_product_for_collected_that_is_not(seed):
    rng = np.random.default_rng(seed)
    leaves = [x, y, z, *(Const(c, "float64") for c in (0.0, 1.0, -1.0, 2.0, -2.0, 0.5))]
    pool = list(leaves)
    found = 0
    for _ in range(1500):
        op = [add, add, mul, mul, sub, neg, true_div][rng.integers(7)]
        n = 1 if op is neg else 2 if op in (sub, true_div) else int(rng.integers(2, 4))
        t = op(*(pool[i] for i in rng.integers(max(0, len(pool) - 25), len(pool), n)))
        USES.start([t], ())
        if op in (add, sub, neg) and _is_collected_sum(t):
            found += 1
            assert _Sum(t).result() is t
        if op in (mul, true_div) and _is_collected_product(t):
            found += 1
            assert _Product(t).result() is t
        USES.stop()
        pool.append(t if rng.random() < 0.7 else leaves[rng.integers(len(leaves))])
    assert found > 50


def sets(*tags):
    return [db.query("+fast_run", f"&{tag}") for tag in tags]


def test_later_stages_skip_what_no_stage_can_change():
    roots = [sin(maximum(exp(x), hypot(x, y))), sin(exp(y))]
    memo, visited = Memo(sets(*STAGES)), []
    for rs in sets(*STAGES):
        roots, trace = rs.rewrite_terms(roots, memo=memo)
        visited.append(trace.visited)
    assert visited[0] == len(children_first(roots)) and visited[1:] == [0, 0, 0]


def test_what_only_the_last_stage_can_change_the_stages_between_do_not_visit():
    half = Const(0.5)
    roots = [exp(sin(add(mul(half, x), mul(half, y)))), sin(y)]
    memo, visited = Memo(sets(*STAGES)), []
    for rs in sets(*STAGES):
        roots, trace = rs.rewrite_terms(roots, memo=memo)
        visited.append(trace.visited)
    assert roots == [exp(sin(mul(half, add(x, y)))), sin(y)]
    assert visited == [9, 0, 0, 5]  # in the end the sum, what became of it (two), and the two above it


def test_what_a_later_stage_can_change_it_does_change():
    inner = log(add(x, Const(1.0)))
    memo, roots = Memo(sets(*STAGES)), [sin(inner), exp(y)]
    for rs in sets(*STAGES):
        roots, _ = rs.rewrite_terms(roots, memo=memo)
    assert roots == [sin(log1p(x)), exp(y)]


def test_a_memo_is_of_no_use_to_other_rule_sets():
    @ruleset()
    def only(x):
        yield rule("sine", sin(x), exp(x))

    memo = Memo(sets(*STAGES))
    roots, _ = db.query("+fast_run", "&canonicalize").rewrite_terms([sin(x)], memo=memo)
    assert RuleSet(only).rewrite_terms(roots, memo=memo)[0] == [exp(x)]


def test_facts_declared_late_are_seen_at_once():
    op = Op("wave", arity=1, infer=lambda t: t, kind="elementwise")
    t = op(x)
    assert not nonnegative.proved(t)
    nonnegative.propagate(op, lambda t, ask: True)
    try:
        assert nonnegative.proved(t) and nonnegative.proved(exp(t)) and not nonnegative.proved(op(sin(x)).args[0])
    finally:
        del nonnegative.rules[op]
    assert nonnegative(T.exp(x)) is True


def test_rules_see_facts_declared_after_a_graph_was_rewritten():
    op = Op("wave", arity=1, infer=lambda t: t, kind="elementwise")
    e = abs_(op(x))
    staged = lambda: db.rewrite([e])[0]  # noqa: E731
    alone = db.query("+fast_run", "-inplace", "&canonicalize")
    assert staged() is e and alone.rewrite_terms([e])[0] == [e]
    nonnegative.propagate(op, lambda t, ask: True)
    try:
        assert staged() is op(x) and alone.rewrite_terms([e])[0] == [op(x)]
    finally:
        del nonnegative.rules[op]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_known_to_hold_is_proved_and_the_other_way_round(seed):
    terms = children_first([v.term for v in grown(np.random.default_rng(seed), 80)])
    terms += [T.assume(T.dvector("v"), positive=True).term, T.assume(T.dvector("w"), negative=True).term]
    found = 0
    for fact in FACTS.values():
        for t in reversed(terms):
            assert fact.proved(t) is (fact.known(t) is True), (fact, t)
            found += fact.proved(t)
    assert found > 20


def test_a_rule_that_asks_for_what_it_says_proves_nothing():
    op = Op("circular", arity=1, infer=lambda t: t, kind="elementwise")
    t = op(x)
    nonnegative.propagate(op, lambda t, ask: ask(nonnegative, t))
    try:
        assert not nonnegative.proved(t) and nonnegative.known(t) is None
        assert nonnegative.proved(exp(t))
    finally:
        del nonnegative.rules[op]


def test_facts_of_a_deep_chain():
    up = exp(x)
    down = x
    for _ in range(3000):
        up, down = tanh(up), tanh(down)
    assert nonnegative.proved(up) and not nonnegative.proved(down)


# ---------------------------------------------------------------------- twins
def test_terms_that_differ_in_the_order_of_operands_become_the_first_one():
    rs = db.query("+fast_run", "&canonicalize")
    new = rs.rewrite_terms([sin(mul(x, y)), exp(mul(y, x)), hypot(y, x), hypot(x, y)])[0]
    assert new == [sin(mul(x, y)), exp(mul(x, y)), hypot(y, x), hypot(y, x)]
    assert rs.rewrite_terms([exp(mul(y, x))])[0] == [exp(mul(y, x))]  # alone, it stays as it was written
    new = rs.rewrite_terms([sin(add(x, y, z)), exp(add(z, x, y))])[0]
    assert new == [sin(add(x, y, z)), exp(add(x, y, z))]


def test_order_that_decides_bits_is_kept_when_nothing_is_taken_on_trust():
    strict = db.query("+fast_run", "&canonicalize", assume=())
    roots = [maximum(x, y), maximum(y, x), add(x, y, z), add(z, y, x)]
    assert strict.rewrite_terms(roots)[0] == roots
    assert strict.rewrite_terms([mul(x, y), mul(y, x)])[0] == [mul(x, y), mul(x, y)]


def test_which_twin_stays_does_not_depend_on_graphs_rewritten_before():
    rs = db.query("+comparisons")
    kept = rs.rewrite_terms([sin(hypot(y, x))])[0]
    assert rs.rewrite_terms([hypot(x, y), kept[0]])[0] == [hypot(x, y), sin(hypot(x, y))]


def test_only_canonicalize_merges_twins():
    roots = [mul(x, y), mul(y, x)]
    assert db.query("+fast_run", "&stabilize").rewrite_terms(roots)[0] == roots


# ---------------------------------------------------------------------- names
def test_names_are_free_again_when_their_block_ends():
    m = MARK
    lines = [
        "def match(t):",
        f"    a{m}1 = t",
        f"    if a{m}1:",
        f"        for j{m}2, a{m}3 in a{m}1:",
        f"            j{m}2, a{m}3",
        f"    for j{m}4 in a{m}1:",
        f"        j{m}4",
    ]
    assert [line.strip() for line in reuse_names(lines)] == [
        "def match(t):", "b0 = t", "if b0:", "for j0, b1 in b0:", "j0, b1", "for j0 in b0:", "j0",
    ]  # fmt: skip


def test_matchers_have_few_locals_and_no_cells():
    rs = db.query(*ALL)
    rs.source(mul)  # wakes all rules
    code = rs.find_matcher(mul).__code__
    assert code.co_nlocals < 200 and not code.co_cellvars
