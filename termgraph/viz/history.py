"""Which rules made the nodes of a compiled graph: for each the last one, and from each rule the one before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first, region


class Applied(NamedTuple):
    """A rule that was applied: its name and place, the stage, and the number of what made what it was applied to."""

    rule: str
    where: str
    stage: str
    before: int


def short_place(where: str) -> str:
    """`rules/logs.py:12`: the folder, the file and the line of a rule."""
    path, _, line = where.rpartition(":")
    return f"{'/'.join(Path(path).parts[-2:])}:{line}" if path else where


class MadeBy:
    """The records of rewriting a graph, by the terms that they made."""

    def __init__(self, records: list[Applied]) -> None:
        self.records = records
        self._number: dict[Any, int] = {}  # term -> the rule that brought it in
        self._old: dict[Any, Any] = {}  # term -> what it was before an operand of it was replaced
        self._seen: set[Any] = set()

    def add(self, trace: Any) -> None:
        """What one stage rewrote."""
        self._seen.update(children_first(getattr(trace, "roots", ())))
        moved = getattr(trace, "moved", ())  # what passes do is told without it
        for new, old in zip(moved[1::2], moved[::2]):
            if new not in self._seen:
                self._old.setdefault(new, old)
        for r in trace:
            self.records.append(Applied(r.rule, str(r.where), r.stage, self.rule_of(r.before)))
            self._note(r.after, len(self.records) - 1)
        self._seen.update(self._old)

    def _note(self, after: AnyTerm, number: int) -> None:
        new, _ = region([after], lambda t: t not in self._seen and t not in self._old)
        self._seen.update(new)
        self._number.update(dict.fromkeys(new, number))

    def rule_of(self, term: AnyTerm) -> int:
        """The number of the record of the rule that made a term; -1 if it is as it was written."""
        followed: set[Any] = set()
        while term not in self._number and term in self._old and term not in followed:
            followed.add(term)
            term = self._old[term]
        return self._number.get(term, -1)


class RuleHistory:
    """What rules made of an object: in its graph (`made`) and in the bodies of its loops (`made_inside`)."""

    def __init__(self, obj: object) -> None:
        self.records: list[Applied] = []
        self.made, self.made_inside = MadeBy(self.records), MadeBy(self.records)
        for trace in getattr(getattr(getattr(obj, "maker", None), "work", None), "traces", ()):
            (self.made if trace.body is None else self.made_inside).add(trace)
