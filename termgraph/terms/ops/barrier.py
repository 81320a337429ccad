"""`later` and `stored_as`: values computed only after others, and values that are kept in another dtype.

Recomputation needs the one, `storage=` of functions the other.
"""

from __future__ import annotations

from termgraph.terms.op import define
from termgraph.terms.ops.meanings import cast as cast_meaning
from termgraph.terms.types import TensorType

later = define(
    "later",
    infer=lambda x, *after: x,
    meaning=lambda x, *after: x,
    kind="effect",
    view=0,
    doc="later(x, *after): x, once all of `after` are computed; so what is made from it is not made before.",
)
stored_as = define(
    "stored_as",
    infer=lambda x, *, dtype: TensorType.of(dtype, x.shape),
    meaning=cast_meaning,
    kind="effect",
    params={"dtype": "bfloat16"},
    doc="stored_as(x): x in another dtype, in storage of its own; what is made from it does not compute x again.",
)
