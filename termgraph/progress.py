"""Long work shows itself: one line on a terminal or in a notebook, nothing in scripts, pipes and CI (flag `progress`).

`Line` draws. A `Task` is what a thread compiles; stages and compilers note in it where they are; another thread draws
the line once the task has taken `PATIENCE` seconds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from termgraph.config import config

REDRAW = 0.2  # seconds between two drawings of the line
PATIENCE = 2.0  # seconds that a compile may take in silence


def stream(wanted: bool | None = None) -> TextIO | None:
    """Where progress is drawn: stderr, if `wanted` or else the flag `progress` says so; else None."""
    if wanted is None:
        chosen = config.progress
        wanted = chosen == "on" or (chosen == "auto" and _somebody_looks(sys.stderr))
    return sys.stderr if wanted else None


def _somebody_looks(out: TextIO | None) -> bool:
    """Whether a stream is a terminal or a notebook's, where a line can be drawn over itself."""
    if out is None or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return False
    if is_notebook(out):
        return True
    try:
        return out.isatty()
    except (AttributeError, ValueError):  # replaced by something that is no file, or closed
        return False


def is_notebook(out: TextIO) -> bool:
    """Whether a stream is a notebook's: a line can be drawn over itself there, but not several."""
    return type(out).__module__.startswith("ipykernel")


class Line:
    """One line of a terminal, drawn over itself."""

    def __init__(self, out: TextIO) -> None:
        self.stream, self.drawn, self.width = out, 0.0, 0

    def draw(self, text: str) -> None:
        """Show a text, unless the last one has hardly been seen."""
        if time.monotonic() - self.drawn >= REDRAW:
            self.drawn = time.monotonic()
            self._write(text, "")

    def end(self, text: str) -> None:
        """Show the last text, and go to the next line."""
        self._write(text, "\n")
        self.width = 0

    def clear(self) -> None:
        """Take the line away, for what others are about to print."""
        self._write("", "\r")

    def _write(self, text: str, end: str) -> None:
        text = text[: _columns(self.stream) - 1]  # a line that is broken in two is not drawn over
        self.stream.write("\r" + text.ljust(self.width) + end)
        self.stream.flush()
        self.width = len(text)


def _columns(out: TextIO) -> int:
    try:
        return os.get_terminal_size(out.fileno()).columns or 200
    except (OSError, ValueError, AttributeError):  # no terminal: nothing is broken there
        return 200


class Task:
    """A compile: which stage runs, how many kernels there are, how many compilers run. Written by one thread."""

    def __init__(self, what: str) -> None:
        self.what, self.begin = what, time.perf_counter()
        self.stages: list[str] = []
        self.planned = self.printed = self.compilers = 0

    def enter(self, stage: str) -> None:
        """A stage begins, perhaps inside another."""
        self.stages.append(stage)

    def leave(self, stage: str, kernels: Callable[[], int]) -> None:
        """A stage ends; `kernels` counts those in what it made."""
        self.stages.pop()
        if stage == "schedule":
            self.planned += kernels()
        elif stage == "print":
            self.printed += kernels()

    def __str__(self) -> str:
        inner = self.stages[-1:]
        total = max(self.planned, self.printed)
        counted = (
            [f"{self.printed}/{total} kernels" if self.printed < total else _many(total, "kernel")] if total else []
        )
        running = [f"{_many(self.compilers, 'compiler')} running"] if self.compilers else []
        return ", ".join([f"compiling {self.what}", *inner, *counted, *running, f"{self.seconds:.0f} s"])

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return time.perf_counter() - self.begin

    def last_words(self) -> str:
        """What remains to be seen when it is done."""
        total = max(self.planned, self.printed)
        more = f", {_many(total, 'kernel')}" if total else ""
        return f"compiled {self.what} in {self.seconds:.1f} s{more}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class _Here(threading.local):
    task: Task | None = None


_here = _Here()


def current() -> Task | None:
    """The task of this thread, if its progress is to be shown."""
    return _here.task


@contextmanager
def task(what: str) -> Iterator[None]:
    """Show what happens in the block, if it takes long and somebody looks. Inside another task it is part of that."""
    out = None if _here.task is not None else stream()
    if out is None:
        yield
        return
    now = _here.task = Task(what)
    line, done = Line(out), threading.Event()
    drawer = threading.Thread(target=_draw, args=(now, line, done), name="termgraph progress", daemon=True)
    drawer.start()
    finished = False
    try:
        yield
        finished = True
    finally:
        _here.task = None
        done.set()
        drawer.join()
        if line.drawn and finished:
            line.end(now.last_words())
        elif line.drawn:
            line.clear()


def _draw(now: Task, line: Line, done: threading.Event) -> None:
    wait = PATIENCE
    while not done.wait(wait):
        line.draw(str(now))
        wait = REDRAW


@contextmanager
def compiler() -> Iterator[None]:
    """A compiler runs in the block."""
    now = _here.task
    if now is not None:
        now.compilers += 1
    try:
        yield
    finally:
        if now is not None:
            now.compilers -= 1


__all__ = ["Line", "Task", "compiler", "current", "is_notebook", "stream", "task"]
