"""Goals about exponents and divisors that are known numbers."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from termgraph.rules import goal
from termgraph.rules.magnitudes import worth_moving
from termgraph.terms.build import in_dtype
from termgraph.terms.op import CONST
from termgraph.terms.ops.elementwise import mul, sqr
from termgraph.terms.term import Const, mk, mk1

LARGEST = 32  # products for exponents up to here: at most eight multiplications
ROOTS = (1.5, 2.5)


def _number(k: Any) -> Any:
    return k.scalar if k.op is CONST and isinstance(k.scalar, (int, float)) and not isinstance(k.scalar, bool) else None


def _const_exponent(t: Any, x: Any, k: Any) -> bool:
    return k.op is CONST


def _const(k: Any) -> bool:
    return k.op is CONST


@goal("ii")
def in_front(x: Any, t: Any) -> bool:
    """The square of `x` is on the way to the product `t` anyway: two equal factors behind others do not become one,
    which might overflow.
    """
    return t.type.kind not in "fc" or t.op is not mul or t.args[0] is t.args[1] or _worth_moving(t)


@lru_cache(maxsize=16)
def _worth_moving(t: Any) -> bool:
    return worth_moving(t.args, ())  # asked for each pair of factors of a product


@goal("iiio", worth=_const_exponent)
def product_power(t: Any, x: Any, k: Any) -> Any:
    """`t`, which is `x ** k` for a small whole k, by squaring and multiplying in its own dtype."""
    n = _number(k)
    if n is None or n != n or n != int(n if abs(n) <= LARGEST else 0) or n < 2:
        return None
    factors = []
    square = in_dtype(x, t.type.dtype)
    for bit in reversed(bin(int(n))[2:]):
        if bit == "1":
            factors.append(square)
        square = mk1(sqr, square)
    return factors[0] if len(factors) == 1 else mk(mul, tuple(factors))


@goal("io", worth=_const)
def mirrored(k: Any) -> Any:
    """The exponent -k, for a negative k whose positive power is cheap."""
    n = _number(k)
    if n is None or not -LARGEST <= n < -1 or (n != int(n) and -n not in ROOTS):
        return None
    return Const(np.asarray(-n, dtype=k.type.dtype))


@goal("io", worth=_const)
def exact_reciprocal(k: Any) -> Any:
    """1 / k for a power of two, which floating point holds exactly."""
    n = _number(k)
    if n is None or n == 0 or not math.isfinite(n):
        return None
    mantissa, exponent = math.frexp(n)
    kind = k.type.np_dtype
    if abs(mantissa) != 0.5 or abs(exponent) > 14 or abs(n) == 1:  # 14: exact in every float, those of 16 bits included
        return None
    return Const(np.asarray(1 / n, dtype=kind if k.type.kind == "f" else np.float16))


def _power_of_two(k: Any, x: Any) -> int | None:
    n = _number(k)
    if n is None or isinstance(n, float) or n < 2 or n & (n - 1) or n > np.iinfo(x.type.np_dtype).max:
        return None
    return n


@goal("iio")
def shift_of(k: Any, x: Any) -> Any:
    """By how many bits to shift instead of dividing by k."""
    n = _power_of_two(k, x)
    return None if n is None else Const(np.asarray(n.bit_length() - 1, dtype=x.type.dtype))


@goal("iio")
def mask_of(k: Any, x: Any) -> Any:
    """The bits of the remainder of a division by k."""
    n = _power_of_two(k, x)
    return None if n is None else Const(np.asarray(n - 1, dtype=x.type.dtype))
