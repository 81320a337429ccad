"""Ends the processes that a test run leaves behind when it is killed: a neighbour that waits for the run to be over.

Processes of a run know it by a mark in their environment. `python leftovers.py MARK PID` is the neighbour (Linux only).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

NAME = "TEST_RUN_OF_TERMGRAPH"  # not a flag: those are taken from the environment of a test run
PROCESSES = Path("/proc")
_neighbour: subprocess.Popen | None = None  # kept, so that nobody waits for it


def watch() -> None:
    """Start the neighbour, once for a run: the processes of xdist have the mark already."""
    if NAME in os.environ or not (PROCESSES / "self" / "environ").exists():
        return
    mark = f"{os.getpid()}-{time.time_ns()}"
    global _neighbour
    with open(os.devnull, "r+b") as nothing:
        _neighbour = subprocess.Popen(
            [sys.executable, "-S", __file__, mark, str(os.getpid())],
            stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True,
        )  # fmt: skip
    os.environ[NAME] = mark


def marked(mark: str) -> list[int]:
    """The processes that have the mark, but for this one."""
    found = []
    for folder in PROCESSES.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                words = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue  # it is another user's, or has ended
            if f"{NAME}={mark}".encode() in words:
                found.append(int(folder.name))
    return found


def main(mark: str, parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.3)
    for pid in marked(mark):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
