"""How many points a transform has, for T.fft: as users write it, and arrays cut or filled to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.tensor.creation import zeros
from termgraph.tensor.indexing import set_subtensor
from termgraph.tensor.lengths import length
from termgraph.tensor.likes import AxisLike
from termgraph.tensor.reductions import axes_in_order
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops.shapes import at_axis


def of_points(a: TensorVariable, n: Any, axis: int) -> TensorVariable:
    """The first n numbers along an axis, with zeros behind them if there are fewer."""
    kept = a[at_axis(axis, slice(0, n))]
    shape = [n if d == axis else length(a, d) for d in range(a.ndim)]
    return set_subtensor(zeros(shape, dtype=a.dtype)[at_axis(axis, slice(0, length(kept, axis)))], kept)


def known_points(n: Any, what: str = "the number of points n") -> int | None:
    if isinstance(n, bool) or not (n is None or hasattr(n, "__index__")):
        raise TypeError(f"{what} must be an integer, got {n!r}")
    return None if n is None else n.__index__()


def computed_points(n: Any) -> TensorVariable:
    """A number of points that is known when the transform runs."""
    n = as_tensor(n)
    if n.ndim or n.type.kind not in "iu":
        raise TypeError(f"the number of points n must be an integer, got {n!r} of type {n.type}")
    return n


def over_axes(
    name: str, a: TensorVariable, s: Any, axes: AxisLike, default: int | None = None, twice: bool = True
) -> list[tuple]:
    """(axis, n) for each axis that the function `name` transforms, the last one first; `twice`: it may do so again."""
    sizes = None if s is None else _sizes(name, s)
    if axes is None:
        count = len(sizes) if sizes is not None else default if default is not None else a.ndim
        if count > a.ndim:
            raise ValueError(f"{name}: {count} axes are to be transformed, {a} has {a.ndim}")
        axes = range(a.ndim - count, a.ndim)
    places = axes_in_order(name, axes, a.ndim, twice)
    if sizes is None:
        sizes = [None] * len(places)
    if len(sizes) != len(places):
        raise ValueError(f"{name}: s must be one size for each of {len(places)} axes, got {s!r}")
    return [(d, length(a, d) if n == -1 else n) for d, n in zip(places, sizes)][::-1]  # -1: all there are


def _sizes(name: str, s: Any) -> list:
    """Numbers of points from one, or one for each axis; some may be known when the transform runs."""
    given = s.tolist() if isinstance(s, np.ndarray) else s
    sizes = list(given) if isinstance(given, Sequence) or (hasattr(given, "term") and given.ndim) else [given]
    for n in sizes:
        known = None if hasattr(n, "term") else known_points(n, f"{name}: s")
        if known is not None and (known == 0 or known < -1):
            raise ValueError(f"{name}: s must be at least 1, or -1 for all points there are, got {s!r}")
    return sizes
