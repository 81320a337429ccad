"""Examples of a rule: random terms that its left side matches and its goals admit, with what the rule makes of them."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from unification import Var

from termgraph.rules.checking.draw import Draw, Retry, meeting_dtypes
from termgraph.rules.checking.families import WRAPPERS
from termgraph.rules.checking.hints import HINTS
from termgraph.rules.definition import Rule
from termgraph.rules.facts import FACTS, TermFact
from termgraph.rules.fit import BAD_TYPES, fit
from termgraph.rules.forms import Instance
from termgraph.rules.interpret import Matcher, argument, result, solve
from termgraph.terms.term import AnyTerm, Term

_TRIES_PER_SAMPLE = 40
_MOST_TRIES = 1500
_DTYPE_TURNS = (
    "float64", "int64", "float64", "float32", "int8", "complex128", "uint8", "bool", "float64", "int32", "float32",
)  # fmt: skip


class Example:
    """A term that a rule applies to, and what becomes of it."""

    __slots__ = ("after", "before", "draw", "facts", "instance")

    def __init__(self, instance: Instance, draw: Draw, before: Any, after: Any, facts: list[Any]) -> None:
        self.instance, self.draw, self.before, self.after, self.facts = instance, draw, before, after, facts

    def __repr__(self) -> str:
        return f"{self.before!r} -> {self.after!r}"


def examples(rule: Rule, count: int = 3, seed: int = 0) -> list[Example]:
    """Terms that the rule applies to, with what it makes of them. Fewer than `count` if they are hard to find."""
    maker = Examples(rule, seed)
    out: list[Example] = []
    instances = rule.instances()
    for i in range(count):
        if instances:
            instance = instances[i % len(instances)]
            try:
                out.extend(maker.draw(instance) or (maker.search(instance) if not out else []))
            except RuleRaised:
                continue
    return out


def loose_examples(rule: Rule, tries: int = 200, seed: int = 0) -> Iterator[Example]:
    """More terms that the rule applies to: of inputs rather than constants, with unknown lengths, of every kind."""
    maker = Examples(rule, seed)
    instances = rule.instances()
    for i in range(tries if instances else 0):
        fancy, favourite = ((0.0, None), (0.3, None), (0.5, WRAPPERS[i % len(WRAPPERS)]))[i % 3]
        try:
            yield from maker.attempt(instances[i % len(instances)], fancy, favourite, loose=True)
        except RuleRaised:
            continue


class RuleRaised(Exception):
    """A goal or a right side raised an exception where the left side matched."""

    def __init__(self, before: Any, error: Exception) -> None:
        self.before, self.error = before, error
        super().__init__(f"{type(error).__name__}: {error}")


_OF_RANGES = frozenset(("apart", "at_most", "below", "divides"))


class Examples:
    """Draws terms of a rule's left side until its goals hold."""

    def __init__(self, rule: Rule, seed: int, dtypes: Sequence[str] = _DTYPE_TURNS, meeting: bool = False) -> None:
        self.rule, self.dtypes, self.meeting = rule, meeting_dtypes() if meeting else dtypes, meeting
        self.rng = random.Random(zlib.crc32(f"{rule.name} {seed}{' meeting' * meeting}".encode()))
        self.facts = _facts_asked(rule)
        self.ranged = any(g.name in _OF_RANGES for g in rule.goals)
        self.refused = 0
        self.tries, self.turn = 0, self.rng.randrange(len(self.dtypes)) if meeting else 0

    def draw(self, instance: Instance) -> list[Example]:
        """An example of one instance (one per answer of its goals), or none."""
        self.turn += 1
        for attempt in range(_TRIES_PER_SAMPLE if self.tries < _MOST_TRIES else 3):
            fancy = (0.12, 0.12, 0.5, 0.3)[attempt % 4] if attempt >= 8 else 0.12
            found = self.attempt(
                instance, fancy, dtype=self.dtypes[self.turn % len(self.dtypes)] if attempt < 4 else ""
            )
            if found:
                return found
        return []

    def search(self, instance: Instance, tries: int = 1500) -> list[Example]:
        """As `draw`, for rules that apply to few terms: small expressions of each family in turn as operands."""
        for attempt in range(tries):
            found = self.attempt(instance, 0.5, WRAPPERS[attempt % len(WRAPPERS)])
            if found:
                return found
        return []

    def attempt(
        self, instance: Instance, fancy: float, favourite: Any = None, dtype: str = "", loose: bool = False
    ) -> list[Example]:
        """One draw: its examples, mostly none. `loose`: no constants for metavariables, and unknown lengths."""
        self.tries += 1
        draw = Draw(self.rng, self.rule.guards, self.facts, fancy, ranged=self.ranged, meeting=self.meeting)
        draw.favourite = favourite
        draw.dtype = dtype or draw.dtype
        draw.constants = 0.0 if loose else draw.constants
        try:
            made = HINTS.get(self.rule.name) if draw.chance(0.5) else None
            before = made(draw) if made else draw.make(instance.lhs)
            if draw.chance(0.7 if loose else 0.25):
                before, renamed = draw.weakened(before)
                draw.slots = {renamed.get(k, k): v for k, v in draw.slots.items()}
            return self._applied(instance, draw, before)
        except Retry:
            return []

    def _applied(self, instance: Instance, draw: Draw, before: AnyTerm) -> list[Example]:
        if before.__class__ is not Term:
            return []
        try:
            return self._answers(instance, draw, before)
        except Exception as err:  # goals are programs: whatever goes wrong in one is the rule's fault, and reported
            raise RuleRaised(before, err) from err

    def _answers(self, instance: Instance, draw: Draw, before: AnyTerm) -> list[Example]:
        out: list[Example] = []
        seen: set[int] = set()
        for env in Matcher(self.rule.guards).root(instance.lhs, before):
            for bound in solve(instance.goals, env, frozenset(FACTS)):
                after = self._made(instance, before, bound)
                if after is None:
                    self.refused += 1
                elif after is not before and id(after) not in seen:
                    seen.add(id(after))
                    facts = [
                        (g.goal, argument(g.args[0], bound)) for g in instance.goals if isinstance(g.goal, TermFact)
                    ]
                    out.append(Example(instance, draw, before, after, facts))
                    if len(out) == 2:
                        return out
        return out

    def _made(self, instance: Instance, before: AnyTerm, env: dict[Any, Any]) -> Any:
        try:
            new = result(instance.rhs, instance.lhs.op, before, env)
        except BAD_TYPES:
            return None
        return new if new.type is before.type else fit(new, before, self.rule.name)


def _facts_asked(rule: Rule) -> dict[Var, frozenset[str]]:
    """The facts about single metavariables that a rule asks for."""
    out: dict[Var, frozenset[str]] = {}
    for g in rule.goals:
        if isinstance(g.goal, TermFact) and isinstance(g.args[0], Var):
            out[g.args[0]] = out.get(g.args[0], frozenset()) | {g.goal.name}
    return out
