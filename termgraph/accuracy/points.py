"""Points at which forms are compared, and how many bits a result loses there.

A range of floating-point numbers is counted through: half of the points of [0, 1e300] are below 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_WHOLE = {"float64": np.int64, "float32": np.int32}
MOST = {"float64": 64.0, "float32": 32.0}  # bits that can be lost


def ordinal(x: np.ndarray) -> np.ndarray:
    """The place of floating-point numbers in their order: neighbours differ by one."""
    whole = np.asarray(x).view(_WHOLE[x.dtype.name]).astype(np.int64)
    lowest = np.int64(-(2**63)) if x.dtype == np.float64 else np.int64(-(2**31))
    return np.where(whole < 0, lowest - whole, whole)


def from_ordinal(n: np.ndarray, dtype: str) -> np.ndarray:
    """The floating-point numbers at these places."""
    lowest = np.int64(-(2**63)) if dtype == "float64" else np.int64(-(2**31))
    n = np.asarray(n, dtype=np.int64)
    return np.where(n < 0, lowest - n, n).astype(_WHOLE[dtype]).view(dtype)


def lost(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Bits lost at each point: the binary logarithm of the distance in units of the last place."""
    most = MOST[truth.dtype.name]
    bad = np.isnan(found) & ~np.isnan(truth)
    a, b = ordinal(np.where(bad, truth, found)), ordinal(truth)
    apart = np.where((a < 0) == (b < 0), np.abs(a - b), 0).astype(float)  # the rest would be too large a difference
    apart = np.where((a < 0) == (b < 0), apart, np.abs(a.astype(float)) + np.abs(b.astype(float)))
    return np.where(bad, most, np.minimum(np.log2(1 + apart), most))


def drawn(low: float, high: float, count: int, dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Numbers of a range, counted through, more of them of moderate size, and some evenly spread."""
    kinds = rng.choice(3, count, p=(0.35, 0.4, 0.25))
    info = np.finfo(dtype)
    low, high = max(low, float(info.min)), min(high, float(info.max))
    every = _through(low, high, count, dtype, rng)
    small, large = max(low, -(2.0**30)), min(high, 2.0**30)
    usual = _moderate(small, large, count, dtype, rng) if small <= large else every
    spread = rng.uniform(small, large, count) if small <= large and large - small < 1e5 else usual
    return np.choose(kinds, [every, usual, spread]).astype(dtype)


def _through(low: float, high: float, count: int, dtype: str, rng: np.random.Generator) -> np.ndarray:
    first, last = (int(ordinal(np.array([v], dtype=dtype))[0]) for v in (low, high))
    return from_ordinal(rng.integers(first, last, count, endpoint=True), dtype)


def _moderate(low: float, high: float, count: int, dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Counted through, but without the smallest ones: sizes from 2**-30."""
    tiny = 2.0**-30
    pieces = [(a, b) for a, b in ((low, min(high, -tiny)), (max(low, tiny), high)) if a <= b]
    if not pieces:
        return _through(low, high, count, dtype, rng)
    choices = [_through(a, b, count, dtype, rng) for a, b in pieces]
    return np.choose(rng.integers(len(choices), size=count), choices)


def sample(
    ranges: Sequence[tuple[float, float]], count: int, dtypes: Sequence[str], rng: np.random.Generator
) -> list[np.ndarray]:
    """Points of a box: a column for each range."""
    return [drawn(low, high, count, dtype, rng) for (low, high), dtype in zip(ranges, dtypes, strict=True)]
