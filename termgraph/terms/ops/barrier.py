"""`later`: the identity, computed only after other values. Recomputation needs it."""

from __future__ import annotations

from termgraph.terms.op import define

later = define(
    "later",
    arity=None,
    infer=lambda x, *after: x,
    meaning=lambda x, *after: x,
    kind="effect",
    view=0,
    doc="later(x, *after): x, once all of `after` are computed; so what is made from it is not made before.",
)
