"""Why a term looks as it does, and why a rule did not fire."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from unification import Var

from termgraph.db.database import all_rules, heads_of, rewrite_traced
from termgraph.db.queries import PLUS_ZERO
from termgraph.rules.definition import Rule
from termgraph.rules.fit import BAD_TYPES, fit
from termgraph.rules.forms import Instance, is_nary
from termgraph.rules.goals import Goal, GoalCall
from termgraph.rules.interpret import REST, Env, Matcher, argument, result, solve
from termgraph.rules.text import pattern_text
from termgraph.terms.errors import RuleError
from termgraph.terms.term import AnyTerm, Lit, Term, as_term
from termgraph.terms.text import one_line
from termgraph.terms.traverse import children_first

if TYPE_CHECKING:
    from termgraph.rules.kinds import PatternTerm

_SHOWN = 8


class Explanation:
    """Lines of text, and whether the rule in question applies. Prints itself."""

    def __init__(self, applies: bool, lines: list[str]) -> None:
        self.applies, self.lines = applies, lines

    def __str__(self) -> str:
        return "\n".join(self.lines)

    __repr__ = __str__


class History(list):
    """The records that led to a term, oldest first. Prints one line each."""

    def __str__(self) -> str:
        if not self:
            return "no rule made this; it is as it was written"
        return "\n".join(f"{r.rule}  {r.before!r:.80}  ->  {r.after!r:.80}   ({r.where})" for r in self)

    __repr__ = __str__


def why(traced: Any, node: Any) -> History:
    """The rules that made `node`, in order. `traced` is a compiled function, a trace or a list of records."""
    records = list(getattr(traced, "trace", traced))
    term = getattr(node, "term", node)
    if hasattr(traced, "in_users_terms"):  # a node of the compiled graph, of which the inputs are numbered
        (term,) = traced.in_users_terms([term])
    made: dict[Any, int] = {}
    before_all: set[Any] = set()
    for i, r in enumerate(records):
        before_all.update(children_first([r.before]))
        for t in children_first([r.after]):
            if t not in before_all:
                made.setdefault(t, i)
        made.setdefault(r.after, i)
        before_all.update(children_first([r.after]))
    chosen: set[int] = set()
    waiting = [term] if term in made else children_first([term])  # else what its parts are made of
    while waiting:
        i = made.get(waiting.pop())
        if i is not None and i not in chosen:
            chosen.add(i)
            waiting.extend(children_first([records[i].before]))
    return History(records[i] for i in sorted(chosen))


def find_rule(name: str | None) -> Rule:
    """A rule by name; a message with near names if there is none."""
    if isinstance(name, Rule):
        return name
    known = {r.name: r for r in all_rules()}
    if name not in known:
        close = difflib.get_close_matches(str(name), known, 3)
        raise RuleError(f"no rule {name!r}" + (f"; did you mean {', '.join(close)}?" if close else ""))
    return known[name]


def why_not(rule: str, expr: Any, assume: Iterable[str] = ()) -> Explanation:
    """Which part of a rule does not hold on an expression: left side, guard, goal or type; for each candidate node."""
    r = find_rule(rule)
    root = as_term(expr)
    heads = heads_of(r)
    candidates = [t for t in children_first([root]) if t.__class__ is Term and (not heads or t.op.family in heads)]
    lines = [repr(r), f"  defined at {r.where}"]
    if PLUS_ZERO in r.assumes and "signed_zero" not in assume:
        lines.append("  0.0 is added to the right side by queries that do not assume signed_zero")
    if r.assumes - {PLUS_ZERO, *assume}:
        lines.append(f"  selected only by queries that assume {', '.join(sorted(r.assumes - {PLUS_ZERO}))}")
    if not candidates:
        names = " or ".join(h.name for h in heads)
        return Explanation(False, [*lines, f"  does not apply: the expression has no {names}"])
    applies = False
    for t in candidates[-_SHOWN:]:
        holds, reasons = _on_node(r, t, frozenset(assume))
        applies |= holds
        lines.append(f"  on {one_line(t, 100)}:")
        lines += [f"    {reason}" for reason in reasons]
    if len(candidates) > _SHOWN:
        lines.append(f"  ... and {len(candidates) - _SHOWN} more candidates")
    return Explanation(applies, lines if applies else [*lines, *_later(r, root)])


def _later(r: Rule, root: AnyTerm) -> list[str]:
    """Where the rule applies after others: in `log(x + 1 + y)` the numbers are first collected."""
    records = [record for record in rewrite_traced(root) if record.rule == r.name]
    shown = [f"    {one_line(k.before, 60)} -> {one_line(k.after, 60)}" for k in records[:_SHOWN]]
    return ["  but it applies after other rules:", *shown] if shown else []


def _on_node(r: Rule, t: AnyTerm, assume: frozenset) -> tuple[bool, list[str]]:
    reasons: list[str] = []
    for instance in r.instances():
        if not isinstance(instance.lhs.op, Var) and instance.lhs.op.family is not t.op.family:
            continue
        free = list(Matcher({}).root(instance.lhs, t))
        if not free:
            reasons.append(f"the left side {pattern_text(instance.lhs)} does not match: {mismatch(instance.lhs, t)}")
            continue
        for env in free:
            failed = _first_failure(r, instance, t, env, assume)
            if failed is None:
                return True, [f"applies, with {_bindings(env)}"]
            reasons.append(failed)
    return False, list(dict.fromkeys(reasons)) or ["the left side does not match"]


def _first_failure(r: Rule, instance: Instance, t: AnyTerm, env: Env, assume: frozenset) -> str | None:
    for v, guard in r.guards.items():
        if v in env and not guard.test(env[v]):
            return f"{v.token}: {guard!r} does not hold for {v.token} = {_value(env[v])}"
    envs = [env]
    for call in instance.goals:
        after = [e for bound in envs for e in solve([call], bound, assume)]
        if not after:
            return _goal_failure(call, envs[0])
        envs = after
    try:
        new = result(instance.rhs, instance.lhs.op, t, envs[0])
    except BAD_TYPES as err:
        return f"the right side cannot be built: {err}"
    if new is t:
        return "the right side is the same term"
    if new.type is not t.type and fit(new, t, r.name) is None:
        return f"the type would change from {t.type} to {new.type}"
    return None


def _goal_failure(call: GoalCall, env: Env) -> str:
    known = [a if isinstance(a, Var) and a not in env else argument(a, env) for a in call.args]
    shown = ", ".join(f"{pattern_text(a)} = {_value(k)}" for a, k in zip(call.args, known, strict=True) if k is not a)
    state = "does not hold"
    if isinstance(call.goal, Goal) and call.goal.trusted and call.goal.modes["i"](*known) is None:
        state = f"is not known (state it with T.assume(..., {call.name}=True), or admit it in the query)"
    return f"goal {call!r} {state}" + (f", with {shown}" if shown else "")


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    return one_line(value, 60) if hasattr(value, "args") else repr(value)


def _bindings(env: Env) -> str:
    shown = [f"{v.token} = {_value(t)}" for v, t in env.items() if isinstance(v, Var) and v.token != "this"]
    if env.get(REST):
        shown.append(f"besides {_value(env[REST])}")
    return ", ".join(shown)


def mismatch(p: PatternTerm, t: AnyTerm) -> str:
    """Where a pattern and a term first differ, in words."""
    if p.__class__ is Lit:
        return f"expected the number {p!r}, found {one_line(t, 60)}"
    if p.__class__ is Term and t.__class__ is Term and not isinstance(p.op, Var):
        if p.op.family is not t.op.family:
            return f"expected {p.op.family.name}, found {one_line(t, 60)}"
        if not is_nary(p.op) and len(p.args) == len(t.args):
            for q, a in zip(p.args, t.args, strict=True):
                if not isinstance(q, Var) and not any(True for _ in Matcher({}).match(q, a, {})):
                    return mismatch(q, a)
        if is_nary(p.op):
            for q in p.args:
                if not isinstance(q, Var) and not any(True for a in t.args for _ in Matcher({}).match(q, a, {})):
                    return f"no operand of {one_line(t, 60)} matches {pattern_text(q)}"
        return f"{one_line(t, 60)} does not fit {pattern_text(p)}"
    return f"expected {pattern_text(p)}, found {one_line(t, 60)}"
