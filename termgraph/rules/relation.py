"""Rules as kanren relations: forwards, backwards and enumerated.

Asked with a known term on the left, a relation gives what the rule makes of it; with a known term on the right, the
terms that become it; with neither, the two patterns. What cannot be checked yet (a guard on an unknown) is delayed: it
is checked as soon as the unknown is bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kanren.constraints import ConstrainedState, PredicateStore
from unification import Var, reify, unify, var

from termgraph.rules.fit import BAD_TYPES, fit, num
from termgraph.rules.forms import Instance, Stated, is_nary
from termgraph.rules.goals import Goal, GoalCall, answers
from termgraph.rules.interpret import Env, Matcher, argument, result, solve
from termgraph.rules.kinds import PatternTerm, SegVar
from termgraph.rules.pattern import Captured, HeadWith, free_variables
from termgraph.rules.searching import enumerated
from termgraph.terms.op import Op
from termgraph.terms.relational import ILL_TYPED
from termgraph.terms.term import AnyTerm, Lit, Term, is_term, mk

State = Any
Stream = Iterator[State]


def rule_relation(
    rule: Stated, a: object, b: object, assume: frozenset[str] = frozenset()
) -> Callable[[State], Stream]:
    """A kanren goal: `a` becomes `b` by the rule, at the root."""
    a, b = getattr(a, "term", a), getattr(b, "term", b)

    def relation_goal(state: State) -> Stream:
        data = state.data if isinstance(state, ConstrainedState) else state
        left, right = reify((a, b), data)
        if left is ILL_TYPED or right is ILL_TYPED:
            return
        if is_term(left) and not left.lvars:
            yield from _forwards(rule, left, right, state, assume)
        elif is_term(right) and not right.lvars:
            yield from _backwards(rule, left, right, state)
        else:
            yield from _patterns(rule, left, right, state)

    return relation_goal


def ruleset_relation(
    rules: Iterable[Stated], a: object, b: object, assume: frozenset[str] = frozenset()
) -> Callable[[State], Stream]:
    """A kanren goal: some rule takes `a` to `b` at the root."""
    rules = tuple(rules)

    def any_rule(state: State) -> Stream:
        streams = [rule_relation(r, a, b, assume)(state) for r in rules]
        left = reify(getattr(a, "term", a), state.data if isinstance(state, ConstrainedState) else state)
        if is_term(left) and not left.lvars:
            yield from itertools.chain.from_iterable(streams)  # in their order, as the engine tries them
        else:
            yield from interleave(streams)

    return any_rule


# ---------------------------------------------------------------------- forwards
def results(rule: Stated, t: AnyTerm, assume: frozenset[str] = frozenset()) -> Iterator[Any]:
    """Everything the rule makes of a term, with the type kept, each once."""
    seen: set[int] = set()
    for instance in rule.instances():
        for new in _results_of(instance, t, assume):
            if id(new) not in seen:
                seen.add(id(new))
                yield new


def _results_of(
    instance: Instance, t: AnyTerm, assume: frozenset[str], order: tuple[Any, ...] | None = None
) -> Iterator[Any]:
    """Everything that one form of a rule makes of a term; of an n-ary one, if told, with its operands in that order."""
    rule = instance.rule
    for env in Matcher(rule.guards).root(instance.lhs, t, order):
        for bound in solve(instance.goals, env, assume):
            new = _made(instance, t, bound, rule)
            if new is not None and new is not t:
                yield new


def step(
    instance: Instance,
    t: AnyTerm,
    made: AnyTerm,
    assume: frozenset[str] = frozenset(),
    order: tuple[Any, ...] | None = None,
) -> Callable[[State], Stream]:
    """A kanren goal: one form of a rule makes `made` of the term `t`."""

    def step_goal(state: State) -> Stream:
        for new in _results_of(instance, t, assume, order):
            extended = unify(made, new, state)
            if extended is not False:
                yield extended

    return step_goal


def _made(instance: Instance, t: AnyTerm, env: Env, rule: Stated) -> Any:
    try:
        new = result(instance.rhs, instance.lhs.op, t, env)
    except BAD_TYPES:
        return None
    return new if new.type is t.type else fit(new, t, rule.name)


def _forwards(rule: Stated, left: PatternTerm, right: PatternTerm, state: State, assume: frozenset[str]) -> Stream:
    for new in results(rule, left, assume):
        extended = unify(right, new, state)
        if extended is not False:
            yield extended


# ---------------------------------------------------------------------- backwards
def _backwards(rule: Stated, left: PatternTerm, right: PatternTerm, state: State) -> Stream:
    """The left side as written comes first, then its other spellings: those with operands in another order, too."""
    yield from interleave(
        _undone(rule, instance, left, right, env, state)
        for instance in sorted(rule.instances(), key=lambda i: not i.main)
        for env in _sources(instance, right)
    )


def _sources(instance: Instance, right: PatternTerm) -> Iterator[Env]:
    """Bindings under which the right side is the known term."""
    rhs = instance.rhs
    if rhs.__class__ is Lit:
        right = (
            right.args[0] if right.op.name == "alloc" else right
        )  # the number, spread to the shape of what it replaces
        if right.op.name != "CONST":
            return
    seen: list[Env] = []
    for env in Matcher(instance.rule.guards).match(rhs, right, {}):
        if env not in seen:  # equal operands in either order
            seen.append(env)
            yield env


def _undone(rule: Stated, instance: Instance, left: PatternTerm, right: PatternTerm, env: Env, state: State) -> Stream:
    for bound, open_goals in _solve_any_order(instance.goals, env):
        fresh = {v: _fresh(v) for v in free_variables(instance.lhs) if v not in bound}
        if any(v.__class__ is SegVar for v in fresh):
            continue  # an unknown number of operands: no finite answer
        try:
            source = open_term(instance.lhs, {**fresh, **bound})
        except BAD_TYPES:
            continue
        if source is None or not _same_type(source, right, rule):
            continue
        extended = unify(left, source, state)
        if extended is not False:
            yield from _with_delayed(rule, open_goals, {**fresh, **bound}, fresh, extended)


def _fresh(v: Var) -> Var:
    return SegVar(var().token) if v.__class__ is SegVar else var()


def _same_type(source: Any, right: PatternTerm, rule: Stated) -> bool:
    """Whether applying the rule forwards would give exactly `right`: it must not need a cast or a broadcast."""
    if not is_term(source) or source.lvars:
        return True
    return source.type is right.type or source.type.accepts(right.type)


def _solve_any_order(goals: Iterable[GoalCall], env: Env) -> Iterator[tuple[Env, list[GoalCall]]]:
    """Run the goals whose inputs are known, in whatever order that allows, and then kanren goals about what nothing is
    known of, which enumerate; the others stay open.
    """
    waiting = list(goals)
    for i, call in enumerate(waiting):
        rest = waiting[:i] + waiting[i + 1 :]
        if _is_relation(call):
            if call.variables() & env.keys() or not call.variables():
                for bound in solve([call], env):
                    yield from _solve_any_order(rest, bound)
                return
            continue
        mode = call.pick_mode(set(env))
        if mode is not None:
            for bound in _run_mode(call, mode, env):
                yield from _solve_any_order(rest, bound)
            return
    for i, call in enumerate(waiting):
        if _is_relation(call):
            rest = waiting[:i] + waiting[i + 1 :]
            yield from interleave(_told(found, env, rest, waiting) for found in enumerated(call))
            return
    yield env, waiting


def _told(found: dict[Any, Any] | None, env: Env, rest: list[GoalCall], waiting: list[GoalCall]) -> Any:
    return iter([(env, waiting)]) if found is None else _solve_any_order(rest, {**env, **found})


def _is_relation(call: GoalCall) -> bool:
    return not isinstance(call.goal, Goal) or call.goal.relation is not None


def interleave(streams: Iterable[Iterator[Any]]) -> Iterator[Any]:
    """Answers of several streams in turn, so that an endless one, or endlessly many, hide no other."""
    coming = iter(streams)
    running: list[Iterator[Any]] = []
    more = True
    while more or running:
        if more:
            new = next(coming, None)
            more = new is not None
            running += [new] if new is not None else []
        for stream in list(running):
            try:
                yield next(stream)
            except StopIteration:
                running.remove(stream)


def _run_mode(call: GoalCall, mode: str, env: Env) -> Iterator[Env]:
    outputs = [a for a, c in zip(call.args, mode, strict=True) if c == "o"]
    if not outputs:
        yield from solve([call], env, frozenset([call.name]) if call.goal.trusted else frozenset())
        return
    inputs = tuple([argument(a, env) for a, c in zip(call.args, mode, strict=True) if c == "i"])
    for values in answers(call.goal.modes[mode], inputs, len(outputs)):
        bound = dict(env)
        for a, value in zip(outputs, values, strict=True):
            if bound.setdefault(a, value) is not value and bound[a] != value:
                break
        else:
            yield bound


def open_term(p: PatternTerm, env: Env) -> Any:
    """The pattern with what is known filled in; unknowns stay logic variables. None if a parameter stays unknown."""
    if isinstance(p, Var):
        return env.get(p, p)
    if p.__class__ is not Term or not p.lvars:
        return p
    head = _open_head(p.op, env)
    if head is None:
        return None
    operands: list[Any] = []
    for a in p.args:
        made = open_term(a, env)
        if made is None:
            return None
        if a.__class__ is SegVar and isinstance(made, tuple):
            operands.extend(made)
        else:
            operands.append(made)
    if len(operands) == 1 and is_nary(head):
        return operands[0]
    return mk(head, tuple(_typed(operands))) if operands else None


def _typed(operands: list[Any]) -> list[Any]:
    """Numbers beside terms take their dtype, as `build` has it; beside what is unknown they stay as written."""
    if not any(o.__class__ is Lit for o in operands) or not all(o.__class__ is Lit or _is_ground(o) for o in operands):
        return operands
    beside = [o.type.np_dtype for o in operands if o.__class__ is not Lit]
    return [num(o, *beside) if o.__class__ is Lit else o for o in operands] if beside else operands


def _is_ground(o: Any) -> bool:
    return is_term(o) and not o.lvars and getattr(o.type, "np_dtype", None) is not None


def _open_head(op: Op, env: Env) -> Any:
    if isinstance(op, (Var, Captured)):
        v = op if isinstance(op, Var) else op.var
        return env.get(v, v)
    if isinstance(op, HeadWith):
        found = env.get(op.var)
        values = dict(op.params)
        family = getattr(found, "family", None)
    else:
        if not op.lvars:
            return op
        values, family = dict(op.params), op.family
    filled = {k: _open_parameter(v, env) for k, v in values.items()}
    if family is None or any(isinstance(v, Var) for v in filled.values()):
        return None
    return family.bind(**filled)


def _open_parameter(value: object, env: Env) -> Any:
    return env.get(value, value) if isinstance(value, Var) else value


# ---------------------------------------------------------------------- neither side known
def _patterns(rule: Stated, left: PatternTerm, right: PatternTerm, state: State) -> Stream:
    """The rule's own sides, renamed apart, unified with what is partly known."""
    for instance in rule.instances():
        names = free_variables(instance.lhs) | free_variables(instance.rhs)
        if any(v.__class__ is SegVar for v in names):
            continue  # an unknown number of operands has no finite pattern
        for told, open_goals in _solve_any_order(instance.goals, {}):
            fresh = {v: _fresh(v) for v in names if v not in told}
            known = {**fresh, **told}
            lhs, rhs = _renamed(instance.lhs, known), _renamed(instance.rhs, known)
            extended = unify((left, right), (lhs, rhs), state)
            if extended is not False:
                yield from _with_delayed(rule, open_goals, known, fresh, extended)


