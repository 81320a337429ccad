"""mypy and pyright know expressions as users write them, and find no error in the code of the tutorials.

pyright comes from npm and is no dependency: what is about it runs where the command is installed.
"""

import doctest
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXPRESSIONS = Path(__file__).with_name("expressions.txt")  # a program for checkers, not for Python
REVEALED = re.compile(r'(?:Revealed type is|Type of ".*" is) "(.*)"')


def wanted():
    lines = EXPRESSIONS.read_text(encoding="utf-8").splitlines()
    return [line.rpartition("# ")[2] for line in lines if line.startswith("reveal_type")]


def shortened(text):
    """`builtins.list[termgraph.x.TensorVariable]` as `list[TensorVariable]`; arrays without what they hold."""
    text = re.sub(r"ndarray\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]", "ndarray", text)
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)


def tutorials(folder):
    """The code of each tutorial as a program."""
    made = []
    for page in sorted((ROOT / "docs/tutorials").glob("*.md")):
        examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
        code = [example.source for example in examples if not example.exc_msg]  # others show what an error says
        path = folder / (page.stem.replace("-", "_") + ".py")
        path.write_text("".join(code), encoding="utf-8")
        made.append(path)
    return made


def mypy(folder, *files):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), "--follow-imports=silent"]
    command += ["--ignore-missing-imports", "--config-file=", "--disable-error-code=no-redef", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout


def pyright(folder, *files):
    if shutil.which("pyright") is None:
        pytest.skip("pyright is not installed")
    settings = folder / "pyrightconfig.json"
    others = (
        "reportMissingModuleSource",
        "reportPossiblyUnboundVariable",
        "reportPrivateImportUsage",
    )  # loops run; kanren's
    settings.write_text(json.dumps({"extraPaths": [str(ROOT)], **dict.fromkeys(others, False)}))
    command = ["pyright", "--pythonpath", sys.executable, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout


@pytest.mark.parametrize("check", [mypy, pyright])
def test_a_checker_knows_expressions(check, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(EXPRESSIONS.read_text(encoding="utf-8"), encoding="utf-8")
    said = check(tmp_path, program)
    found = [shortened(text) for text in REVEALED.findall(said)]
    assert found == wanted(), said
    assert "error:" not in said, said


@pytest.mark.slow
@pytest.mark.parametrize("check", [mypy, pyright])
def test_a_checker_finds_no_error_in_the_tutorials(check, tmp_path):
    said = check(tmp_path, *tutorials(tmp_path))
    assert "error:" not in said, said
