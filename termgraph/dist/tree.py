"""Sums over shards in the order of a fixed tree, so that they do not depend on who adds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

CHUNK = 1 << 14  # elements that are added at a time: a few of these stay in the cache


def tree_sum(parts: Sequence[np.ndarray], out: np.ndarray) -> None:
    """Write the sum of flat arrays to `out`: first halves plus second halves, down to single ones.

    An element's sum depends on its own parts and their number alone, so any piece can be added by anybody.

    >>> out = np.zeros(2)
    >>> tree_sum([np.ones(2), np.ones(2), np.ones(2)], out)
    >>> out.tolist()
    [3.0, 3.0]
    """
    if len(parts) <= 2:
        _add(parts, out, [])
        return
    spare = [np.empty(min(CHUNK, out.size), out.dtype) for _ in range(len(parts).bit_length())]
    for start in range(0, out.size, CHUNK):
        end = min(start + CHUNK, out.size)
        _add([p[start:end] for p in parts], out[start:end], [s[: end - start] for s in spare])


def _add(parts: Sequence[np.ndarray], out: np.ndarray, spare: list[np.ndarray]) -> None:
    """Depth first; the second half of each level is made in a spare array. No deeper than log2 of the shards."""
    if len(parts) == 1:
        np.copyto(out, parts[0])
    elif len(parts) == 2:
        np.add(parts[0], parts[1], out=out)
    else:
        middle = (len(parts) + 1) // 2
        _add(parts[:middle], out, spare[1:])
        second = spare[0]
        _add(parts[middle:], second, spare[1:])
        np.add(out, second, out=out)


def piece(size: int, part: int, parts: int) -> slice:
    """The part-th of nearly equal pieces of a range, cut at multiples of 16 elements."""
    cuts = [min(size, -(-size * k // parts // 16) * 16) for k in (part, part + 1)]
    return slice(cuts[0], size if part + 1 == parts else cuts[1])
