"""Profiles: seconds per stage of compiling, calls and seconds and bytes per instruction, counts per rule.

What is counted while compiling is always there; instructions are timed only when asked for.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.text import html_table, one_line
from termgraph.vm.loops import make_runner
from termgraph.vm.program import Instruction, Program

html = lazy("html")


class Profile:
    """What compiling and running a function took.

    `stages` and `rules` are filled by compiling; `calls`, `seconds`, `rows()` and `peak_bytes` by running with
    `profile=True`. `print(f.profile)` shows tables, `f.profile.to_json()` gives the numbers.
    """

    def __init__(self, name: str | None = None, stages: Mapping[str, float] | None = None) -> None:
        self.name = name
        self.stages: dict[str, float] = dict(stages or {})
        self.rules: dict[str, int] = {}
        self.rule_seconds: dict[str, float] = {}
        self.names: dict[Any, str] = {}  # of the inputs, for expressions
        self.running = False
        self.loops: dict[int, Profile] = {}  # by number of the instruction: what happened in its steps
        self._calls, self._seconds, self._peak = 0, 0.0, 0
        self._parts: list[Any] = []  # of compiled programs that note their times themselves
        self._part_terms: list[Sequence[Any]] = []
        self._numbers: list[int] = []  # of the parts that are listed here, not in the steps of a loop
        self._timers: Any = None
        self._program: Program | None = None
        self._count: list[int] = []
        self._time: list[float] = []
        self._bytes: list[int] = []
        self._live = threading.local()
        self._lock = threading.Lock()

    # ------------------------------------------------------------------ collecting
    def watch(self, program: Program, link: Callable[..., Program] = Program.from_terms) -> Program:
        """Prepare to observe a machine that runs the program which is returned: it tells what happens inside loops.

        `link(leaves, roots)` makes the program of a loop's body.
        """
        looked_into = [self._looked_into(i, ins, link) for i, ins in enumerate(program.instructions)]
        if self.loops:
            program = Program(program.inputs, program.constants, looked_into, program.outputs, program.term_of)
        n = len(program.instructions)
        self._program, self.running = program, True
        self._count, self._time, self._bytes = [0] * n, [0.0] * n, [0] * n
        return program

    def _looked_into(self, i: int, ins: Instruction, link: Callable[..., Program]) -> Instruction:
        """A loop whose steps are observed; other instructions as they are."""
        if ins.op.kind != "loop":
            return ins
        inner = self.loops[i] = Profile(ins.op.title)
        body = inner.watch(link(ins.op.leaves, inline_calls(list(ins.op.params["body"]))), link)
        run = make_runner(ins.op, body, [inner.observe])
        return Instruction(ins.op, ins.inputs, ins.outputs, ins.terms, ins.several, run)

    def observe(self, i: int, instruction: Instruction, slots: list[Any], seconds: float) -> None:
        """What a machine calls after each instruction."""
        assert self._program is not None
        made = sum(_own_bytes(slots[s]) for s in instruction.outputs)
        if i == 0 or not hasattr(self._live, "bytes"):
            self._live.bytes = 0
        self._live.bytes += made
        self._count[i] += 1
        self._time[i] += seconds
        self._bytes[i] += made
        self._peak = max(self._peak, self._live.bytes)
        self._live.bytes -= sum(_own_bytes(slots[s]) for s in self._program.frees[i])

    def watch_parts(self, parts: Sequence[Any], terms: Sequence[Sequence[Any]]) -> np.ndarray:
        """The array to which a compiled program adds the times of its parts (each has `op` and `expression`).

        `terms` are, for each part, those whose values it makes.
        """
        self._timers = np.zeros(3 + 3 * len(parts), np.int64)
        holders = {-1: self}
        for i, part in enumerate(parts):
            if part.inside not in holders:
                around = parts[part.inside]
                holders[part.inside] = holders[around.inside].loops[part.inside] = Profile(around.title)
            holders[part.inside]._numbers.append(i)
        for holder in holders.values():
            holder._parts, holder._part_terms, holder._timers = list(parts), list(terms), self._timers
            holder.running = True
        return self._timers

    def add_call(self, seconds: float) -> None:
        """Count one call of the whole function."""
        with self._lock:
            self._calls += 1
            self._seconds += seconds

    # ------------------------------------------------------------------ looking
    @property
    def calls(self) -> int:
        """How often the function was called."""
        return self._calls if self._timers is None else int(self._timers[0])

    @property
    def seconds(self) -> float:
        """How long all calls took together."""
        return self._seconds if self._timers is None else float(self._timers[1]) * 1e-9

    @property
    def peak_bytes(self) -> int:
        """The most memory that results and room for intermediate values took at once."""
        return self._peak if self._timers is None else int(self._timers[2])

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per instruction, the slowest first; for compiled programs per kernel and library call."""
        if self._timers is not None:
            return self._part_rows()
        if self._program is None:
            return []
        rows = [
            {
                "instruction": i,
                "op": str(ins.op),
                "calls": self._count[i],
                "seconds": self._time[i],
                "bytes": self._bytes[i] // max(self._count[i], 1),
                "expression": one_line(ins.terms[0], 80, self.names),
            }
            for i, ins in enumerate(self._program.instructions)
        ]
        return sorted(rows, key=lambda r: -r["seconds"])

    def _part_rows(self) -> list[dict[str, Any]]:
        rows = [
            {
                "instruction": i,
                "op": part.op,
                "calls": int(self._timers[5 + 3 * i]),
                "seconds": float(self._timers[3 + 3 * i]) * 1e-9,
                "bytes": int(self._timers[4 + 3 * i]),
                "expression": part.expression,
            }
            for i, part in [(i, self._parts[i]) for i in self._numbers]
        ]
        return sorted(rows, key=lambda r: -r["seconds"])

    def by_terms(self) -> list[tuple[float, str, Sequence[Any]]]:
        """(seconds, text, terms) for each instruction or part of a compiled program: the terms it computes."""
        if self._timers is not None:
            return [(r["seconds"], r["expression"], self._part_terms[r["instruction"]]) for r in self._part_rows()]
        rows = self.rows()
        instructions = self._program.instructions if self._program is not None else []
        return [(r["seconds"], r["op"], instructions[r["instruction"]].terms) for r in rows]

    def steps(self) -> list[tuple[Any, Profile]]:
        """(op, profile of its steps) for each loop that the virtual machine looked into.

        Compiled loops are left out: it is not known which terms of the body their parts compute.
        """
        if self._program is None or self._timers is not None:
            return []
        return [(self._program.instructions[i].op, inner) for i, inner in self.loops.items()]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "name": self.name,
            "stages": self.stages,
            "rules": self.rules,
            "rule_seconds": self.rule_seconds,
            "calls": self.calls,
            "seconds": self.seconds,
            "peak_bytes": self.peak_bytes,
            "instructions": self.rows(),
            "loops": {i: inner.rows() for i, inner in self.loops.items()},
        }

    def to_json(self, **options: Any) -> str:
        """Everything as JSON text."""
        return json.dumps(self.to_dict(), **options)

    def summary(self, file: Any = None, n: int = 20) -> None:
        """Print the tables; `n` is how many instructions to list."""
        (file or sys.stdout).write(self.table(n) + "\n")

    def table(self, n: int = 20) -> str:
        """The tables as text."""
        lines = [f"Profile of {self.name or 'a function'}", "  compiling"]
        lines += [f"    {seconds * 1e3:10.3f} ms  {stage}" for stage, seconds in self.stages.items()]
        if self.rules:
            lines.append("  rules applied")
            for rule, count in sorted(self.rules.items(), key=lambda r: -r[1]):
                lines.append(f"    {count:10d} times {self.rule_seconds.get(rule, 0.0) * 1e3:10.3f} ms  {rule}")
        if self.running:
            lines += self._run_lines(n)
        else:
            lines.append("  instructions were not timed; compile with profile=True")
        return "\n".join(lines)

    def _run_lines(self, n: int) -> list[str]:
        rows = self.rows()
        spent = sum(r["seconds"] for r in rows)
        lines = [f"  {self.calls} calls, {self.seconds * 1e3:.3f} ms, of which {spent * 1e3:.3f} ms in instructions"]
        lines.append(f"  most memory held by results at once: {self.peak_bytes} bytes")
        return lines + self._instruction_lines(n)

    def _instruction_lines(self, n: int) -> list[str]:
        """One line per instruction, the slowest first; then those inside loops."""
        rows = self.rows()
        spent = sum(r["seconds"] for r in rows)
        lines = ["         ms      %  calls       bytes  instruction"]
        for r in rows[:n]:
            share = 100 * r["seconds"] / spent if spent else 0.0
            lines.append(
                f"  {r['seconds'] * 1e3:9.3f}  {share:5.1f}  {r['calls']:5d}  {r['bytes']:10d}  {r['expression']}"
            )
        if len(rows) > n:
            lines.append(f"  ... and {len(rows) - n} more instructions")
        for i, inner in self.loops.items():
            lines.append(f"  in the steps of {inner.name} (instruction {i})")
            lines += [f"  {line}" for line in inner._instruction_lines(n)]
        return lines

    __str__ = table

    def _repr_html_(self) -> str:
        """What notebooks show: a bar for each stage and each instruction."""
        rows = self.rows()
        spent = sum(r["seconds"] for r in rows) or 1.0
        compiling = sum(self.stages.values()) or 1.0
        parts = [f"<b>{html.escape(self.name or 'a function')}</b>: {self.calls} calls, {self.seconds * 1e3:.3f} ms"]
        if rows:
            lines = [
                (r["seconds"] / spent, f"{r['seconds'] * 1e3:.3f}", r["calls"], r["bytes"], r["expression"])
                for r in rows[:40]
            ]
            parts.append(html_table(("", "ms", "calls", "bytes", "instruction"), lines))
        stages = [(s / compiling, f"{s * 1e3:.3f}", stage) for stage, s in self.stages.items()]
        parts.append(html_table(("", "ms", "compiling"), stages))
        return "".join(parts)

    def __repr__(self) -> str:
        return f"<profile of {self.name or 'a function'}: {self.calls} calls, {self.seconds:.3g} s>"

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        del state["_live"], state["_lock"]
        return state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._live, self._lock = threading.local(), threading.Lock()


def _own_bytes(value: np.ndarray) -> int:
    """Bytes of an array that has its own memory; views cost nothing."""
    return value.nbytes if isinstance(value, np.ndarray) and value.base is None else 0
