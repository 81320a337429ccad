"""`termgraph rules`: list, show, why, lint and prove, with exit codes that say whether all is well."""

import json
import subprocess
import sys

import pytest

from termgraph import cli
from termgraph.db import checking

FALSE_FILE = """
from termgraph.rules import Float, rule, ruleset
from termgraph.terms.ops.elementwise import sqrt


@ruleset("canonicalize")
def cli_wrong(x: Float):
    yield rule("root", sqrt(x * x), x)
"""
LOOPING_FILE = """
from termgraph.rules import rule, ruleset
from termgraph.terms.ops.elementwise import cosh, sinh


@ruleset("canonicalize")
def cli_games(x):
    yield rule("ping", sinh(x), cosh(x))
    yield rule("pong", cosh(x), sinh(x))
"""


def asked(capsys, *words):
    status = cli.main(["rules", *words])
    return status, capsys.readouterr().out


def answered(capsys, *words):
    status, out = asked(capsys, *words, "--json")
    return status, json.loads(out)


@pytest.fixture
def rule_file(tmp_path):
    from termgraph.db import loading
    from termgraph.rules import defined

    made = []

    def write(text):
        path = tmp_path / "mine.py"
        path.write_text(text)
        made.append(str(path.resolve()))
        return str(path)

    yield write
    for where in made:
        defined.forget(loading.LOADED.pop(where, []))


def test_list_by_topic_tag_and_operator(capsys):
    status, out = asked(capsys, "list", "logs")
    assert status == 0 and "logs.log1p " in out and "log(1 + x) -> log1p(x)" in out and "\nsoftplus" not in out
    _, stabilizing = answered(capsys, "list", "+fast_run &stabilize")
    assert len(stabilizing) > 50 and all("stabilize" in row["tags"] for row in stabilizing)
    _, made = answered(capsys, "list", "--makes", "sigmoid", "--head", "true_div")
    assert "sigmoids.sigmoid" in [row["rule"] for row in made]


def test_show_tells_conditions_assumptions_and_place(capsys):
    status, out = asked(capsys, "show", "logs.log1p")
    assert status == 0
    for words in ("log(1 + x)  ->  log1p(x)", "if x: Float", "takes on trust: plus_zero", "logs.py:", "example: "):
        assert words in out
    _, (row,) = answered(capsys, "show", "logs.log1p")
    assert row["example"]["after"].startswith("log1p(") and row["assumes"] == ["plus_zero"]


def test_count_says_how_rules_are_written_and_what_forbids_them_backwards(capsys):
    status, text = asked(capsys, "count", "logs", "reductions")
    assert status == 0 and "4 merged computes" in text and "data: both sides are terms" in text
    _, rows = answered(capsys, "count", "logs.log1p")
    assert rows[0] == {"rule": "logs.log1p", "written": "data", "forbids": ""}


def test_why_lists_the_steps_in_order(capsys):
    status, out = asked(capsys, "why", "log(1 + exp(x))")
    assert status == 0 and out.index("logs.log1p ") < out.index("logs.log1p_exp ") and "becomes softplus(x)" in out
    _, answer = answered(capsys, "why", "log(1 + exp(x))", "--type", "x=fmatrix", "--strict")
    steps = [step["rule"] for step in answer["steps"]]  # the 0.0 that keeps a sign is seen to be needless
    assert answer["after"] == "softplus(x)" and {"logs.log1p_exp", "zeros.needless"} <= set(steps)


def test_why_not(capsys):
    status, out = asked(capsys, "why", "log(2 + exp(x))", "logs.log1p")
    assert status == 1 and "no operand of" in out
    status, out = asked(capsys, "why", "log(1.0 + exp(x))", "logs.log1p")
    assert status == 0 and "applies, with x = exp(x)" in out
    status, answer = answered(capsys, "why", "log1p(exp(x))", "logs.log1p_exp")
    assert status == 0 and answer["applies"] and "applies, with x = x" in answer["reasons"][-1]


def test_lint_of_a_looping_file_names_rules_and_lines(capsys, rule_file):
    path = rule_file(LOOPING_FILE)
    status, out = asked(capsys, "lint", path)
    assert status == 1 and "cli_games.ping" in out and f"{path}:8" in out and "returns to" in out


def test_prove_a_false_file(capsys, rule_file):
    path = rule_file(FALSE_FILE)
    status, out = asked(capsys, "prove", path, "--samples", "6")
    assert status == 1 and "WRONG: cli_wrong.root" in out and f"{path}:8" in out
    status, answer = answered(capsys, "prove", path, "--samples", "6")
    assert status == 1 and not answer["ok"] and answer["verdicts"][0]["counterexamples"]


def test_a_file_with_a_mistake_is_not_proved(capsys, rule_file):
    path = rule_file(FALSE_FILE.replace("x * x), x)", "x * x), y)").replace("x: Float", "x: Float, y"))
    status, out = asked(capsys, "prove", path)
    assert status == 1 and "refused: rule 'cli_wrong.root'" in out and f"{path}:8" in out and "y" in out


def test_prove_a_true_topic(capsys):
    status, out = asked(capsys, "prove", "logic", "--samples", "3", "--jobs", "1", "--all")
    assert status == 0 and "verdict" in out and "logic." in out and out.splitlines()[-1].endswith("exact")


def test_processes_agree():
    """Each in a process of its own, as from the shell: ops that other tests define would be among those drawn."""
    command = [sys.executable, "-m", "termgraph", "rules", "prove", "algebra", "--samples", "3", "--json", "--jobs"]
    rows = [json.loads(subprocess.run([*command, jobs], capture_output=True, check=True).stdout) for jobs in "12"]
    assert rows[0] == rows[1] and len(rows[0]["verdicts"]) > 12


@pytest.mark.parametrize(
    "words", [["list", "no_such_topic"], ["show", "logs.log1q"], ["show"], ["why", "log("], ["why", "x", "--type", "y"]]
)
def test_mistakes_exit_with_2(words, capsys):
    assert cli.main(["rules", *words]) == 2
    assert capsys.readouterr().err.startswith("termgraph rules: ")


@pytest.mark.parametrize(
    "text, said",
    [
        ("x.__class__", "cannot make a constant of type"), ("svd(matrix('a'))", "did you mean T.linalg.svd"),
        ("runs/model.tg", "there is no such file"), ("1 / 0", "division by zero"), ("x.erf", "write erf("),
    ],
)  # fmt: skip
def test_what_is_no_expression_says_why(text, said, capsys):
    for command in (["stages"], ["viz"], ["rules", "why"]):
        assert cli.main([*command, text]) == 2
        assert said in capsys.readouterr().err, command


def test_why_asks_for_one_expression(capsys):
    assert cli.main(["rules", "why", "[x, y]"]) == 2 and "ask about one" in capsys.readouterr().err
    assert cli.main(["rules", "why", "3"]) == 2 and "is a constant" in capsys.readouterr().err


def test_accepted_findings_need_reasons_and_must_be_found(tmp_path):
    path = tmp_path / "accepted.json"
    path.write_text('[{"kind": "not oriented", "rules": "a.b", "reason": "because"}]')
    with pytest.raises(ValueError, match="say in a sentence why"):
        checking.accepted_findings(path)
    stale = checking.Accepted("not oriented", "never.there", "it was meant to be like this")
    findings, summary = checking.lint_records([], [stale])
    assert not summary["ok"] and findings[0]["kind"] == "not found any more"
