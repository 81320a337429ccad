"""Tables, ratios and verdicts from a suite's figures; and the same as JSON. Used by harness.py."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
from pathlib import Path
from typing import Any

import contenders as who
import peers

# unit: (factor, whether more is better). A time is divided by `work` if that is given; a rate is work per second.
UNITS = {
    "ns": (1e9, False), "us": (1e6, False), "ms": (1e3, False), "s": (1.0, False), "MB": (1.0, False),
    "kB": (1.0, False), "x": (1.0, False),
    "GB/s": (1e-9, True), "GFLOP/s": (1e-9, True), "words/s": (1.0, True), "images/s": (1.0, True),
    "knodes/s": (1e-3, True),
}  # fmt: skip


class Table:
    """Collects the cells of a suite and prints a row as soon as it is known."""

    def __init__(self, suite: Any, asked: argparse.Namespace) -> None:
        self.suite, self.asked = suite, asked
        self.rows: list[dict] = []
        self.notes: dict[str, list[str]] = {}
        self.names = [name for name in suite.order() if not asked.only or name in asked.only]
        self.silent = asked.json == "-"
        self.load = os.getloadavg()
        if not self.silent:
            print(f"# {suite.name}: {suite.doc.partition(chr(10))[0]}")
            print(f"# {machine()}; {asked.threads} thread(s); load {self.load[0]:.1f}; {versions()}")
            print(
                "  ".join([f"{'case':34}", *(f"{column(n):>9}" for n in self.names), "ours against the best peer"]),
                flush=True,
            )

    def note(self, text: str, case: str = "") -> None:
        """Something to say below the table, once, with the cases it is about."""
        self.notes.setdefault(text, []).append(case)

    def add(self, case: Any, cells: dict[str, dict]) -> None:
        """Judge a row and print it."""
        self.compare(case, cells)
        for name, cell in cells.items():
            if "error" in cell:
                apart = cell["error"].startswith("NotImplementedError: ")
                kind = "not available yet: " if name == "termgraph" else ""
                text = f"takes no part: {cell['error'].partition(': ')[2]}" if apart else f"{kind}{cell['error']}"
                self.note(f"{name}: {text}", case.name)
        row = {
            "case": case.name,
            "unit": case.unit,
            "work": case.work,
            "every": case.every,
            "cells": cells,
            **verdict(case, cells),
        }
        row["values"] = {name: value(case, cell["time"]) for name, cell in cells.items() if "time" in cell}
        self.rows.append(row)
        if not self.silent:
            print(
                "  ".join(
                    [f"{f'{case.name} ({case.unit})'[:38]:38}", *(self.cell(row, n) for n in self.names), sentence(row)]
                ),
                flush=True,
            )

    def cell(self, row: dict, name: str) -> str:
        if name not in row["values"]:
            return f"{'-':>9}"
        wrong = "!" if row["cells"][name].get("wrong") else ""
        return f"{figure(row['values'][name]) + wrong:>9}"

    def compare(self, case: Any, cells: dict[str, dict]) -> None:
        """Mark contenders whose result differs from the first one's (NumPy's where it takes part)."""
        samples = {
            name: cell["sample"]
            for name, cell in cells.items()
            if "sample" in cell and not cell.get("extra", {}).get("unchecked")
        }
        if not samples:
            return
        first = "numpy" if "numpy" in samples else next(iter(samples))
        for name, got in samples.items():
            if not close(samples[first], got, case.rtol):
                cells[name]["wrong"] = True
                self.note(f"{name}: WRONG RESULT, not that of {first}", case.name)

    def finish(self) -> int:
        """Notes, verdicts and JSON; the exit code is 1 if any contender computed something else than the others."""
        wrong = any(cell.get("wrong") for row in self.rows for cell in row["cells"].values())
        for note, about in self.notes.items():
            where = "all cases" if len(about) == len(self.rows) > 1 else ", ".join(filter(None, about))
            print(f"! {note}" + (f" [{where}]" if where else ""), file=sys.stderr if self.silent else sys.stdout)
        if not self.silent:
            print(
                f"# load at the end {os.getloadavg()[0]:.1f}; a time is the median of {self.asked.repeats} round(s)",
                flush=True,
            )
        if self.asked.json:
            text = json.dumps(self.document(), indent=1)
            if self.silent:
                print(text)
            else:
                Path(self.asked.json).write_text(text + "\n")
        return int(wrong)

    def document(self) -> dict:
        return {
            "suite": self.suite.name, "machine": machine(), "threads": self.asked.threads, "quick": self.asked.quick,
            "load": [self.load[0], os.getloadavg()[0]],
            "versions": {name: peer["version"] for name, peer in peers.manifest()["peers"].items()},
            "rows": self.rows, "notes": self.notes,
        }  # fmt: skip


def verdict(case: Any, cells: dict[str, dict]) -> dict:
    """The best peer, our ratio to it, and whether one of the case's targets is reached."""
    times = {name: cell["time"] for name, cell in cells.items() if "time" in cell and not cell.get("wrong")}
    rivals = {name: t for name, t in times.items() if who.CONTENDERS[name].kind == "peer"}
    best = min(rivals, key=rivals.__getitem__) if rivals else None
    found: dict = {"best_peer": best}
    if "termgraph" not in times:
        return found | {"targets": [{"at_most": t.ratio, "of": t.of} for t in case.targets]}
    ours = times["termgraph"]
    if best is not None and times[best]:  # memory may come out as none at all
        found["ratio"] = ours / times[best]
    found["targets"] = [judge(target, ours, times, best or "best") for target in case.targets]
    known = [t["reached"] for t in found["targets"] if t["reached"] is not None]
    found["reached"] = (all if case.every else any)(known) if known else None
    return found


