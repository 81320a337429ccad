"""Guards on numbers and on arrays that are known as a whole: whole, even, above zero; zeros, a unit matrix.

A metavariable that is guarded so needs no goal: `(-v) ** k` is `v ** k` for `k: Even`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules.goals import goal
from termgraph.rules.kinds import GUARDS, Guard
from termgraph.terms.build import is_zero
from termgraph.terms.op import CONST
from termgraph.terms.ops.shaping import eye
from termgraph.terms.term import AnyTerm, Const


# ---------------------------------------------------------------------- numbers
def _whole(k: AnyTerm) -> int | None:
    s = k.scalar if isinstance(k, Const) else None
    if isinstance(s, bool) or not isinstance(s, (int, float)) or s != s or s in (float("inf"), float("-inf")):
        return None
    return int(s) if s == int(s) else None


def _is_whole(k: AnyTerm) -> bool:
    return _whole(k) is not None


def _is_even(k: AnyTerm) -> bool:
    n = _whole(k)
    return n is not None and n % 2 == 0


def _is_odd(k: AnyTerm) -> bool:
    n = _whole(k)
    return n is not None and n % 2 == 1


def _is_count(k: AnyTerm) -> bool:
    n = _whole(k)
    return n is not None and n > 0


Whole = Guard("Whole", _is_whole, doc="A constant that is one whole number, of whatever dtype.")
Even = Guard("Even", _is_even, doc="A constant that is one even number.")
Odd = Guard("Odd", _is_odd, doc="A constant that is one odd number.")
Count = Guard("Count", _is_count, doc="A constant that is one whole number above zero.")


@goal("ii", fact=True)
def exceeds(j: Any, k: Any) -> bool:
    """Two real numbers, the first the larger."""
    return _are_real(j, k) and bool(j.scalar > k.scalar)


@goal("ii", fact=True)
def ascending(j: Any, k: Any) -> bool:
    """Two real numbers, the second no smaller."""
    return _are_real(j, k) and bool(j.scalar <= k.scalar)


def _is_constant(k: AnyTerm) -> bool:
    return k.op is CONST


@goal("i", fact=True, kind=True, worth=_is_constant)  # named: images of rules keep functions by their names
def below_zero(k: AnyTerm) -> bool:
    """A number below zero whose negative is above zero."""
    if not isinstance(k, Const) or not isinstance(k.scalar, (int, float)) or isinstance(k.scalar, bool):
        return False
    return k.scalar < 0 and bool((-k.value > 0).all())


def _are_real(*numbers: AnyTerm) -> bool:
    return all(isinstance(k, Const) and k.scalar is not None and not isinstance(k.scalar, complex) for k in numbers)


# ---------------------------------------------------------------------- arrays
def _is_zeros(x: AnyTerm) -> bool:
    return x.type.ndim > 0 and is_zero(x)


def _is_unit(x: AnyTerm) -> bool:
    if x.op.family is eye:  # computed, or (if it is small enough to have been folded) constant
        n, m, k = x.args
        return n is m and getattr(k, "scalar", None) == 0
    if not isinstance(x, Const) or x.type.ndim != 2 or x.type.shape[0] != x.type.shape[1]:
        return False
    return bool(np.array_equal(x.value, np.eye(x.type.shape[0])))


Zero = Guard("Zero", is_zero, doc="Zero everywhere.")
Zeros = Guard("Zeros", _is_zeros, doc="An array of zeros, with dimensions.")
Unit = Guard("Unit", _is_unit, doc="A unit matrix.")

GUARDS.update({g.name: g for g in (Whole, Even, Odd, Count, Zero, Zeros, Unit)})
