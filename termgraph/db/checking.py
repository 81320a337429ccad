"""Proving and linting many rules: in several processes, stage by stage, with findings that were accepted set aside.

What comes back is plain data, so that it can cross processes and be printed as JSON.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from os import PathLike
from pathlib import Path
from typing import Any

from termgraph import _rulelib
from termgraph._records import NamedTuple
from termgraph.db import database
from termgraph.db.queries import TRUSTED
from termgraph.rules.checking.linter import LintReport, copies_across, joined
from termgraph.rules.checking.linter import lint as lint_together
from termgraph.rules.checking.overlaps import Around
from termgraph.rules.checking.prover import prove_rule
from termgraph.rules.checking.verdict import ProofReport
from termgraph.rules.compiled import RuleSet
from termgraph.rules.definition import Rule
from termgraph.rules.words import ASSUMPTIONS

Record = dict[str, Any]
_BATCH = 12  # rules per task: small, so that processes end together
PIPELINE = ("canonicalize", "stabilize", "canonicalize", "specialize")
STAGES = ("canonicalize", "stabilize", "specialize", "scan")


# ---------------------------------------------------------------------- by name
def prove(rules: Any, samples: int = 24, seed: int = 0) -> ProofReport:
    """Try every rule numerically against what it assumes.

    `rules` is a name, a topic or a tag, a rule, a table or a rule set, or several of them; `samples` is how many terms
    are tried per rule.

    >>> import termgraph as tg
    >>> tg.rules.prove("logs.log1p").ok
    True
    """
    return ProofReport([prove_rule(r, samples, seed) for r in database.named(rules)])


def lint(rules: Any, seed: int = 0, pairs: int = 4000) -> LintReport:
    """Check rules for loops, dead rules, duplicates and order-dependent pairs: those of a stage together, between the
    stages before and after it, as `termgraph rules lint` does. A rule set is taken as it is.

    `rules` is given as in `prove`; `pairs` bounds how many overlaps are tried in a stage.

    >>> import termgraph as tg
    >>> tg.rules.lint("logs").ok
    True
    """
    if isinstance(rules, RuleSet):
        return lint_together(rules, seed, pairs)
    reports = [report for _, report in _stage_reports(database.named(rules), seed, pairs)]
    return reports[0] if len(reports) == 1 else joined(reports)


# ---------------------------------------------------------------------- proving
def prove_records(
    rules: Sequence[Rule], samples: int = 24, seed: int = 0, jobs: int = 1, files: Sequence[Any] = ()
) -> list[Record]:
    """The prover's verdicts as plain data, in the order of the rules. `files` are rule files that workers load too."""
    names = [r.name for r in rules]
    if jobs <= 1 or len(names) <= _BATCH:
        return _proved(names, samples, seed)
    batches = [names[i : i + _BATCH] for i in range(0, len(names), _BATCH)]
    paths = [str(f) for f in files]
    with ProcessPoolExecutor(jobs, get_context("spawn"), _load_files, (paths,)) as pool:
        tasks = [pool.submit(_proved, batch, samples, seed) for batch in batches]
        return [record for task in tasks for record in task.result()]


def _load_files(paths: Sequence[str]) -> None:
    warnings.simplefilter("ignore")  # the parent has reported what is wrong with them
    for path in paths:
        database.load(path)


def _proved(names: Sequence[str], samples: int, seed: int) -> list[Record]:
    by_name = {r.name: r for r in database.all_rules()}
    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            verdict = prove_rule(by_name[name], samples, seed)
            out.append(
                verdict.record() | {"says": _says(verdict.rule), "details": verdict.details(), "sides": _sides(verdict)}
            )
    return out


def assumptions() -> dict[str, str]:
    """What rules may take on trust, in words."""
    return dict(ASSUMPTIONS)


def _sides(verdict: Any) -> list[str]:
    """The example of a verdict, before and after."""
    example = verdict.example
    return [repr(example.before), repr(example.after)] if example else []


def _says(r: Rule) -> str:
    return f"{r.before} -> {r.after}"


