"""`python -m tests.fuzz --seconds 60 --seed 1`, also as `termgraph fuzz`."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the emulated GPU is a neighbour

from .gradients import GRADIENT_MODES, fuzz_gradients
from .judge import MODES
from .runner import fuzz


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="termgraph fuzz", description="Random programs in every mode; the smallest that fail are printed."
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--mode", action="append", choices=list(MODES), help="only this one; may be given several times"
    )
    parser.add_argument("--most", type=int, default=20, help="stop after so many failures")
    parser.add_argument(
        "--special", action="store_true", help="inputs with NaN, infinities, extremes and empty dimensions"
    )
    parser.add_argument("--batch", type=int, default=0, metavar="N", help="N small programs in one function")
    parser.add_argument(
        "--gradients", action="store_true", help="gradients against differences, on the virtual machine"
    )
    arguments = parser.parse_args()
    if arguments.gradients:
        modes = tuple(arguments.mode or GRADIENT_MODES)
        say = lambda text: print(text, flush=True)  # noqa: E731
        found = fuzz_gradients(
            arguments.seconds, arguments.seed, modes, batch=arguments.batch or 24, say=say, most=arguments.most
        )
        print(found)
        return bool(found.failures)
    report = fuzz(
        arguments.seconds,
        arguments.seed,
        tuple(arguments.mode or MODES),
        say=lambda text: print(text, flush=True),
        most=arguments.most,
        special=arguments.special,
        batch=arguments.batch,
    )
    print(str(report).partition("\n\n")[0])
    return bool(report.failures)


if __name__ == "__main__":
    sys.exit(main())