def _renamed(p: PatternTerm, fresh: dict[Any, Any]) -> Any:
    return open_term(p, fresh) or p


# ---------------------------------------------------------------------- delayed conditions
class _Delayed:
    """A condition on values that are not all known yet."""

    __slots__ = ("test", "text")

    def __init__(self, test: Callable[[Any], bool], text: str) -> None:
        self.test, self.text = test, text

    def __repr__(self) -> str:
        return self.text


class DelayedStore(PredicateStore):
    """Conditions of rules that wait for their unknowns, as a kanren constraint."""

    op_str = "provided"

    def cparam_type_check(self, lvt: Any) -> bool:
        return isinstance(lvt, _Delayed)

    def constraint_check(self, lv: Any, lvt: Any) -> bool:
        return bool(lvt.test(lv))

    def constraint_isground(self, lv: Any, lvar_map: Any) -> bool:
        return not isinstance(lv, Var) and all(_is_known(v) for v in (lv if isinstance(lv, tuple) else (lv,)))


def _is_known(value: object) -> bool:
    return not isinstance(value, Var) and not getattr(value, "lvars", None)


def _with_delayed(rule: Stated, open_goals: list[GoalCall], env: Env, fresh: dict[Any, Any], state: State) -> Stream:
    """The state with guards and goals on unknowns attached; conditions on known values are checked now."""
    conditions: list[tuple[Any, _Delayed]] = []
    for v, guard in rule.guards.items():
        if v in fresh:
            conditions.append((env[v], _Delayed(guard, repr(guard))))
    for call in open_goals:
        if not isinstance(call.goal, Goal) or "i" * call.goal.arity not in call.goal.modes:
            continue  # nothing to test it with: the answer holds for the unknowns that satisfy it
        conditions.append((tuple([_open_argument(a, env) for a in call.args]), _Delayed(_tester(call), repr(call))))
    for value, condition in conditions:
        state = _delay(value, condition, state)
        if state is False:
            return
    yield state


def _open_argument(a: PatternTerm, env: Env) -> Any:
    if isinstance(a, Var):
        return env.get(a, a)
    return open_term(a, env) if a.__class__ is Term else a


def _tester(call: GoalCall) -> Callable[[tuple[Any, ...]], bool]:
    trust = frozenset((call.name,)) if call.goal.trusted else frozenset()

    def test(values: tuple[Any, ...]) -> bool:
        return bool(call.goal.holds("i" * call.goal.arity, values, trust))

    return test


def _delay(value: object, condition: _Delayed, state: State) -> State:
    data = state.data if isinstance(state, ConstrainedState) else state
    known = reify(value, data)
    if all(map(_is_known, known if isinstance(known, tuple) else (known,))):
        return state if condition.test(known) else False
    state = state.copy() if isinstance(state, ConstrainedState) else ConstrainedState(dict(state))
    if isinstance(known, tuple):
        handle = var()
        state.data = {**state.data, handle: known}
        known = handle
    store: Callable[[], PredicateStore] = DelayedStore
    state.constraints.setdefault(DelayedStore, store()).add(known, condition)
    return state
