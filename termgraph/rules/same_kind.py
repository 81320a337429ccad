"""What kind of numbers the sides of a rule are: truth values, integers, floats or complex numbers.

The engine gives a replacement the dtype of what it replaces. Between kinds that would hide a mistake: `tan(x)` replaced
by `isnan(x)` would be zeros. So a rule whose sides are of different kinds, whatever its metavariables are, is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from termgraph.rules.kinds import Guard, PatternTerm, SegVar
from termgraph.rules.pattern import Captured
from termgraph.terms.op import Op, is_var
from termgraph.terms.ops.derivative import pullback
from termgraph.terms.term import Arg, Lit, Term
from termgraph.terms.types import TensorType

_DTYPES = {"b": "bool", "i": "int64", "f": "float64", "c": "complex128"}
_ORDER = "bifc"
WORDS = {"b": "truth values", "i": "integers", "f": "floating-point numbers", "c": "complex numbers"}
_UNKNOWN, _UNDEFINED = "unknown", "undefined"
_OUTCOMES: dict[Op, dict[str, str]] = {}  # by operator and kinds of operands; words alone are nothing to the collector
_MOST = 256  # assignments of kinds to metavariables that are tried


class _Unknown(Exception):
    """The kind depends on more than the kinds of the metavariables."""


class _Undefined(Exception):
    """The operator does not take operands of these kinds."""


def different_kinds(lhs: PatternTerm, rhs: PatternTerm, guards: Mapping[Any, Guard]) -> tuple[str, str] | None:
    """The kinds of both sides, if they differ for all kinds that the metavariables may be of."""
    if lhs.op is pullback:  # it gives a tuple, which has no kind
        return None
    names = sorted((lhs.lvars | rhs.lvars) if rhs.__class__ is Term else lhs.lvars, key=str)
    choices = [_allowed(guards.get(v)) for v in names]
    found = None
    for kinds in itertools.islice(itertools.product(*choices), _MOST):
        assigned = dict(zip(names, kinds))
        try:
            left, right = _kind(lhs, assigned), _of_result(rhs, assigned)
        except _Undefined:
            continue
        except _Unknown:
            return None
        if left in right:
            return None
        found = found or (left, right[0])
    return found


def _allowed(guard: Guard | None) -> str:
    """The kinds of terms that pass a guard; all of them if it asks for something else than the kind."""
    if guard is None:
        return _ORDER
    passing = [k for k in _ORDER if any(_passes(guard, _DTYPES[k], rank) for rank in (1, 2, 0))]
    return "".join(passing) or _ORDER


def _passes(guard: Guard, dtype: str, rank: int) -> bool:
    try:
        return guard(Arg(0, TensorType.of(dtype, (None,) * rank)))
    except (AttributeError, TypeError, ValueError):  # a test of the user's that looks for more than a type
        return False


def _of_result(p: PatternTerm, kinds: Mapping[Any, str]) -> str:
    """The kinds that the right side may be taken for: a number fits every kind that can hold it."""
    if p.__class__ is not Lit:
        return _kind(p, kinds)
    if isinstance(p.value, bool):
        return "b"
    if p.value in (0, 1) and isinstance(p.value, int):
        return _ORDER
    return "ifc" if isinstance(p.value, int) else "fc" if isinstance(p.value, float) else "c"


def _kind(p: PatternTerm, kinds: Mapping[Any, str]) -> str:
    if is_var(p):
        if p not in kinds or p.__class__ is SegVar:
            raise _Unknown
        return kinds[p]
    if p.__class__ is Lit:
        return _of_number(p.value)
    if p.__class__ is not Term:
        return _known(getattr(p, "type", None))
    op = p.op.family if isinstance(p.op, (Op, Captured)) else None
    if op is None or any(a.__class__ is SegVar for a in p.args):
        raise _Unknown
    operands = [None if a.__class__ is Lit else _kind(a, kinds) for a in p.args]
    others = max((k for k in operands if k is not None), key=_ORDER.index, default="b")
    numbers = [
        k if k is not None else max(others, _of_number(a.value), key=_ORDER.index) for k, a in zip(operands, p.args)
    ]
    return _result(op, "".join(numbers))


def _of_number(value: float) -> str:
    return (
        "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f" if isinstance(value, float) else "c"
    )


def _known(type_: Any) -> str:
    kind = getattr(type_, "kind", None)
    if kind is None:
        raise _Unknown
    return "i" if kind == "u" else kind


def _outcome(op: Op, kinds: str) -> str:
    """The kind of the result, or the word for the exception that says why there is none."""
    if op.by_value or "dtype" in op.defaults or op.user_made or op._infer is None:
        return _UNKNOWN
    for rank in (1, 2, 0):
        try:
            return _known(op.infer(*[TensorType.of(_DTYPES[k], (None,) * rank) for k in kinds]))
        except _Unknown:
            return _UNKNOWN
        except Exception:  # not for operands of these kinds, or of this rank
            continue
    return _UNDEFINED


def _result(op: Op, kinds: str) -> str:
    known = _OUTCOMES.setdefault(op, {})
    found = known.get(kinds)
    if found is None:
        found = known[kinds] = _outcome(op, kinds)
    if found == _UNKNOWN:
        raise _Unknown
    if found == _UNDEFINED:
        raise _Undefined
    return found
