"""The reference has every public name, and every example in it runs."""

import importlib.util
import inspect
import sys
from pathlib import Path

import pytest

import termgraph as tg
import termgraph.tensor as T

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
if not (SCRIPTS / "reference").is_dir():
    pytest.skip("only in a checkout", allow_module_level=True)
sys.path.insert(0, str(SCRIPTS))
pages = importlib.import_module("reference.pages")
names = importlib.import_module("reference.names")


@pytest.fixture(scope="module")
def described():
    return pages.described()  # runs every example; one that raises fails here, with its name in the traceback


def test_every_public_name_is_described(described):
    told = {name for d in described for name in (d.entry.name, *d.entry.aliases)}
    for prefix, space in {
        "T.": T,
        "T.linalg.": T.linalg,
        "T.nnet.": T.nnet,
        "T.fft.": T.fft,
        "tg.optim.": tg.optim,
    }.items():
        public = [n for n in dir(space) if n[0] != "_" and not inspect.ismodule(getattr(space, n))]
        missing = [prefix + n for n in public if prefix + n not in told and not names.CONSTRUCTOR.fullmatch(n)]
        assert missing == [], "say on which page they stand: scripts/reference/names.py"
    assert {f"tg.{n}" for n in tg.__all__ if not inspect.ismodule(getattr(tg, n))} <= told | {"tg.__version__"}


def test_every_name_has_a_sentence_and_an_example(described):
    assert [d.entry.name for d in described if not d.example.startswith(">>> ")] == []
    alone = [d.entry.name for d in described if not d.entry.summary and isinstance(d.entry.found, type(T.exp))]
    assert alone == [] and sum(not d.entry.summary for d in described) <= 16  # methods that are lambdas


def test_every_example_runs(described):
    assert [d.entry.name for d in described if not d.runs] == []


def test_what_checkers_know_is_computed(described):
    unknown = [n for d in described for n in (d.entry.name, *d.entry.aliases) if not pages.is_typed(n, d.entry.found)]
    assert unknown == [], "results without a type"
    assert not pages.is_typed("T.nothing", lambda x: x)


def test_no_cell_is_empty(described):
    rows = [
        line.strip("| ").split(" | ") for line in pages.index_text(described).splitlines() if line.startswith("| `")
    ]
    assert len(rows) > 900
    assert [row for row in rows if len(row) < 6 or not all(cell.strip() for cell in row[:6])] == []
    assert [row[0] for row in rows if row[2:4] != ["yes", "yes"]] == []


def test_no_example_is_for_a_name_that_is_gone(described):
    told = {name for d in described for name in (d.entry.name, *d.entry.aliases)}
    assert [name for name in names.written() if name not in told] == []


def test_what_is_said_of_some(described):
    by_name = {d.entry.name: d for d in described}
    assert {by_name[n].derivative for n in ("T.tile", "T.max", "T.moveaxis", "T.nnet.conv3d")} == {"yes"}
    assert {by_name[n].derivative for n in ("T.argmax", "T.isnan", "tg.function", "T.shape")} == {pages.NONE}
    assert by_name["tg.disconnected_grad"].derivative == "no" and by_name["tg.function"].backends == pages.NONE
    assert by_name["T.exp"].derivative == "yes" and by_name["T.exp"].backends == "NumPy, C, CUDA"
    assert by_name["T.linalg.expm"].backends == "NumPy" and by_name["T.betainc"].backends == "NumPy, C"
    assert by_name["T.exp"].entry.numpys == "numpy.exp" and by_name["T.erf"].entry.numpys == "scipy.special.erf"
    assert "T.amax" in by_name["T.max"].entry.aliases


def test_pages_link_where_they_say(described):
    text = pages.index_text(described)
    assert "(reductions.md#t-softmax)" in text and "{ #t-softmax }" in "\n".join(
        pages.page_text("reductions", [d for d in described if d.entry.page == "reductions"])
        .splitlines()
    )  # fmt: skip
