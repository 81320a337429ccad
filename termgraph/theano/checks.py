"""theano.compile.nanguardmode's tests of values. May import terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import Apply


def flatten(l: TensorLike) -> list:
    """Nested lists, tuples and dictionaries as one list of values."""
    if isinstance(l, dict):
        l = list(l.values())
    return [v for item in l for v in flatten(item)] if isinstance(l, (list, tuple)) else [l]


def _floats(arr: TensorLike) -> Any:
    value = np.asarray(arr) if not callable(arr) and not isinstance(arr, np.random.RandomState) else None
    return value if value is not None and value.dtype.kind in "fc" and value.size else None


def contains_nan(arr: TensorLike, node: Apply | None = None, var: TensorLike | None = None) -> bool:
    """Whether an array holds a NaN."""
    value = _floats(arr)
    return value is not None and bool(np.isnan(value).any())


def contains_inf(arr: TensorLike, node: Apply | None = None, var: TensorLike | None = None) -> bool:
    """Whether an array holds an infinity."""
    value = _floats(arr)
    return value is not None and bool(np.isinf(value).any())
