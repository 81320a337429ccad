"""Goals about masks: places that a mask gives, and what they select from."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules import goal
from termgraph.rules.indices import length
from termgraph.terms.ops.elementwise import neq
from termgraph.terms.ops.indexing import nonzero
from termgraph.terms.term import Const, mk2
from termgraph.terms.types import TupleType


def _mask_of(k: Any) -> Any:
    """The call of `nonzero` that a vector of places is a result of."""
    found = k.args[0] if k.op.family.name == "nth" else None
    return found if found is not None and found.op is nonzero else None


@goal("iiio")
def masked(x: Any, ks: tuple, i: tuple) -> Any:
    """`ks` are all places where a mask of the lengths of `x` is true: the mask."""
    found = _mask_of(ks[0]) if ks and len(ks) == x.type.ndim == len(i) else None
    if found is None or any(e != "a" for e in i):
        return None
    mask, *lengths = found.args
    if not isinstance(found.type, TupleType) or mask.type.ndim != x.type.ndim:
        return None
    if any(_mask_of(k) is not found or k.op.params["i"] != d for d, k in enumerate(ks)):
        return None
    told = lengths and all(n is length(x, d) for d, n in enumerate(lengths))
    if not told and (mask.type.shape != x.type.shape or None in x.type.shape):
        return None  # a mask may be smaller than what it selects from
    if any((m == 1) != (n == 1) for m, n in zip(mask.type.shape, x.type.shape)):
        return None  # a choice would broadcast what an index refuses
    return _truth(mask)


def _truth(mask: Any) -> Any:
    if mask.type.dtype == "bool":
        return mask
    return mk2(neq, mask, Const(np.asarray(0, mask.type.np_dtype)))
