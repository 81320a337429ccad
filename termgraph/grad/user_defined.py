"""Derivatives that ops bring along: methods of user-written ops (Theano's `grad`, `L_op`, `R_op`), bodies of `call`.

Methods speak of variables and use the user's convention for complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from termgraph.tensor.lifting import handle
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.op import Op
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.call import call
from termgraph.terms.ops.derivative import NOTHING, missing, undefined
from termgraph.terms.ops.elementwise import conj
from termgraph.terms.term import AnyTerm, Term, mk1
from termgraph.terms.types import TensorType, TupleType, Type


class DisconnectedType(Type):
    """The type of a gradient that does not exist because nothing connects the cost with the input."""

    __slots__ = ()

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        raise TypeError("a disconnected gradient has no value")

    def __repr__(self) -> str:
        return "DisconnectedType()"


Pullback = Callable[[Term, Sequence[Any]], Sequence[Any]]
RECOMPUTE = "recompute"  # the `lop` of a call whose body is computed again when its gradient is


# ---------------------------------------------------------------------- what users return for some inputs
def grad_undefined(op: Op, x_pos: int, x: TensorLike, comment: str = "") -> Variable:
    """What an op's `grad` returns for an input whose derivative does not exist mathematically."""
    return handle(undefined(comment or f"declared by {op}"))


def grad_not_implemented(op: Op, x_pos: int, x: TensorLike, comment: str = "") -> Variable:
    """What an op's `grad` returns for an input whose derivative nobody has written yet."""
    return handle(missing(comment or f"declared by {op}"))


# ---------------------------------------------------------------------- reverse
def user_pullback(t: Term, cotangents: Sequence[Any], of_body: Pullback) -> Sequence[Any] | None:
    """The contributions that the definition of an op gives, a call by its body; None if it says nothing."""
    op = t.op
    if op.family is call:
        return _call_pullback(t, cotangents, of_body)
    direct = getattr(op, "pullback_terms", None)  # ops of the library whose gradient is a program, such as loops
    if direct is not None:
        return [NOTHING if c is None else c for c in direct(t, cotangents)]
    if not op.user_made:
        return None
    method = getattr(op, "L_op", None)
    given: tuple = (_variables(t.args), [_variable(y) for y in results_of(t)], _conjugated(cotangents))
    if method is None:
        method = getattr(op, "grad", None)
        given = (given[0], given[2])
    if method is None:
        return (missing(f"{type(op).__name__} defines neither grad nor L_op"),) * len(t.args)
    return _terms(f"{type(op).__name__}.{method.__name__}", method(*given), t)


def results_of(t: Term) -> list[Any]:
    """The terms of an application's results."""
    if isinstance(t.type, TupleType):
        return [mk1(nth.bind(i=i), t) for i in range(len(t.type.types))]
    return [t]


def _call_pullback(t: Term, cotangents: Sequence[Any], of_body: Pullback) -> Sequence[Any]:
    lop = t.op.params["lop"]
    if lop is None or lop == RECOMPUTE:
        return of_body(t, cotangents)
    given = (_variables(t.args), [_variable(y) for y in results_of(t)], _conjugated(cotangents))
    if callable(lop):
        return _terms(f"lop_overrides of {t.op}", lop(*given), t)
    if len(lop) > len(t.args):
        raise ValueError(f"lop_overrides of {t.op} lists {len(lop)} entries for {len(t.args)} inputs")
    usual = of_body(t, cotangents)
    found = [usual[i] if f is None or f == "default" else f(*given) for i, f in enumerate(lop)]
    return _terms(f"lop_overrides of {t.op}", [*found, *usual[len(lop) :]], t)


# ---------------------------------------------------------------------- forward
def user_pushforward(
    t: Term, tangents: Sequence[Any], of_body: Callable[[Term, Sequence[Any]], list[Any]]
) -> list[Any] | None:
    """The tangents of the results that an op's own definition gives; None if it says nothing."""
    op = t.op
    points = [None if s is None else _variable(s) for s in tangents]
    if op.family is call:
        rop = op.params["rop"]
        if callable(rop):
            return _tangent_terms(f"rop_overrides of {op}", rop(_variables(t.args), points), t)
        return of_body(t, tangents)
    direct = getattr(op, "pushforward_terms", None)
    if direct is not None:
        return list(direct(t, tangents))
    method: Callable | None = getattr(op, "R_op", None) if op.user_made else None
    if method is None:
        return None
    return _tangent_terms(f"{type(op).__name__}.R_op", method(_variables(t.args), points), t)


def _tangent_terms(what: str, found: list, t: Term) -> list[Any]:
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    n = len(results_of(t))
    if len(found) != n:
        raise ValueError(f"{what} must return one tangent per output: {n}, got {len(found)}")
    return [None if v is None else _term(what, v) for v in found]


# ---------------------------------------------------------------------- between terms and variables
def _variable(t: AnyTerm) -> Variable:
    return handle(t)


def _variables(terms: Sequence[Any]) -> list[Variable]:
    return [handle(t) for t in terms]


def _conj(g: AnyTerm) -> AnyTerm:
    return mk1(conj, g) if isinstance(g.type, TensorType) and g.type.kind == "c" else g


def _conjugated(cotangents: Sequence[Any]) -> list[Variable]:
    return [handle(_conj(g)) for g in cotangents]


def _terms(what: str, found: list, t: Term) -> list[Any]:
    """The terms of what a method returned, one per input."""
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    if len(found) != len(t.args):
        raise ValueError(f"{what} must return one gradient per input: {len(t.args)}, got {len(found)}")
    return [_gradient_term(what, g) for g in found]


def _gradient_term(what: str, g: TensorVariable) -> AnyTerm:
    if g is None or isinstance(getattr(g, "type", None), DisconnectedType):
        return NOTHING
    term = _term(what, g)
    return term if term.op.kind == "derivative" else _conj(term)


def _term(what: str, value: TensorVariable) -> AnyTerm:
    if value.__class__ is Term:
        return value
    if not isinstance(value, Variable):
        value = as_tensor(value)
    return value.term
