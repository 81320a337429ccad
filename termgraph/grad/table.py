"""The derivative rules, found by op:
one small matcher for each op that is differentiated, compiled when first needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.terms.op import Op
from termgraph.terms.ops.derivative import GRADIENTS, pullback, pushforward

if TYPE_CHECKING:
    from termgraph.db import derivatives, loading
    from termgraph.rules import tree
else:  # a warm start of a program with loops loads no rules
    derivatives, loading = lazy("termgraph.db.derivatives"), lazy("termgraph.db.loading")
    tree = lazy("termgraph.rules.tree")


class Question:
    """`pullback(y, g)` or `pushforward(y, *tangents)` as a matcher sees it; too short-lived to be interned."""

    __slots__ = ("args", "op", "type")

    def __init__(self, op: Op, args: tuple) -> None:
        self.op, self.args = op, args
        self.type = GRADIENTS


class DerivativeTable:
    """The rules with one head, `pullback` or `pushforward`, sorted by the op they differentiate."""

    def __init__(self, head: Op) -> None:
        self.head = head
        self.changes = 0
        self.rows: tuple[Any, dict[Any, list]] = (None, {})  # a rule set, and its rules by op
        self.matchers: dict[Any, Any] = {}

    def refresh(self) -> None:
        """Take notice of rules defined since the last time."""
        now = loading.changes()
        if now != self.changes:
            self.rows, self.matchers = (None, {}), {}
            self.changes = now

    def ask(self, op: Op, args: tuple) -> Any:
        """The right side of the rule for `head(*args)`, where args[0] applies `op`; None without a rule."""
        family = op.family
        ask = self.matchers.get(family)
        if ask is None:
            ask = self.matchers[family] = self._compile(family)
        found = ask(Question(self.head, args))
        return None if found is None else found[0]

    def _compile(self, family: Op) -> Callable:
        rules = derivatives.rules_of(self.head, family)
        if self.rows[0] is not rules:
            self.rows = rules, derivatives.by_family(self.head, rules)
        known, by_op = self.rows
        rows = sorted([*by_op.get(family, ()), *by_op.get(None, ())], key=lambda row: row[1])
        if not rows:
            return lambda question: None
        return tree.matcher(self.head, rows, known.assume, known.context)[0]


pullbacks = DerivativeTable(pullback)
pushforwards = DerivativeTable(pushforward)
