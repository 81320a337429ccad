"""Runs units of the matrix, many in one program: compiling takes the time, calls are cheap.

A program that raises is divided until the unit that raises is alone.
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np

import termgraph as tg
from emucuda.driver import emulation

from . import rows  # noqa: F401  entered in the table
from .cells import Built, Refused, Unit, Wrong, all_units, build, judge, mode, prepare

TOGETHER = {"py": 24, "auto": 48, "cuda": 12}


@dataclass
class Report:
    """What was covered, and what disagreed."""

    seed: int
    total: int = 0
    covered: Counter = field(default_factory=Counter)
    refused: int = 0
    units: int = 0
    wrong: list[tuple[Unit, str, str]] = field(default_factory=list)  # unit, cell, what

    def note(self, unit: Unit, cell: str, what: str) -> None:
        self.wrong.append((unit, cell, what))

    def __str__(self) -> str:
        n = sum(self.covered.values())
        share = f"{n} of {self.total} cells covered ({n / max(self.total, 1):.2%})"
        lines = [f"{share}, {self.units} units, seed {self.seed}"]
        lines += [f"  {rules:13}{linker:6}{count:>9}" for (rules, linker), count in sorted(self.covered.items())]
        groups = defaultdict(list)
        for unit, cell, what in self.wrong:
            groups["gradient of " * unit.gradient + unit.row, unit.dtype].append((unit, cell, what))
        lines.append(f"{len(self.wrong)} disagreements in {len(groups)} groups of function and dtype")
        for (name, dtype), found in sorted(groups.items()):
            where = sorted({f"{u.rules}/{u.linker}" for u, _, _ in found})
            unit, cell, what = found[0]
            lines.append(f"  {name:28}{dtype:11}{len(found):>4}  {' '.join(where)}")
            lines.append(f"      rank {unit.rank}, {cell}: {what}")
        return "\n".join(lines)


def run(seconds: float, seed: int, only: str = "", linker: str = "", limit: int = 10**9) -> Report:
    """Units in random order, until the time is up or `limit` of them, each function in each dtype before any again."""
    units = [u for u in all_units(only) if linker in ("", u.linker)]
    report = Report(seed, total=sum(len(u.cells) for u in units))
    end = time.monotonic() + seconds
    random.Random(seed).shuffle(units)
    units = in_rounds(units)
    by_mode = defaultdict(list)
    waiting = units[:limit]
    for unit in waiting:
        if time.monotonic() > end:
            break
        group = by_mode[unit.rules, unit.linker]
        group.append(unit)
        if len(group) == TOGETHER[unit.linker]:
            run_group(group, seed, report)
            group.clear()
    if len(waiting) < len(units) or time.monotonic() <= end:
        for group in by_mode.values():
            if group and time.monotonic() <= end:
                run_group(group, seed, report)
    return report


def in_rounds(units: list[Unit]) -> list[Unit]:
    """Their order, but each function in each dtype, and its gradient, once before any of them comes again."""
    seen: Counter[tuple[str, str, bool]] = Counter()
    rounds = []
    for unit in units:
        what = unit.row, unit.dtype, unit.gradient
        rounds.append((seen[what], unit))
        seen[what] += 1
    return [unit for _, unit in sorted(rounds, key=lambda entry: entry[0])]


def run_group(units: list[Unit], seed: int, report: Report) -> None:
    """Build, compile, call and judge units of one mode."""
    built = []
    for unit in units:
        try:
            built.append(build(unit, seed))
        except Refused:
            report.refused += 1
            done(unit, report)
        except Wrong as error:
            report.note(unit, "building", str(error))
            done(unit, report)
        except Exception as error:
            report.note(unit, "building", f"{type(error).__name__}: {in_one_line(error)}")
            done(unit, report)
    with emulation() if units[0].linker == "cuda" else nullcontext():
        divide(built, seed, report)


def done(unit: Unit, report: Report) -> None:
    report.units += 1
    report.covered[unit.rules, unit.linker] += len(unit.cells)


def divide(built: list[Built], seed: int, report: Report) -> None:
    """Run the units as one program; if something raises, in halves."""
    if not built:
        return
    found = Report(seed)
    try:
        together(built, seed, found)
    except Exception as error:
        if len(built) > 1:
            middle = len(built) // 2
            divide(built[:middle], seed, report)
            divide(built[middle:], seed, report)
            return
        found.wrong.clear()
        note = (getattr(error, "__notes__", None) or [""])[-1]
        found.note(built[0].unit, str(note)[:90], f"{type(error).__name__}: {in_one_line(error)}")
    report.wrong += found.wrong
    for b in built:
        done(b.unit, report)


def in_one_line(error: Exception) -> str:
    """The first lines of a message that say something."""
    lines = [line.strip() for line in str(error).splitlines() if not line.startswith("  ")]
    return " | ".join(lines[:3])[:220]


def together(built: list[Built], seed: int, report: Report) -> None:
    unit = built[0].unit
    inputs = [v for b in built for v in b.inputs]
    outputs = [v for b in built for v in b.outputs]
    f = tg.function(inputs, outputs, mode=mode(unit.rules, unit.linker), on_unused_input="ignore")
    told = set()
    for number in range(max(len(b.unit.cells) for b in built)):
        calls = [call_of(b, seed, number) for b in built]
        try:
            with np.errstate(all="ignore"):
                results = f(*[v for c in calls for v in c.values])
        except Exception as error:
            error.add_note(f"{calls[0].layout}, {'special' if calls[0].special else 'ordinary'} values")
            raise
        for call in calls:
            mine, results = results[: len(call.built.outputs)], results[len(call.built.outputs) :]
            wrong = judge(call, mine)
            if wrong and call.built.unit not in told:
                told.add(call.built.unit)  # the first cell of a unit says enough
                report.note(call.built.unit, f"{call.layout}, {'special' if call.special else 'ordinary'}", wrong)


def call_of(b: Built, seed: int, number: int):
    """The call of a unit's n-th cell; where the reference refuses the values, ordinary ones instead."""
    cells = b.unit.cells
    call = prepare(b, seed, number + 2, *cells[number % len(cells)])
    retry = number + 100
    while call is None:
        call = prepare(b, seed, retry, "C", False)
        retry += 1
        if retry > number + 150:
            raise RuntimeError(f"{b.unit}: the reference refuses everything")
    return call