def judge(target: Any, ours: float, times: dict[str, float], best: str) -> dict:
    """Whether we take at most so much of another contender's time, or of one second ("absolute")."""
    of = best if target.of == "best" else target.of
    reference = 1.0 if of == "absolute" else times.get(of)
    ratio = None if not reference else ours / reference
    return {
        "at_most": target.ratio,
        "of": of,
        "ratio": ratio,
        "reached": None if ratio is None else ratio <= target.ratio,
    }


def sentence(row: dict) -> str:
    """`0.41 of jax; goal 0.75 of jax: reached`."""
    goals = (" and " if row["every"] else " or ").join(goal(target, row["unit"]) for target in row["targets"])
    text = f"{row['ratio']:.2f} of {row['best_peer']}" if "ratio" in row else f"best {row['best_peer'] or '-'}"
    if goals:
        others = [t for t in row["targets"] if t.get("ratio") and t["of"] not in (row["best_peer"], "absolute")]
        text += "".join(f", {t['ratio']:.2f} of {t['of']}" for t in others) + f"; goal {goals}"
        if "reached" in row:
            text += ": " + {True: "reached", False: "MISSED", None: "not measured"}[row["reached"]]
    return text


def goal(target: dict, unit: str) -> str:
    at_most = target.get("at_most", 0)
    return f"{at_most * UNITS[unit][0]:g} {unit}" if target["of"] == "absolute" else f"{at_most:.3g} of {target['of']}"


def value(case: Any, seconds: float) -> float:
    factor, is_rate = UNITS[case.unit]
    if is_rate:
        return case.work * factor / max(seconds, 1e-12)
    return seconds * factor / (case.work or 1)


def figure(number: float) -> str:
    """Three significant digits, no exponent where it can be helped."""
    if number == 0 or not math.isfinite(number):
        return str(number)
    digits = max(0, 2 - math.floor(math.log10(abs(number))))
    return f"{number:.{min(digits, 5)}f}" if number < 1e7 else f"{number:.3g}"


def column(name: str) -> str:
    return (
        name.replace("pytensor", "pt")
        .replace("trusted", "tr")
        .replace("torch-compile", "t.compile")
        .replace("numba", "nb")[:9]
    )


def close(a: list, b: list, rtol: float) -> bool:
    if len(a) != len(b) or any(len(x) != len(y) for x, y in zip(a, b)):
        return False
    size = max((abs(v) for x in a for v in x if math.isfinite(v)), default=0.0)
    pairs = ((v, w) for x, y in zip(a, b) for v, w in zip(x, y))
    lost = 1.2e-38  # the smallest normal number of float32: JAX makes smaller ones 0
    return all(
        v == w or abs(v - w) <= max(rtol * max(abs(v), 1e-3 * size), lost) or (v != v and w != w) for v, w in pairs
    )


def machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        models = [
            line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
        ]
        model = models[0] if models else model
    return f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"


def versions() -> str:
    known = peers.manifest()["peers"]
    return ", ".join(f"{name} {peer['version']}" for name, peer in known.items()) or "no peers installed"
