"""Plugs terms into logical-unification, etuples and kanren, once, for our own classes only.

Ground terms unify by identity and reify to themselves, so a shared graph is never walked as a tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from etuples.core import ExpressionTuple
from etuples.dispatch import apply as etuples_apply
from etuples.dispatch import rands as etuples_rands
from etuples.dispatch import rator as etuples_rator
from unification import Var
from unification.core import _reify, _unify, construction_sentinel

from termgraph.terms.op import HeadMark, Op
from termgraph.terms.term import AnyTerm, Const, Leaf, Lit, Term, as_term, mk
from termgraph.terms.types import Type


class IllTyped:
    """What an ill-typed reification gives: unifies with nothing, so that the search branch fails."""

    op: Any = None
    args: tuple[Any, ...] = ()
    lvars: frozenset[Any] = frozenset()
    type: Any = None

    def __repr__(self) -> str:
        return "<ill-typed>"


ILL_TYPED = IllTyped()


def _unify_terms(u: Term, v: Term, s: Mapping[Any, Any]) -> Any:
    if u is v:
        return s
    if not u.lvars and not v.lvars:
        return False  # distinct ground terms differ: no walk
    return _unify(u._tuple, v._tuple, s)


def _unify_term_tuple(u: AnyTerm, v: AnyTerm, s: Mapping[Any, Any]) -> Any:
    return _unify(getattr(u, "_tuple", u), getattr(v, "_tuple", v), s)


def _same(u: AnyTerm | Op, v: AnyTerm | Op, s: Mapping[Any, Any]) -> Any:
    return s if u is v else False


def _unify_number(u: Const | Lit, number: complex, s: Mapping[Any, Any]) -> Any:
    lit = Lit(number)
    return s if u is lit or (u.__class__ is not Lit and lit.matches(u)) else False


def _reify_term(t: Term, s: Mapping[Any, Any]) -> Any:
    return _reify_open(t, s) if t.lvars else t


def _reify_open(t: Term, s: Mapping[Any, Any]) -> Any:
    new = yield _reify(t._tuple, s)
    yield construction_sentinel
    try:
        head = new[0]
        if isinstance(head, Var) and head.__class__ is not Var:  # unknown but for a condition: the operator's place
            head = Var(head.token)
        yield mk(head, tuple([as_term(a) for a in new[1:]]))
    except (TypeError, ValueError):
        yield ILL_TYPED


def _apply_op(op: Op, args: Any) -> AnyTerm:
    return mk(op, tuple([as_term(a) for a in args]))


def _register() -> None:
    _unify.add((Term, Term, Mapping), _unify_terms)
    _unify.add((Term, (ExpressionTuple, tuple), Mapping), _unify_term_tuple)
    _unify.add(((ExpressionTuple, tuple), Term, Mapping), _unify_term_tuple)
    for cls in (Leaf, Op, Lit, Type, HeadMark):
        _unify.add((cls, cls, Mapping), _same)
        _reify.add((cls, Mapping), lambda obj, s: obj)
    _unify.add((Lit, Const, Mapping), lambda u, v, s: s if u.matches(v) else False)
    _unify.add((Const, Lit, Mapping), lambda u, v, s: s if v.matches(u) else False)
    for number in (bool, int, float, complex):  # as people write them in goals
        for cls in (Const, Lit):
            _unify.add((cls, number, Mapping), _unify_number)
            _unify.add((number, cls, Mapping), lambda u, v, s: _unify_number(v, u, s))
    _reify.add((Term, Mapping), _reify_term)
    etuples_apply.add((Op, (ExpressionTuple, tuple, list)), _apply_op)
    etuples_rator.add((Term,), lambda t: t.op)
    etuples_rands.add((Term,), lambda t: ExpressionTuple(t.args))


_register()
