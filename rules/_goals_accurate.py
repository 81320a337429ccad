"""Goals of the rules for `tg.accurate`: sums of products of powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules import goal
from termgraph.terms.ops.elementwise import add, mul, pow_, sqr
from termgraph.terms.term import Const, mk

_MOST = 8


@goal("iiio")
def larger_power(x: Any, y: Any, k: Any, /) -> Any:
    """`x ** (k - 1) + x ** (k - 2) * y + ... + y ** (k - 1)`, by which `x - y` is multiplied in `x ** k - y ** k`."""
    n = k.scalar
    if not isinstance(n, (int, float)) or n != int(n) or not 2 < n <= _MOST:
        return None
    parts = [_product(_power(x, i, k), _power(y, int(n) - 1 - i, k)) for i in range(int(n))]
    return mk(add, tuple(parts))


def _power(x: Any, n: int, k: Any) -> Any:
    if n < 2:
        return x if n else None
    return mk(sqr, (x,)) if n == 2 else mk(pow_, (x, Const(np.asarray(n, dtype=k.type.np_dtype))))


def _product(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else mk(mul, (a, b))
