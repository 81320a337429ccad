"""The subcommand `termgraph bench`: runs a benchmark script of a source checkout.

The scripts are in the checkout's folder benchmarks/, which is not part of an installed wheel.
"""

import argparse
import ast
import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
ABSENT = (
    "the benchmarks are part of termgraph's source checkout, not of an installed package: "
    "get the sources, install them with `pip install -e .`, and try again"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of `termgraph bench`."""
    parser.add_argument("--json", action="store_true", help="list the benchmarks as JSON")
    parser.add_argument("name", nargs="?", help="the benchmark to run, or `peers` to install what it compares with")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="its options, such as --quick or --help")


def run(arguments: argparse.Namespace) -> int:
    """Run the benchmark named, or list them all."""
    known = scripts(FOLDER)
    if not known:
        raise LookupError(ABSENT)
    if arguments.name is None:
        print(listing(known, arguments.json))
        return 0
    if arguments.name not in known:
        raise ValueError(f"no benchmark {arguments.name!r}; there are {', '.join(known)}")
    return subprocess.run([sys.executable, str(FOLDER / f"{arguments.name}.py"), *arguments.options]).returncode


def scripts(folder: Path) -> dict[str, str]:
    """Name and first line of documentation of every script that can be run."""
    found = {}
    for file in sorted(folder.glob("*.py")):
        text = file.read_text(encoding="utf-8")
        if '__name__ == "__main__"' in text and file.stem != "worker":
            found[file.stem] = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return found


def listing(known: dict[str, str], as_json: bool) -> str:
    if as_json:
        return json.dumps([{"name": name, "about": about} for name, about in known.items()], indent=2)
    return "\n".join(f"{name:14} {about}" for name, about in known.items())
