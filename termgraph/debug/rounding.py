"""How far rounding alone may move a result: the NumPy meaning once more, each step of it off by a last place.

Asked only where two values differ by more than is usual, as gradients through a nearly singular matrix may.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.terms.dtypes import finfo, kind_of
from termgraph.terms.evaluate import apply_meaning, evaluate
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    from termgraph.terms.term import AnyTerm, Term

TRIES = 3


def rounding(root: AnyTerm, given: Mapping[Any, Any], expected: np.ndarray) -> float:
    """The largest distance from `expected`, the value of `root`, of values that are rounded otherwise on the way."""
    (root,) = inline_calls([root])
    far = [0.0]
    for seed in range(TRIES):
        draw = np.random.default_rng(seed)
        with np.errstate(all="ignore"):
            try:
                (value,) = evaluate([root], given, functools.partial(_rounded_otherwise, draw))
            except Exception:  # what just has a value: matrices hardly regular, conditions that just hold
                continue
            distance = np.abs(value - expected)
        far.append(float(distance[np.isfinite(distance)].max(initial=0.0)))
    return max(far)


def _rounded_otherwise(draw: np.random.Generator, t: Term, values: list[Any]) -> Any:
    """Sums and products of matrices round each number that they take, functions of an element what they give."""
    if isinstance(t.type, TensorType) and t.type.kind not in "fc":
        return apply_meaning(t, values)
    if t.op.kind != "elementwise":
        return apply_meaning(t, [_moved(v, draw) for v in values])
    made = apply_meaning(t, values)
    return made if t.op.exact else _moved(made, draw)


def _moved(value: Any, draw: np.random.Generator) -> Any:
    if not isinstance(value, np.ndarray) or kind_of(value.dtype) not in "fc":
        return value
    by = 1 + float(finfo(value.dtype).eps) * draw.uniform(-1, 1, value.shape)
    return np.asarray(value * by).astype(value.dtype)
