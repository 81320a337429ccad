"""The subcommand `termgraph fuzz`: random programs in every mode; the smallest that disagree are printed.

The generator is in the tests of a source checkout, which are not part of an installed wheel.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ABSENT = (
    "random programs are part of termgraph's source checkout, not of an installed package: "
    "get the sources, install them with `pip install -e '.[test]'`, and try again"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of `termgraph fuzz`."""
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look (60)")
    parser.add_argument("--seed", type=int, default=0, help="which programs: the same ones for the same seed")
    parser.add_argument("--mode", action="append", help="only this mode, as 'STRICT, C'; may be given several times")
    parser.add_argument(
        "--special", action="store_true", help="inputs with NaN, infinities, extremes, empty dimensions"
    )
    parser.add_argument("--batch", type=int, default=0, metavar="N", help="N small programs in one function")
    parser.add_argument(
        "--gradients", action="store_true", help="gradients against differences, on the virtual machine"
    )
    parser.add_argument("--most", type=int, default=20, help="stop after so many programs that fail (20)")


def run(arguments: argparse.Namespace) -> int:
    """Look for programs that fail; the exit code is 1 if there are any."""
    if not (ROOT / "tests" / "fuzz" / "__main__.py").is_file():
        raise LookupError(ABSENT)
    options = ["--seconds", str(arguments.seconds), "--seed", str(arguments.seed), "--most", str(arguments.most)]
    options += ["--special"] * arguments.special + ["--gradients"] * arguments.gradients
    options += ["--batch", str(arguments.batch)]
    for mode in arguments.mode or ():
        options += ["--mode", mode]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "tests.fuzz", *options]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}).returncode
