"""Questions about an operator take what users have in hand: ops, functions, names, symbols, expressions."""

import numpy as np
import pytest

import termgraph.tensor as T
from termgraph import cli, db
from termgraph.db.asked import family_of
from termgraph.terms.errors import RuleError, RuleWarning
from termgraph.terms.op import OPS

X = T.matrix("x")
ASKED = {
    "log": [T.log, np.log, "log", "T.log", "np.log", T.log(X), T.log(X).term, T.log(X).owner.op],
    "sum": [T.sum, np.sum, "sum", T.sum(X, axis=0)],
    "dot": [T.dot, "@", "dot", X @ X],
    "softmax": [T.softmax, "softmax", "T.softmax"],
    "det": [T.linalg.det, "linalg.det", "det", np.linalg.det],
    "exp": [np.exp, T.exp],
    "diagonal": [T.diagonal, "diagonal"],
    "switch": [T.where, np.where, "where", "switch"],
    "add": [np.add, T.add, "+", X + 1],
    "abs": [abs, np.absolute, "absolute"],
    "true_div": [T.mean, X / 2],
}


@pytest.mark.parametrize("name", ASKED)
def test_whatever_is_in_hand(name):
    for asked in ASKED[name]:
        assert family_of(asked) is OPS[name], asked


def test_rules_and_makes_take_it():
    assert db.rules(head=T.softmax) == db.rules(head="softmax") and db.rules(head=T.sum)
    assert db.rules(makes=np.log1p) == db.makes("log1p") and "logs.log1p" in [r.name for r in db.makes(T.log1p)]


@pytest.mark.parametrize("asked, near", [("sofmax", "softmax"), ("T.linalg.dett", "det"), ("lg1p", "log1p")])
def test_misspelt_names_suggest(asked, near):
    with pytest.raises(LookupError, match=f"did you mean .*{near}"):
        db.rules(head=asked)


def test_what_names_no_operator_says_what_does():
    with pytest.raises(TypeError, match="expected an operator: T.log, np.exp, 'log', or an expression"):
        db.rules(head=3.5)
    with pytest.raises(LookupError, match="several operators"):
        db.rules(head=T.einsum)


def test_misspelt_tags_suggest():
    with pytest.warns(RuleWarning, match="did you mean stabilize"):
        assert db.rules(tag="stabilise") == []


# ---------------------------------------------------------------------- the command line
def test_heads_of_the_command_line(capsys):
    assert cli.main(["rules", "list", "--head", "linalg.det"]) == 0
    assert "determinants." in capsys.readouterr().out
    assert cli.main(["rules", "list", "--head", "sofmax"]) != 0
    assert "did you mean softmax" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["np.log(1 + x)", "T.log(1 + x)", "(x.sum() + 0).clip(0, 1)", "(e.sum() + 0) * 1"])
def test_why_understands_methods_and_modules(capsys, text):
    assert cli.main(["rules", "why", text]) == 0
    assert "becomes" in capsys.readouterr().out


def test_why_says_what_is_a_function(capsys):
    assert cli.main(["rules", "why", "x.exp()"]) != 0
    assert "it is a function, not a method: write exp(...)" in capsys.readouterr().err


def test_a_misspelt_assumption_is_refused():
    with pytest.raises(RuleError, match="unknown assumption 'fnite'; did you mean 'finite'"):
        db.query("+stabilize", assume=["fnite"])
    assert len(db.query("+stabilize", assume=["finite"])) >= len(db.query("+stabilize", assume=[]))
