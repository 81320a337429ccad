"""The subcommand `termgraph dist`: starts a training script and watches over it, as one job with one exit code."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

from termgraph.dist.memory import end_with_parent
from termgraph.dist.train import WORKERS, workers_from_text

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of `termgraph dist`."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    run_ = commands.add_parser("run", help="run a script whose dist.train uses so many workers")
    run_.add_argument("script", help="a Python script that calls dist.train without workers=")
    run_.add_argument(
        "arguments", nargs="*", default=[], help="arguments of the script, after -- if they begin with a dash"
    )
    run_.add_argument("--workers", default="0", help="number of worker processes, or least:most (default: none)")


def run(arguments: argparse.Namespace) -> int:
    """Run the script. Its exit code is ours; 128 and the number of a signal if one has ended it."""
    workers_from_text(arguments.workers)
    if not Path(arguments.script).is_file():
        raise FileNotFoundError(f"there is no script {arguments.script}")
    command = [sys.executable, arguments.script, *arguments.arguments]
    parent = os.getpid()
    before = {number: signal.getsignal(number) for number in PASSED_ON}
    script = subprocess.Popen(
        command, env={**os.environ, WORKERS: arguments.workers}, start_new_session=True,
        preexec_fn=lambda: end_with_parent(parent),
    )  # fmt: skip

    def pass_on(number: int, frame: FrameType | None) -> None:
        script.send_signal(number)

    try:
        for number in PASSED_ON:
            signal.signal(number, pass_on)
        code = script.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code
