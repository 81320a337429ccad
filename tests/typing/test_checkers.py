"""mypy and pyright know expressions as users write them, and find no error in tutorials and example programs.

pyright is in the extra `types`, which brings a node of its own (60 MB to fetch) and so is not in `test`: CI asks both
checkers about an editable installation, by these tests, and about the wheel.
"""

import importlib.metadata
import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "scripts").is_dir():
    pytest.skip("only in a checkout", allow_module_level=True)
sys.path.insert(0, str(ROOT / "scripts"))
check_types = importlib.import_module("check_types")
INSTALLED = bool([*importlib.metadata.distributions(name="termgraph")])  # checkers find it as users' do


@pytest.mark.parametrize("name", check_types.CHECKERS)
def test_a_checker_knows_expressions_and_finds_in_programs_only_what_is_wrong(name, tmp_path):
    """A wrong type, a name that is missing and a type that is none of those wanted are told: each was put there."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed: pip install -e '.[types]'")
    for folder in ("tests/typing", "docs/tutorials", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    with (tmp_path / "tests/typing/expressions.txt").open("a") as more:
        more.write("reveal_type(x * 2)  # int\nreveal_type(T.pi)  # float\n")
    (tmp_path / "examples/wrong.py").write_text("import termgraph.tensor as T\n\nT.sofmax\n")
    told = check_types.check(name, tmp_path, path="" if INSTALLED else str(ROOT)).splitlines()
    (error, wrong) = told  # and nothing else
    assert "sofmax" in error and wrong == f"{name}: TensorVariable instead of int"
