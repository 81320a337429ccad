"""Signs of a correspondence of operators, in patterns: `c(x)**2 + n * s(x)**2` with n = -1 is `c(x)**2 - s(x)**2`.

A relation over operators may tell a sign beside them (`circular(s, c, t, n)`). Where that is a factor in a pattern it
is multiplied out, so that each instance is written as the graph has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unification import Var

from termgraph.terms.op import is_var
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.term import Lit, Term, mk

PLUS, MINUS = Lit(1), Lit(-1)


def signs_of(values: Mapping[Var, Any]) -> dict[Var, Lit]:
    """The metavariables that an answer makes 1 or -1."""
    return {v: k for v, k in values.items() if k is PLUS or k is MINUS}


def with_signs(p: Any, signs: Mapping[Var, Lit]) -> Any:
    """The pattern with these signs multiplied out where they are factors; elsewhere they are numbers."""
    if is_var(p):
        return signs.get(p, p)
    if p.__class__ is not Term or not p.lvars & signs.keys():
        return p
    args = [with_signs(a, signs) for a in p.args]
    if p.op is ew.mul:
        factors = [a for a, written in zip(args, p.args, strict=True) if written not in signs]
        return _times(factors, sum(a is MINUS for a, written in zip(args, p.args, strict=True) if written in signs))
    if p.op is ew.neg:
        return _negative(args[0])
    if p.op is ew.add:
        return _sum(args)
    if p.op is ew.sub and any(map(_is_negative, args)):
        return _sum([args[0], _negative(args[1])])
    return mk(p.op, tuple(args))


def _times(factors: list[Any], minuses: int) -> Any:
    minuses += sum(map(_is_negative, factors))
    factors = [a.args[0] if _is_negative(a) else a for a in factors]
    made = mk(ew.mul, tuple(factors)) if len(factors) > 1 else factors[0]
    return _negative(made) if minuses % 2 else made


def _is_negative(a: Any) -> bool:
    return bool(a.__class__ is Term and a.op is ew.neg)


def _negative(a: Any) -> Any:
    """The same with the other sign, which a number takes: 2 * x becomes -2 * x."""
    if a.__class__ is Lit:
        return Lit(-a.value)
    if _is_negative(a):
        return a.args[0]
    if a.__class__ is Term and a.op is ew.mul and a.args[0].__class__ is Lit:
        return mk(ew.mul, (Lit(-a.args[0].value), *a.args[1:]))
    return mk(ew.neg, (a,))


def _sum(terms: list[Any]) -> Any:
    """P - N."""
    plus = [a for a in terms if not _is_negative(a)]
    minus = [a.args[0] for a in terms if _is_negative(a)]
    over, under = ((mk(ew.add, tuple(part)) if len(part) > 1 else part[0]) if part else None for part in (plus, minus))
    return over if under is None else mk(ew.neg, (under,)) if over is None else mk(ew.sub, (over, under))
