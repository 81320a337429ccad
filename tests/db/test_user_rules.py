"""A user's rule file with mistakes: the right tool catches each, with rule, file and line; functions still compile."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.db import loading
from termgraph.rules import defined, lint, prove
from termgraph.terms.errors import RuleWarning

HEAD = """\
from termgraph.rules import Float, rule, ruleset
from termgraph.terms.ops.elementwise import cosh, exp, isnan, log, sinh, sqrt, tan


@ruleset("canonicalize")
def mine(x: Float, y: Float):
    yield rule("fine", sinh(x) * 0.5 + exp(-x) * 0.5, exp(x) * 0.5, assumes=["finite", "reassoc"])
"""
LINE = HEAD.count("\n") + 1  # of the mistake


@pytest.fixture
def load(tmp_path):
    """Load a rule file with one more rule than `HEAD` has."""
    path = tmp_path / "mine.py"
    db.all_rules()  # the library, which is not to be forgotten with the rules of the file
    before = dict(defined.DEFINED)

    def write(line):
        path.write_text(HEAD + textwrap.indent(line, "    ") + "\n")
        return path, db.load(path)

    yield write
    loading.LOADED.pop(str(path.resolve()), None)
    defined.forget(set(defined.DEFINED) - set(before))


def value_of(build, *values):
    """A function compiled with the user's rules about, and its value."""
    inputs = [T.dvector(n) for n in "xy"[: len(values)]]
    with np.errstate(all="ignore"):
        return tg.function(inputs, build(*inputs))(*[np.asarray(v) for v in values])


def test_an_unbound_variable_is_refused_when_the_file_is_loaded(load):
    with pytest.warns(RuleWarning) as warned:
        path, names = load('yield rule("unbound", tan(x), x + y)')
    text = str(warned[0].message)
    assert "mine.unbound" in text and f"{path}:{LINE}" in text and "uses y" in text and "left out" in text
    assert names == ["mine.fine"]
    np.testing.assert_allclose(value_of(T.tan, [0.5]), np.tan([0.5]))


def test_a_looping_pair_is_found_by_lint_and_set_aside_by_the_engine(load):
    path, _ = load('yield rule("ping", sinh(x), cosh(x))\nyield rule("pong", cosh(x), sinh(x))')
    report = lint([r for r in db.all_rules() if r.topic == "mine"])
    (loop,) = report.of("loop")
    assert not report.ok and "mine.ping" in loop.rule and f"{path}:{LINE}" in loop.where and "returns to" in loop.text
    with pytest.warns(RuleWarning, match="mine.ping"):
        value = value_of(T.sinh, [0.5])
    assert np.allclose(value, np.sinh([0.5])) or np.allclose(value, np.cosh([0.5]))  # one of them may have fired


def test_a_rule_that_changes_the_kind_of_number_is_left_out_by_name(load):
    with pytest.warns(RuleWarning, match="mine.kind") as warned:
        path, _ = load('yield rule("kind", isnan(x), x)')
    assert f"{path}:{LINE}" in str(warned[0].message) and "truth values" in str(warned[0].message)
    got = value_of(T.isnan, [0.5, np.nan])
    assert got.dtype == bool and got.tolist() == [False, True]


def test_a_false_identity_is_found_by_prove_with_values(load):
    path, _ = load('yield rule("root", sqrt(x * x + y), x)')
    verdict = prove([r for r in db.all_rules() if r.topic == "mine"])["mine.root"]
    assert verdict.kind == "WRONG" and f"{path}:{LINE}" in verdict.details() and "where " in verdict.details()
    mode = tg.get_mode("FAST_RUN").excluding("mine.root")
    x, y = T.dvector("x"), T.dvector("y")
    without = tg.function([x, y], T.sqrt(x * x + y), mode=mode)
    np.testing.assert_allclose(without([-2.0], [5.0]), [3.0])


def test_termgraph_rules_names_files_and_folders(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "good.py").write_text(HEAD)
    (tmp_path / "more" / "bad.py").write_text("def broken(:\n")
    (tmp_path / "more" / "other.py").write_text(HEAD.replace("def mine", "def others"))
    script = "from termgraph import db; print(*[r.name for r in db.all_rules() if r.topic in ('mine', 'others')])"

    paths = os.pathsep.join([str(tmp_path / "good.py"), str(tmp_path / "more")])
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"TERMGRAPH_RULES": paths}, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.split() == ["mine.fine", "others.fine"]
    assert "bad.py:1: SyntaxError" in done.stderr and "left out" in done.stderr


def test_installed_packages_bring_rules(tmp_path):

    (tmp_path / "brought.py").write_text(HEAD)
    information = tmp_path / "brought-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[termgraph.rules]\nbrought = brought\nmissing = nowhere_to_be_found\n"
    )
    script = "from termgraph import db; print(*[r.name for r in db.all_rules() if r.topic == 'mine'])"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.split() == ["mine.fine"], done.stderr
    assert "entry point missing" in done.stderr and "nowhere_to_be_found" in done.stderr
