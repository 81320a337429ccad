"""Rules asked for by name, in Python as on the command line; rules that raise are blamed themselves."""

import json
import warnings

import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.cli import main
from termgraph.db.database import named
from termgraph.rules import Guard, goal, rule, ruleset
from termgraph.rules.defined import DEFINED
from termgraph.terms.errors import RuleWarning
from termgraph.terms.ops.elementwise import sin


@pytest.mark.parametrize(
    "what, topics",
    [
        ("logs.log1p", {"logs"}),
        ("logs", {"logs"}),
        ("+logs -logs.log1p", {"logs"}),
        (["logs.log1p", "sigmoids"], {"logs", "sigmoids"}),
        ("scan", {r.topic for r in db.rules(tag="scan")}),
    ],
)
def test_names_topics_tags_and_lists(what, topics):
    assert {r.topic for r in named(what)} == topics


def test_rules_tables_and_names_together():
    (log1p,) = named("logs.log1p")
    assert named([log1p, "logs.log1p", [log1p]]) == [log1p]


def test_what_is_not_known_is_asked_back():
    for tool in (tg.rules.prove, tg.rules.lint):
        with pytest.raises(LookupError, match=r"'logs.log1pp'; did you mean logs.log1p"):
            tool("logs.log1pp")
        with pytest.raises(TypeError, match="by name, tag or query"):
            tool(3)


def test_prove_by_name():
    assert [v.rule.name for v in tg.rules.prove("logs.log1p", samples=2)] == ["logs.log1p"]


def test_lint_says_the_same_in_python_and_on_the_command_line(capsys):
    report = tg.rules.lint("logs", pairs=300)
    main(["rules", "lint", "logs", "--pairs", "300", "--json"])
    printed = json.loads(capsys.readouterr().out)
    shown = [(f["kind"], f["rule"], f["text"]) for f in printed["findings"]]
    assert shown == [(f.kind, f.rule, f.text) for f in report.findings if f.kind != "inner first"]
    assert (printed["rules"], printed["overlaps"], printed["ok"]) == (report.rules, report.pairs, report.ok)


@goal("i")
def raises(t) -> bool:
    raise KeyError("mine")


@goal("io")
def raises_later(t):
    raise KeyError("mine")


def _bad(t):
    """Raises on inputs that the test makes; not on those that a rule is tried on when it is defined."""
    if t.type.shape == (7,):
        raise KeyError("mine")
    return True


def with_test():
    @ruleset("canonicalize")
    def raising_test(x):
        yield rule("culprit", sin(x), x, raises(x))

    return raising_test


def with_answer():
    @ruleset("canonicalize")
    def raising_answer(x, y):
        yield rule("culprit", sin(x), y, raises_later(x, y))

    return raising_answer


def with_guard():
    @ruleset("canonicalize")
    def raising_guard(x: Guard("Bad", _bad)):
        yield rule("culprit", sin(x), x)

    return raising_guard


def behind_others():
    @ruleset("canonicalize")
    def raising_between(x, y):
        yield rule("before", sin(sin(x)), x)
        yield rule("culprit", sin(x) * y, x, raises(y))
        yield rule("after", sin(x) * y * y, x)

    return raising_between


@pytest.mark.parametrize("define", [with_test, with_answer, with_guard, behind_others])
def test_a_goal_that_raises_disables_its_own_rule_and_says_so_once(define):
    table = define()
    try:
        x = T.tensor("x", dtype="float64", shape=(7,))
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            for k in range(2):
                f = tg.function([x], (T.sin(x) * (x + k) + 0) * 1)
        told = [str(w.message) for w in met if issubclass(w.category, RuleWarning)]
        assert len(told) == 1 and told[0].startswith(f"set aside {table.topic}.culprit: "), told
        assert "test_named.py" in told[0]
        assert {"algebra.add_zero", "algebra.identity"} & {s.rule for s in f.trace}
        assert f([0.5] * 7)[0] == pytest.approx(0.479425538604203 * 1.5)
    finally:
        for r in table:
            DEFINED.pop(r.name, None)
