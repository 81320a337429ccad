"""Ops every layer needs to build graphs at all: axes, projection of several results."""

from __future__ import annotations

import numpy as np

from termgraph.terms.op import define
from termgraph.terms.ops.shapes import require_tensor
from termgraph.terms.types import TensorType, TupleType, Type


def _infer_dimshuffle(x: Type, *, order: tuple[int | str, ...]) -> TensorType:
    tensor = require_tensor(x, "operand of dimshuffle")
    used = [d for d in order if d != "x"]
    for d in used:
        if not isinstance(d, int) or not 0 <= d < tensor.ndim:
            raise ValueError(f"dimshuffle order {order} names dimension {d!r}; the array has {tensor.ndim} dimensions")
    if len(set(used)) != len(used):
        raise ValueError(f"dimshuffle order {order} names a dimension twice")
    for d in range(tensor.ndim):
        if d not in used and tensor.shape[d] not in (1, None):
            raise ValueError(f"dimshuffle order {order} drops dimension {d}, whose length is {tensor.shape[d]}, not 1")
    return TensorType.of(tensor.dtype, tuple([tensor.shape[d] if isinstance(d, int) else 1 for d in order]))


def _dimshuffle(x: np.ndarray, *, order: tuple[int | str, ...]) -> np.ndarray:
    x = np.asarray(x)
    kept = [d for d in order if d != "x"]
    dropped = tuple(d for d in range(x.ndim) if d not in kept)
    for d in dropped:
        if x.shape[d] != 1:
            raise ValueError(
                f"cannot drop dimension {d} of length {x.shape[d]} (shape {x.shape}); only length 1 can go"
            )
    squeezed = x.squeeze(dropped) if dropped else x
    rank = {d: i for i, d in enumerate(sorted(kept))}
    out = squeezed.transpose([rank[d] for d in kept])
    return out[tuple([None if d == "x" else slice(None) for d in order])] if "x" in order else out


dimshuffle = define(
    "dimshuffle",
    infer=_infer_dimshuffle,
    meaning=_dimshuffle,
    kind="shape",
    length_from=lambda t, axis: (t.args[0], t.op.params["order"][axis]),
    params={"order": ()},
    range_from="any",
    view=0,
    doc="Reorder dimensions; 'x' inserts one of length 1, a dimension left out must have length 1.",
)


def _infer_nth(t: Type, *, i: int) -> Type:
    if not isinstance(t, TupleType) or not 0 <= i < len(t.types):
        raise TypeError(f"result {i} of something of type {t}")
    return t.types[i]


nth = define(
    "nth",
    infer=_infer_nth,
    meaning=lambda t, *, i: t[i],
    kind="tuple",
    params={"i": 0},
    doc="The i-th result of an op with several results.",
)
