"""How rules are written and which ways they run: the share that is data, and which goals stand in the way backwards.

A rule runs backwards if the right side, once known, leaves nothing on the left that only a computation could tell.
What it leaves free (`x` of `x * 0 -> 0`) stays unknown in the answer; facts and tests wait until they can be asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from unification import Var

from termgraph.rules.checking.report import counts_text
from termgraph.rules.definition import Rule
from termgraph.rules.forms import Instance
from termgraph.rules.formulas import Formula
from termgraph.rules.goals import Goal, GoalCall
from termgraph.rules.kinds import GUARDS, Guard, SegVar
from termgraph.rules.parts import Part
from termgraph.rules.pattern import Captured, HeadWith, free_variables, this
from termgraph.terms.op import Op
from termgraph.terms.term import Term
from termgraph.terms.traverse import grouped

KINDS = {
    "data": "both sides are terms; conditions are facts about operators and kinds of metavariables, if there are any",
    "typed": "both sides are terms, and parts of the left one say what they are (`x[positive]`, `y[x.dtype]`)",
    "facts": "both sides are terms; conditions beside them are facts of the engine, such as `below(i, j)`",
    "formula": "both sides are terms, but for formulas of the tensor language, which see types only",
    "tested": "both sides are terms; a condition is a test of the rule's own, written in Python",
    "computed": "goals compute parts of a side",
    "program": "a goal computes the whole right side",
}
DATA = ("data", "typed")  # terms, and names from the tables of operators, of facts about these, of parts and of kinds
PURE = (*DATA, "facts")  # no Python of the rule's own


def kind_of_rule(rule: Rule) -> str:
    """How much of a rule is data: one of KINDS."""
    goals = [g for g in rule.goals if isinstance(g.goal, Goal) and not g.in_place and g not in rule.typed]
    computing = [g for g in goals if not g.goal.modes.keys() & {"i" * g.goal.arity}]
    if rule.rhs in {v for g in computing for v in g.variables()} - free_variables(rule.lhs):
        return "program"
    written = [g.goal for g in rule.goals if isinstance(g.goal, Part) and g.in_place]
    if computing or any(not _is_engines(g) for g in written if not isinstance(g, Formula)):
        return "computed"
    if not all(g.goal.is_fact for g in goals) or not all(map(_is_ready_made, rule.guards.values())):
        return "tested"
    if any(isinstance(g, Formula) for g in written):
        return "formula"
    return "facts" if goals else "typed" if rule.typed else "data"


def _is_engines(goal: Goal) -> bool:
    return all(f.__module__.startswith("termgraph.rules.") for f in goal.modes.values())


def _is_ready_made(guard: Guard) -> bool:
    """Whether a guard is one of the engine's, or combined from these: no test of a rule file's own."""
    return set(re.findall(r"\w+", guard.name)) <= {*GUARDS, "0", "1"}


def forbids(rule: Rule) -> str:
    """What keeps a rule from running backwards, in words; empty if nothing does."""
    instances = [i for i in rule.instances() if i.main]
    found = [_forbids(i) for i in instances]
    return "" if not found or "" in found else found[0]


def _forbids(instance: Instance) -> str:
    known = set(free_variables(instance.rhs))
    waiting = list(instance.goals)
    while ready := [g for g in waiting if _can_run(g, known)]:
        for g in ready:
            waiting.remove(g)
            known |= g.variables()
    missing = free_variables(instance.lhs) - known
    for g in waiting:
        if isinstance(g.goal, Goal) and g.goal.relation is None and "i" * g.goal.arity not in g.goal.modes:
            return f"{g.name} computes" if g.variables() & missing or this.term in g.variables() else f"{g.name} waits"
    segment = next((v for v in missing if v.__class__ is SegVar), None)
    if segment is not None:
        return "any number of operands is left open"
    return "a parameter is left open" if _parameters(instance.lhs) & missing else ""


def _can_run(g: GoalCall, known: set[Var]) -> bool:
    return not isinstance(g.goal, Goal) or g.pick_mode(known) is not None


def _parameters(p: object) -> set[Var]:
    """The metavariables that stand for parameters in a pattern, and operators whose parameters it captures."""
    if not isinstance(p, Term):
        return set()
    own = set(p.op.lvars) if isinstance(p.op, (HeadWith, Captured, Op)) else set()
    return own.union(*map(_parameters, p.args))


def tabulate(rules: Iterable[Rule]) -> list[tuple[str, ...]]:
    """A row for each topic and one for all: rules, those of each kind, those that run backwards, what forbids it."""
    topics = grouped((r.topic, r) for r in rules)
    rows = [_row(name, members) for name, members in sorted(topics.items())]
    return [*rows, _row("all", [r for members in topics.values() for r in members])]


def _row(name: str, rules: Sequence[Rule]) -> tuple[str, ...]:
    kinds = Counter(map(kind_of_rule, rules))
    why = Counter(map(forbids, rules))
    backwards = why.pop("", 0)
    return (name, str(len(rules)), *[str(kinds[k]) for k in KINDS], str(backwards), counts_text(why) if why else "")


def share(rules: Iterable[Rule]) -> str:
    """How many of the rules are data, in a sentence that says what counts as such."""
    kinds = Counter(map(kind_of_rule, rules))
    total = max(kinds.total(), 1)
    plain, typed = kinds["data"], sum(kinds[k] for k in DATA)
    return (
        f"{typed} of {kinds.total()} rules ({typed / total:.1%}) are data: terms, kinds of parts of the left side, "
        "and names from the tables\nof operators, of facts about them, and of parts. "
        f"{plain} ({plain / total:.1%}) have no kinds but those of their metavariables' dtypes, ranks and constants."
    )


HEADINGS = ("topic", "rules", *KINDS, "backwards", "else forbidden by")