def processors() -> int:
    """How many processes may run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ---------------------------------------------------------------------- linting
class Accepted(NamedTuple):
    """A finding of the checker that is known and meant: its kind, the rules it is about, and why it stays."""

    kind: str
    rules: str  # a regular expression for the whole of "first" or "first / second"
    reason: str


def accepted_findings(path: str | PathLike | None = None) -> list[Accepted]:
    """The accepted findings in a JSON file; by default those of the rule library."""
    path = Path(path) if path is not None else _rulelib.folder() / "accepted.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    out = [Accepted(row["kind"], row["rules"], row["reason"]) for row in rows]
    for row in out:
        if len(row.reason.split()) < 4:
            raise ValueError(f"{path}: say in a sentence why {row.kind!r} of {row.rules} is accepted")
    return out


def lint_records(
    rules: Iterable[Rule], accepted: Sequence[Accepted] = (), seed: int = 0, pairs: int = 4000
) -> tuple[list[Record], dict[str, Any]]:
    """Findings about rules, each stage checked by itself, and a summary. Accepted ones carry their reason.

    An accepted finding that is met no more is a finding itself: the list must stay true.
    """
    chosen = list(rules)
    findings: list[Record] = []
    summary: dict[str, Any] = {"rules": len(chosen), "overlaps": 0, "inner first": 0, "suggestions": []}
    for stage, report in _stage_reports(chosen, seed, pairs):
        found = report.record()
        findings += [
            f | {"stage": stage, "subject": _subject(f)} for f in found["findings"] if f["kind"] != "inner first"
        ]
        summary["inner first"] += sum(f["kind"] == "inner first" for f in found["findings"])
        summary["overlaps"] += found["overlaps"]
        summary["suggestions"] += found["suggestions"]
    used: Counter[Accepted] = Counter()
    for f in findings:
        match = next((a for a in accepted if a.kind == f["kind"] and re.fullmatch(a.rules, f["subject"])), None)
        f["accepted"] = match.reason if match else None
        used.update([match] if match else [])
    stale = [a for a in accepted if not used[a]]
    findings += [_stale(a) for a in stale]
    summary["ok"] = all(f["accepted"] for f in findings)
    return findings, summary


def _by_stage(rules: list[Rule]) -> Iterator[tuple[str, list[Rule]]]:
    """Rules that run together: those of one stage tag; what has no stage tag is one more group."""
    for stage in STAGES:
        members = [r for r in rules if stage in r.tags and "unsafe" not in r.tags]
        if members:
            yield stage, members
    apart = {*STAGES, "grad", "unsafe", "saturate", "accurate"}  # the last two go both ways
    others = [r for r in rules if not r.tags & apart]
    if others:
        yield "other", others


def _stage_reports(rules: list[Rule], seed: int, pairs: int) -> Iterator[tuple[str, LintReport]]:
    for stage, members in _by_stage(rules):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield stage, lint_together(RuleSet(members, TRUSTED, stage), seed, pairs, _around(stage))
    copies = copies_across([members for stage, members in _by_stage(rules) if stage in STAGES])
    if copies.findings:
        yield "several", copies


def _around(stage: str) -> Around | None:
    """What a stage's terms have been through when they reach it, and what happens to those it makes."""
    if stage not in PIPELINE:
        return None
    sets = [database.query("+fast_run -unsafe", f"&{s}") for s in PIPELINE]
    return Around(sets[: PIPELINE.index(stage)], sets)


def _subject(f: Record) -> str:
    """What a finding is about: one rule, or the two of a pair."""
    paired = f["kind"] in ("does not join", "inner first")
    return f["text"].partition(":")[0] if paired else f["rule"]


def _stale(a: Accepted) -> Record:
    text = f"is on the list of accepted findings as {a.kind!r}, but is not found any more: remove it there"
    return {"kind": "not found any more", "rule": a.rules, "where": "", "text": text, "error": True,
            "stage": "", "subject": a.rules, "accepted": None}  # fmt: skip
