"""Single steps: what each of some rules makes of one term, at its root, without order or preference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from termgraph.rules.definition import Rule
from termgraph.rules.fit import BAD_TYPES, fit
from termgraph.rules.interpret import Matcher, result, solve
from termgraph.rules.pattern import Captured
from termgraph.terms.op import Op
from termgraph.terms.term import AnyTerm


class Steps:
    """Rules sorted by the operator at the root of their left sides; `of(term)` gives (number of the rule, new term)."""

    def __init__(self, rules: Sequence[Rule], assume: frozenset[str] = frozenset()) -> None:
        self.rules, self.assume = rules, assume
        self.by_family: dict[Any, list[Any]] = {}
        self.anywhere: list[Any] = []
        for number, r in enumerate(rules):
            matcher = Matcher(r.guards)
            for instance in r.instances():
                head = instance.lhs.op
                known = isinstance(head, (Op, Captured))
                (self.by_family.setdefault(head.family, []) if known else self.anywhere).append(
                    (number, matcher, instance)
                )

    def of(self, t: AnyTerm) -> Iterator[tuple[int, Any]]:
        """All terms of the same type that a rule makes of this one."""
        for number, matcher, instance in (*self.by_family.get(t.op.family, ()), *self.anywhere):
            r = instance.rule
            for env in matcher.root(instance.lhs, t):
                for bound in solve(instance.goals, env, self.assume):
                    try:
                        new = result(instance.rhs, instance.lhs.op, t, bound)
                    except BAD_TYPES:
                        continue
                    if new.type is not t.type:
                        new = fit(new, t, r.name)
                    if new is not None and new is not t and new.type is t.type:
                        yield number, new
