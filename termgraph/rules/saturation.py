"""Equality saturation: every form that rules give a graph, in both directions, and then the cheapest of them.

Rewriting goes one way, one rule after the other; here equal terms share a class, so that no choice excludes another.
Rules are matched on concrete terms, those of a class in turn, so that guards, goals and facts mean what they always do.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from termgraph.rules.definition import Rule, finish
from termgraph.rules.eclasses import Classes
from termgraph.rules.steps import Steps
from termgraph.rules.trace import Trace
from termgraph.terms.errors import RuleError
from termgraph.terms.term import Term, mk
from termgraph.terms.traverse import children_first

if TYPE_CHECKING:
    from termgraph.rules.kinds import PatternTerm

_FORMS = 6  # of an operand, that are tried in a term
_TRIED = 24  # terms of one node in a round


class Saturated:
    """What was found: `terms`, their `cost` and the cost `before`, the `trace` from one to the other.

    `used` counts the rules that showed two forms to be equal, `size` says how many forms there were. `stopped` says why
    the search ended: "saturated" (no rule gives anything new), "rounds" or "limit".
    """

    def __init__(self, terms: list[Any], trace: Trace, cost: float, before: float, stopped: str) -> None:
        self.terms, self.trace, self.cost, self.before, self.stopped = terms, trace, cost, before, stopped
        self.used: Counter[str] = Counter()
        self.size = 0

    def __repr__(self) -> str:
        return f"<cost {self.before:g} -> {self.cost:g}, {self.size} forms, {self.stopped}>"


def saturate(
    roots: Sequence[Any], rules: Sequence[Rule], price: Callable[[Any], float], assume: frozenset[str] = frozenset(),
    rounds: int = 8, limit: int = 5000,
) -> Saturated:  # fmt: skip
    """The cheapest terms that are equal to the roots by these rules, read from left to right and from right to left."""
    search = _Search(roots, both_ways(rules), price, assume, limit)
    stopped = "rounds"
    for _ in range(rounds):
        if not search.round():
            stopped = "saturated"
            break
        if search.full:
            stopped = "limit"
            break
    return search.found(stopped)


def joined(
    a: PatternTerm,
    b: PatternTerm,
    rules: Sequence[Rule],
    price: Callable[[Any], float],
    assume: frozenset[str],
    rounds: int,
    limit: int,
) -> bool:
    """Whether these rules, read from left to right and from right to left, show two terms to be equal."""
    search = _Search([a, b], both_ways(rules), price, assume, limit)
    for _ in range(rounds):
        more = search.round()
        search.classes.settle()
        if search.classes.find(search.ids[0]) == search.classes.find(search.ids[1]):
            return True
        if not more or search.full:
            return False
    return False


def both_ways(rules: Sequence[Rule]) -> list[Rule]:
    """The rules, and those that can be turned round: all of whose metavariables are on the right side."""
    out = list(rules)
    for r in rules:
        back = reversed_rule(r)
        if back is not None:
            out.append(back)
    return out


def reversed_rule(r: Rule) -> Rule | None:
    """The rule from right to left, or None where that is no rule."""
    topic, _, short = r.name.partition(".")
    if r.rhs.__class__ is not Term:
        return None
    back = Rule(f"{short}_back", r.rhs, r.lhs, r.goals, r.assumes, r.where, r.doc)
    try:
        return finish(back, topic, r.tags, r.kinds, r.order)
    except RuleError:
        return None


class _Search:
    def __init__(
        self, roots: Sequence[Any], rules: list[Rule], price: Callable[[Any], float], assume: frozenset[str], limit: int
    ) -> None:
        self.roots, self.rules, self.price, self.limit = list(roots), rules, price, limit
        self.classes = Classes(price)
        self.ids = [self.classes.add(t) for t in self.roots]
        self.steps = Steps(rules, assume)
        self.tried: set[Any] = set()
        self.used: Counter[str] = Counter()
        self.reasons: dict[int, int] = {}  # for a class, the rule that last gave it a form

    @property
    def full(self) -> bool:
        """Whether there are as many forms as allowed."""
        return self.classes.size() > self.limit

    def round(self) -> bool:
        """Try the rules on all forms there are; whether anything new was found."""
        self.classes.settle()
        changed = False
        for place, node in self.classes.members():
            for t in itertools.islice(self._terms(node), _TRIED):
                if t in self.tried:
                    continue
                self.tried.add(t)
                for number, new in self.steps.of(t):
                    if self.classes.join(place, new):
                        self.used[self.rules[number].name] += 1
                        self.reasons[place] = number
                        changed = True
            if self.full:
                break
        return changed

    def _terms(self, node: tuple[Any, ...]) -> Iterator[Any]:
        """A node on the forms of its operands: the cheapest of all, then one operand in another form, then all."""
        op, operands = node
        if not operands:
            return
        forms = [self.classes.forms(c, _FORMS) for c in operands]
        best = tuple([f[0] for f in forms])
        yield mk(op, best)
        for i, others in enumerate(forms):
            for other in others[1:]:
                yield mk(op, (*best[:i], other, *best[i + 1 :]))
        if len(forms) == 2:
            for args in itertools.product(*[f[1:] for f in forms]):
                yield mk(op, args)

    def found(self, stopped: str) -> Saturated:
        """The cheapest forms; the roots themselves where sharing makes them cheaper than what was found."""
        self.classes.settle()
        terms = [self.classes.cheapest(c) for c in self.ids]
        before, after = self._cost(self.roots), self._cost(terms)
        trace = Trace(self.roots, self.rules, "saturate")
        if after < before:
            trace.steps += self._steps(terms)
        else:
            terms, after = self.roots, before
        found = Saturated(terms, trace, after, before, stopped)
        found.used, found.size = self.used, self.classes.size()
        return found

    def _cost(self, terms: Sequence[Any]) -> float:
        return sum([self.price(t) for t in children_first(terms) if t.args])

    def _steps(self, terms: Sequence[Any]) -> Iterator[tuple[int, Any, Any]]:
        """Which terms of the graph were replaced, by which rule's work."""
        reasons = {self.classes.find(c): number for c, number in self.reasons.items()}
        new = {self.classes.add(t): t for t in children_first(terms)}
        for old in children_first(self.roots):
            c = self.classes.add(old)
            if c in reasons and new.get(c, old) is not old:
                yield reasons[c], old, new[c]
