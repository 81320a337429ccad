"""Medians of windows with scipy.signal's names, for T.signal: few elements are put in order by comparing pairs."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from termgraph.tensor.creation import arange
from termgraph.tensor.lengths import length, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.padding import pad
from termgraph.tensor.selecting import take
from termgraph.tensor.shaping import dimshuffle, expand_dims, reshape
from termgraph.tensor.sorting import sort
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew

FEW = 9  # elements of a window whose comparisons are written out


@on_terms
def medfilt(volume: TensorLike, kernel_size: int | Sequence[int] = 3) -> TensorVariable:
    """The median of the window around each element, of odd lengths along all axes; beyond the ends there are zeros.

    Where a window has a NaN, that is its median.

    >>> import termgraph.tensor as T
    >>> T.signal.medfilt([1.0, 9.0, 2.0, 3.0, 8.0]).eval()
    array([1., 2., 3., 3., 3.])
    """
    return _filtered("medfilt", as_tensor(volume), kernel_size)


@on_terms
def medfilt2d(input: TensorLike, kernel_size: int | Sequence[int] = 3) -> TensorVariable:
    """`medfilt` of a matrix.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.signal.medfilt2d(np.arange(9.0).reshape(3, 3)).eval()
    array([[0., 1., 0.],
           [1., 4., 2.],
           [0., 4., 0.]])
    """
    x = as_tensor(input)
    if x.ndim != 2:
        raise ValueError(f"medfilt2d takes a matrix, {x} is {x.type}")
    return _filtered("medfilt2d", x, kernel_size)


def _filtered(name: str, x: TensorVariable, kernel_size: int | Sequence[int]) -> TensorVariable:
    sizes = [kernel_size] * x.ndim if isinstance(kernel_size, int) else list(kernel_size)
    if len(sizes) != x.ndim or any(isinstance(k, bool) or k < 1 or k % 2 == 0 for k in sizes):
        raise ValueError(f"{name}: kernel_size must be an odd number, or {x.ndim} of them, got {kernel_size!r}")
    if x.type.kind not in "iuf":
        raise TypeError(f"{name} takes numbers that have an order, {x} is {x.type}")
    around = pad(x, [(k // 2, k // 2) for k in sizes])
    if product(sizes) > FEW:
        ordered = sort(_windows(around, lengths(x), sizes), axis=-1)
        found, most = ordered[..., product(sizes) // 2], ordered[..., -1]  # NaN is the last one
        return ew.switch(ew.isnan(most), most, found) if x.type.kind == "f" else found
    taps = [around[tuple([slice(t, t + length(x, d)) for d, t in enumerate(at)])] for at in np.ndindex(*sizes)]
    found = _middle(list(taps))
    if x.type.kind != "f" or len(taps) == 1:
        return found
    most = functools.reduce(ew.maximum, taps)
    return ew.switch(ew.isnan(most), most, found)


def _windows(around: TensorVariable, counts: list, sizes: list[int]) -> TensorVariable:
    """The elements of each window along a new last axis."""
    for d, (n, k) in enumerate(zip(counts, sizes, strict=True)):
        around = take(around, expand_dims(arange(n), 1) + np.arange(k), axis=2 * d)
    order = [*range(0, around.ndim, 2), *range(1, around.ndim, 2)]
    return reshape(dimshuffle(around, *order), (*counts, product(sizes)))


def _middle(values: list[TensorVariable]) -> TensorVariable:
    """The median: pairs are compared and exchanged, and only what the middle one depends on is."""
    pairs, needed, kept = list(_exchanges(len(values))), {len(values) // 2}, []
    for low, high in reversed(pairs):
        if {low, high} & needed:
            kept.append((low, high, low in needed, high in needed))
            needed |= {low, high}
    for low, high, wants_low, wants_high in reversed(kept):
        a, b = values[low], values[high]
        if wants_low:
            values[low] = ew.minimum(a, b)
        if wants_high:
            values[high] = ew.maximum(a, b)
    return values[len(values) // 2]


def _exchanges(n: int) -> Iterator[tuple[int, int]]:
    """The pairs of places that Batcher's merge exchange compares to put n numbers in order."""
    top = 1 << max((n - 1).bit_length() - 1, 0)
    p = top if n > 1 else 0
    while p:
        q, r, d = top, 0, p
        while True:
            yield from ((i, i + d) for i in range(n - d) if i & p == r)
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1
