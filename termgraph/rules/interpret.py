"""Matching and building by walking patterns: the plain meaning of a rule, and the oracle of the compiled matchers.

All matches are yielded, in the order in which compiled matchers try them. Patterns are shallow, so recursion is fine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unification import Var

from termgraph.rules.fit import carry, full, nary, num, rest_term
from termgraph.rules.forms import is_nary, loose_operands
from termgraph.rules.goals import Goal, GoalCall, answers
from termgraph.rules.kinds import Guard, PatternTerm, SegVar
from termgraph.rules.pattern import Captured, HeadWith, PatternHead, this
from termgraph.rules.searching import searcher
from termgraph.terms.op import CONST, Op
from termgraph.terms.term import AnyTerm, Lit, Term, as_term, is_term, mk

Env = dict[Any, Any]  # metavariable -> term, tuple of terms, op or parameter value; REST -> operands carried over
REST = "the operands an n-ary left side leaves over"


class Matcher:
    """Matches patterns of one rule, checking guards as metavariables are bound."""

    def __init__(self, guards: Mapping[Var, Guard]) -> None:
        self.guards = guards

    def root(self, p: PatternTerm, t: AnyTerm, order: tuple[Any, ...] | None = None) -> Iterator[Env]:
        """All ways in which the whole term matches the left side, with its operands in one order if told which."""
        env: Env = {this.term: t}
        if p.__class__ is Term and is_nary(p.op):
            if t.__class__ is not Term or t.op is not p.op:
                return
            yield from self._any_order(p, t, env, root=True) if order is None else self._in_order(order, t.args, env)
        else:
            yield from self.match(p, t, env)

    def match(self, p: PatternTerm, t: AnyTerm, env: Env) -> Iterator[Env]:
        """All ways in which a term matches a pattern."""
        if isinstance(p, Var):
            yield from self._bind(p, t, env)
        elif p.__class__ is Lit:
            if t.op is CONST and p.matches(t):
                yield env
        elif p.__class__ is not Term or not p.lvars:
            if p is t:
                yield env
        elif t.__class__ is Term:
            for bound in self._head(p.op, t, env):
                if is_nary(p.op):
                    yield from self._any_order(p, t, bound, root=False)
                else:
                    yield from self._in_order(p.args, t.args, bound)

    def _bind(self, v: Var, value: object, env: Env) -> Iterator[Env]:
        if v in env:
            old = env[v]
            if old is value or (not is_term(value) and old == value):
                yield env
            return
        guard = self.guards.get(v)
        if guard is None or not is_term(value) or guard.test(value):
            yield {**env, v: value}

    def _head(self, op: Op, t: Term, env: Env) -> Iterator[Env]:
        if isinstance(op, Var):
            yield from self._bind(op, t.op, env)
        elif isinstance(op, Captured):
            if t.op.family is op.family:
                yield from self._bind(op.var, t.op, env)
        elif isinstance(op, HeadWith):
            if all(k in t.op.params for k, _ in op.params):
                for bound in self._bind(op.var, t.op, env):
                    yield from self._parameters([(v, t.op.params[k]) for k, v in op.params], bound)
        elif not op.lvars:
            if t.op is op:
                yield env
        elif t.op.family is op.family:
            yield from self._parameters([(v, t.op.params[k]) for k, v in op.params.items()], env)

    def _parameters(self, pairs: list[tuple[Any, Any]], env: Env) -> Iterator[Env]:
        if not pairs:
            yield env
            return
        (p, value), rest = pairs[0], pairs[1:]
        if isinstance(p, Var):
            for bound in self._bind(p, value, env):
                yield from self._parameters(rest, bound)
        elif isinstance(p, tuple) and isinstance(value, tuple):
            if len(p) == len(value):
                yield from self._parameters([*zip(p, value, strict=True), *rest], env)
        elif p == value:
            yield from self._parameters(rest, env)

    def _in_order(self, items: tuple[Any, ...], args: tuple[Any, ...], env: Env) -> Iterator[Env]:
        if not items:
            if not args:
                yield env
            return
        first, others = items[0], items[1:]
        if first.__class__ is not SegVar:
            if args:
                for bound in self.match(first, args[0], env):
                    yield from self._in_order(others, args[1:], bound)
            return
        for n in range(len(args) + 1):
            for bound in self._bind(first, args[:n], env):
                yield from self._in_order(others, args[n:], bound)

    def _any_order(self, p: Term, t: AnyTerm, env: Env, root: bool) -> Iterator[Env]:
        segment = next((a for a in p.args if a.__class__ is SegVar), None)
        items = [a for a in p.args if a.__class__ is not SegVar]
        loose = [a for a in loose_operands(items) if a not in env]
        absorber = loose[-1] if loose and segment is None else None
        picks = [a for a in items if a is not absorber]
        picks.sort(key=lambda a: 0 if not isinstance(a, Var) or a in env else 1)
        for bound, left in self._pick(picks, tuple(enumerate(t.args)), env):
            rest = tuple(a for _, a in left)
            if segment is not None:
                yield from self._bind(segment, rest, bound)
            elif absorber is not None:
                if rest:
                    yield from self._bind(absorber, rest_term(p.op, rest, t), bound)
            elif root:
                yield {**bound, REST: rest}
            elif not rest:
                yield bound

    def _pick(self, picks: list[Any], left: tuple[Any, ...], env: Env) -> Iterator[tuple[Env, tuple[Any, ...]]]:
        if not picks:
            yield env, left
            return
        for i, (_, t) in enumerate(left):
            for bound in self.match(picks[0], t, env):
                yield from self._pick(picks[1:], left[:i] + left[i + 1 :], bound)


# ---------------------------------------------------------------------- goals
def solve(goals: Iterable[GoalCall], env: Env, assume: frozenset[str] = frozenset()) -> Iterator[Env]:
    """All ways in which the goals hold, left to right, given what is bound."""
    goals = tuple(goals)
    if not goals:
        yield env
        return
    call, rest = goals[0], goals[1:]
    for bound in _solve_one(call, env, assume):
        yield from solve(rest, bound, assume)


def _solve_one(call: GoalCall, env: Env, assume: frozenset[str]) -> Iterator[Env]:
    goal = call.goal
    if not isinstance(goal, Goal) or goal.relation is not None:
        yield from _search(call, env)
        return
    mode = call.pick_mode(set(env))
    assert mode is not None, f"goal {call!r} has no usable mode here"
    inputs = tuple([argument(a, env) for a, c in zip(call.args, mode, strict=True) if c == "i"])
    outputs = [a for a, c in zip(call.args, mode, strict=True) if c == "o"]
    if not outputs:
        if goal.holds(mode, inputs, assume):
            yield env
        return
    for values in answers(goal.modes[mode], inputs, len(outputs)):
        bound = dict(env)
        if all(_accept(a, value, bound) for a, value in zip(outputs, values, strict=True)):
            yield bound


def _accept(a: PatternTerm, value: object, bound: Env) -> bool:
    if isinstance(a, Var) and a not in bound:
        bound[a] = value
        return True
    return bool(argument(a, bound) == value)


def _search(call: GoalCall, env: Env) -> Iterator[Env]:
    known = sorted((v for v in call.variables() if v in env), key=lambda v: str(v.token))
    outputs = sorted((v for v in call.variables() if v not in env), key=lambda v: str(v.token))
    for values in searcher(call, known, outputs, None)(*[env[v] for v in known]):
        yield {**env, **dict(zip(outputs, values, strict=True))}


def argument(a: PatternTerm, env: Env) -> Any:
    """The value of a goal's argument."""
    if isinstance(a, Var):
        return env[a]
    if a.__class__ is Term and a.lvars:
        return build(a, env)
    return a.value if a.__class__ is Lit else a


