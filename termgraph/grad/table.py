"""The derivative rules, found by op: one small matcher for each op that is differentiated, made when first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.terms.op import Op
from termgraph.terms.ops.derivative import GRADIENTS, pullback, pushforward

if TYPE_CHECKING:
    from termgraph.db import derivatives
    from termgraph.rules import defined
else:  # a warm start of a program with loops loads no rules
    derivatives, defined = lazy("termgraph.db.derivatives"), lazy("termgraph.rules.defined")


class Question:
    """`pullback(y, g)` or `pushforward(y, *tangents)` as a matcher sees it; too short-lived to be interned."""

    __slots__ = ("args", "op", "type")

    def __init__(self, op: Op, args: tuple) -> None:
        self.op, self.args = op, args
        self.type = GRADIENTS


class MatcherTable:
    """A matcher for each op that was asked about."""

    def __init__(self) -> None:
        self.changes = 0
        self.matchers: dict[Any, Any] = {}

    def refresh(self) -> None:
        """Take notice of rules defined since the last time."""
        now = defined.changes()
        if now != self.changes:
            self.matchers, self.changes = {}, now


class DerivativeTable(MatcherTable):
    """The rules with one head, `pullback` or `pushforward`, sorted by the op they differentiate."""

    def __init__(self, head: Op) -> None:
        super().__init__()
        self.head = head

    def ask(self, op: Op, args: tuple) -> Any:
        """The right side of the rule for `head(*args)`, where args[0] applies `op`; None without a rule."""
        family = op.family
        ask = self.matchers.get(family)
        if ask is None:
            ask = self.matchers[family] = derivatives.matcher_of(self.head, family) or _no_rule
        found = ask(Question(self.head, args))
        return None if found is None else found[0]


class StableForms(MatcherTable):
    """Functions that were written as formulas (`log(1 + exp(x))`), by what they are (`softplus(x)`)."""

    def of(self, t: Any) -> Any:
        """The term in the form that is differentiated, or itself."""
        while True:
            family = t.op.family
            ask = self.matchers.get(family)
            if ask is None:
                ask = self.matchers[family] = derivatives.stable_matcher_of(family) or _no_rule
            found = ask(t)
            if found is None:
                return t
            t = found[0]


def _no_rule(asked: object) -> None:
    return None


pullbacks = DerivativeTable(pullback)
pushforwards = DerivativeTable(pushforward)
stable_forms = StableForms()
