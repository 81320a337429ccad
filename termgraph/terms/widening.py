"""What ops mean on bfloat16: computed in float32 and rounded once.

NumPy's own functions hardly know the dtype, so operands are widened before an op and results rounded after it. Ops that
only move elements (indexing, shapes, choices) take them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from termgraph.terms.dtypes import is_bfloat16, kind_of, loaded, promote

COMPUTING = frozenset(("elementwise", "reduce", "cumulative", "sort", "linalg", "fft", "source"))
MOVING = frozenset(("switch", "cast", "assume", "required"))  # element-wise, but nothing is computed

BY_WHOLE = frozenset(("ldexp",))  # whole numbers among the operands stay what they are
OF_THE_DTYPE = frozenset(("nextafter",))  # about the dtype's own numbers, so ml_dtypes computes them


class Computing(Protocol):
    """What is asked of an op here, below which this module stands."""

    name: str
    kind: str
    params: Mapping[str, Any]


def may_widen(op: Computing) -> bool:
    """Whether an op computes, so that it may have to widen its operands."""
    return op.kind in COMPUTING and op.name not in MOVING


def needs_widening(op: Computing, values: Sequence[Any]) -> bool:
    """Whether an op would have to compute in bfloat16."""
    if not may_widen(op):
        return False
    return op.params.get("dtype") == "bfloat16" or any(is_bfloat16(v.dtype) for v in values if hasattr(v, "dtype"))


def widened(op: Computing, meaning: Callable[..., Any], values: Sequence[Any]) -> Any:
    """The op's result by its meaning in float32, in the dtype that its type promises."""
    dtypes = [v.dtype if hasattr(v, "dtype") else np.asarray(v).dtype for v in values]
    asked = op.params.get("dtype")
    common = promote(*dtypes) if dtypes else loaded[0]
    rounds = asked == "bfloat16" if asked else is_bfloat16(common)
    params = {**op.params, "dtype": "float32"} if asked == "bfloat16" else op.params
    # whole numbers become what bfloat16 and other floats have in common first
    converts = op.kind in ("elementwise", "linalg") and op.name not in BY_WHOLE
    whole = (loaded[0] if rounds else common) if converts else None
    with np.errstate(all="ignore"):
        if rounds and op.name in OF_THE_DTYPE:
            return meaning(*[np.asarray(v).astype(loaded[0]) for v in values])
        result = meaning(*[_wide(v, d, whole) for v, d in zip(values, dtypes, strict=True)], **params)
        if isinstance(result, tuple):
            return tuple([_rounded(r, rounds) for r in result])
        return _rounded(result, rounds)


def _wide(value: object, dtype: np.dtype, whole: np.dtype | None) -> Any:
    if is_bfloat16(dtype):
        return np.asarray(value).astype(np.float32)
    if whole is not None and kind_of(dtype) in "iub":
        converted = np.asarray(value).astype(whole)
        return converted.astype(np.float32) if is_bfloat16(whole) else converted
    return value


def _rounded(result: object, rounds: bool) -> Any:
    array = np.asarray(result)
    return array.astype(loaded[0]) if rounds and array.dtype == np.float32 else result
