"""Many programs at a time in one function, since compiling takes the time; those that fail are run alone and shrunk."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from .judge import MODES, REFERENCE, Allowed, run, together, verdict
from .programs import Program, grow
from .shrink import company, joined, shrunk

TOGETHER = 12


@dataclass
class Report:
    """How many programs ran in each mode, and what failed."""

    seed: int
    ran: Counter = field(default_factory=Counter)
    judged: Counter = field(default_factory=Counter)
    failures: list[tuple[int, str, str, Program]] = field(default_factory=list)  # seed, mode, what, program

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {sum(self.ran.values())} runs of random programs, {len(self.failures)} failed"]
        lines += [f"  {mode:18}{n:>8}, compared {self.judged[mode]}" for mode, n in self.ran.items()]
        for seed, mode, what, program in self.failures:
            lines += ["", f"# program {seed}, {mode}: {what}", program.source((REFERENCE, MODES[mode]))]
        return "\n".join(lines)


def fuzz(seconds: float, seed: int, modes: tuple[str, ...] = tuple(MODES), limit: int = 10**9,
         say: Callable[[str], None] = lambda text: None, most: int = 20, special: bool = False,
         batch: int = 0) -> Report:  # fmt: skip
    """Programs from a seed on, until the time is up, `limit` of them are done, or `most` failures are found.

    `batch`: so many in one function, and small ones, which is quicker by the graph; else a dozen of up to 15
    statements.

    `special`: their inputs have NaN, infinities, extremes and empty dimensions; then only modes that take nothing on
    trust are compared where results are not finite.
    """
    report, end, next_one = Report(seed), time.monotonic() + seconds, 0
    while time.monotonic() < end and next_one < limit and len(report.failures) < most:
        first, count = seed * 1_000_000 + next_one, min(batch or TOGETHER, limit - next_one)
        next_one += count
        grow_one = small if batch else grown
        programs = [
            (s, p, a)
            for s, p in ((s, grow_one(s, special)) for s in range(first, first + count))
            if p.outputs and (a := _allowed(p)) is not None
        ]
        for mode in modes:
            before = len(report.failures)
            try_all(programs, mode, report)
            for failure in report.failures[before:]:
                say(
                    "\n".join(
                        [
                            "",
                            f"# program {failure[0]}, {mode}: {failure[2]}",
                            failure[3].source((REFERENCE, MODES[mode])),
                        ]
                    )
                )
            bad = {f[0] for f in report.failures[before:]}
            programs = [p for p in programs if p[0] not in bad]
    return report


def grown(seed: int, special: bool = False) -> Program:
    """The program of a seed."""
    return grow(seed, 4 + seed % 12, special)


def small(seed: int, special: bool = False) -> Program:
    """A small program of a seed: dozens of them are compiled together."""
    return grow(seed, 2 + seed % 5, special)


def _allowed(program: Program) -> Allowed | None:
    try:
        return Allowed(program)
    except Exception:
        return None


def try_all(programs: list[tuple[int, Program, Allowed]], mode: str, report: Report) -> None:
    """Programs in one function; if it raises, in halves; one that fails is shrunk."""
    if not programs:
        return
    try:
        answers = together([p for _, p, _ in programs], mode)
    except Exception:
        if len(programs) > 1:
            middle = len(programs) // 2
            try_all(programs[:middle], mode, report)
            try_all(programs[middle:], mode, report)
            return
        answers = [None]
    for (seed, program, allowed), results in zip(programs, answers):
        report.ran[mode] += 1
        report.judged[mode] += allowed.judges(mode)
        if results is None or verdict(program, allowed, results, mode):
            what = run(program, mode)
            if not what and results is not None:
                beside = company(program, [p for _, p, _ in programs], lambda ps: _first_wrong(ps, allowed, mode))  # noqa: B023
                what = (
                    f"{verdict(program, allowed, results, mode)}, but not alone: only beside {len(beside) - 1} other(s)"
                )
                report.failures.append((seed, mode, what, joined(beside)))
            elif what:
                kind = what.partition(":")[0] if "Error" in what[:40] or "Mismatch" in what[:40] else ""
                small = shrunk(program, lambda p, k=kind: (run(p, mode) or "").startswith(k) and bool(run(p, mode)))
                report.failures.append((seed, mode, run(small, mode) or what, small))


def _first_wrong(programs: list[Program], allowed: Allowed, mode: str) -> bool:
    """Whether the first of several programs in one function is wrong."""
    try:
        return bool(verdict(programs[0], allowed, together(programs, mode)[0], mode))
    except Exception:
        return False
