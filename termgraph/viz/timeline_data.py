"""What the script of a timeline is given: the graph at the start of each stage, every rewrite, the rules."""

from __future__ import annotations

import linecache
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.db.database import all_rules
from termgraph.function.compiled import arguments_of
from termgraph.rules.trace import Trace
from termgraph.terms.traverse import children_first
from termgraph.viz.history import short_place
from termgraph.viz.infix import form_of

if TYPE_CHECKING:
    from termgraph.db import checking
    from termgraph.function.compiled import Function
else:
    checking = lazy("termgraph.db.checking")  # brings the prover

SAMPLES = 6  # terms that a rule is tried on for a timeline
_verdicts: dict[Any, str] = {}  # by rule: proving is the same each time


class Table:
    """Terms as lists of numbers, each once: [form, operands ...], and how each form is written."""

    def __init__(self) -> None:
        self.number: dict[Any, int] = {}
        self.nodes: list[list[int]] = []
        self.forms: dict[str, int] = {}
        self.written: list[list[Any]] = []

    def add(self, roots: Sequence[Any], names: dict[Any, str]) -> list[int]:
        """The numbers of terms; `names` are those of the arguments of this graph."""
        known: dict[Any, int] = {}
        for t in children_first(roots):
            if t in names:
                node = [self._form([99, names[t]])]
            else:
                strength, pieces = form_of(t)
                node = [self._form([strength, *pieces]), *(known[a] for a in t.args)]
            key = tuple(node)
            if key not in self.number:
                self.number[key] = len(self.nodes)
                self.nodes.append(node)
            known[t] = self.number[key]
        return [known[t] for t in roots]

    def _form(self, form: list[Any]) -> int:
        key = repr(form)
        if key not in self.forms:
            self.forms[key] = len(self.written)
            self.written.append(form)
        return self.forms[key]


def timeline_data(traced: Function, seconds: float) -> dict[str, Any]:
    """The stages with their steps; rules are tried by the prover for at most so many seconds."""
    table = Table()
    rules: dict[tuple[str, str], int] = {}
    stages: list[dict[str, Any]] = []
    for trace, inside, names in _traces(traced):
        records = list(trace)
        if not records:
            continue
        roots = getattr(trace, "roots", [])
        numbers = table.add([*roots, *(t for r in records for t in (r.before, r.after))], names)
        pairs = numbers[len(roots) :]
        steps = [
            [rules.setdefault((r.rule, str(r.where)), len(rules)), pairs[2 * k], pairs[2 * k + 1]]
            for k, r in enumerate(records)
        ]
        stages.append({"stage": records[0].stage, "inside": inside, "roots": numbers[: len(roots)], "steps": steps})
    used = Counter(s[0] for stage in stages for s in stage["steps"])
    return {
        "stages": stages,
        "nodes": table.nodes,
        "forms": table.written,
        "rules": _described(list(rules), used, seconds),
    }


def _traces(traced: Any) -> Iterable[tuple[Any, str, dict[Any, str]]]:
    """Each trace, the body it is about, and the names of its arguments."""
    work = getattr(getattr(traced, "maker", None), "work", None)
    if work is None:
        yield from ((t, "", {}) for t in ([traced] if isinstance(traced, Trace) else _by_stage(traced)))
        return
    inputs = {a: item.variable for a, item in zip(work.args, traced.maker.inputs)}
    names = {a: v.name or repr(v) for a, v in inputs.items()}
    for trace in work.traces:
        if trace.body is None:
            yield trace, "", names
        else:
            inner = {leaf: given.name or repr(leaf) for leaf, given in arguments_of(trace.body).items()}
            yield trace, f"inside {trace.body.name}", inner


def _by_stage(records: Iterable[Any]) -> list[list[Any]]:
    """Records without the graph they belong to, those of a stage together."""
    stages: list[list[Any]] = []
    for r in records:
        if not stages or stages[-1][-1].stage != r.stage:
            stages.append([])
        stages[-1].append(r)
    return stages


# ---------------------------------------------------------------------- rules
def _described(rules: Sequence[tuple[str, str]], used: Counter[int], seconds: float) -> list[dict[str, Any]]:
    """For each rule all that is known; the prover begins with those that were used most."""
    known = {r.name: r for r in all_rules()}
    end = time.monotonic() + seconds
    made: dict[int, dict[str, Any]] = {}
    for k, times in used.most_common():
        name, where = rules[k]
        r = known.get(name)
        about = {"name": name, "where": short_place(where), "line": _line(where), "times": times}
        made[k] = about | (_known(r, end) if r is not None else _COMPUTED)
    return [made[k] for k in range(len(rules))]


_COMPUTED = {"says": "", "if": [], "assumes": [], "doc": "", "proof": "Python code, which the prover does not try"}


def _known(r: Any, end: float) -> dict[str, Any]:
    says = f"{r.before}  \u2192  {r.after}"
    return {"says": says, "if": r.conditions(), "assumes": sorted(r.assumes), "doc": r.doc, "proof": _proof(r, end)}


def _proof(r: Any, end: float) -> str:
    """The prover's verdict in words."""
    if r not in _verdicts:
        if time.monotonic() > end:
            return f"not tried: termgraph rules prove {r.name}"
        verdict = checking.prove(r, SAMPLES)[r.name]
        _verdicts[r] = f"{verdict.text}, tried on {verdict.trials} terms" if verdict.trials else verdict.text
    return _verdicts[r]


def _line(where: str) -> str:
    """The source text of a rule."""
    path, _, line = where.rpartition(":")
    return linecache.getline(path, int(line)).strip() if line.isdigit() else ""
