"""What `choice` refuses, as far as it is known when it is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor.shaping import specify_shape
from termgraph.terms.term import Const

if TYPE_CHECKING:
    from termgraph.tensor.variable import TensorVariable


def _known_count(a: TensorVariable) -> int | None:
    """How many elements `choice` has to choose from, None where it is not known yet."""
    if a.type.ndim:
        return a.type.shape[0]
    return a.term.value.item() if isinstance(a.term, Const) else None


def weights(p: TensorVariable, a: TensorVariable, different: Any) -> TensorVariable:
    """Probabilities of choice, one for each element; ValueError if fewer than so many `different` ones are above 0."""
    n = _known_count(a)
    if p.type.ndim != 1:
        raise ValueError(f"choice: p must have one dimension, got {p.type.ndim}")
    if n is not None and p.type.shape[0] not in (None, n):
        raise ValueError(f"choice: p has {p.type.shape[0]} probabilities, but there are {n} elements to choose from")
    if isinstance(p.term, Const) and isinstance(different, int):
        possible = np.count_nonzero(p.term.value)
        if possible < different:
            raise ValueError(
                f"choice: {different} different elements were asked for, but p is above 0 for {possible} only"
            )
    if n is not None and p.type.shape[0] == n:
        return p
    return specify_shape(p, (a if a.type.ndim == 0 else a.shape[0],))


def refuse_too_many(a: TensorVariable, count: int, replace: bool) -> None:
    """ValueError if so many elements cannot be chosen, as far as lengths are known."""
    n = _known_count(a)
    if n is None or not isinstance(count, int):
        return
    if n < 1 and count:
        raise ValueError("choice: there is nothing to choose from")
    if not replace and count > n:
        raise ValueError(f"choice: {count} different elements of {n} were asked for; use replace=True")
