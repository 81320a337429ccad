"""`assume`: the identity, carrying facts the user vouches for. It vanishes in lowering."""

from __future__ import annotations

import numpy as np

from termgraph.terms.ops.dtype_rules import same_rule
from termgraph.terms.ops.elementwise import elementwise
from termgraph.terms.spelling import Spelling

KNOWN = (
    "at_most_one", "diagonal", "finite", "integer", "lower_triangular", "negative", "nonnegative", "nonpositive",
    "nonzero", "orthogonal", "positive", "positive_definite", "real", "sorted", "symmetric", "upper_triangular",
)  # fmt: skip


def _identity(x: object, *, facts: tuple = ()) -> np.ndarray:
    return np.asarray(x)


assume = elementwise(
    "assume", 1, _identity, same_rule, Spelling(biufc="{0}"), cost=0, exact=True, params={"facts": ()},
    doc="The operand; its facts are taken on trust.",
)  # fmt: skip
