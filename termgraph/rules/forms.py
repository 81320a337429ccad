"""Forms of rules: what a rule states, an instance of one as the matcher compiler takes it, the shape of patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from unification import Var

from termgraph.rules.goals import GoalCall
from termgraph.rules.kinds import Guard, Kind, PatternTerm
from termgraph.rules.same_kind import WORDS, different_kinds
from termgraph.rules.text import pattern_text
from termgraph.terms.errors import RuleError
from termgraph.terms.op import Op, is_var
from termgraph.terms.term import Term, mk

if TYPE_CHECKING:
    from termgraph.rules.pattern import PatternHead


class Stated(Protocol):
    """What a rule says, for those who specialise and use it."""

    name: str
    where: str
    lhs: Any
    rhs: Any
    goals: tuple[GoalCall, ...]
    guards: dict[Var, Guard]
    assumes: frozenset[str]
    kinds: dict[Var, Kind]

    def instances(self) -> list[Instance]:
        """The rule with its goals over operators solved."""


class Instance:
    """One specialised form of a rule, as the matcher compiler takes it."""

    __slots__ = ("answer", "goals", "lhs", "main", "place", "rhs", "rule")

    def __init__(
        self,
        rule: Stated,
        lhs: PatternTerm,
        rhs: PatternTerm,
        goals: tuple[GoalCall, ...],
        answer: tuple[Any, ...] = (),
        main: bool = True,
    ) -> None:
        self.rule, self.lhs, self.rhs, self.goals = rule, lhs, rhs, goals
        self.answer = answer  # the operators and numbers this instance was made for
        self.main = main  # False for alternative spellings of the same left side
        self.place = 0  # among the instances of its rule

    @property
    def label(self) -> str:
        """The rule's name with the staged answer: `algebra.inverse[log, exp]`."""
        return f"{self.rule.name}[{', '.join(map(repr, self.answer))}]" if self.answer else self.rule.name

    def __repr__(self) -> str:
        return f"<{self.label}: {pattern_text(self.lhs)} -> {pattern_text(self.rhs)}>"


def flat_pattern(pattern: PatternTerm) -> Any:
    """The pattern with nested sums (products, ...) flattened, as the graph has them: `x + y + 1` is one sum."""
    if pattern.__class__ is not Term or not pattern.lvars:
        return pattern
    args: list[Any] = []
    for a in map(flat_pattern, pattern.args):
        if is_nary(pattern.op) and a.__class__ is Term and a.op is pattern.op:
            args.extend(a.args)
        else:
            args.append(a)
    return mk(pattern.op, tuple(args))


def is_nary(op: PatternHead) -> bool:
    """Whether the op is associative and commutative with any number of operands: matched in any order, with a rest."""
    return isinstance(op, Op) and op.arity is None and op.associative and op.commutative


def loose_operands(items: list[Any]) -> list[Var]:
    """The metavariables among the operands of an n-ary pattern that may take several: those that occur only once."""
    used = [v for a in items for v in (a.lvars if a.__class__ is Term else (a,))]
    return [a for a in items if is_var(a) and used.count(a) == 1]


def refuse_other_kind(lhs: PatternTerm, rhs: PatternTerm, guards: dict[Var, Guard]) -> None:
    """RuleError where the right side is, say, a truth value and the left one a number."""
    found = different_kinds(lhs, rhs, guards)
    if found is not None:
        left, right = found
        raise RuleError(
            f"the left side {pattern_text(lhs)} gives {WORDS[left]}, the right side {pattern_text(rhs)} "
            f"{WORDS[right]}; if that is meant, write the cast: cast(..., dtype=this.dtype)"
        )
