"""Optional parts: one line for the forms of an identity with and without a factor, a summand or a dimshuffle.

`u: Float | 1` may be missing in `u * x / y`, `w: Float | 0` in `x + w`. A form without it has the number in its place,
and what the number makes needless is taken away: factors 1, summands 0, products with 0. Of a dimshuffle whose order
is `o: param | None` or `put_back(x, a)` there is a form in which what it moves stands by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from unification import Var

from termgraph.rules.forms import Stated, flat_pattern
from termgraph.rules.goals import IN_PLACE, GoalCall
from termgraph.rules.kinds import order
from termgraph.rules.pattern import free_variables
from termgraph.rules.text import pattern_text
from termgraph.terms.errors import RuleError
from termgraph.terms.op import is_var
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.term import Lit, Term, mk

Form = tuple[Any, Any, tuple[Any, ...]]  # left side, right side, goals


class LeftOut:
    """In the label of a form: a metavariable that it does without."""

    def __init__(self, variable: Var, number: int | None) -> None:
        self.variable, self.number = variable, number

    def __repr__(self) -> str:
        return f"{self.variable.token} = {self.number}"


def parts_left_out(rule: Stated, form: Form | None) -> Iterator[tuple[tuple[Any, ...], Form | None]]:
    """The forms without some of the optional parts, the shortest first, and what each leaves out."""
    if form is None:
        yield (), form
        return
    optional: dict[Var, int | None] = {v: g.left_out for v, g in rule.guards.items() if g.left_out is not None}
    optional |= dict.fromkeys(v for v in free_variables(form[0]) if may_be_missing(v, rule))
    names = [v for v in sorted(optional, key=lambda v: str(v.token)) if v in free_variables(form[0])]
    for kept in itertools.product((False, True), repeat=len(names)):
        without = {v: optional[v] for v, keep in zip(names, kept, strict=True) if not keep}
        yield tuple([LeftOut(v, n) for v, n in without.items()]), _without(form, without)


def may_be_missing(v: Var, rule: Stated) -> bool:
    """Whether a metavariable is the order of a dimshuffle that may be missing."""
    return rule.kinds.get(v) is order or v in IN_PLACE and getattr(IN_PLACE[v].goal, "without", None) is not None


def _without(form: Form, numbers: dict[Var, int | None]) -> Form:
    lhs, rhs, goals = form
    values: dict[Var, Any] = {v: None if n is None else Lit(n) for v, n in numbers.items()}
    return flat_pattern(_tidy(lhs, values)), _tidy(rhs, values), tuple([_goal(g, values) for g in goals])


def _goal(call: GoalCall, values: dict[Var, Any]) -> GoalCall:
    if not call.variables() & values.keys():
        return call
    if call.in_place and call.args[-1] in values:  # where its dimshuffle may be missing
        instead: GoalCall = call.goal.without(*call.args[:-1])
        return instead
    made = GoalCall(call.goal, ())
    made.args = tuple([_tidy(a, values) if a.__class__ is Term else a for a in call.args])
    if made.variables() & values.keys():
        names = ", ".join(str(v.token) for v in made.variables() & values.keys())
        raise RuleError(f"{call!r} asks about {names}, which may be left out")
    return made


def _tidy(p: Any, values: dict[Var, Any]) -> Any:
    """The pattern with numbers for what is left out, and without what these make needless."""
    if is_var(p):
        return values.get(p, p)
    if p.__class__ is not Term or not p.lvars & values.keys():
        return p
    if getattr(p.op, "family", None) is dimshuffle and p.op.params["order"] in values:
        return _tidy(p.args[0], values)
    args = [_tidy(a, values) for a in p.args]
    gone = [i for i, (a, b) in enumerate(zip(p.args, args, strict=True)) if b.__class__ is Lit and a is not b]
    rule = _TIDIED.get(p.op)
    made = rule(args, gone) if rule is not None and gone else mk(p.op, tuple(args))
    if made is None:
        raise RuleError(f"{pattern_text(p)} says nothing without one of its parts")
    return made


def _sum(args: list[Any], gone: list[int]) -> Any:
    if any(args[i] is not ZERO for i in gone):
        return None
    kept = [a for i, a in enumerate(args) if i not in gone]
    return mk(ew.add, tuple(kept)) if len(kept) > 1 else kept[0] if kept else ZERO


def _difference(args: list[Any], gone: list[int]) -> Any:
    x, y = args
    if any(args[i] is not ZERO for i in gone):
        return None
    return x if 1 in gone else mk(ew.neg, (y,))


def _product(args: list[Any], gone: list[int]) -> Any:
    if any(args[i] is ZERO for i in gone):
        return ZERO
    kept = [a for i, a in enumerate(args) if i not in gone]
    return mk(ew.mul, tuple(kept)) if len(kept) > 1 else kept[0] if kept else ONE


def _quotient(args: list[Any], gone: list[int]) -> Any:
    x, y = args
    if 0 in gone and x is ZERO:
        return ZERO
    if 1 in gone:
        return x if y is ONE else None
    return mk(ew.true_div, (x, y))  # 1 / y


def _negative(args: list[Any], gone: list[int]) -> Any:
    return ZERO if args[0] is ZERO else mk(ew.neg, tuple(args))


ZERO, ONE = Lit(0), Lit(1)
_TIDIED = {
    ew.add: _sum, ew.sub: _difference, ew.mul: _product, ew.true_div: _quotient, ew.neg: _negative,
}  # fmt: skip
