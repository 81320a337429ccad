"""What Python may ask of an expression that has a value already: constants, lengths that are known, what is made of
them. `range(x.shape[0])`, `math.sqrt(x.shape[-1])` and `if x.shape[0] > 3` then work as they do on an array.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import CONST
from termgraph.terms.types import TensorType, Type

_MOST = 64  # terms that are looked at, and elements of each
_KINDS = frozenset(("leaf", "elementwise", "reduce", "join", "shape", "index", "length"))


def known_value(v: Any) -> np.ndarray | None:
    """The value of an expression in which there are a few small constants only, else None."""
    if v.waits:  # a gradient whose graph is made when somebody looks
        return None
    seen, waiting = {}, [v.term]
    while waiting:
        t = waiting.pop()
        if t in seen:
            continue
        seen[t] = True
        if len(seen) > _MOST or t.op.kind not in _KINDS or _elements(t.type) > _MOST or not (t.args or t.op is CONST):
            return None
        waiting += t.args
    with np.errstate(all="ignore"):
        value: np.ndarray = evaluate([v.term])[0]
    return value


def known_number(v: Any) -> Any:
    """The NumPy scalar that an expression with one element is known to be, else None."""
    value = known_value(v) if _elements(v.type) == 1 else None
    return None if value is None else value.reshape(()).item()


def _elements(type_: Type) -> int:
    """How many elements values of a type have; too many where that is not known."""
    lengths = type_.shape if isinstance(type_, TensorType) else (None,)
    return math.prod([_MOST + 1 if n is None else n for n in lengths])
