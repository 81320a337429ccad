"""Goals about exponents that are known numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from termgraph.rules import goal
from termgraph.rules.magnitudes import worth_moving
from termgraph.rules.number_parts import SMALL, number_of
from termgraph.terms.build import in_dtype
from termgraph.terms.op import CONST
from termgraph.terms.ops.elementwise import mul, sqr
from termgraph.terms.term import mk, mk1


def _const_exponent(t: Any, x: Any, k: Any) -> bool:
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
    n = number_of(k)
    if n is None or n != n or n != int(n if abs(n) <= SMALL else 0) or n < 2:
        return None
    factors = []
    square = in_dtype(x, t.type.dtype)
    for bit in reversed(bin(int(n))[2:]):
        if bit == "1":
            factors.append(square)
        square = mk1(sqr, square)
    return factors[0] if len(factors) == 1 else mk(mul, tuple(factors))
