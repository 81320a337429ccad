"""What the driver remembers: which signatures match nothing, and which terms no stage of a pipeline can change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from termgraph.terms.term import AnyTerm

MOST_SIGNATURES = 50_000  # then a table starts again


class Memo:
    """Shared by the stages of one pipeline, which rewrite the same graph one after the other.

    A term with the mark `settled` is in normal form for this stage and all those to come, and so is all below it; with
    the mark `half`, for all but the last stage. So a stage visits what an earlier one has changed, or knew that a rule
    would match, and all above. Marks hold for one pipeline only: whether a sum is opened depends on how often the graph
    at hand uses it.
    """

    def __init__(self, stages: Iterable[Any]) -> None:
        self.stages = tuple(stages)
        self._done: dict[Any, list[Any]] = {}  # what a rule set left behind
        self._restart()

    def _restart(self) -> None:
        self._at = 0
        self.settled, self.half = object(), object()
        # commutative terms of more than two operands, by these in one order
        self.firsts: dict[tuple[Any, ...], Any] = {}

    def enter(self, rs: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """The rule sets still to come as a stage begins, the last one apart; None if it is not the pipeline's next."""
        if self._at == len(self.stages):
            self._restart()  # the pipeline runs once more
        if self.stages[self._at] is not rs:
            return None
        self._at += 1
        last = self.stages[-1]
        others = [s for s in dict.fromkeys(self.stages[self._at :]) if s is not rs]
        return tuple([s for s in others if s is not last]), tuple([s for s in others if s is last])

    @property
    def at_last(self) -> bool:
        """Whether the stage that runs is the last one."""
        return self._at == len(self.stages)

    def unchanged(self, rs: Any, roots: list[Any]) -> bool:
        """Whether these are the very roots that an earlier stage with this rule set left behind."""
        return self._done.get(rs) == roots

    def leave(self, rs: Any, roots: list[Any]) -> None:
        """Note the results of a stage."""
        self._done[rs] = roots


class Verdicts:
    """For one rule set in the company of others: what a signature says of the terms that have it.

    A verdict is False if nothing can be done and True if the term can at most be shared with a commuted one: one that
    differs only in the order of its operands. Otherwise it is the matcher of the set (or False), those of the sets that
    come soon and last, and whether there may be a commuted term. In canonicalize commuted terms become one, the one
    that is met first, as equal terms are one anyway. The signature remembers the last verdict, and by its `key` whose
    it was.
    """

    def __init__(self, rs: Any, soon: tuple[Any, ...], last: tuple[Any, ...]) -> None:
        self.rs, self.soon, self.last = rs, soon, last
        self.merging = any(s.merges_commuted for s in (rs, *soon, *last))
        self.forget()

    def forget(self) -> None:
        """Other rules may match from now on."""
        self.table: dict[Any, Any] = {}
        self.key = object()

    def judge(self, t: AnyTerm) -> Any:
        """The verdict on the signature of a term, which another rule set looked at last."""
        sig = t.sig
        verdict = self.table.get(sig)
        if verdict is None:
            mine = self.rs.candidate(t)
            soon = tuple([m for o in self.soon if (m := o.candidate(t))])
            last = tuple([m for o in self.last if (m := o.candidate(t))])
            commuted = self.merging and _may_swap(t, self.rs.assume)
            verdict = (mine, soon, last, commuted) if mine or soon or last else commuted
            if len(self.table) >= MOST_SIGNATURES:
                self.table.clear()
            self.table[sig] = verdict
        sig.judge, sig.verdict = self.key, verdict
        return verdict


def _may_swap(t: AnyTerm, assume: frozenset[str]) -> bool:
    """Whether another order of the operands gives the same numbers, as far as nothing is taken on trust."""
    if not getattr(t.op, "commutative", False) or len(t.args) < 2:
        return False
    if getattr(t.type, "np_dtype", None) is None or t.type.kind in "biu":
        return True
    if t.op.name in _PICKS_ONE:  # 0.0 or -0.0: whichever comes first
        return "signed_zero" in assume
    return len(t.args) == 2 or "reassoc" in assume


_PICKS_ONE = ("maximum", "minimum", "fmax", "fmin")
