"""The catalogue has every rule, and the page on Theano's rewritings names what exists."""

import re
from pathlib import Path

import termgraph.loops.passes  # noqa: F401  registers the passes over loops
from termgraph.db import PASSES, catalogue, database

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_rule_is_on_one_page():
    some = [r for r in catalogue.library() if r.topic in ("logs", "algebra", "checks", "grad_product", "dots")]
    pages = catalogue.pages(rules=some)
    assert set(pages) == {
        f"catalogue/{n}.md" for n in ("index", "canonicalize", "stabilize", "specialize", "grad", "other")
    }
    for r in some:
        holding = [text for text in pages.values() if f"**{r.name}**" in text]
        assert len(holding) == 1 and f"{r.before}  ->  {r.after}" in holding[0]
    entry = pages["catalogue/stabilize.md"].partition("**logs.log1p**")[2].partition("<a id")[0]
    for words in (
        "log(1 + x)  ->  log1p(x)",
        "if x: Float",
        "more accurate",
        "takes on trust: plus_zero",
        "rules/logs.py:",
    ):
        assert words in entry
    assert "becomes `log1p(" in entry
    assert f"All {len(some)} rules" in pages["catalogue/index.md"]


def test_the_library_is_in_the_catalogue():
    names = {r.name for r in catalogue.library()}
    assert len(names) > 800 and "logs.log1p" in names


def test_the_page_on_theano_names_what_exists():
    known = {name for r in database.all_rules() for name in database.names_of(r)} | set(PASSES) | {"inplace"}
    rows = [line.split("|") for line in (DOCS / "rewritings.md").read_text().splitlines() if line.startswith("| ")]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row[-2])}
    assert len(rows) > 35 and named <= known, named - known
