"""Goals about whole numbers: which of two is smaller, and what divides what, as far as ranges and forms tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules import goal
from termgraph.rules.intervals import tells
from termgraph.rules.linear import divisor_of, not_above
from termgraph.terms.op import CONST
from termgraph.terms.term import Const


@goal("ii", after=tells)
def at_most(i: Any, j: Any) -> bool:
    """No element of `i` exceeds that of `j`."""
    return not_above(i, j)


@goal("ii", after=tells)
def below(i: Any, j: Any) -> bool:
    """Every element of `i` is less than that of `j`."""
    return not_above(i, j, 1)


@goal("ii", after=tells)
def apart(i: Any, j: Any) -> bool:
    """All elements of `i` are less than those of `j`, or all are greater."""
    return not_above(i, j, 1) or not_above(j, i, 1)


@goal("ii")
def divides(d: Any, i: Any) -> bool:
    """The number `d`, which is not 0, divides every element of `i`."""
    return d.op is CONST and bool(d.scalar) and divisor_of(i) % int(d.scalar) == 0


@goal("ii")
def leaves_rest(d: Any, c: Any) -> bool:
    """The number `d` is no multiple of the number `c`."""
    return bool(c.scalar) and int(d.scalar) % int(c.scalar) != 0


@goal("io")
def power_of(c: Any) -> Any:
    """The number with the bit `c` set, which its dtype must hold."""
    n, bits = int(c.scalar), c.type.np_dtype.itemsize * 8 - (c.type.kind == "i")
    return Const(np.asarray(1 << n, dtype=c.type.dtype)) if 0 <= n < bits else None


@goal("io")
def after_mask(c: Any) -> Any:
    """The power of two of which `c` is one less: `i & c` is the remainder of a division by it."""
    n = int(c.scalar) + 1
    bits = c.type.np_dtype.itemsize * 8 - (c.type.kind == "i")
    return Const(np.asarray(n, dtype=c.type.dtype)) if n > 1 and n & (n - 1) == 0 and n < 1 << bits else None
