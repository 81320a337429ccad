"""Lazy activation of rules: a rule is compiled once a graph has every operator that its left side names, and a term
that each of its goals waits for (`goal(..., after=test)`).

Until then it cannot match. Most graphs use few operators, so most rules are neither staged nor compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from termgraph.rules.forms import Instance
from termgraph.rules.optional import may_be_missing
from termgraph.rules.pattern import Captured, free_variables, inner_terms
from termgraph.rules.stage import ARITHMETIC
from termgraph.terms.op import Op
from termgraph.terms.ops.basic import dimshuffle

if TYPE_CHECKING:
    from termgraph.rules.kinds import PatternTerm

Form = tuple[Instance, int]  # an instance, and the number of its rule


class LazyActivation:
    """The rules of a set that wait for operators. `met` are the families of operators seen so far, and the tests of
    goals that some term has passed; `awaited` are the other tests.
    """

    def __init__(self, rules: Sequence[Any]) -> None:
        self.met: set[Any] = set()
        rows = [(named(r), _awaited(r), r, number) for number, r in enumerate(rules)]
        self.awaited = list(dict.fromkeys(test for _, tests, _, _ in rows for test in tests))
        self._rules = [(names.union(tests), r, number) for names, tests, r, number in rows]
        self._forms: list[tuple[frozenset[Any], Form]] = []

    def meet(self, new: Iterable[Any]) -> list[Form]:
        """The forms of rules that may match from now on, because a graph has these families of operators too."""
        before = len(self.met)
        self.met.update(new)
        if len(self.met) == before:
            return []
        met = self.met
        self.awaited = [test for test in self.awaited if test not in met]
        staged = [row for row in self._rules if row[0] <= met]
        if staged:
            self._rules = [row for row in self._rules if not row[0] <= met]
            for _, rule, number in staged:
                self._forms += [(below(i.lhs), (i, number)) for i in rule.instances()]
        active = [form for needs, form in self._forms if needs <= met]
        if active:
            self._forms = [row for row in self._forms if not row[0] <= met]
        return active


def named(rule: Any) -> frozenset[Any]:
    """The families that every form of a rule names."""
    found = families(rule.lhs) - _MAY_BE_SPELLED
    return found - {dimshuffle} if any(may_be_missing(v, rule) for v in free_variables(rule.lhs)) else found


def _awaited(rule: Any) -> list[Callable[..., Any]]:
    return [test for g in rule.goals if (test := getattr(g.goal, "after", None)) is not None]


def families(pattern: PatternTerm) -> frozenset[Any]:
    """The families of the operators that a pattern names, at its root too."""
    return frozenset(p.op.family for p in inner_terms(pattern) if isinstance(p.op, (Op, Captured)))


def below(pattern: PatternTerm) -> frozenset[Any]:
    """The families that must be below the root."""
    return frozenset().union(*map(families, pattern.args))


_MAY_BE_SPELLED = frozenset(ARITHMETIC)  # staging writes sums and products in other ways
