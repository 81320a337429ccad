"""Every public function beside its best peer: NumPy and SciPy, JAX and PyTorch, in one table of speeds.

`python benchmarks/ops.py` runs all rows, which takes hours; `--case`, `--sizes`, `--dtypes` and `--seconds` choose.
What has been measured is kept in `--json` after each row, so a run that is stopped is still a table, and `--report`
prints it again. `--changed FILE` measures only rows whose compiled program is another one than in that file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dialects
import op_limits
import op_report
import report
from harness import Case, Statement, Suite, Timed, parser
from op_rows import ROWS
from op_rows.derived import derived, of_op
from op_rows.table import SIZES, Row

LOOSE = {"float32": 2e-3, "float64": 1e-6, "int64": 1e-9}


def cases(quick: bool) -> list[Case]:
    """A case for each row, size and dtype, forward and, in the middle size, of the gradient as well."""
    made = []
    for row in (ROWS | derived()).values():
        known = {"row": row.name} if row.name in ROWS else {"row": row.name, "arity": len(row.operands)}
        for size in row.sizes[:1] if quick else row.sizes:
            for dtype in row.dtypes:
                for grad in (False, True) if row.grad and (size == "middle" or quick) else (False,):
                    name = f"{row.name} | {size} {dtype}{' gradient' if grad else ''}"
                    made.append(Case(name, {**known, "size": size, "dtype": dtype, "grad": grad}, rtol=LOOSE[dtype]))
    return made


def row_of(row: str, arity: int = 0) -> Row:
    """The row of a case, in any contender's process."""
    return of_op(row, arity) if arity else ROWS[row]


suite = Suite("ops", cases, doc=__doc__)


@suite.side("numpy", "jax", "torch", "termgraph")
def side(who: str, row: str, size: str, dtype: str, grad: bool, arity: int = 0) -> Statement:
    said = row_of(row, arity)
    statement = dialects.STATEMENTS[who](said, size, dtype, grad)
    statement.extra["unchecked"] = said.unchecked or grad and said.unlike
    statement.extra["operand_bytes"] = sum(op_limits.nbytes(v) for v in said.values(size, dtype))
    return statement


# ---------------------------------------------------------------------- running
class Ops(Timed):
    """Rows one after another; each is kept as soon as it is known."""

    def row(self, case: Case, names: Sequence[str], known: dict[str, Any], limits: op_limits.Machine) -> dict | None:
        """The figures of a case; None if its program is the one that was measured before."""
        if known and self.print_of(case) == known.get("print", ""):
            return None
        cells = self.run(case, list(names))
        table = report.Table(self.suite, argparse.Namespace(only=None, json="-"))
        table.compare(case, cells)
        found: dict[str, Any] = {
            "case": case.name,
            **case.params,
            "print": cells["termgraph"].get("extra", {}).get("print", ""),
        }
        found["times"] = {name: cell["time"] for name, cell in cells.items() if "time" in cell}
        found["wrong"] = sorted(name for name, cell in cells.items() if cell.get("wrong"))
        found["errors"] = {name: cell["error"] for name, cell in cells.items() if "error" in cell}
        ours = cells["termgraph"]
        if "time" in ours:
            moved = ours["extra"]["operand_bytes"] + ours["result_bytes"]
            row = row_of(case.params["row"], case.params.get("arity", 0))
            found["counted"] = op_limits.counted(row)
            found["limit"] = limits.limit(row, case.params["size"], case.params["dtype"], moved)
        return op_report.judged(found)

    def print_of(self, case: Case) -> str:
        return self.prepare("termgraph", case).get("extra", {}).get("print", "")


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    options = parser(suite)
    options.add_argument("--sizes", type=lambda t: t.split(","), default=list(SIZES), help="small, middle, large")
    options.add_argument("--dtypes", type=lambda t: t.split(","), default=list(LOOSE), help="float64, float32, int64")
    options.add_argument("--forward", action="store_true", help="no gradients")
    options.add_argument("--gradients", action="store_true", help="gradients only")
    options.add_argument(
        "--changed", metavar="FILE", help="only rows whose program is not the one measured in this JSON file"
    )
    options.add_argument("--html", metavar="FILE", help="write the table as a page with bars")
    options.add_argument("--report", metavar="FILE", help="measure nothing: print the table of this JSON file")
    options.add_argument("--worst", type=int, default=40, help="how many rows to print, the worst first")
    options.add_argument("--avx2", action="store_true", help="hold every library to AVX2")
    options.set_defaults(repeats=3, seconds=0.03)
    asked = options.parse_args(words)
    if asked.avx2:
        os.environ["BENCH_AVX2"] = "1"  # `contenders.environment` reads it
    return asked


def chosen(asked: argparse.Namespace) -> list[Case]:
    return [
        case
        for case in cases(asked.quick)
        if re.search(asked.case, case.name)
        and case.params["size"] in asked.sizes
        and case.params["dtype"] in asked.dtypes
        and not (asked.forward and case.params["grad"])
        and not (asked.gradients and not case.params["grad"])
    ]


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Run the chosen cases; what was in the JSON file and is not measured again stays."""
    before = {row["case"]: row for row in json.loads(Path(asked.changed).read_text())["rows"]} if asked.changed else {}
    kept = asked.json if asked.json and asked.json != "-" and Path(asked.json).is_file() else None
    rows = before | ({row["case"]: row for row in json.loads(Path(kept).read_text())["rows"]} if kept else {})
    limits = op_limits.Machine()
    document = {"machine": report.machine(), "threads": asked.threads, **limits.figures()}
    runner = Ops(suite, str(Path(__file__).resolve()), asked)
    try:
        names = [n for n in suite.order() if (not asked.only or n in asked.only) and runner.installed(n)]
        for case in chosen(asked):
            found = runner.row(case, names, before.get(case.name, {}), limits)
            if found is not None:
                rows[case.name] = found
                print(op_report.line(found), flush=True)
            document["rows"] = list(rows.values())
            if asked.json and asked.json != "-":
                Path(asked.json).write_text(json.dumps(document, indent=0) + "\n")
    finally:
        runner.close()
    return document | {"rows": list(rows.values())}


def main(words: Sequence[str] | None = None) -> int:
    asked = arguments(words)
    document = json.loads(Path(asked.report).read_text()) if asked.report else measure(asked)
    rows = [op_report.judged(row) for row in document["rows"]]
    print(op_report.table(rows, asked.worst))
    if asked.html:
        Path(asked.html).write_text(op_report.page(document | {"rows": rows}))
    return int(any("termgraph" in row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
