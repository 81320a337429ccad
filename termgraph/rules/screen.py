"""Screening: can any rule with this head match, to judge by operators and types alone?

Most terms of a graph match nothing. The answer depends only on the head, the operators and types of the operands and on
which operands are the same, so the driver asks once per such signature and remembers. "Maybe" is always allowed.
"""

from __future__ import annotations

from typing import Any

from termgraph.rules.emit import Writer
from termgraph.rules.facts import TermFact
from termgraph.rules.goals import Goal, GoalCall
from termgraph.rules.kinds import SegVar
from termgraph.rules.pattern import Captured
from termgraph.rules.source import Items, Source
from termgraph.terms.leaves import Lit
from termgraph.terms.op import Op
from termgraph.terms.term import AnyTerm, Term


def write_screen(out: Source, arity: int, rows: list[Any]) -> None:
    """`screen(t)`: False if no row of the decision tree can match `t`, which has `arity` operands."""
    tests = dict.fromkeys(_tests(out, row) for row in rows)
    out.put(0, "def screen(t):")
    if "" in tests:
        out.put(1, "return True")
        return
    out.put(1, f"{', '.join(f'a{i}' for i in range(arity))}, = t.args")
    out.put(1, f"return {' or '.join(tests) or 'False'}")


def _tests(out: Source, row: Any) -> str:
    """What one row asks of operators and types, as one expression; empty if nothing."""
    tests = [test for name, p in row.pending.items() if (test := _head_test(out, name, p))]
    tests += [f"{a} is {b}" for a, b in row.equal]
    tests += [f"t.op is {out.ref(op, op.name)}" for op, _ in row.checks if isinstance(op, Op) and not op.lvars]
    for v, name in row.bound.items():
        guard = row.writer.rule.guards.get(v)
        if guard is not None and guard.shallow and v.__class__ is not SegVar:
            tests.append(guard.source.format(x=name))
    for call in row.writer.instance.goals:
        if test := _goal_test(out, row.writer, call, row.bound):
            tests.append(test)
    return f"({' and '.join(sorted(set(tests)))})" if tests else ""


def _head_test(out: Source, name: str, p: Lit | AnyTerm) -> str:
    if p.__class__ is not Term:
        return f"{name}.op is CONST"  # which number it must be is not asked here
    if not p.lvars or not isinstance(p.op, (Op, Captured)):
        return ""
    return f"{name}.op.family is {out.ref(p.op.family, p.op.family.name)}"


def _goal_test(out: Source, writer: Writer, call: GoalCall, bound: dict[Any, str]) -> str:
    """The part of a goal that operators and types decide."""
    goal = call.goal
    if not isinstance(goal, Goal):
        return ""
    if goal.worth is not None:
        return _worth_test(out, writer, goal, [bound.get(a, "") for a in call.args[: goal.worth_of]])
    segment = next((bound[a] for a in call.args if a.__class__ is SegVar and a in bound), None)
    if isinstance(segment, Items) and segment.names:
        if goal.each is not None:
            return f"({' and '.join(goal.each.format(n) for n in segment.names)})"
        if goal.some is not None:
            return f"({' or '.join(goal.some.format(n) for n in segment.names)})"
    return ""


def _worth_test(out: Source, writer: Writer, goal: Goal, inputs: list[str]) -> str:
    if isinstance(goal, TermFact) and goal.name in writer.assume:
        return ""  # taken on trust
    if not all(name.isidentifier() or isinstance(name, Items) for name in inputs):
        return ""  # an operand of an operand
    return f"{out.ref(goal.worth, f'worth_{goal.name}')}({', '.join(inputs)})"
