"""Runs a benchmark script's cases for several contenders, interleaved, each in a process of its own.

A script makes a `Suite`, registers one function per contender with `@suite.side(...)` and ends with `suite.main()`.
A side gets the contender's name and the case's parameters and returns a `Statement` to be timed (or, in a suite of kind
"once", the figures themselves). Tables are made in report.py. Uses the standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import selectors
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import contenders as who
import peers


class Target(NamedTuple):
    """Our time must be at most `ratio` times that of `of`: a contender, "best" for the fastest peer, or "absolute".

    "absolute" means the figure itself: `ratio` seconds (or megabytes).
    """

    ratio: float
    of: str = "best"


class Also(NamedTuple):
    """A further row that the sides of a once-suite report under this name in their "also"."""

    name: str
    unit: str
    targets: Sequence[Target] = ()


class Case(NamedTuple):
    """One row of a table: parameters for the sides, what `work` a call does in `unit`, and any one target to reach.

    Units: ns, us, ms, s (per call, or per step if `work` counts steps), or rates: GB/s, words/s (`work` per second).
    `caches` matters to once-suites: "shared" between runs, "cold" (empty) or "warm" (filled by a run before).
    With `every`, all targets are to be reached, not just one of them.
    """

    name: str
    params: dict
    unit: str = "us"
    work: float = 0
    targets: Sequence[Target] = ()
    rtol: float = 1e-6
    caches: str = "shared"
    also: Sequence[Also] = ()
    every: bool = False


class Statement:
    """What is timed: one expression, and the names it uses."""

    def __init__(self, text: str, extra: dict | None = None, **names: Any) -> None:
        self.text, self.names, self.extra = text, names, extra or {}


class Suite:
    """A benchmark: its cases and one function per contender that sets a case up."""

    def __init__(
        self, name: str, cases: Callable[[bool], list[Case]], kind: str = "timed", doc: str | None = None
    ) -> None:
        self.name, self.cases, self.kind, self.doc = name, cases, kind, doc or ""
        self.sides: dict[str, Callable] = {}

    def side(self, *names: str) -> Callable:
        """Decorator: the function sets cases up for these contenders."""

        def register(function: Callable) -> Callable:
            for name in names:
                assert name in who.CONTENDERS, f"{name} is not in contenders.py"
                self.sides[name] = function
            return function

        return register

    def order(self) -> list[str]:
        """The contenders as columns: peers, ceilings, ours."""
        return sorted(
            self.sides, key=lambda name: (who.CONTENDERS[name].kind == "ours", list(who.CONTENDERS).index(name))
        )

    def main(self, words: Sequence[str] | None = None) -> int:
        """Run the suite as the command line says."""
        import report

        asked = parse(self, words)
        script = str(Path(sys.modules[self.sides[next(iter(self.sides))].__module__].__file__ or "").resolve())
        cases = [case for case in self.cases(asked.quick) if re.search(asked.case, case.name)]
        names = [name for name in self.order() if not asked.only or name in asked.only]
        runner = (Once if self.kind == "once" else Timed)(self, script, asked)
        table = report.Table(self, asked)
        try:
            names = runner.present(names, table)
            for case in cases:
                cells = runner.run(case, names)
                table.add(case, cells)
                for also in case.also:
                    table.add(*further(case, also, cells))
        finally:
            runner.close()
        return table.finish()


def further(case: Case, also: Also, cells: dict[str, dict]) -> tuple[Case, dict]:
    """The row of one more figure of the same runs."""
    found = {name: cell["also"][also.name] for name, cell in cells.items() if also.name in cell.get("also", {})}
    return Case(f"{case.name}: {also.name}", case.params, also.unit, 0, also.targets), {
        name: {"time": time, "times": [time]} for name, time in found.items()
    }


def parser(suite: Suite) -> argparse.ArgumentParser:
    """The options that all scripts share."""
    options = argparse.ArgumentParser(description=suite.doc.partition("\n")[0] or suite.name)
    options.add_argument(
        "--quick", action="store_true", help="tiny sizes: checks that everything runs, figures mean nothing"
    )
    options.add_argument("--only", type=lambda text: text.split(","), help="contenders, separated by commas")
    options.add_argument("--case", default="", help="only cases whose name matches this regular expression")
    options.add_argument("--repeats", type=int, default=None, help="rounds over all contenders (default 5, quick 1)")
    options.add_argument("--seconds", type=float, default=None, help="length of one measurement (default 0.2)")
    options.add_argument("--threads", type=int, default=1, help="threads every contender may use (default 1)")
    options.add_argument("--timeout", type=float, default=600, help="seconds a contender may need to set a case up")
    options.add_argument("--cold", action="store_true", help="start with empty caches of compiled code")
    options.add_argument(
        "--json", metavar="FILE", help="also write every figure there ('-' prints it instead of tables)"
    )
    return options


def parse(suite: Suite, words: Sequence[str] | None) -> argparse.Namespace:
    options = parser(suite)
    asked = options.parse_args(words)
    unknown = [name for name in asked.only or () if name not in suite.sides]
    if unknown:
        options.error(f"no contender {', '.join(unknown)} here; there are {', '.join(suite.sides)}")
    asked.repeats = asked.repeats or (1 if asked.quick else 5)
    asked.seconds = asked.seconds or (0.005 if asked.quick else 0.2)
    return asked


# ---------------------------------------------------------------------- workers
class Gone(Exception):
    """A worker died or took too long."""


class Process:
    """A contender's worker process."""

    def __init__(self, name: str, suite: Suite, threads: int, caches: Path | None = None) -> None:
        python = who.interpreter(name)
        assert python is not None
        logs = peers.home() / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        self.log = logs / f"{suite.name}-{name}.log"
        worker = str(Path(__file__).with_name("worker.py"))
        with self.log.open("w") as log:
            self.child = subprocess.Popen(
                [python, worker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                env=who.environment(name, threads, caches) | {"BENCH_STARTED": repr(time.time())},
                start_new_session=True,
            )  # fmt: skip
        pin(self.child.pid, threads)

    def ask(self, do: str, timeout: float, **details: Any) -> dict:
        """Send a request; the reply, or Gone. A reply may hold {"error": text}."""
        assert self.child.stdin and self.child.stdout
        try:
            self.child.stdin.write(json.dumps({"do": do, **details}).encode() + b"\n")
            self.child.stdin.flush()
        except OSError as error:
            raise Gone(self.end()) from error
        with selectors.DefaultSelector() as wait:
            wait.register(self.child.stdout, selectors.EVENT_READ)
            if not wait.select(timeout):
                self.kill()
                raise Gone(f"no answer in {timeout:.0f} s")
        line = self.child.stdout.readline()
        if not line:
            raise Gone(self.end())
        return json.loads(line)

    def end(self) -> str:
        self.child.wait()
        last = (self.log.read_text(errors="replace").strip().splitlines() or [""])[-1]
        return f"worker ended with code {self.child.returncode} {last}".strip()

    def kill(self) -> None:
        """End the worker and the compilers it started."""
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            try:
                assert pipe
                pipe.close()
            except OSError:  # a request the dead worker never read
                pass


def pin(pid: int, threads: int) -> None:
    """Keep a worker on as many cores as it may have threads: some libraries start threads whatever they are told."""
    cores = sorted(os.sched_getaffinity(0))
    if threads < len(cores):
        os.sched_setaffinity(pid, cores[-threads:])


class Runner:
    """What both kinds of suite share."""

    def __init__(self, suite: Suite, script: str, asked: argparse.Namespace) -> None:
        self.suite, self.script, self.asked = suite, script, asked
        self.processes: dict[str, Process] = {}
        self.fresh_caches = tempfile.TemporaryDirectory(prefix="bench-", dir=temporary()) if asked.cold else None
        self.caches = Path(self.fresh_caches.name) if self.fresh_caches else None

    def present(self, names: Iterable[str], table: Any) -> list[str]:
        """The contenders whose peer is installed; the others are named in the table's notes."""
        there = []
        for name in names:
            if not self.installed(name):
                table.note(f"{name}: not installed (python benchmarks/peers.py {who.CONTENDERS[name].peer})")
            else:
                there.append(name)
        return there

    def installed(self, name: str) -> bool:
        return who.interpreter(name) is not None

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
        if self.fresh_caches:
            self.fresh_caches.cleanup()

    def corrected(self, wall: float, cpu: float) -> float:
        """Time with a core to itself: where only one thread runs, waiting for a busy core is not counted."""
        return min(wall, cpu) if self.asked.threads == 1 else wall


class Timed(Runner):
    """Long-lived workers; a statement is timed in rounds, the order reversed in every other round."""

    def process(self, name: str) -> Process:
        if name not in self.processes or self.processes[name].child.poll() is not None:
            self.processes[name] = Process(name, self.suite, self.asked.threads, self.caches)
            reply = self.processes[name].ask("load", self.asked.timeout, script=self.script)
            if "error" in reply:
                raise Gone(reply["error"])
        return self.processes[name]

    def run(self, case: Case, names: list[str]) -> dict[str, dict]:
        """The figures of every contender for one case."""
        cells = {name: self.prepare(name, case) for name in names}
        ready = [name for name in names if "error" not in cells[name]]
        for turn in range(self.asked.repeats):
            for name in ready if turn % 2 == 0 else ready[::-1]:
                if "error" not in cells[name]:
                    self.measure(name, cells[name])
        for name in ready:
            cell = cells[name]
            if cell["times"]:
                cell["time"], cell["best"] = statistics.median(cell["times"]), min(cell["times"])
            if "error" not in cell:
                self.release(name, cell)
        return cells

    def prepare(self, name: str, case: Case) -> dict:
        """Set a case up; the start of its cell."""
        try:
            worker = self.process(name)
            cell = worker.ask("setup", self.asked.timeout, contender=name, case=case.params)
            if "error" not in cell:
                cell["also"] = {"compile + first": cell["setup"] + cell["first"]}
                cell |= worker.ask("calibrate", self.asked.timeout, seconds=self.asked.seconds)
        except Gone as gone:
            cell = {"error": str(gone)}
        return cell | {"times": [], "wall": [], "cpu": []}

    def release(self, name: str, cell: dict) -> None:
        """Let a worker forget the case, so that the next one finds the memory free."""
        try:
            self.processes[name].ask("clear", self.asked.timeout)
        except Gone as gone:
            cell["error"] = str(gone)

    def measure(self, name: str, cell: dict) -> None:
        try:
            got = self.processes[name].ask("measure", self.asked.timeout, number=cell["number"])
        except Gone as gone:
            got = {"error": str(gone)}
        if "error" in got:
            cell["error"] = got["error"]
            return
        cell["wall"].append(got["wall"])
        cell["cpu"].append(got["cpu"])
        cell["times"].append(self.corrected(got["wall"], got["cpu"]))


class Once(Runner):
    """A fresh process for every figure: start, import, build, run, end. CPU time includes compilers it started."""

    def run(self, case: Case, names: list[str]) -> dict[str, dict]:
        cells: dict[str, dict] = {name: {"times": [], "wall": [], "cpu": []} for name in names}
        for _ in range(self.asked.repeats):
            for name in names:
                if "error" not in cells[name]:
                    self.one(name, case, cells[name])
        for cell in cells.values():
            if cell["times"]:
                cell["time"], cell["best"] = statistics.median(cell["times"]), min(cell["times"])
        return cells

    def one(self, name: str, case: Case, cell: dict) -> None:
        if case.caches == "shared":
            figures = self.fresh(name, case, None)
        else:
            with tempfile.TemporaryDirectory(prefix="bench-", dir=temporary()) as folder:
                if case.caches == "warm":
                    self.fresh(name, case, Path(folder))
                figures = self.fresh(name, case, Path(folder))
        wall, cpu = figures.pop("wall", 0), figures.pop("cpu", 0)
        if "error" not in figures:
            seconds = figures.pop("seconds", None)  # a side may time a part of its life
            cell["wall"].append(wall)
            cell["cpu"].append(cpu)
            cell["times"].append(self.corrected(wall, cpu) if seconds is None else seconds)
        cell |= figures

    def fresh(self, name: str, case: Case, caches: Path | None) -> dict:
        """One life of a worker: what its side reports, with wall and CPU seconds and peak memory."""
        started = time.perf_counter()
        process = Process(name, self.suite, self.asked.threads, caches)
        try:
            reply = process.ask("load", self.asked.timeout, script=self.script)
            if "error" not in reply:
                reply = process.ask("once", self.asked.timeout, contender=name, case=case.params)
            wall = time.perf_counter() - started
            process.child.stdin.close()  # type: ignore[union-attr]
            _, _, usage = os.wait4(process.child.pid, 0)
            process.child.returncode = 0
        except Gone as gone:
            return {"error": str(gone)}
        finally:
            if process.child.returncode is None:
                process.kill()
        return reply | {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "rss_mb": usage.ru_maxrss / 1024}


def temporary() -> Path:
    folder = peers.home() / "cold"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
