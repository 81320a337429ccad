"""mypy and pyright know expressions as users write them, and find no error in tutorials and example programs.

pyright is in the extra `types`, which brings a node of its own (60 MB to fetch) and so is not in `test`: CI asks both
checkers about an editable installation and about the wheel.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "scripts").is_dir():
    pytest.skip("only in a checkout", allow_module_level=True)
sys.path.insert(0, str(ROOT / "scripts"))
check_types = importlib.import_module("check_types")


@pytest.mark.parametrize("name", check_types.CHECKERS)
def test_a_checker_knows_expressions_and_finds_no_error_in_programs(name):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed: pip install -e '.[types]'")
    assert check_types.check(name, ROOT, path=str(ROOT)) == ""


@pytest.mark.parametrize("name", check_types.CHECKERS)
def test_a_checker_finds_what_is_wrong(name, tmp_path):
    """The check itself: a wrong type and a name that is missing are both told."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed: pip install -e '.[types]'")
    for folder in ("tests/typing", "docs/tutorials", "examples"):
        (tmp_path / folder).mkdir(parents=True)
    program = 'import termgraph.tensor as T\nx = T.dmatrix("x")\nreveal_type(x)  # int\nreveal_type(T.pi)  # float\n'
    (tmp_path / "tests/typing/expressions.txt").write_text(program)
    (tmp_path / "examples/wrong.py").write_text("import termgraph.tensor as T\n\nT.sofmax\n")
    told = check_types.check(name, tmp_path, path=str(ROOT))
    assert f"{name}: TensorVariable instead of int" in told and "sofmax" in told and "instead of float" not in told
