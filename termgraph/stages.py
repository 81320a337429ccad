"""Stages: named steps from a value to a value, and the ledger in which each run of one is timed and counted.

What a stage makes is kept with its entry, so that it can be shown; sizes are counted only when somebody asks for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from termgraph import progress
from termgraph._logs import Log
from termgraph._records import record

try:
    import resource
except ImportError:  # no such thing on Windows: the time of compilers that were started is not counted there
    resource = None  # type: ignore[assignment]


log = Log("compile")


class Stage(NamedTuple):
    """One step by its name, and the function that makes it. `"module:function"` is loaded when it runs."""

    name: str
    where: str | Callable[..., Any]

    @property
    def function(self) -> Callable[..., Any]:
        """What computes the step."""
        if not isinstance(self.where, str):
            return self.where
        module, _, name = self.where.partition(":")
        return getattr(import_module(f"termgraph.{module}"), name)


@record
class Entry:
    """One run of a stage: what it took without the stages that ran inside it, and what it made."""

    stage: str
    seconds: float = 0.0
    cpu: float = 0.0  # this process and the compilers that it waited for
    value: Any = None
    late: bool = False  # after the function was there: somebody asked for what a warm start had skipped
    kept_sizes: Mapping[str, int] | None = None  # of a value that was dropped

    def sizes(self) -> Mapping[str, int]:
        """How large what it made is, or was."""
        return sizes_of(self.value) if self.kept_sizes is None else self.kept_sizes

    def drop(self) -> None:
        """Let go of the value, but not of how large it was."""
        self.kept_sizes, self.value = self.sizes(), None


class Row(NamedTuple):
    """A line of the table: sums over the runs of a stage, and over the sizes of what they made (None: it has none)."""

    stage: str
    runs: int
    seconds: float
    cpu: float
    nodes: int | None
    kernels: int | None
    bytes: int | None
    note: str = ""


class Ledger:
    """What ran, in order. `late` marks entries from now on."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.late = False
        self._open: list[list[float]] = []  # for each stage that runs: seconds and processor time of those inside

    @contextmanager
    def timed(self, stage: str) -> Iterator[Entry]:
        """The entry of a stage that runs in the block; set its `value`."""
        shown = progress.current()
        if shown is None and not self._open:  # a compile that begins by itself: a GPU's at the first call, a variant's
            with progress.task(f"({stage})"):
                yield from self._timed(stage, progress.current())
        else:
            yield from self._timed(stage, shown)

    def _timed(self, stage: str, shown: progress.Task | None) -> Iterator[Entry]:
        entry = Entry(stage, late=self.late)
        if shown is not None:
            shown.enter(stage)
        self._open.append([0.0, 0.0])
        start, cpu = time.perf_counter(), _processor_time()
        try:
            yield entry
        finally:
            took, spent = time.perf_counter() - start, _processor_time() - cpu
            inside = self._open.pop()
            entry.seconds, entry.cpu = took - inside[0], spent - inside[1]
            if self._open:
                self._open[-1][0] += took
                self._open[-1][1] += spent
            self.entries.append(entry)
            if shown is not None:
                shown.leave(stage, lambda: sizes_of(entry.value).get("kernels", 0))
            log.debug("%s: %.4f s", stage, entry.seconds)

    def run(self, stage: str, function: Callable[..., Any], *given: Any) -> Any:
        """What a function makes of the given values, as the entry of a stage."""
        with self.timed(stage) as entry:
            entry.value = function(*given)
        return entry.value

    def through(self, stages: Sequence[Stage], value: object) -> Any:
        """What stages make of a value, one after the other. Loading what computes a stage is part of it."""
        for stage in stages:
            with self.timed(stage.name) as entry:
                value = entry.value = stage.function(value)
        return value

    def seconds(self) -> dict[str, float]:
        """Seconds by stage, in the order in which they first ended."""
        out: dict[str, float] = {}
        for e in self.entries:
            out[e.stage] = out.get(e.stage, 0.0) + e.seconds
        return out

    def of(self, stage: str) -> list[Entry]:
        """The runs of a stage."""
        return [e for e in self.entries if e.stage == stage]


def row(stage: str, found: Sequence[Entry], note: str = "") -> Row:
    """The line of a stage, given its runs."""
    sizes = [e.sizes() for e in found]
    nodes, kernels, text = (_sum([s[k] for s in sizes if k in s]) for k in ("nodes", "kernels", "bytes"))
    return Row(stage, len(found), sum(e.seconds for e in found), sum(e.cpu for e in found), nodes, kernels, text, note)


def sizes_of(value: object) -> Mapping[str, int]:
    """How large a value is: its nodes, kernels, bytes, as far as it says."""
    sizes = getattr(value, "sizes", None)
    return sizes() if sizes is not None else {}


def _sum(found: list[int]) -> int | None:
    return sum(found) if found else None


def _processor_time() -> float:
    if resource is None:
        return time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Table(list[Row]):
    """The stages of a function: a list of rows that prints as a table."""

    def __str__(self) -> str:
        lines = [f"{'stage':<14}{'runs':>5}{'seconds':>11}{'cpu':>11}{'nodes':>9}{'kernels':>9}{'bytes':>10}"]
        for r in self:
            if r.runs:
                times = f"{r.runs:>5}{r.seconds:>11.6f}{r.cpu:>11.6f}"
                lines.append(f"{r.stage:<14}{times}{_shown(r.nodes):>9}{_shown(r.kernels):>9}{_shown(r.bytes):>10}")
            else:
                lines.append(f"{r.stage:<14}{'-':>5}")
            if r.note:
                lines[-1] += f"  {r.note}"
        lines.append(f"{'all':<14}{'':>5}{sum(r.seconds for r in self):>11.6f}{sum(r.cpu for r in self):>11.6f}")
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__


def _shown(n: int | None) -> str:
    return "" if n is None else str(n)
