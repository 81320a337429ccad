"""Asks mypy and pyright about programs as users write them: python check_types.py FOLDER_OF_SOURCES

Expressions whose types are written beside them, the code of the tutorials, and the example programs are copied to an
empty folder and checked there, against termgraph as it is installed for the Python that runs this: editable or a wheel.
"""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

REVEALED = re.compile(r'program\.py:\d+.*(?:Revealed type is|Type of ".*" is) "(.*)"')
LOOSE = (  # loops run, values are only displayed, functions may carry attributes; about other packages
    "reportPossiblyUnboundVariable", "reportUnusedExpression", "reportFunctionMemberAccess",
    "reportMissingModuleSource", "reportPrivateImportUsage",
)  # fmt: skip


def wanted(sources: Path) -> list[str]:
    """The types that stand behind the expressions."""
    lines = expressions(sources).splitlines()
    return [line.rpartition("# ")[2] for line in lines if line.startswith("reveal_type")]


def expressions(sources: Path) -> str:
    """A program for checkers, not for Python."""
    return (sources / "tests/typing/expressions.txt").read_text(encoding="utf-8")


def programs(sources: Path, folder: Path) -> list[Path]:
    """The expressions, each tutorial and each example as a program in a folder."""
    texts = {"program": expressions(sources)}
    for page in sorted((sources / "docs/tutorials").glob("*.md")):
        examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
        code = [example.source for example in examples if not example.exc_msg]  # others show what an error says
        texts["tutorial_" + page.stem.replace("-", "_")] = "".join(code)
    for path in sorted((sources / "examples").glob("*.py")):
        texts["example_" + path.stem] = path.read_text(encoding="utf-8")
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return [folder / f"{name}.py" for name in texts]


def mypy(folder: Path, files: Sequence[Path], path: str) -> str:
    """What mypy says; `path` is where termgraph lies if it is not installed."""
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), "--follow-imports=silent"]
    command += ["--ignore-missing-imports", "--config-file=", "--disable-error-code=no-redef", *map(str, files)]
    return said_by(command, folder, os.environ | ({"MYPYPATH": path} if path else {}))


def pyright(folder: Path, files: Sequence[Path], path: str) -> str:
    """What pyright says."""
    settings = dict.fromkeys(LOOSE, False) | ({"extraPaths": [path]} if path else {})
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, *map(str, files)]
    return said_by(command, folder, os.environ)


def said_by(command: list[str], folder: Path, environment: os._Environ | dict) -> str:
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return run.stdout


def shortened(text: str) -> str:
    """`builtins.list[termgraph.x.TensorVariable]` as `list[TensorVariable]`; arrays without what they hold."""
    text = re.sub(r"ndarray\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]", "ndarray", text)
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)


CHECKERS: dict[str, Callable[[Path, Sequence[Path], str], str]] = {"mypy": mypy, "pyright": pyright}


def check(name: str, sources: Path, path: str = "") -> str:
    """Errors, and expressions whose type is not the one that is wanted: nothing is what should come back."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        said = CHECKERS[name](folder, programs(sources, folder), path)
    found = [shortened(text) for text in REVEALED.findall(said)]
    errors = [line for line in said.splitlines() if "error:" in line or "- error" in line]
    pairs = zip(wanted(sources), found, strict=len(errors) == 0)
    return "\n".join([*errors, *[f"{name}: {f} instead of {w}" for w, f in pairs if f != w]])


def main(sources: Path) -> None:
    where = importlib.util.find_spec("termgraph")
    assert where is not None and where.origin is not None, "termgraph is not installed here"
    print(f"types of {where.origin}")
    for name in CHECKERS:
        start = time.perf_counter()
        wrong = check(name, sources)
        assert not wrong, wrong
        seconds = time.perf_counter() - start
        print(f"{name}: {len(wanted(sources))} expressions as they should be, no error; {seconds:.0f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