# ---------------------------------------------------------------------- right sides
def build(p: PatternTerm, env: Env) -> Any:
    """The term a pattern stands for."""
    if isinstance(p, Var):
        return env[p]
    if p.__class__ is not Term or not p.lvars:
        return p
    operands: list[Any] = []
    for a in p.args:
        if a.__class__ is SegVar:
            operands.extend(env[a])
        else:
            operands.append(a if a.__class__ is Lit else as_term(build(a, env)))
    if any(o.__class__ is Lit for o in operands):  # else there may be operands without a dtype: results in a tuple
        beside = [o.type.np_dtype for o, a in _singles(p, operands)]
        operands = [num(o, *beside) if o.__class__ is Lit else o for o in operands]
    op = build_head(p.op, env)
    return nary(op, tuple(operands)) if is_nary(op) else mk(op, tuple(operands))


def _singles(p: Term, operands: list[Any]) -> list[tuple[Any, Any]]:
    if any(a.__class__ is SegVar for a in p.args):
        return [(o, None) for o in operands if o.__class__ is not Lit]
    return [(o, a) for o, a in zip(operands, p.args, strict=True) if o.__class__ is not Lit]


def build_head(op: PatternHead, env: Env) -> Op:
    """The op a head pattern stands for."""
    if isinstance(op, Var):
        head: Op = env[op]
        return head
    if isinstance(op, Captured):
        found: Op = env[op.var]
        return found
    if isinstance(op, HeadWith):
        bare: Op = env[op.var]
        return bare.bind(**{k: parameter(v, env) for k, v in op.params})
    return op.family.bind(**{k: parameter(v, env) for k, v in op.params.items()}) if op.lvars else op


def parameter(value: object, env: Env) -> Any:
    """A parameter value with metavariables filled in."""
    if isinstance(value, Var):
        return env[value]
    return tuple([parameter(v, env) for v in value]) if isinstance(value, tuple) else value


def result(rhs: PatternTerm, op: Any, t: AnyTerm, env: Env) -> Any:
    """The replacement for `t`: the right side, with the operands carried over, before its type is fitted."""
    made = full(rhs, t) if rhs.__class__ is Lit else build(rhs, env)
    return carry(op, made, env.get(REST, ()))
