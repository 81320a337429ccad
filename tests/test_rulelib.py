"""The rule library is found and importable from a checkout."""

import importlib
from pathlib import Path

from termgraph import _rulelib


def test_folder_holds_the_rule_files():
    assert (_rulelib.folder() / "__init__.py").is_file()
    assert _rulelib.files() == sorted(_rulelib.files())
    assert all(path.suffix == ".py" and path.name != "__init__.py" for path in _rulelib.files())


def test_package_is_the_one_of_this_checkout():
    package = _rulelib.package()
    assert importlib.import_module("termgraph.rulelib") is package
    assert Path(package.__file__).parent == _rulelib.folder()


def test_module_name():
    assert _rulelib.module_name(_rulelib.folder() / "algebra.py") == "termgraph.rulelib.algebra"


def test_missing_library_says_where_it_looked(monkeypatch, tmp_path):
    monkeypatch.setattr(_rulelib, "_HERE", tmp_path / "termgraph")
    try:
        _rulelib.folder()
    except FileNotFoundError as error:
        assert str(tmp_path / "rules") in str(error) and "reinstall" in str(error)
    else:
        raise AssertionError("a missing rule library must be reported")


def test_packages_that_offer_rules_are_found_in_their_folders(tmp_path, monkeypatch):
    before = _rulelib.plugins()
    for name, text in (("more-1.0.dist-info", "[termgraph.rules]\nmore = more"), ("other-2.dist-info", "[console]\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "entry_points.txt").write_text(text)
    (tmp_path / "plain-3.dist-info").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert _rulelib.plugins() == ("more-1.0.dist-info", *before)
