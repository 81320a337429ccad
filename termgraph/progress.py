"""Long work shows itself: one line on a terminal or in a notebook, nothing in scripts, pipes and CI (flag `progress`).

`Line` draws. A `Task` is what a thread compiles; stages and compilers note in it where they are; another thread draws
the line once the task has taken `PATIENCE` seconds. `Steps` are those of loops of a compiled function: the thread that
called it looks at them now and then.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeVar

from termgraph.config import config

REDRAW = 0.2  # seconds between two drawings of the line
PATIENCE = 2.0  # seconds that a compile or a loop may take in silence
UNNAMED = ("function", "loop")  # what those without a name are called
ENDLESS = 1 << 40  # a loop of at most so many steps has no bound that is worth a word


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
    """One line of a terminal, drawn over itself.

    There is one for all: it is the first thread's that draws, until that ends or clears it, and others stay silent. In
    the same thread what runs inside something else draws over it.
    """

    _last: weakref.ref[Line] | None = None  # the line that was drawn last, if it is to be seen still
    _width = 0  # of what is to be seen

    def __init__(self, out: TextIO) -> None:
        self.stream, self.drawn, self.thread = out, 0.0, threading.get_ident()

    def draw(self, text: str) -> None:
        """Show a text, unless the last one has hardly been seen."""
        if time.monotonic() - self.drawn >= REDRAW and self._is_mine():
            self.drawn = time.monotonic()
            Line._last = weakref.ref(self)
            self._write(text, "")

    def end(self, text: str) -> None:
        """Show the last text, and go to the next line."""
        self._write(text, "\n")
        self._let_go()

    def clear(self) -> None:
        """Take the line away, for what others are about to print."""
        self._write("", "\r")
        self._let_go()

    def _write(self, text: str, end: str) -> None:
        text = text[: _columns(self.stream) - 1]  # a line that is broken in two is not drawn over
        before, Line._width = Line._width, len(text)
        self.stream.write("\r" + text.ljust(before) + end)
        self.stream.flush()

    def _let_go(self) -> None:
        Line._last, Line._width, self.drawn = None, 0, 0.0

    def _is_mine(self) -> bool:
        last = Line._last() if Line._last is not None else None
        return last is None or last.thread == self.thread


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
        self.planned = self.printed = self.writing = self.compilers = 0  # writing: in a stage that has not ended

    def enter(self, stage: str) -> None:
        """A stage begins, perhaps inside another."""
        self.stages.append(stage)

    def leave(self, stage: str, kernels: Callable[[], int]) -> None:
        """A stage ends; `kernels` counts those in what it made: equal ones are written once."""
        self.stages.pop()
        if stage == "schedule":
            self.planned += kernels()
        elif stage == "print":
            self.printed += kernels()
            self.planned, self.writing = self.printed, 0

    def __str__(self) -> str:
        inner = self.stages[-1:]
        total, written = max(self.planned, self.printed), self.printed + self.writing
        counted = [f"{written}/{total} kernels" if written < total else _many(total, "kernel")] if total else []
        running = [f"{_many(self.compilers, 'compiler')} running"] if self.compilers else []
        return ", ".join([f"compiling {self.what}", *inner, *counted, *running, _duration(self.seconds)])

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return time.perf_counter() - self.begin

    def last_words(self) -> str:
        """What remains to be seen when it is done."""
        total = max(self.planned, self.printed)
        more = f", {_many(total, 'kernel')}" if total else ""
        return f"compiled {self.what} in {self.seconds:.1f} s{more}"


class Steps:
    """The steps of loops in one call of a compiled function, as the thread that called sees them.

    Programs in C call `show` with the step they are at. A loop that Python runs calls `look`, and is the `whole` of
    what runs inside of it.
    """

    def __init__(self, what: str) -> None:
        self.what = f"a {what}" if what in UNNAMED else what
        self.begin = time.perf_counter()
        self.line: Line | None = None
        self.asked = False  # whether somebody looks
        self.loop, self.since, self.first = 0, 0.0, 0  # when the loop was seen first, and at which step
        self.whole = _here.steps
        self.made, self.most, self.seen = 0, 0, self.begin  # of a loop that Python runs; when it looked last
        self.next = 1  # the step after which it looks again

    def show(self, loop: int, step: int, steps: int) -> None:
        """Loop number `loop` has made `step` of `steps` steps; negative: of at most so many; 0: it has ended."""
        if self.whole is not None:
            self.whole.inside(step)
            return
        now = time.perf_counter()
        if loop != self.loop:
            self.loop, self.since, self.first = loop, now, step
        if not self.asked and now - self.begin >= PATIENCE:
            self.asked, out = True, stream()
            self.line = Line(out) if out is not None else None
        if not steps:
            self.end()
        elif self.line is not None:
            self._drawn(lambda line: line.draw(self.text(step, steps, now)))

    def inside(self, step: int) -> None:
        """What runs inside a step of this loop has made that many steps of its own."""
        self.show(1, self.made, self.most)

    def look(self, made: int) -> None:
        """So many steps are made; it looks again in about a hundredth of a second."""
        before, now = self.made, time.perf_counter()
        self.made = made
        took, self.seen = now - self.seen, now
        each = max(took / (made - before), 1e-9)
        self.next = made + max(1, min(int(0.01 / each), 2 * (made - before)))
        self.show(1, made, self.most)

    def text(self, step: int, steps: int, now: float) -> str:
        """What is to be seen at a moment."""
        made, took = step - self.first, now - self.since
        known = made > 0 and took > 0
        words = [f"running {self.what}"]
        words += [f"loop {self.loop}"] if self.loop > 1 else []
        words += [f"{step}/{steps} steps" if steps > 0 else _many(step, "step")]
        words += [f"at most {-steps}"] if -ENDLESS < steps < 0 else []
        words += [_rate(made / took)] if known else []
        words += [_duration(now - self.begin)]
        words += [f"{_duration((steps - step) * took / made)} left"] if known and steps > 0 else []
        return ", ".join(words)

    def end(self) -> None:
        """The last loop has ended: the line goes, as the call may be one of many."""
        if self.line is not None and self.line.drawn:
            self._drawn(Line.clear)

    def _drawn(self, how: Callable[[Line], None]) -> None:
        """Draw; where the terminal has gone away meanwhile, the work goes on without a line."""
        assert self.line is not None
        try:
            how(self.line)
        except (OSError, ValueError):
            self.line = None


class Pieces(Steps):
    """The steps of a loop that is run in pieces, each a call of one program: those of a piece are its own."""

    def inside(self, step: int) -> None:
        """A piece has made that many steps."""
        self.show(1, self.made + step, self.most)


Kind = TypeVar("Kind", bound=Steps)


@contextmanager
def within(steps: Kind, most: int) -> Iterator[Kind]:
    """The block is a loop of `most` steps (negative: at most) that Python runs; loops inside of it are part of it."""
    steps.most = most
    whole, _here.steps = _here.steps, steps if steps.whole is None else steps.whole
    try:
        yield steps
    finally:
        _here.steps = whole
        steps.end()


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _rate(steps: float) -> str:
    """How many steps a second makes; where that is less than one, how long a step takes."""
    if steps < 1:
        return f"{1 / steps:.1f} s/step"
    return f"{steps:.0f}/s" if steps >= 100 else f"{steps:.1f}/s"


def _duration(seconds: float) -> str:
    """Seconds, as one says them.

    >>> _duration(12.3), _duration(200), _duration(8000), _duration(1e6)
    ('12 s', '3 min 20 s', '2 h 13 min', '11 d 13 h')
    """
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


class _Here(threading.local):
    task: Task | None = None
    steps: Steps | None = None  # of a loop that Python runs


_here = _Here()


def current() -> Task | None:
    """The task of this thread, if its progress is to be shown."""
    return _here.task


def kernel_written() -> None:
    """One kernel more has its text."""
    if _here.task is not None:
        _here.task.writing += 1


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


__all__ = [
    "Line", "Pieces", "Steps", "Task", "compiler", "current", "is_notebook", "kernel_written", "stream", "task",
    "within",
]  # fmt: skip
