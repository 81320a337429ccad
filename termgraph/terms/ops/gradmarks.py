"""Identities that change the gradient flowing back through them. They vanish when a graph is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.terms.op import Op
from termgraph.terms.ops.dtype_rules import same_rule
from termgraph.terms.ops.elementwise import elementwise


def _identity(x: object, **_: object) -> np.ndarray:
    return np.asarray(x)


def _mark(name: str, doc: str, **params: Any) -> Op:
    return elementwise(name, 1, _identity, same_rule, "{0}", params=params, doc=doc)


grad_clip = _mark("grad_clip", "x, whose gradient is clipped to [lower, upper].", lower=-np.inf, upper=np.inf)
grad_scale = _mark("grad_scale", "x, whose gradient is multiplied by a number.", multiplier=1.0)
zero_grad = elementwise("zero_grad", 1, _identity, same_rule, "{0}", doc="x, whose gradient is zero.")
disconnected_grad = elementwise(
    "disconnected_grad", 1, _identity, same_rule, "{0}", doc="x, not connected with what is computed from it."
)
undefined_grad = elementwise(
    "undefined_grad", 1, _identity, same_rule, "{0}", doc="x, whose gradient is declared undefined."
)
MARKS = (grad_clip, grad_scale, zero_grad, disconnected_grad, undefined_grad)
