"""The checks that static types leave to run time, in front of an op's meaning where there is something to check.

The rule itself (a length that was unknown may not turn out to be a hidden 1) is in `terms.evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from termgraph.terms.evaluate import check_broadcast
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    import numpy as np


def guarded(op: Any, types: Sequence[Any]) -> Callable:
    """The op's meaning, checking its arguments first where their types do not settle everything."""
    meaning = op.direct_meaning()
    own = getattr(op, "runtime_check", None)
    if own is not None:

        def run_checked(*values: np.ndarray) -> np.ndarray:
            own(types, values)
            return meaning(*values)

        return run_checked
    if op.kind != "elementwise" or not undecided(types):
        return meaning
    static = [t.shape for t in types]

    def run(*values: np.ndarray) -> np.ndarray:
        shape = values[0].shape
        for v in values:
            if v.shape != shape:
                check_broadcast(op.name, static, [v.shape for v in values])
                break
        return meaning(*values)

    return run


def undecided(types: Sequence[Any]) -> bool:
    """Whether operands of these types may disagree about a length that is not known before run time."""
    if len(types) < 2 or not all(isinstance(t, TensorType) for t in types):
        return False
    for axis in range(-1, -1 - max(t.ndim for t in types), -1):
        lengths = [t.shape[axis] for t in types if t.ndim >= -axis and t.shape[axis] != 1]
        if len(lengths) > 1 and None in lengths:
            return True
    return False
