"""What is known already: normal forms by the rules there are and those found so far, and saturation with both."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from termgraph.rules.compiled import RuleSet
from termgraph.rules.definition import Rule
from termgraph.rules.forms import is_nary
from termgraph.rules.price import price
from termgraph.rules.saturation import joined
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm, mk
from termgraph.terms.traverse import children_first, rebuild

if TYPE_CHECKING:
    from termgraph.rules.kinds import PatternTerm

_AGAIN = 3  # times that the stages are gone through after rules found have fired


class Known:
    """The stages of the library (without those where each form gets its cheapest spelling) and the rules found."""

    def __init__(self, stages: Sequence[RuleSet], late: Sequence[RuleSet] = ()) -> None:
        self.stages, self.late = list(stages), list(late)
        self.found: list[Rule] = []
        self.added: RuleSet | None = None
        self._forms: dict[Any, Any] = {}
        self._lasts: dict[Any, Any] = {}

    def add(self, rule: Rule) -> None:
        """Use a rule from now on."""
        self.found.append(rule)
        self._renew()

    def remove(self, rule: Rule) -> None:
        """Use it no more."""
        self.found.remove(rule)
        self._renew()

    def _renew(self) -> None:
        assume = self.stages[0].assume if self.stages else ()
        self.added = RuleSet(self.found, assume, "found") if self.found else None
        self._forms.clear()

    def base(self, t: AnyTerm) -> Any:
        """The normal form by what was known at the beginning."""
        return _through(self.stages, t)

    def form(self, t: AnyTerm) -> Any:
        """The normal form by all rules."""
        found = self._forms.get(t)
        if found is None:
            found = self._forms[t] = self._worked_out(t)
        return found

    def _worked_out(self, t: AnyTerm) -> Any:
        now = self.base(t)
        for _ in range(_AGAIN):
            new = now if self.added is None else _through([self.added], now)
            if new is now:
                break
            now = self.base(new)
        return in_one_order(now)

    def joins(self, a: PatternTerm, b: PatternTerm) -> bool:
        """Whether both come to the same form, before or after the last stages."""
        a, b = self.form(a), self.form(b)
        if a is b or (b.op is CONST and uniform(a) is b):
            return True
        return bool(self.late) and self._last(a) is self._last(b)

    def _last(self, t: AnyTerm) -> Any:
        found = self._lasts.get(t)
        if found is None:
            found = self._lasts[t] = in_one_order(_through(self.late, t))
        return found

    def saturates(
        self, a: PatternTerm, b: PatternTerm, rules: Sequence[Rule], rounds: int = 3, limit: int = 400
    ) -> bool:
        """Whether the rules, read in both directions, show the two to be equal."""
        assume = self.stages[0].assume if self.stages else frozenset()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return joined(self.form(a), self.form(b), [*rules, *self.found], price, assume, rounds, limit)


def in_one_order(t: AnyTerm) -> Any:
    """The term with the operands of sums, products and the like in an order that does not depend on how it was made."""

    def ordered(s: AnyTerm, args: tuple[Any, ...]) -> Any:
        if not args:
            return s
        if is_nary(s.op) or s.op.commutative:
            args = tuple(sorted(args, key=lambda a: (a.op is not CONST, repr(a))))
        return mk(s.op, args)

    return rebuild([t], ordered)[0]


def uniform(t: AnyTerm) -> Any:
    """The number that all elements are, if that is written there."""
    return t.args[0] if t.args and t.op.name == "alloc" else t


def _through(stages: Sequence[RuleSet], t: AnyTerm) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loops are reported of the rules that are handed out
        for stage in stages:
            (t,), _ = stage.rewrite_terms([t])
    return t


def cost_of_term(t: AnyTerm, root: Callable[[Any], float] = price) -> tuple[float, int, int]:
    """What a term costs: its operations, their number, the number of its leaves."""
    inside = [s for s in children_first([t]) if s.args]
    return sum(map(root, inside)), len(inside), _leaves(t)


def _leaves(t: Any) -> int:
    return sum([_leaves(a) for a in t.args]) if t.args else 1
