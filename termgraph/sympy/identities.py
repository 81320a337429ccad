"""`rules_to_sympy`: rules as pairs of SymPy expressions with wildcards, which rewrite SymPy expressions.

A rule leaves where SymPy can say it: element-wise operators, facts that SymPy knows. The others are listed with the
reason. Goals over operators are solved before, so one rule may leave as several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from unification import Var

from termgraph.rules.definition import Rule
from termgraph.rules.forms import Instance, Stated
from termgraph.rules.kinds import SegVar
from termgraph.rules.pattern import Captured, free_variables, inner_terms
from termgraph.sympy.outward import write
from termgraph.sympy.table import ALWAYS, FACTS, GUARDS, require_sympy, writers
from termgraph.terms.op import is_var

if TYPE_CHECKING:
    from types import ModuleType

    from sympy import Basic

    from termgraph.rules.goals import GoalCall


class _Stays(Exception):
    """Why a rule has no counterpart in SymPy."""


class Condition(NamedTuple):
    """A question that the parts matched by an identity must answer: `subject.ask is answer`, unknown is no."""

    text: str
    subject: Any
    ask: str
    answer: bool

    def holds(self, match: dict) -> bool:
        """Whether it is known to hold for what was matched."""
        return getattr(self.subject.xreplace(match), self.ask, None) is self.answer


class Identity:
    """`lhs` may be replaced by `rhs` where the conditions hold; both are SymPy expressions over wildcards."""

    def __init__(self, name: str, lhs: Basic, rhs: Basic, conditions: Iterable[Condition], rule: Stated) -> None:
        self.name, self.lhs, self.rhs = name, lhs, rhs
        self.conditions, self.assumes, self.where = tuple(conditions), rule.assumes, rule.where

    def apply(self, expr: Basic) -> Any:
        """The expression with every place rewritten where the left side matches and the conditions hold."""
        return expr.replace(lambda e: self.match(e) is not None, self._replacement, simultaneous=False)

    def match(self, e: Basic) -> dict | None:
        """What the wildcards stand for if the identity applies to the whole of `e`."""
        found = e.match(self.lhs)
        if found is None or _invents(found, e) or not all(c.holds(found) for c in self.conditions):
            return None
        return found

    def _replacement(self, e: Basic) -> Any:
        return self.rhs.xreplace(self.match(e))

    def __repr__(self) -> str:
        conditions = ", ".join(c.text for c in self.conditions)
        return f"{self.name}: {self.lhs} -> {self.rhs}" + (f"  if {conditions}" if conditions else "")


def _invents(match: dict, e: Basic) -> bool:
    """Whether a wildcard stands for a root that is not there: SymPy solves `w**2 == y` for the wildcard."""
    sympy = require_sympy()
    there = e.atoms(sympy.Pow, sympy.Abs, sympy.exp)
    made = {part for value in match.values() for part in value.atoms(sympy.Pow, sympy.Abs, sympy.exp)}
    return any(not (part.is_Pow and part.exp.is_Integer) for part in made - there)


class Identities:
    """Some identities; `left_out` says of every rule that has no counterpart why."""

    def __init__(self, identities: Iterable[Identity], left_out: dict[str, str]) -> None:
        self.identities, self.left_out = tuple(identities), left_out

    def __iter__(self) -> Iterator[Identity]:
        return iter(self.identities)

    def __len__(self) -> int:
        return len(self.identities)

    def __getitem__(self, name: str) -> Identity:
        for i in self.identities:
            if i.name == name:
                return i
        reason = self.left_out.get(name)
        raise KeyError(f"{name} was left out: {reason}" if reason else f"no identity is named {name!r}")

    def rewrite(self, expr: Basic, rounds: int = 20) -> Any:
        """The expression with all identities applied until nothing new comes out, at most `rounds` times."""
        seen: set[Any] = set()
        while expr not in seen and len(seen) < rounds:
            seen.add(expr)
            for identity in self.identities:
                expr = identity.apply(expr)
        return expr

    def __repr__(self) -> str:
        lines = [repr(i) for i in self.identities]
        return "\n".join([*lines, f"({len(self.left_out)} rules have no counterpart: see .left_out)"])


def rules_to_sympy(rules: Any) -> Identities:
    """The rules of a rule set, a query (`db.query("+stabilize")`) or a list, for SymPy.

    >>> import sympy, termgraph as tg
    >>> from termgraph import db
    >>> identities = tg.sympy.rules_to_sympy(db.query("+canonicalize"))
    >>> identities["powers.abs_sqr"]
    powers.abs_sqr: Abs(w_**2) -> w_**2  if w: Float
    >>> x = sympy.Symbol("x", real=True)
    >>> tg.sympy.rules_to_sympy(db.query("+stabilize")).rewrite(sympy.log(sympy.exp(x)) + sympy.log(x**2))
    x + 2*log(Abs(x))
    """
    sympy = require_sympy()
    made: list[Identity] = []
    left_out: dict[str, str] = {}
    for rule in [rules] if isinstance(rules, Rule) else rules:
        found, reasons = _of_rule(sympy, rule)
        made += found
        if not found:
            left_out[rule.name] = reasons[0] if reasons else "no operator fulfils its goals"
    return Identities(made, left_out)


def _of_rule(sympy: ModuleType, rule: Rule) -> tuple[list[Identity], list[str]]:
    found: list[Identity] = []
    reasons: list[str] = []
    for instance in rule.instances():
        try:
            identity = _translated(sympy, instance)
        except _Stays as reason:
            reasons.append(str(reason))
            continue
        if all((i.lhs, i.rhs) != (identity.lhs, identity.rhs) for i in found):
            found.append(identity)
    return found, reasons


def _translated(sympy: ModuleType, instance: Instance) -> Identity:
    rule = instance.rule
    variables = sorted(free_variables(instance.lhs) | free_variables(instance.rhs), key=lambda v: str(v.token))
    wild = {v: _wildcard(sympy, v) for v in variables}
    conditions = [c for v, guard in rule.guards.items() if v in wild for c in _of_guard(guard.name, v, wild[v])]
    lhs, rhs = (_written(sympy, side, wild) for side in (instance.lhs, instance.rhs))
    for g in instance.goals:
        conditions += _of_goal(sympy, g, wild)
    if lhs == rhs:
        raise _Stays("both sides are the same in SymPy")
    if not lhs.args or rhs.atoms(sympy.Wild) - lhs.atoms(sympy.Wild):
        raise _Stays("SymPy simplifies its left side by itself")
    return Identity(instance.label, lhs, rhs, conditions, rule)


def _wildcard(sympy: ModuleType, v: Var) -> Any:
    if v.__class__ is SegVar:
        raise _Stays(f"*{v.token} stands for any number of operands")
    return sympy.Wild(str(v.token))


def _written(sympy: Any, pattern: Basic, wild: dict) -> Any:
    if is_var(pattern):
        return wild[pattern]
    _check(pattern)

    def leaf(t: Any) -> Any:
        if is_var(t):
            return wild[t]
        raise _Stays(f"it contains {t!r:.60}")

    return write(sympy, [pattern], leaf)[0]


def _check(pattern: Basic) -> None:
    """Refuse operators that SymPy lacks, those still open, and those about precision."""
    for t in inner_terms(pattern):
        if isinstance(t.op, Captured) or is_var(t.op) or getattr(t.op, "var", None) is not None:
            raise _Stays("it holds for many operators")
        if t.op.name not in writers():
            raise _Stays(f"SymPy has no {t.op.name}")


def _of_guard(name: str, v: Var, wild: Any) -> Iterator[Condition]:
    if name not in GUARDS:
        raise _Stays(f"SymPy does not know the guard {name}")
    question = GUARDS[name]
    if question is not None:
        yield Condition(f"{v.token}: {name}", wild, *question)


def _of_goal(sympy: ModuleType, g: GoalCall, wild: dict) -> list[Condition]:
    if g.name in ALWAYS:
        return []
    if g.name not in FACTS:
        raise _Stays(f"SymPy does not know the goal {g.name}")
    return [Condition(repr(g), _written(sympy, g.args[0], wild), *FACTS[g.name])]
