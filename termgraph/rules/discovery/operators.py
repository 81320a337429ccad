"""Rules about classes of operators: what was proved of one function may hold of all that declare a property with it.

`abs(-x) -> abs(x)` becomes `f(-x) -> f(x)` for every even `f`, if the prover accepts it of each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from termgraph.rules.definition import Rule
from termgraph.terms import facts
from termgraph.terms.facts import OpRelation
from termgraph.terms.op import Op
from termgraph.terms.term import Term, mk

if TYPE_CHECKING:
    from termgraph.rules.kinds import PatternTerm


def properties(op: Op) -> Iterator[OpRelation]:
    """What an operator declares of its own values and others do too: `odd`, `projection`; that it takes elements one by
    one says nothing of values."""
    for relation in facts.FACTS.values():
        if relation is facts.elementwise or len(relation.columns) != 1:
            continue
        if op in relation and len(relation.known()) > 1:
            yield relation


def classes(side: PatternTerm) -> Iterator[tuple[Op, OpRelation]]:
    """The functions of one operand in a pattern, each with each class that it is in."""
    for op in dict.fromkeys([t.op for t in preorder(side) if len(t.args) == 1]):
        for relation in properties(op):
            yield op, relation


def exchanged(side: PatternTerm, op: Op, other: Any) -> PatternTerm:
    """A pattern with another operator, or a metavariable, in all places of one."""
    if side.__class__ is not Term or not side.args:
        return side
    return mk(other if side.op is op else side.op, tuple([exchanged(a, op, other) for a in side.args]))


def about_operators(rule: Rule) -> bool:
    """Whether a rule is about several operators."""
    return any(g.over_operators for g in rule.goals)


def preorder(side: PatternTerm) -> Iterator[Any]:
    """The terms of a pattern, each before its operands."""
    if side.__class__ is Term:
        yield side
        for a in side.args:
            yield from preorder(a)
