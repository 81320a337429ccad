"""Another machine: the functions that no standard fixes to the last place answer a little differently there.

NumPy's exp, sin and their like are other code on each kind of processor. "Exact" is what holds on all of them: a
function gives the same for the same numbers, keeps its symmetry, and may be off by a last place anywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.terms.dtypes import kind_of
from termgraph.terms.evaluate import apply_meaning

# logaddexp is not one of them, and softplus is logaddexp: the formula is NumPy's own, whatever the exp and log1p in it
ROUNDED_DIFFERENTLY = frozenset(
    ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
     "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "pow", "sigmoid", "erf",
     "erfc", "erfinv", "erfcinv", "gamma", "gammaln", "hypot", "cbrt", "sinc")
)  # fmt: skip
_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


def evaluate_there(order: Sequence[Any], given: dict[Any, Any]) -> list[Any]:
    """The values of terms, operands first, on the other machine."""
    values = dict(given)
    for t in order:
        if t in values:
            continue
        if not t.args:
            values[t] = t.value
            continue
        args = [values[a] for a in t.args]
        made = apply_meaning(t, args)
        values[t] = _moved(t.op.name, made, args) if t.op.name in ROUNDED_DIFFERENTLY else made
    return [values[t] for t in order]


def has_such(order: Sequence[Any]) -> bool:
    """Whether some term is such a function."""
    return any(t.op.name in ROUNDED_DIFFERENTLY for t in order)


def _moved(name: str, made: np.ndarray, args: list[Any]) -> np.ndarray:
    """The result with some elements a last place nearer to zero, or further from it, as the operands' digits decide."""
    if not isinstance(made, np.ndarray) or kind_of(made.dtype) != "f" or made.dtype.itemsize < 4:
        return made
    seed = np.full(made.shape, sum(map(ord, name)) * 2 + 1, np.uint64)
    fixed = ~np.isfinite(made) | (made == np.round(made)) | (np.abs(made) == 0.5)  # right everywhere: exp(0) is 1
    sizes = [np.broadcast_to(np.abs(np.asarray(a, np.float64)), made.shape) for a in args]
    for size in sorted(sizes, key=lambda s: s.tobytes()) if name == "hypot" else sizes:  # which has no order
        fixed |= size == np.abs(made)  # x ** 1 is x
        with np.errstate(over="ignore"):
            seed = (seed ^ size.copy().view(np.uint64)) * np.uint64(_MULTIPLIERS[0])
            seed = (seed ^ (seed >> np.uint64(29))) * np.uint64(_MULTIPLIERS[1])
    turn = (seed >> np.uint64(40)) % np.uint64(3)
    up, down = np.nextafter(made, np.copysign(made.dtype.type(np.inf), made)), np.nextafter(made, made.dtype.type(0))
    moved = np.where(turn == 1, up, np.where(turn == 2, down, made)).astype(made.dtype)
    return np.where(fixed, made, moved).astype(made.dtype)
