"""How many points a transform has, for T.fft: as users write it, and arrays cut or filled to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.tensor.creation import zeros
from termgraph.tensor.indexing import set_subtensor
from termgraph.tensor.lengths import length
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops.shapes import at_axis, normal_axis


def of_points(a: TensorVariable, n: Any, axis: int) -> TensorVariable:
    """The first n numbers along an axis, with zeros behind them if there are fewer."""
    kept = a[at_axis(axis, slice(0, n))]
    shape = [n if d == axis else length(a, d) for d in range(a.ndim)]
    return set_subtensor(zeros(shape, dtype=a.dtype)[at_axis(axis, slice(0, length(kept, axis)))], kept)


def known_points(n: Any) -> int | None:
    if isinstance(n, bool) or not (n is None or hasattr(n, "__index__")):
        raise TypeError(f"the number of points n must be an integer, got {n!r}")
    return None if n is None else n.__index__()


def computed_points(n: Any) -> TensorVariable:
    """A number of points that is known when the transform runs."""
    n = as_tensor(n)
    if n.ndim or n.type.kind not in "iu":
        raise TypeError(f"the number of points n must be an integer, got {n!r} of type {n.type}")
    return n


def over_axes(
    a: TensorVariable, s: Sequence[int] | None, axes: Sequence[int] | None, default: int | None
) -> list[tuple]:
    """(axis, n) for each axis to transform, the last one first."""
    if axes is None:
        count = len(s) if s is not None else default if default is not None else a.ndim
        axes = range(-count, 0)
    places = [normal_axis(d, a.ndim) for d in axes]
    sizes = [None] * len(places) if s is None else list(s)
    if len(sizes) != len(places):
        raise ValueError(f"fft: {len(sizes)} sizes for {len(places)} axes")
    return [(d, length(a, d) if n == -1 else n) for d, n in zip(places, sizes)][::-1]  # -1: all there are
