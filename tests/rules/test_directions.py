"""Rules run backwards, or say what forbids it; kanren goals stand bare in rules and enumerate."""

import itertools
import sys
from collections import Counter
from pathlib import Path

import kanren
import pytest
from kanren import conde, eq, membero
from unification import Var, unify, var

import termgraph.tensor as T
from termgraph.rules import (
    Float,
    Guard,
    RuleSet,
    goal,
    needed_once,
    nonzero,
    param,
    rule,
    ruleset,
    same_rank,
    seg,
    this,
)
from termgraph.rules.checking.directions import KINDS, PURE, forbids, kind_of_rule, share, tabulate
from termgraph.rules.checking.examples import examples, loose_examples
from termgraph.rules.goals import Goal
from termgraph.rules.parts import Part
from termgraph.rules.relation import interleave, rule_relation
from termgraph.terms.errors import RuleError
from termgraph.terms.ops.elementwise import add, exp, log, maximum, mul, pow_, sub
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.term import Const
from tests.rulelib.support import LIBRARY

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import backwards

sys.path.pop(0)


x, f, y = T.dvector("x").term, T.fvector("f").term, T.dvector("y").term
q, p = var(), var()
VALUED = [r for r in LIBRARY.values() if "grad" not in r.tags]


def found_again(r):
    """Whether the rule, asked backwards about what it makes, gives one of the terms it was made of."""
    for e in itertools.islice(itertools.chain(examples(r, 3), loose_examples(r, 60)), 8):
        answers = itertools.islice(kanren.run(None, q, rule_relation(r, q, e.after)), 40)
        if any(a is e.before or (a.lvars and unify(a, e.before, {}) is not False) for a in answers):
            return True
    return False


HARD = {"quotients.drop"}  # a quotient of two numbers on the right, which is a number by the time it is asked about


@pytest.mark.parametrize("part", range(3))
def test_a_share_of_the_rules_that_run_backwards_do(part):
    chosen = [r for r in VALUED if not forbids(r) and r.name not in HARD][part * 7 :: 21]
    assert [r.name for r in chosen if not found_again(r)] == []


@pytest.mark.slow
def test_all_rules_that_run_backwards_do():
    chosen = [r for r in VALUED if not forbids(r) and r.name not in HARD]
    assert len(chosen) > 0.7 * len(VALUED) and [r.name for r in chosen if not found_again(r)] == []


@pytest.mark.parametrize("part", range(3))
def test_of_each_rule_the_left_side_is_found_again_or_it_is_said_what_is_lost_on_the_way(part):
    """The table of `benchmarks/backwards.py`: no rule gives other left sides only, and none comes to nothing."""
    said = {r.name: backwards.verdict(r) for r in VALUED[part::3]}
    known = (backwards.FOUND, backwards.OPEN)
    known += ("any number of operands on the left is not", "a parameter on the left is not", "goal ")
    assert {name: why for name, why in said.items() if not why.startswith(known)} == {}
    assert sum(why in known for why in said.values()) > 0.7 * len(said)


def test_an_answer_is_the_left_side_whatever_the_order_of_its_operands():
    @ruleset()
    def either(x, y):
        yield rule("minus", sub(log(x), 1), exp(x))
        yield rule("larger", maximum(x, exp(y)), log(x))

    assert backwards._covers(maximum(q, x), maximum(x, f))
    assert not backwards._covers(maximum(q, y), maximum(x, f))
    minus, _ = either
    left = kanren.run(0, q, rule_relation(minus, q, exp(x)))
    assert sub(log(x), Const(1.0)) in left  # as written, and as canonicalize leaves it
    assert add(log(x), Const(-1.0)) in left


def test_every_rule_runs_backwards_or_says_what_forbids_it():
    reasons = {r.name: forbids(r) for r in LIBRARY.values()}
    goals = {g.name for r in LIBRARY.values() for g in r.goals}
    for name, why in reasons.items():
        known = why in ("", "a parameter is left open", "any number of operands is left open")
        assert known or why.split()[0] in goals, f"{name}: {why}"
    rows = tabulate(LIBRARY.values())
    total = rows[-1]
    n = len(KINDS)
    assert total[0] == "all" and int(total[1]) == len(LIBRARY) == sum(map(int, total[2 : 2 + n]))
    assert int(total[2 + n]) == sum(not why for why in reasons.values()) > 0.7 * len(LIBRARY)
    assert [sum(int(row[k]) for row in rows[:-1]) for k in range(1, 3 + n)] == [int(n) for n in total[1 : 3 + n]]


@goal("io")
def twice(x):
    return add(x, x)


def test_what_is_said_of_rules():
    @ruleset()
    def told(x: Float, y, a: param, xs: seg):
        yield rule("both", log(exp(x)), x)
        yield rule("free", x * 0, 0)
        yield rule("made", exp(x + x), exp(y), twice(x, y))
        yield rule("whole", sub(x, -x), y, twice(x, y))
        yield rule("open", sum_(exp(x), axis=a), x)
        yield rule("many", mul(2, *xs), exp(3))

    said = [(kind_of_rule(r), forbids(r)) for r in told]
    assert said[:4] == [("data", ""), ("data", ""), ("computed", "twice computes"), ("program", "twice computes")]
    assert said[4:] == [("data", "a parameter is left open"), ("data", "any number of operands is left open")]
    assert set(KINDS) == {"data", "typed", "facts", "formula", "tested", "computed", "program"}


