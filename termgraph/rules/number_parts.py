"""Parts of rules that are numbers computed of numbers: the power of two of a shift, the reciprocal of a divisor.

Each has an answer where the number is exact and its dtype holds it, and no other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from termgraph.rules.parts import part_of
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm, Const

SMALL = 32  # exponents up to here are products, and their reciprocals a quotient by these
ROOTS = (1.5, 2.5)


def number_of(k: AnyTerm) -> Any:
    """The real number that a constant consists of."""
    s = k.scalar if isinstance(k, Const) else None
    return s if isinstance(s, (int, float)) and not isinstance(s, bool) else None


def _is_const(k: AnyTerm, *others: AnyTerm) -> bool:
    return k.op is CONST


def _bits(k: AnyTerm) -> int:
    return int(k.type.np_dtype.itemsize) * 8 - int(k.type.kind == "i")


@part_of(None)
def two_to(c: AnyTerm) -> Any:
    """The number with the bit `c` set, in the dtype of `c`."""
    n = int(number_of(c))
    return Const(np.asarray(1 << n, dtype=c.type.dtype)) if 0 <= n < _bits(c) else None


@part_of(None)
def after_mask(c: AnyTerm) -> Any:
    """The power of two of which `c` is one less: `i & c` is the remainder of a division by it."""
    n = int(number_of(c)) + 1
    return Const(np.asarray(n, dtype=c.type.dtype)) if n > 1 and n & (n - 1) == 0 and n < 1 << _bits(c) else None


def _power_of_two(k: AnyTerm, x: AnyTerm) -> int | None:
    n = number_of(k)
    if n is None or isinstance(n, float) or n < 2 or n & (n - 1) or n > np.iinfo(x.type.np_dtype).max:
        return None
    return int(n)


@part_of(None)
def shift_of(k: AnyTerm, x: AnyTerm) -> Any:
    """By how many bits to shift `x` instead of dividing it by `k`."""
    n = _power_of_two(k, x)
    return None if n is None else Const(np.asarray(n.bit_length() - 1, dtype=x.type.dtype))


@part_of(None)
def mask_of(k: AnyTerm, x: AnyTerm) -> Any:
    """The bits of the remainder of a division of `x` by `k`."""
    n = _power_of_two(k, x)
    return None if n is None else Const(np.asarray(n - 1, dtype=x.type.dtype))


@part_of(None)
def reciprocal_of(k: AnyTerm) -> Any:
    """1 / k for a power of two, which floating point holds exactly."""
    n = number_of(k)
    if n is None or n == 0 or not math.isfinite(n):
        return None
    mantissa, exponent = math.frexp(n)
    if abs(mantissa) != 0.5 or abs(exponent) > 14 or abs(n) == 1:  # 14: exact in every float, those of 16 bits included
        return None
    return Const(np.asarray(1 / n, dtype=k.type.np_dtype if k.type.kind == "f" else np.float16))


@part_of(None)
def opposite(k: AnyTerm) -> Any:
    """The exponent -k, for a negative k whose positive power is cheap."""
    n = number_of(k)
    if n is None or not -SMALL <= n < -1 or (n != int(n) and -n not in ROOTS):
        return None
    return Const(np.asarray(-n, dtype=k.type.dtype))


for _part in (shift_of, mask_of, reciprocal_of, opposite):
    _part.worth = _is_const
