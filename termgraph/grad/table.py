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
    from termgraph import db
    from termgraph.rules import tree
else:  # a warm start of a program with loops loads no rules
    db = lazy("termgraph.db")
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
        self.rules: Any = None
        self.rows: dict[Any, list] = {}
        self.matchers: dict[Any, Any] = {}

    def refresh(self) -> None:
        """Take notice of rules defined since the last time."""
        rules = db.query("+grad")
        if rules is self.rules:
            return
        rows: dict[Any, list] = {}
        for number, rule in enumerate(rules):
            for instance in rule.instances():
                if instance.lhs.op is self.head:
                    family = getattr(instance.lhs.args[0].op, "family", None)
                    rows.setdefault(family, []).append((instance, number))
        self.rows, self.matchers = rows, {}
        self.rules = rules  # last: another thread that sees them finds the table complete

    def ask(self, op: Op, args: tuple) -> Any:
        """The right side of the rule for `head(*args)`, where args[0] applies `op`; None without a rule."""
        family = op.family
        ask = self.matchers.get(family)
        if ask is None:
            ask = self.matchers[family] = self._compile(family)
        found = ask(Question(self.head, args))
        return None if found is None else found[0]

    def _compile(self, family: Op) -> Callable:
        rows = sorted([*self.rows.get(family, ()), *self.rows.get(None, ())], key=lambda row: row[1])
        if not rows:
            return lambda question: None
        return tree.matcher(self.head, rows, self.rules.assume, self.rules.context)[0]


pullbacks = DerivativeTable(pullback)
pushforwards = DerivativeTable(pushforward)
