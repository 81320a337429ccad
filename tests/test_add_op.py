"""An element-wise op takes four files: no table beside its row, its derivative, its test and the stub names it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = ("termgraph", "rules", "tests", "benchmarks", "scripts", "examples")
OP = "xlog" + "1py"  # the op of the page, which this file does not name
FORMULAS = {"termgraph/tensor/stats.py"}  # use the op


def naming(word):
    """The files of code in which a word stands."""
    files = [p for folder in CODE for ending in ("py", "pyi") for p in (ROOT / folder).rglob(f"*.{ending}")]
    whole = re.compile(rf"\b{word}\b")
    return {p.relative_to(ROOT).as_posix() for p in files if whole.search(p.read_text(encoding="utf-8"))}


def test_an_op_stands_in_four_files_which_the_page_names():
    page = (ROOT / "docs" / "dev" / "add-op.md").read_text(encoding="utf-8")
    listed = re.findall(r"^[\w/]+\.pyi?$", page, re.MULTILINE)
    assert naming(OP) - FORMULAS == set(listed)
    assert len(listed) == 4


def test_what_the_page_quotes_stands_in_the_files():
    page = (ROOT / "docs" / "dev" / "add-op.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^```python\n((?!>>>).*?)^```", page, re.MULTILINE | re.DOTALL)
    listed = re.findall(r"^[\w/]+\.py$", page, re.MULTILINE)
    code = "".join((ROOT / name).read_text(encoding="utf-8") for name in listed)
    without_spaces = ["".join(text.split()) for text in (code, *quoted)]  # rules stand in columns
    assert len(quoted) == 3 and all(text in without_spaces[0] for text in without_spaces)
