"""What a mask selects, in one pass: elements are copied where it is true, no places are written down."""

from __future__ import annotations

from typing import Any

from termgraph.terms.op import Op
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.indexing import nonzero
from termgraph.terms.ops.shaping import shape_i
from termgraph.terms.term import AnyTerm, mk
from termgraph.terms.types import TensorType


def _infer(mask: TensorType, x: TensorType, *, same: bool) -> TensorType:
    return TensorType.of(x.dtype, (None,))


# The elements of an array for which a mask is true, as a vector; `same`: both have the same lengths, or it is an error.
KEPT = Op("kept", arity=2, infer=_infer, meaning=None, kind="index", params={"same": False})


def selected(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm | None:
    """`x[mask]` where `t` reads `x` at all places of a mask of all its dimensions, which are in `args`."""
    x, *places = args
    if not places or len(places) != x.type.ndim or any(entry != "a" for entry in t.op.params["index"]):
        return None
    if any(p.op.family is not nth or p.op.params["i"] != k for k, p in enumerate(places)):
        return None
    found = places[0].args[0]
    if found.op is not nonzero or any(p.args[0] is not found for p in places):
        return None
    mask, *lengths = found.args
    same = _same(mask, lengths, x)
    if mask.type.dtype != "bool" or same is None:
        return None
    return mk(KEPT.bind(same=same), (mask, x))


def _same(mask: AnyTerm, lengths: list[Any], x: AnyTerm) -> bool | None:
    """Whether a mask must have the lengths of what it selects from; None if it may have fewer dimensions or others."""
    if x.type.ndim != mask.type.ndim:
        return None
    if lengths:
        told = [n.op.family is shape_i and n.args[0] is x and n.op.params["axis"] == d for d, n in enumerate(lengths)]
        return True if all(told) else None
    if x.type.shape == mask.type.shape and None not in x.type.shape:
        return True
    return False if x.type.ndim == 1 else None
