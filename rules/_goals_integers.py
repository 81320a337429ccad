"""Goals about whole numbers: which of two is smaller, and what divides what, as far as ranges and forms tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules import goal
from termgraph.terms.term import Const


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
