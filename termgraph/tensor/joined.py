"""Arrays written as they lie: `r_[x, 0, 1:4]` along the first axis, `c_[x, y]` as columns, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.tensor.creation import arange, linspace
from termgraph.tensor.joining import concatenate
from termgraph.tensor.reductions import to_dtype
from termgraph.tensor.shaping import dimshuffle
from termgraph.tensor.variable import TensorVariable, is_plain_number
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import promote


class Joined:
    """What `r_` and `c_` are: indexed with arrays, numbers and slices, they put them together.

    A slice is a range of numbers; with an imaginary step, as in NumPy, so many points from end to end. A text in front,
    as in `r_["1,2,0", x, y]`, gives the axis, the least number of dimensions, and where those of smaller arrays are.

    >>> from termgraph.tensor import c_, r_
    >>> r_[[1.5, 2.0], 0, 1:4].eval()
    array([1.5, 2. , 0. , 1. , 2. , 3. ])
    >>> c_[[1, 2], [3, 4]].eval()
    array([[1, 3],
           [2, 4]])
    """

    def __init__(self, name: str, axis: int, ndim: int, place: int) -> None:
        self.name, self.how = name, (axis, ndim, place)

    def __getitem__(self, index: Any) -> TensorVariable:
        parts = list(index) if isinstance(index, tuple) else [index]
        axis, ndim, place = self._told(parts.pop(0)) if parts and isinstance(parts[0], str) else self.how
        if not parts:
            raise ValueError(f"{self.name} needs at least one array")
        given = [p if is_plain_number(p) else self._array(p) for p in parts]
        common = promote(*[p if is_plain_number(p) else p.type.np_dtype for p in given]).name  # numbers are weak
        arrays = [as_tensor(np.asarray(p, common)) if is_plain_number(p) else to_dtype(p, common) for p in given]
        return concatenate([_of_rank(a, ndim, place) for a in arrays], axis)

    def _told(self, text: str) -> tuple[int, int, int]:
        axis, ndim, place = self.how
        try:
            given = [int(part) for part in text.split(",")]
        except ValueError:
            given = []
        if not 1 <= len(given) <= 3:
            raise ValueError(f"{self.name}: the text in front is up to three integers, such as '0,2,1', got {text!r}")
        return (*given, *(axis, ndim, place)[len(given) :])  # type: ignore[return-value]

    def _array(self, part: Any) -> TensorVariable:
        if not isinstance(part, slice):
            return as_tensor(part)
        start, step = 0 if part.start is None else part.start, 1 if part.step is None else part.step
        if part.stop is None:
            raise TypeError(f"{self.name}: a slice needs an end, such as 0:3, got {part!r}")
        if isinstance(step, complex):
            return linspace(start, part.stop, int(abs(step)))
        return arange(start, part.stop, step)

    def __repr__(self) -> str:
        return self.name


def _of_rank(x: TensorVariable, ndim: int, place: int) -> TensorVariable:
    """An array of at least `ndim` dimensions; those that it has begin at `place`, counted from the last place (-1)."""
    missing = ndim - x.ndim
    if missing <= 0:
        return x
    before = min(place if place >= 0 else missing + 1 + place, missing)
    return dimshuffle(x, *["x"] * before, *range(x.ndim), *["x"] * (missing - before))


r_, c_ = Joined("r_", 0, 1, -1), Joined("c_", -1, 2, 0)

__all__ = ["c_", "r_"]
