"""The identity, carrying what the user vouches for (`assume`, `between`: they vanish in lowering) or what must hold.

`required` is what parameters of draws and counts are checked by, element by element, where they are no constants.
"""

from __future__ import annotations

import numpy as np

from termgraph.terms.ops.dtype_rules import LoopDtypes, OperandDtype, same_rule
from termgraph.terms.ops.elementwise import elementwise
from termgraph.terms.spelling import Spelling

KNOWN = (
    "at_most_one", "diagonal", "finite", "integer", "lower_triangular", "negative", "no_minus_zero", "nonnegative",
    "nonpositive", "nonzero", "orthogonal", "positive", "positive_definite", "real", "sorted", "symmetric",
    "upper_triangular",
)  # fmt: skip


def _identity(x: object, *, facts: tuple[str, ...] = (), multiple_of: int = 1) -> np.ndarray:
    return np.asarray(x)


def _first(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.array(np.broadcast_arrays(x, low, high)[0])


def _checked(x: np.ndarray, fine: np.ndarray, *, message: str = "") -> np.ndarray:
    if not np.all(fine):
        raise ValueError(message)
    return _first(x, fine, fine)


def _as_first(*dtypes: OperandDtype) -> LoopDtypes:
    plain = tuple([d if isinstance(d, np.dtype) else np.dtype("int64") for d in dtypes])
    return (*plain, plain[0])


assume = elementwise(
    "assume", 1, _identity, same_rule, Spelling(biufc="{0}"), cost=0, exact=True, range_from="user",
    params={"facts": (), "multiple_of": 1}, doc="The operand; its facts are taken on trust.",
)  # fmt: skip
between = elementwise(
    "between", 3, _first, _as_first, Spelling(iu="{0}"), cost=0, exact=True, range_from="user",
    doc="The first operand, a whole number; that it is at least the second and below the third is taken on trust.",
)  # fmt: skip
required = elementwise(
    "required", 2, _checked, _as_first, Spelling(biufc="{0}"), cost=1, exact=True,
    params={"message": ""}, doc="The first operand; a ValueError with the message where the second is not true.",
)  # fmt: skip
