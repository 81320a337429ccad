"""`python -m tests.matrix --seconds 60 --seed 1`: a part of the matrix, and how much of it that was."""

import argparse
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the emulated GPU is a neighbour

import termgraph as tg

from . import texts, wrapped
from .runner import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="rows whose names begin so")
    parser.add_argument("--linker", default="", choices=["", "py", "auto", "cuda"])
    parser.add_argument("--texts", action="store_true", help="only whether NVRTC takes the texts for a GPU")
    parser.add_argument("--wrapped", action="store_true", help="in loops, mapped, in checkpoints and in branches")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.texts:
        count, found = texts.refused(arguments.seconds, arguments.seed, arguments.only)
        print(*found, f"{count} units, {len(found)} refused by NVRTC", sep="\n")
        return bool(found)
    if arguments.wrapped:
        mode = tg.Mode(linker=arguments.linker or "py")
        together = 1 if mode.linker == "py" else 24
        found = wrapped.run(arguments.seconds, arguments.seed, arguments.only, together=together, mode=mode)
        print(found)
        return bool(found.wrong)
    report = run(arguments.seconds, arguments.seed, arguments.only, arguments.linker)
    print(report)
    return bool(report.wrong)


if __name__ == "__main__":
    sys.exit(main())
