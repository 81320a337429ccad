"""Staging: what of a rule is settled when a rule set is compiled, before any graph is seen.

Goals over operators are solved with kanren, one instance per answer, in an order that does not depend on the process.
Left sides also get the form that canonicalize gives them, and both orders of commutative operands.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

from unification import Var

from termgraph._lazy import lazy
from termgraph.rules.forms import Instance, Stated, flat_pattern, is_nary, refuse_other_kind
from termgraph.rules.goals import Goal, GoalCall
from termgraph.rules.kinds import HeadKind, PatternTerm, SegVar
from termgraph.rules.optional import parts_left_out
from termgraph.rules.pattern import Captured, HeadWith, free_variables
from termgraph.rules.signs import signs_of, with_signs
from termgraph.terms.errors import RuleError, RuleWarning
from termgraph.terms.hashing import stable_text
from termgraph.terms.op import Op, is_var
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.term import AnyTerm, Lit, Term, mk

kanren = lazy("kanren")
_MOST_ORDERS = 16


def _of_other_kind(rule: Stated, answer: tuple[Any, ...], lhs: AnyTerm, rhs: PatternTerm) -> bool:
    """Whether a rule must not be used for these operators, since its sides would be of different kinds; reported."""
    try:
        refuse_other_kind(lhs, rhs, rule.guards)
    except RuleError as error:
        names = ", ".join(map(repr, answer))
        warnings.warn(RuleWarning(f"rule {rule.name!r} at {rule.where}, for {names}: {error}; left out"), stacklevel=4)
        return True
    return False


def stage(rule: Stated) -> list[Instance]:
    """All instances of a rule: staged answers first, then the spellings of each left side."""
    out: list[Instance] = []
    seen = set()
    for answer, made in _solved(rule):
        if made is None or (key := (made[0], made[1], *map(repr, made[2]))) in seen:
            continue
        seen.add(key)
        lhs, rhs, goals = made
        if answer and _of_other_kind(rule, answer, lhs, rhs):
            continue
        for i, spelling in enumerate(_spellings(lhs, rhs)):
            out.append(Instance(rule, spelling, rhs, goals, answer, main=i == 0))
    for place, instance in enumerate(out):
        instance.place = place
    return out


def _solved(rule: Stated) -> list[tuple[tuple[Any, ...], Any]]:
    staged = [g for g in rule.goals if g.over_operators]
    rest = tuple(g for g in rule.goals if not g.over_operators)
    variables = sorted({v for g in staged for v in g.variables()}, key=lambda v: str(v.token))
    choices = _families(rule, variables)
    found: list[tuple[tuple[Any, ...], Any]] = []
    for answer in _answers(staged, variables):
        if not all(_admitted(rule.kinds.get(v), value) for v, value in zip(variables, answer, strict=True)):
            continue
        for families in itertools.product(*choices.values()):
            values = dict(zip(variables, answer, strict=True)) | dict(zip(choices, families, strict=True))
            label = tuple(values[v] for v in values)
            made = _specialised(rule, rest, values) if values else (rule.lhs, rule.rhs, rest)
            try:
                found += [((*label, *left), form) for left, form in parts_left_out(rule, made)]
            except RuleError as err:
                raise RuleError(f"rule {rule.name!r} at {rule.where}: {err}") from None
    return found


def _admitted(kind: Any, value: Any) -> bool:
    """Whether a metavariable that a goal settles may be this operator: `head[...]` says which it may be."""
    return not isinstance(kind, HeadKind) or not kind.families or value in kind.families


def _families(rule: Stated, solved: list[Var]) -> dict[Var, tuple[Op, ...]]:
    """The head metavariables of this rule that are restricted by `head[...]` and that no goal settles."""
    used = free_variables(rule.lhs)
    return {
        v: k.families
        for v, k in sorted(rule.kinds.items(), key=lambda item: str(item[0].token))
        if isinstance(k, HeadKind) and k.families and v not in solved and v in used
    }


def _answers(staged: list[GoalCall], variables: list[Var]) -> list[tuple[Any, ...]]:
    if not staged:
        return [()]
    goals = [g.goal(*g.args) for g in staged]
    return sorted(set(kanren.run(0, tuple(variables), *goals)), key=stable_text)


def _specialised(rule: Stated, goals: tuple[GoalCall, ...], values: dict[Var, Any]) -> Any:
    signs = signs_of(values)
    try:
        lhs = flat_pattern(substitute(with_signs(rule.lhs, signs), values))
        rhs = substitute(with_signs(rule.rhs, signs), values)
    except _NoSuchParameter:
        return None
    made = []
    for g in goals:
        call = GoalCall(g.goal, ())
        call.args = tuple([_goal_argument(a, values) for a in g.args])
        made.append(call)
    return lhs, rhs, tuple(made)


def _goal_argument(a: PatternTerm, values: dict[Var, Any]) -> Any:
    if is_var(a):
        value = values.get(a, a)
        return a if isinstance(value, Op) and value.family.defaults else value
    return substitute(a, values) if a.__class__ is Term else a


def for_family(instance: Instance, family: Op) -> Instance | None:
    """An instance whose root may be any operator, for one family: tests of the operator alone are settled now.

    None if one of them fails. A family with parameters is left alone: a test may depend on them.
    """
    head = instance.lhs.op
    if family.defaults or not isinstance(family, Op):
        return instance
    kept = []
    for call in instance.goals:
        if call.args == (head,) and isinstance(call.goal, Goal) and "i" in call.goal.modes:
            if not call.goal.holds("i", (family,), frozenset()):
                return None
        else:
            kept.append(call)
    settled = Instance(instance.rule, instance.lhs, instance.rhs, tuple(kept), instance.answer, instance.main)
    settled.place = instance.place
    return settled


class _NoSuchParameter(Exception):
    """An answer whose op lacks a parameter the rule mentions: the instance does not exist."""


def substitute(p: PatternTerm, values: dict[Var, Any]) -> Any:
    """The pattern with metavariables replaced by operators and numbers."""
    if is_var(p):
        value = values.get(p, p)
        return value if isinstance(value, (Var, Lit)) or not isinstance(value, Op) else p
    if p.__class__ is not Term or not p.lvars:
        return p
    return mk(_head(p.op, values), tuple([substitute(a, values) for a in p.args]))


def _head(op: Any, values: dict[Var, Any]) -> Any:
    if is_var(op):
        value = values.get(op)
        if value is None:
            return op
        if not isinstance(value, Op):
            raise RuleError(f"{op.token} is used as an operator but a goal makes it {value!r}")
        return Captured.of(op, value.family) if value.family.defaults and value.family is value else value
    if isinstance(op, HeadWith) and op.var in values:
        family = values[op.var].family
        if any(name not in family.defaults for name, _ in op.params):
            raise _NoSuchParameter
        return family.bind(**dict(op.params))
    return op


# ---------------------------------------------------------------------- spellings
def _spellings(lhs: AnyTerm, rhs: PatternTerm) -> list[Any]:
    """The left side as written, as canonicalize leaves it, and both orders of commutative pairs."""
    if (
        getattr(lhs.op, "kind", "") == "derivative"
    ):  # one gradient per argument, in the order of the arguments as written
        return [lhs]
    forms = [lhs]
    canonical = canonical_form(lhs)
    if canonical is not lhs and _has_anchor(canonical) and canonical is not canonical_form(rhs):
        forms.append(canonical)
    out: list[Any] = []
    for form in forms:
        for order in itertools.islice(_orders(form), _MOST_ORDERS):
            if order not in out:
                out.append(order)
    return out


ARITHMETIC = (ew.add, ew.sub, ew.neg, ew.mul, ew.true_div, ew.reciprocal)


def _has_anchor(p: PatternTerm) -> bool:
    """Whether the pattern says more than arithmetic on metavariables: `x - (-y)` must not come to match any sum."""
    if p.__class__ is not Term or not p.lvars:
        return not is_var(p)
    return p.op not in ARITHMETIC[:-1] or any(map(_has_anchor, p.args))


def _orders(p: PatternTerm) -> list[Any]:
    """The pattern with the operands of binary commutative ops in both orders (n-ary ones are matched in any order)."""
    if p.__class__ is not Term or not p.lvars:
        return [p]
    out = []
    for args in itertools.product(*map(_orders, p.args)):
        out.append(mk(p.op, args))
        swaps = getattr(p.op, "commutative", False) and not is_nary(p.op) and len(args) == 2
        if swaps and args[0] is not args[1]:
            out.append(mk(p.op, (args[1], args[0])))
    return out


def canonical_form(p: PatternTerm) -> Any:
    """The pattern in the normal form of sums (P - N, signed constants in P) and products (P / N, sign outside)."""
    if p.__class__ is not Term or not p.lvars:
        return p
    args = tuple(map(canonical_form, p.args))
    if any(a.__class__ is SegVar for a in args):
        return mk(p.op, args)
    if p.op in (ew.add, ew.sub, ew.neg):
        return _canonical_sum(p.op, args)
    if p.op in (ew.mul, ew.true_div, ew.reciprocal):
        return _canonical_product(p.op, args)
    return mk(p.op, args)


def _canonical_sum(op: Op, args: tuple[Any, ...]) -> Any:
    plus: list[Any] = []
    minus: list[Any] = []
    for i, a in enumerate(args):
        _signed_terms(a, op is ew.neg or (op is ew.sub and i == 1), plus, minus)
    if not minus:
        return _joined(ew.add, plus)
    if not plus:
        return mk(ew.neg, (_joined(ew.add, minus),))
    return mk(ew.sub, (_joined(ew.add, plus), _joined(ew.add, minus)))


def _signed_terms(a: PatternTerm, negative: bool, plus: list[Any], minus: list[Any]) -> None:
    op = a.op if a.__class__ is Term else None
    if op in (ew.add, ew.sub, ew.neg) and not any(x.__class__ is SegVar for x in a.args):
        for i, x in enumerate(a.args):
            _signed_terms(x, negative ^ (op is ew.neg or (op is ew.sub and i == 1)), plus, minus)
    elif a.__class__ is Lit:
        plus.append(Lit(-a.value) if negative and not isinstance(a.value, bool) else a)
    else:
        (minus if negative else plus).append(a)


def _canonical_product(op: Op, args: tuple[Any, ...]) -> Any:
    over: list[Any] = []
    under: list[Any] = []
    sign = 1
    if op is ew.reciprocal:
        over.append(Lit(1))
        sign *= _factors(args[0], True, over, under)
    else:
        for i, a in enumerate(args):
            sign *= _factors(a, op is ew.true_div and i == 1, over, under)
    if len(over) > 1:
        sign *= -1 if sum(a is Lit(-1) for a in over) % 2 else 1
        over = [a for a in over if a not in (Lit(-1), Lit(1))] or [Lit(1)]
    out = _joined(ew.mul, over or [Lit(1)])
    if under:
        out = mk(ew.true_div, (out, _joined(ew.mul, under)))
    return mk(ew.neg, (out,)) if sign < 0 else out


def _factors(a: PatternTerm, inverted: bool, over: list[Any], under: list[Any]) -> int:
    op = a.op if a.__class__ is Term else None
    if op is ew.neg:
        return -_factors(a.args[0], inverted, over, under)
    if op in (ew.mul, ew.true_div) and not any(x.__class__ is SegVar for x in a.args):
        sign = 1
        for i, x in enumerate(a.args):
            sign *= _factors(x, inverted ^ (op is ew.true_div and i == 1), over, under)
        return sign
    (under if inverted else over).append(a)
    return 1


def _joined(op: Op, operands: list[Any]) -> Any:
    return operands[0] if len(operands) == 1 else mk(op, tuple(operands))
