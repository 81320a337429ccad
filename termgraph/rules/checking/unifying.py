"""Most general unifiers of patterns, with the occurs check: operators, parameters, segments, any order for sums.

Approximate where patterns are richer than terms: two n-ary sums are unified operand by operand in every order if they
have equally many; at most one segment per argument list is solved for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from unification import Var

from termgraph.rules.forms import is_nary
from termgraph.rules.kinds import PatternTerm, SegVar
from termgraph.rules.pattern import Captured, HeadWith, PatternHead, free_variables
from termgraph.terms.op import CONST, Op
from termgraph.terms.term import Lit, Term, mk

Subst = dict[Any, Any]
_MOST_ORDERS = 24


def renamed(p: PatternTerm, suffix: str, seen: dict[Any, Any]) -> Any:
    """The pattern with every metavariable renamed; `seen` collects old -> new."""
    if p.__class__ is SegVar:
        return seen.setdefault(p, SegVar(f"{p.token}{suffix}"))
    if isinstance(p, Var):
        return seen.setdefault(p, Var(f"{p.token}{suffix}"))
    if isinstance(p, tuple):
        return tuple([renamed(q, suffix, seen) for q in p])
    if p.__class__ is not Term or not p.lvars:
        return p
    return mk(_renamed_head(p.op, suffix, seen), tuple([renamed(a, suffix, seen) for a in p.args]))


def _renamed_head(op: Op, suffix: str, seen: dict[Any, Any]) -> Any:
    if isinstance(op, Captured):
        return Captured.of(renamed(op.var, suffix, seen), op.family)
    if isinstance(op, HeadWith):
        return HeadWith.of(renamed(op.var, suffix, seen), {k: renamed(v, suffix, seen) for k, v in op.params})
    if isinstance(op, Var):
        return renamed(op, suffix, seen)
    if isinstance(op, Op) and op.lvars:
        return op.family.bind(**{k: renamed(v, suffix, seen) for k, v in op.params.items()})
    return op


def unify(a: PatternTerm, b: PatternTerm, s: Subst) -> Iterator[Subst]:
    """All (few) most general unifiers found for two patterns."""
    a, b = _walk(a, s), _walk(b, s)
    if a is b:
        yield s
    elif isinstance(a, Var) and a.__class__ is not SegVar:
        yield from _bind(a, b, s)
    elif isinstance(b, Var) and b.__class__ is not SegVar:
        yield from _bind(b, a, s)
    elif a.__class__ is Lit or b.__class__ is Lit:
        lit, other = (a, b) if a.__class__ is Lit else (b, a)
        if other.__class__ is Lit:
            if other.value == lit.value:
                yield s
        elif getattr(other, "op", None) is CONST and lit.matches(other):
            yield s
    elif a.__class__ is Term and b.__class__ is Term:
        for t in _heads(a.op, b.op, s):
            yield from _arguments(a, b, t)


def _walk(p: PatternTerm, s: Subst) -> Any:
    while isinstance(p, Var) and p in s:
        p = s[p]
    return p


def _bind(v: PatternTerm, value: object, s: Subst) -> Iterator[Subst]:
    if value.__class__ is SegVar or occurs(v, value, s):
        return
    yield {**s, v: value}


def occurs(v: PatternTerm, p: PatternTerm, s: Subst) -> bool:
    """Whether `v` occurs in `p` once bindings are followed: such a unifier would be infinite."""
    stack: list[Any] = [p]
    seen: set[int] = set()
    while stack:
        q = _walk(stack.pop(), s)
        if q is v:
            return True
        if id(q) not in seen:
            seen.add(id(q))
            stack.extend(q if isinstance(q, tuple) else () if isinstance(q, Var) else free_variables(q))
    return False


def _heads(a: PatternTerm, b: PatternTerm, s: Subst) -> Iterator[Subst]:
    a, b = _head_value(a, s), _head_value(b, s)
    if a is b:
        yield s
    elif isinstance(a, Var):
        yield {**s, a: b}
    elif isinstance(b, Var):
        yield {**s, b: a}
    elif isinstance(a, HeadWith) or isinstance(b, HeadWith) or a.family is not b.family:
        return
    elif isinstance(a, Captured):
        yield {**s, a.var: b.var if isinstance(b, Captured) else b}
    elif isinstance(b, Captured):
        yield {**s, b.var: a}
    else:
        yield from _values(tuple(a.params.values()), tuple(b.params.values()), s)


def _head_value(op: PatternHead, s: Subst) -> Any:
    v = op.var if isinstance(op, Captured) else op
    found = _walk(v, s) if isinstance(v, Var) else v
    return op if isinstance(found, Var) and isinstance(op, Captured) else found


def _values(a: PatternTerm, b: PatternTerm, s: Subst) -> Iterator[Subst]:
    """Unify parameter values."""
    a, b = _walk(a, s), _walk(b, s)
    if isinstance(a, Var):
        yield s if a is b else {**s, a: b}
    elif isinstance(b, Var):
        yield {**s, b: a}
    elif isinstance(a, tuple) and isinstance(b, tuple) and (_has_var(a) or _has_var(b)):
        if len(a) == len(b):
            yield from _each(list(zip(a, b)), s, _values)
    elif a == b:
        yield s


def _has_var(value: object) -> bool:
    return isinstance(value, Var) or (isinstance(value, tuple) and any(map(_has_var, value)))


def _each(pairs: list[tuple[Any, Any]], s: Subst, one: Any) -> Iterator[Subst]:
    if not pairs:
        yield s
        return
    for t in one(*pairs[0], s):
        yield from _each(pairs[1:], t, one)


def _arguments(a: Term, b: Term, s: Subst) -> Iterator[Subst]:
    left, right = _opened(a.args, s), _opened(b.args, s)
    segs = [sum(x.__class__ is SegVar for x in args) for args in (left, right)]
    if segs == [0, 0]:
        if len(left) == len(right):
            orders = itertools.permutations(right) if is_nary(a.op) or is_nary(b.op) else iter([right])
            for order in itertools.islice(orders, _MOST_ORDERS):
                yield from _each(list(zip(left, order)), s, unify)
    elif segs == [1, 0]:
        yield from _with_segment(left, right, s)
    elif segs == [0, 1]:
        yield from _with_segment(right, left, s)
    elif len(left) == 1 and left[0].__class__ is SegVar:
        yield from _bind_segment(left[0], tuple(right), s)
    elif len(right) == 1 and right[0].__class__ is SegVar:
        yield from _bind_segment(right[0], tuple(left), s)


def _bind_segment(v: PatternTerm, values: tuple[Any, ...], s: Subst) -> Iterator[Subst]:
    if values == (v,):
        yield s
    elif not occurs(v, values, s):
        yield {**s, v: values}


def _opened(args: tuple[Any, ...], s: Subst) -> list[Any]:
    out: list[Any] = []
    for a in args:
        if a.__class__ is SegVar and a in s:
            out.extend(_opened(s[a], s))
        else:
            out.append(a)
    return out


def _with_segment(holder: list[Any], plain: list[Any], s: Subst) -> Iterator[Subst]:
    i = next(k for k, x in enumerate(holder) if x.__class__ is SegVar)
    n = len(plain) - (len(holder) - 1)
    if n < 0:
        return
    taken = tuple(plain[i : i + n])
    others = list(zip(holder[:i] + holder[i + 1 :], plain[:i] + plain[i + n :]))
    for t in _bind_segment(holder[i], taken, s):
        yield from _each(others, t, unify)


def apply(p: PatternTerm, s: Subst) -> Any:
    """The pattern with the unifier filled in."""
    if isinstance(p, Var):
        found = _walk(p, s)
        return found if found is p or isinstance(found, Var) else apply(found, s)
    if isinstance(p, tuple):
        return tuple([apply(q, s) for q in p])
    if p.__class__ is not Term or not p.lvars:
        return p
    args: list[Any] = []
    for a in p.args:
        if a.__class__ is SegVar and a in s:
            args.extend(apply(x, s) for x in _opened((a,), s))
        else:
            args.append(apply(a, s))
    return mk(_applied_head(p.op, s), tuple(args))


def _applied_head(op: Op, s: Subst) -> Any:
    if isinstance(op, (Var, Captured)):
        found = _head_value(op, s)
        if isinstance(op, Captured):
            v = _walk(op.var, s)
            return Captured.of(v, op.family) if isinstance(v, Var) else _applied_head(v, s)
        return found if isinstance(found, Var) else _applied_head(found, s)
    if isinstance(op, HeadWith):
        return HeadWith.of(op.var, {k: apply(v, s) for k, v in op.params})
    if op.lvars:
        return op.family.bind(**{k: apply(v, s) for k, v in op.params.items()})
    return op
