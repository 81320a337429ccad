"""What computing a term costs, roughly: elements times the work for each. For comparing forms of one graph."""

from __future__ import annotations

import math

from termgraph.terms.op import cost_of
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TensorType

UNKNOWN = 64  # the length that stands for one nobody knows
_FREE = ("shape", "length", "tuple", "transfer")


def _elements(type_: TensorType) -> float:
    if not isinstance(type_, TensorType):
        return float(sum(map(_elements, getattr(type_, "types", ()))))
    return math.prod([UNKNOWN if n is None else n for n in type_.shape])


def price(t: AnyTerm) -> float:
    """The cost of the root of a term, in multiplications; every operation costs something."""
    op, kind = t.op.family, t.op.kind
    if kind == "elementwise":
        return 1 + _elements(t.type) * max(1, cost_of(op, len(t.args)))
    if kind in _FREE:
        return 0.5
    if op.name in ("dot", "matmul"):
        inner = t.args[0].type.shape[-1]
        return 1 + 0.5 * _elements(t.type) * (UNKNOWN if inner is None else inner)
    if kind == "linalg":
        n = max([UNKNOWN if m is None else m for a in t.args for m in a.type.shape[-2:]], default=1)
        return 1 + 2.0 * n * max([_elements(a.type) for a in t.args])
    return 1 + max([_elements(t.type), *[_elements(a.type) for a in t.args]])
