"""Verdicts of the prover and the report of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from termgraph.rules.checking.compare import WRONG
from termgraph.rules.checking.report import Table, counts_text
from termgraph.rules.definition import Rule

UNTESTED, REFUSED, DERIVATIVE, ACCURATE = "untested", "refused", "derivative", "more accurate"


class Verdict:
    """What the prover found about one rule."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.kind = UNTESTED
        self.trials = 0
        self.counts: Counter[str] = Counter()
        self.refused = 0
        self.example: Any = None
        self.undeclared: list[str] = []  # differences that nothing in `assumes` excuses
        self.counterexamples: list[str] = []
        self.needs: set[frozenset[str]] = set()  # for each of these, one that would excuse a difference

    @property
    def name(self) -> str:
        """The rule's name."""
        return self.rule.name

    @property
    def ok(self) -> bool:
        """Tested, not wrong, and every difference excused by what the rule assumes."""
        return self.kind not in (WRONG, UNTESTED, REFUSED) and not self.undeclared

    @property
    def text(self) -> str:
        """The verdict in a few words."""
        return self.kind + (" (undeclared)" if self.undeclared else "")

    def details(self) -> str:
        """The rule, where it is, and its counterexamples."""
        lines = [f"{self.text}: {self.rule!r}", f"  at {self.rule.where}"]
        if self.kind == UNTESTED:
            lines.append("  no term was found that it applies to, so nothing is known about it")
        if self.kind == REFUSED:
            lines.append("  every match was refused: the right side cannot be given the left side's type")
        return "\n".join([*lines, *self.undeclared, *self.counterexamples])

    def record(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return {
            "rule": self.name, "where": self.rule.where, "verdict": self.kind, "ok": self.ok, "trials": self.trials,
            "assumes": sorted(self.rule.assumes), "undeclared": self.undeclared,
            "counterexamples": self.counterexamples, "example": repr(self.example) if self.example else None,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<{self.name}: {self.text}, {self.trials} trials>"


class ProofReport:
    """Verdicts by rule. `.ok`, printable, iterable; `report[name]` is one verdict."""

    def __init__(self, verdicts: list[Verdict]) -> None:
        self.verdicts = verdicts

    @property
    def ok(self) -> bool:
        """No rule is wrong, untested, or different in a way it does not declare."""
        return all(v.ok for v in self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, name: str) -> Verdict:
        for v in self.verdicts:
            if v.name == name:
                return v
        raise KeyError(f"no verdict on {name!r}; the report has {len(self.verdicts)} rules")

    @property
    def bad(self) -> list[Verdict]:
        """The verdicts that are not ok."""
        return [v for v in self.verdicts if not v.ok]

    def table(self, width: int | None = None) -> str:
        """One line per rule."""
        rows = [(v.name, v.text, str(v.trials), ", ".join(sorted(v.rule.assumes)), f"{v.rule.before} -> {v.rule.after}")
                for v in self.verdicts]  # fmt: skip
        return Table(("rule", "verdict", "trials", "assumes", "says"), rows).text(width)

    def __str__(self) -> str:
        bad = [v.details() for v in self.bad]
        counts = counts_text(Counter(v.text for v in self.verdicts))
        return "\n\n".join([self.table(), *bad, f"{len(self.verdicts)} rules: {counts}"])

    def __repr__(self) -> str:
        return f"<proof report: {len(self.verdicts)} rules, {'ok' if self.ok else f'{len(self.bad)} not ok'}>"
