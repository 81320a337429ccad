"""Forms of an expression: what single rules make of its parts, in both directions, tidied by those that always hold."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from termgraph.db import database
from termgraph.db.queries import PLUS_ZERO, TRUSTED
from termgraph.rules.defined import changes
from termgraph.rules.definition import Rule
from termgraph.rules.facts import FACTS, TermFact, knowledge_version
from termgraph.rules.goals import Goal
from termgraph.rules.memo import Memo
from termgraph.rules.pattern import inner_terms
from termgraph.rules.saturation import both_ways
from termgraph.rules.steps import Steps
from termgraph.terms.op import Op
from termgraph.terms.ops.elementwise import add, mul, sub, true_div
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first, substitute

STAGES = ("canonicalize", "stabilize", "canonicalize")
_MOST_STEPS = 40  # forms of one node


@functools.cache
def _steps(version: tuple) -> Steps:
    """The rules that hold somewhere only, or are better somewhere only; the others tidy up."""
    rules = database.query("+fast_run", "+saturate", "+accurate", assume=(*TRUSTED, "overflow")).rules
    chosen = [r for r in rules if _moves(r) and _pointwise(r)]
    measured = [r for r in chosen if r.tags & {"accurate", "saturate"} or r.topic in _BOTH_WAYS]
    backwards = both_ways(measured)[len(measured) :]
    return Steps([*chosen, *backwards], frozenset((*TRUSTED, "overflow", *FACTS)))  # where facts fail, it is measured


_BOTH_WAYS = frozenset(("exponentials", "logs", "powers", "roots", "trigonometry", "hyperbolic"))


def _moves(r: Rule) -> bool:
    if r.tags & {"accurate", "saturate"}:
        return True
    beyond_zeros = r.assumes - {"signed_zero", PLUS_ZERO}
    return bool(beyond_zeros) and not r.tags & {"scan", "gpu", "grad"} and r.topic != "collect"


def _pointwise(r: Rule) -> bool:
    """Whether the rule, for some operators at least, is about those that take one element at a time."""
    if not all(isinstance(g.goal, (Goal, TermFact)) for g in r.goals if not g.over_operators):
        return False
    return any(all(map(_of_elements, (i.lhs, i.rhs))) for i in r.instances())


def _of_elements(side: AnyTerm) -> bool:
    return all(isinstance(p.op, Op) and p.op.family.kind == "elementwise" for p in inner_terms(side))


def steps() -> Steps:
    """The rules tried one by one, for the rules there are now."""
    return _steps((changes(), knowledge_version()))


def rules_in_stages(trusting: bool) -> list[Any]:
    """The rule sets of a whole rewriting: all that hold everywhere, or also those that default modes take on trust."""
    assume = None if trusting else ()
    return [database.query("+fast_run", f"&{s}", assume=assume) for s in STAGES]


class Tidy:
    """Rewriting in stages, of many terms that share parts."""

    def __init__(self, trusting: bool) -> None:
        self.sets = rules_in_stages(trusting)
        self.memo = Memo(self.sets)

    def __call__(self, roots: list[Any]) -> list[Any]:
        for rs in self.sets:
            roots, _ = rs.rewrite_terms(roots, strict=False, memo=self.memo)
        return roots


class Collected:
    """Sums that a step has made, with what cancels in them gone, each by itself: `(x + 1) - x` is 1.

    A whole rewriting leaves `x + 1` alone if something else uses it as well.
    """

    def __init__(self) -> None:
        self.rules = rules_in_stages(trusting=True)[0]
        self.done: dict[Any, Any] = {}

    def __call__(self, new: Any, old: frozenset) -> Any:
        changed = {}
        for t in children_first([new]):
            if t.op in _COLLECTED and t not in old:
                if t not in self.done:
                    self.done[t] = self.rules.rewrite_terms([t])[0][0]
                found = self.done[t]
                if found is not t and found.type is t.type:
                    changed[t] = found
        return substitute([new], changed)[0] if changed else new


_COLLECTED = frozenset((add, sub, mul, true_div))


def neighbours(root: AnyTerm, leaves: frozenset, largest: int, collected: Collected) -> Iterator[tuple[str, Any]]:
    """Each form that one step gives, with the name of its rule; none of more than `largest` operations."""
    all_steps = steps()
    parts = children_first([root])
    old = frozenset(parts)
    for t in reversed(parts):
        if not t.args or t in leaves:
            continue
        for found, (number, new) in enumerate(all_steps.of(t)):
            if found >= _MOST_STEPS:
                break
            for made in dict.fromkeys((new, collected(new, old))):
                whole = made if t is root else substitute([root], {t: made})[0]
                if whole.type is root.type and size(whole) <= largest:
                    yield all_steps.rules[number].name, whole


def size(root: Any) -> int:
    """How many operations a term has, shared ones counted once."""
    return sum([1 for t in children_first([root]) if t.args])