@goal("i")
def round_number(x):
    return x.scalar == 10


def own_part(x):
    return x


own_part = Part(own_part, None, Var)


Ten = Guard("Ten", lambda x: x.scalar == 10)


def test_what_counts_as_data():
    @ruleset()
    def judged(x: Float, y, z: Ten, a: param):
        yield rule("kind", x[nonzero, this.dtype] / x, 1)
        yield rule("of_parts", (x[nonzero] / y[x.dtype])[needed_once], 1)
        yield rule("beside", x / y, 1, nonzero(x))
        yield rule("fact", x[nonzero] / y, 1, same_rank(x, y))
        yield rule("part", sum_(exp(x), axis=a, dtype=x.dtype), sum_(x, axis=a, dtype=this.dtype))
        yield rule("test", exp(x), x, round_number(x))
        yield rule("guard", exp(z), z)
        yield rule("own_part", log(x), own_part(x))

    assert [kind_of_rule(r) for r in judged] == [
        "typed", "typed", "facts", "facts", "data", "tested", "tested", "computed",
    ]  # fmt: skip


def test_most_rules_of_the_library_are_data_and_facts_are_the_engines_own():
    kinds = Counter(kind_of_rule(r) for r in LIBRARY.values())
    assert kinds["data"] > 0.57 * len(LIBRARY) and kinds["data"] + kinds["typed"] > 0.75 * len(LIBRARY)
    assert f"{kinds['data'] + kinds['typed']} of {len(LIBRARY)} rules" in share(LIBRARY.values())
    assert sum(kinds[k] for k in PURE) > 0.83 * len(LIBRARY)
    facts = {g.goal for r in LIBRARY.values() for g in r.goals if isinstance(g.goal, Goal) and g.goal.is_fact}
    homes = {f.__module__ for fact in facts for f in fact.modes.values()}
    assert {home.rpartition(".")[0] for home in homes} == {"termgraph.rules"}


def bare():
    @ruleset()
    def searching(x: Float, k, y):
        yield rule("square", pow_(x, k), x * x, membero(k, (2.0, 3.0)))
        yield rule("pair", pow_(x, k), log(x + y), conde([eq(k, 5), eq(y, 1)], [eq(k, 7), eq(y, x)]))

    return RuleSet(searching)


@pytest.mark.parametrize("v", [x, f])
def test_bare_goals_run_forwards(v):
    rs = bare()
    number = [Const(float(n), v.type.dtype) for n in range(9)]
    assert rs.rewrite(pow_(v, number[2])) is mul(v, v) and rs.rewrite(pow_(v, number[4])) is pow_(v, number[4])
    assert kanren.run(0, q, rs.relation(pow_(v, number[7]), q)) == (log(add(v, v)),)
    assert rs.rewrite(pow_(v, number[5])) is log(add(v, number[1]))


@pytest.mark.parametrize("v", [x, f])
def test_bare_goals_enumerate_backwards(v):
    rs = bare()
    number = [Const(float(n), v.type.dtype) for n in range(9)]
    found = kanren.run(0, q, rs["searching.square"].relation(q, mul(v, v)))
    assert found == (pow_(v, number[2]), pow_(v, number[3]))
    found = kanren.run(0, q, rs["searching.pair"].relation(q, log(add(v, number[1]))))
    assert pow_(v, number[5]) in found
    assert kanren.run(0, q, rs["searching.pair"].relation(q, log(add(x, y)))) == ()


def test_bare_goals_enumerate_with_neither_side_known():
    answers = kanren.run(0, (q, p), bare()["searching.square"].relation(q, p))
    assert [a.args[1].value for a, _ in answers] == [2.0, 3.0]


def test_endless_goals_hide_no_other_answer():
    def numbero(k, n=0.0):
        def numbers(state):
            yield from conde([eq(k, n)], [numbero(k, n + 1)])(state)

        return numbers

    @ruleset()
    def endless(x: Float, k):
        yield rule("any_power", pow_(x, k), exp(x), numbero(k))
        yield rule("last", log(x), exp(x))

    rs = RuleSet(endless)
    assert kanren.run(3, q, rs["endless.any_power"].relation(q, exp(x))) == tuple(
        pow_(x, Const(float(n))) for n in range(3)
    )
    assert log(x) in kanren.run(4, q, rs.relation(q, exp(x)))
    assert list(itertools.islice(interleave([itertools.count(), iter("ab")]), 5)) == [0, 1, "a", 2, "b"]


def test_a_goal_about_nothing_of_the_rule_is_refused():
    with pytest.raises(RuleError, match="write a kanren goal about metavariables"):

        @ruleset()
        def idle(x):
            yield rule("nothing", exp(x), log(x), membero(1, (1, 2)))
