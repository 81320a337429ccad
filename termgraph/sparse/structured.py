"""Functions of the stored elements; those that are not stored stay 0.

Each stored element is taken by itself: `sum_duplicates` first, where a matrix may store elements twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import termgraph.tensor
from termgraph.sparse.parts import parts
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import Variable
from termgraph.terms.ops.elementwise import sigmoid

T: Any = termgraph.tensor


def structured(function: Callable, name: str, doc: str = "") -> Callable:
    """A function of arrays, applied to the stored elements."""

    def apply(s: TensorLike, *args: TensorLike) -> Variable:
        p = parts(s)
        return p.with_data(function(p.data, *args))

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = doc or f"{name.removeprefix('structured_')} of each stored element."
    return apply


structured_sigmoid = structured(sigmoid, "structured_sigmoid")
structured_exp = structured(T.exp, "structured_exp")
structured_log = structured(T.log, "structured_log")
structured_pow = structured(lambda a, y: a**y, "structured_pow", "Each stored element to a power.")
structured_minimum = structured(T.minimum, "structured_minimum", "The smaller of each stored element and a number.")
structured_maximum = structured(T.maximum, "structured_maximum", "The larger of each stored element and a number.")
structured_add = structured(lambda a, y: a + y, "structured_add", "A number added to each stored element.")

# These give 0 for 0: they mean the same on the whole matrix.
KEEP_ZERO = {
    name: structured(getattr(T, name), name)
    for name in (
        "abs", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "conj", "deg2rad", "expm1", "floor", "imag", "log1p",
        "rad2deg", "real", "rint", "sgn", "sin", "sinh", "sqr", "sqrt", "tan", "tanh", "trunc",
    )
}  # fmt: skip
globals().update(KEEP_ZERO)

EXPORTS = [
    "structured_add", "structured_exp", "structured_log", "structured_maximum", "structured_minimum",
    "structured_pow", "structured_sigmoid", *KEEP_ZERO,
]  # fmt: skip
