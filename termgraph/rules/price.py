"""What computing a term costs, roughly: elements times the work for each. For comparing forms of one graph."""

from __future__ import annotations

import math
from typing import Any

from termgraph.terms.types import TensorType

UNKNOWN = 64  # the length that stands for one nobody knows
_DEAR = dict.fromkeys(("exp", "log", "sin", "cos", "tanh", "log1p", "expm1", "sigmoid", "softplus", "erf"), 12.0)
_DEAR |= dict.fromkeys(("true_div", "reciprocal", "sqrt"), 4.0) | {"pow": 25.0, "tan": 20.0, "lgamma": 60.0}
_FREE = ("shape", "length", "tuple", "transfer")


def _elements(type_: Any) -> float:
    if not isinstance(type_, TensorType):
        return float(sum(map(_elements, getattr(type_, "types", ()))))
    return math.prod([UNKNOWN if n is None else n for n in type_.shape])


def price(t: Any) -> float:
    """The cost of the root of a term, in additions; every operation costs something."""
    op, kind = t.op.family, t.op.kind
    if kind == "elementwise":
        each = _DEAR.get(op.name, 1.0 if len(t.args) < 2 else len(t.args) - 1.0)
        return 1 + _elements(t.type) * each
    if kind in _FREE:
        return 0.5
    if op.name in ("dot", "matmul"):
        inner = t.args[0].type.shape[-1]
        return 1 + 0.5 * _elements(t.type) * (UNKNOWN if inner is None else inner)
    if kind == "linalg":
        n = max([UNKNOWN if m is None else m for a in t.args for m in a.type.shape[-2:]], default=1)
        return 1 + 2.0 * n * max([_elements(a.type) for a in t.args])
    return 1 + max([_elements(t.type), *[_elements(a.type) for a in t.args]])
