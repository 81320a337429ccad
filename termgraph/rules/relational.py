"""The relational engine: a rule set of which miniKanren finds every step. Slow: the measure of the compiled one.

What to try where (innermost, operands in order, rules in their order) is the driver's, which both engines share. What
matches, which goals hold and what is made is answered by `kanren.run` on the relation of one form of a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from kanren import run
from unification import var

from termgraph.rules.compiled import RuleSet
from termgraph.rules.forms import Instance
from termgraph.rules.relation import step
from termgraph.rules.tree import forms_as_tried
from termgraph.terms.term import Term


class RelationalRuleSet(RuleSet):
    """The same rules, answered by kanren. `asked` counts the questions, `answered` those that had an answer."""

    def _begin(self, assume: Iterable[Any], name: str) -> None:
        super()._begin(assume, name)
        self.asked = self.answered = 0

    def _compile(self, family: Any, rows: list[Any]) -> Callable[..., Any]:
        """What takes a term of that family one step further: the first answer of the first form that has one."""

        numbers = dict(rows)
        orders: dict[int, list[tuple[Instance, tuple[Any, ...] | None]]] = {}

        def match(t: Term) -> Any:
            n = len(t.args)
            if n not in orders:
                orders[n] = forms_as_tried(family, rows, n)
            for instance, order in orders[n]:
                self.context.rule = numbers[instance]
                self.asked += 1
                made = var()
                answers = tuple(run(1, made, step(instance, t, made, self.assume, order)))
                if answers:
                    self.answered += 1
                    return answers[0], numbers[instance]
            return None

        match.screen = None  # type: ignore[attr-defined]
        self._sources[family] = f"# {len(rows)} forms of rules, asked one after the other by kanren\n"
        return match


@lru_cache(maxsize=32)
def relational(rules: RuleSet) -> RelationalRuleSet:
    """The rules of a set, answered by kanren."""
    return RelationalRuleSet(rules.rules, rules.assume, rules.name)
