"""What the driver remembers: which signatures match nothing, and which terms no stage of a pipeline can change.

A signature is the head of a term with the operators and types of its operands. May import nothing of this room but
types.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_MOST_SIGNATURES = 50_000  # then the table starts again: it keeps operators alive


class Memo:
    """Shared by the stages of one pipeline, which rewrite the same graph one after the other.

    A term with the mark `settled` is in normal form for every one of `sets`, and so are its operands. It holds for one
    pipeline only: whether a sum is opened depends on how often the graph at hand uses it.
    """

    def __init__(self, sets: Iterable[Any]) -> None:
        self.sets = tuple(dict.fromkeys(sets))
        self.settled = object()

    def beside(self, rs: Any) -> tuple:
        """The other rule sets."""
        return tuple([s for s in self.sets if s is not rs])


class Verdicts:
    """For one rule set in the company of others: what a signature says of the terms that have it.

    `table[signature]` is False if no rule of any set can match, else the matcher of the set (or False) and those of the
    others.
    """

    def __init__(self, rs: Any, others: tuple) -> None:
        self.rs, self.others = rs, others
        self.table: dict[tuple, Any] = {}

    def judge(self, t: Any, signature: tuple) -> Any:
        """The verdict on a term whose signature is not in the table."""
        mine = self.rs.candidate(t)
        rest = tuple([m for o in self.others if (m := o.candidate(t))])
        verdict = (mine, rest) if mine or rest else False
        if len(self.table) >= _MOST_SIGNATURES:
            self.table.clear()
        self.table[signature] = verdict
        return verdict
