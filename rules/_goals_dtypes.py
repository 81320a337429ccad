"""Goals about dtypes and numbers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from termgraph.rules import goal
from termgraph.rules.type_facts import holds_all
from termgraph.terms import facts
from termgraph.terms.dtypes import is_bfloat16, kind_of
from termgraph.terms.op import CONST
from termgraph.terms.ops.elementwise import cast, loop_dtypes
from termgraph.terms.term import Const, Lit


@goal("iii")
def needless(x: Any, a: str, b: str) -> bool:
    """A cast to `a` on the way from `x` to `b` changes nothing."""
    if not holds_all(x.type.dtype, a):
        return False
    have, through, want = x.type.kind, kind_of(a), kind_of(b)
    if have == "f" and through == "c" and want in "iu":  # infinities become other integers
        return False
    return not (have == "i" and through in "fc" and want in "iu") or holds_all(x.type.dtype, b)


@goal("iio", some="{0}.op is CONST")
def constants_in_loop_dtype(f: Any, xs: tuple) -> Any:
    """The operands with constants in the dtype in which the operator computes, so that x * 2 and x * 2.0 are one."""
    first = xs[0].type.dtype
    for x in xs:
        if x.type.dtype != first:
            break
    else:
        return None
    if f.family is cast or not any(x.op is CONST for x in xs):
        return None
    dtypes = tuple([x.type.np_dtype for x in xs])
    loop = loop_dtypes(f, dtypes)
    out = tuple([_converted(x, d) for x, d in zip(xs, loop)])
    if out == xs or loop_dtypes(f, tuple([x.type.np_dtype for x in out])) != loop:
        return None
    return out


def _converted(x: Any, dtype: np.dtype) -> Any:
    if x.op is not CONST or x.type.np_dtype == dtype or dtype.kind == "b":
        return x
    with np.errstate(all="ignore"):
        value = x.value.astype(dtype)
        back = value.astype(x.value.dtype) if is_bfloat16(dtype) else value  # NumPy cannot compare it with integers
    return Const(value) if np.array_equal(back, x.value) else x


@goal("ii")
def keeps_zeros(f: Any, x: Any) -> bool:
    """The sign of a zero comes through: -0.0 + 0 is 0.0, everything else is as it was."""
    return f.name not in ("add", "sub") or x.type.kind in "biu"


@goal("i")
def is_difference(t: Any) -> bool:
    """Written with a minus: x - 0 keeps the sign of a zero, which its other spelling x + 0 does not."""
    return t.op.name == "sub"


# ---------------------------------------------------------------------- increasing functions
@functools.cache
def _increasing(version: int) -> frozenset:
    return frozenset(op for op, direction in facts.monotone.rows() if direction is Lit(1))


@goal("i")
def increasing(f: Any) -> bool:
    """An operator declared to be monotone, in direction 1."""
    return f in _increasing(facts.version())


def _one_function(xs: tuple) -> bool:
    return xs[0].op in _increasing(facts.version()) and all(x.op is xs[0].op for x in xs)


@goal("ioo", some="{0}.op.kind == 'elementwise'", worth=_one_function)
def one_increasing(xs: tuple) -> Any:
    """All operands are values of one increasing function of real numbers: the function, and what it was applied to."""
    f = xs[0].op
    for x in xs:
        if x.op is not f:
            return None
    if f not in _increasing(facts.version()):
        return None
    ys = tuple([x.args[0] for x in xs])
    dtypes = {y.type.np_dtype for y in ys}  # f of another dtype may overflow sooner or later
    return (f, ys) if len(dtypes) == 1 and ys[0].type.kind == "f" else None


# ---------------------------------------------------------------------- numbers
@goal("i")
def below_zero(k: Any) -> bool:
    """A number below zero whose negative is above zero."""
    s = k.scalar
    return isinstance(s, (int, float)) and not isinstance(s, bool) and s < 0 and (-k.value > 0).all()


@goal("i")
def whole_number(k: Any) -> bool:
    """A constant that is one whole number."""
    return _whole(k) is not None


@goal("i")
def even_number(k: Any) -> bool:
    """A constant that is one even number."""
    n = _whole(k)
    return n is not None and n % 2 == 0


@goal("i")
def odd_number(k: Any) -> bool:
    """A constant that is one odd number."""
    n = _whole(k)
    return n is not None and n % 2 == 1


@goal("ii")
def both_count(j: Any, k: Any) -> bool:
    """Two whole numbers above zero."""
    m, n = _whole(j), _whole(k)
    return m is not None and n is not None and m > 0 and n > 0


@goal("ii")
def exceeds(j: Any, k: Any) -> bool:
    """Two whole numbers above zero, the first the larger."""
    m, n = _whole(j), _whole(k)
    return m is not None and n is not None and m > n > 0


@goal("ii")
def ordered(j: Any, k: Any) -> bool:
    """Two numbers in ascending order."""
    bounds = (j.scalar, k.scalar)
    return not any(b is None or isinstance(b, complex) for b in bounds) and bounds[0] <= bounds[1]


def _whole(k: Any) -> int | None:
    s = getattr(k, "scalar", None)
    if isinstance(s, bool) or not isinstance(s, (int, float)) or s != s or s in (float("inf"), float("-inf")):
        return None
    return int(s) if s == int(s) else None
