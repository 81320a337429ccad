"""Kummer's confluent hypergeometric function of real numbers: its series in double precision, in twice as many digits
where terms cancel, and SciPy's loop where that is not enough. Arrays of NumPy; C has the same in its text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph._lazy import lazy

special = lazy("scipy.special")
LARGEST = 1e6  # of operands; SciPy's loop has no end for some beyond
TERMS, FAR = 1000, 300.0  # how many terms a series has at most, and how large its argument is
CANCELLED = 2.0**43  # the sum of all sizes over the size of the sum, in twice as many digits
Two = tuple[np.ndarray, np.ndarray]  # a number and what it lacks


def hyp1f1(a: np.ndarray, b: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The function of arrays of float64; NaN where an operand is one, or larger than a million."""
    a, b, z = (np.array(v, np.float64) for v in np.broadcast_arrays(a, b, z))
    shape = z.shape
    a, b, z = (v.ravel() for v in (a, b, z))
    out = np.full(z.shape, np.nan)
    inside = (np.abs(a) <= LARGEST) & (np.abs(b) <= LARGEST) & (np.abs(z) <= LARGEST)
    with np.errstate(all="ignore"):
        for way in (_plain, _turned, _doubled, _doubled_turned, special.hyp1f1):
            left = np.flatnonzero(inside & np.isnan(out))
            if left.size:
                out[left] = way(a[left], b[left], z[left])
    return out.reshape(shape)


def _last(k: int, a: Any, b: Any, z: Any, term: Any, total: Any) -> Any:
    """Where a series has come to its end: what follows is less than half of the term, and so on."""
    slower = np.abs(z) * np.maximum(1, np.abs((a + k) / (b + k))) < 0.5 * (k + 1)
    return (term == 0) | (np.abs(term) <= 1e-17 * np.abs(total)) & slower & (a + k > 0) & (b + k > 0)


def _plain(a: np.ndarray, b: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The series, where its terms do not cancel."""
    term, total, size = np.ones_like(z), np.ones_like(z), np.ones_like(z)
    active = np.abs(z) <= FAR
    good = active.copy()
    for k in range(TERMS):
        term = np.where(active, term * ((a + k) * z / ((b + k) * (k + 1))), term)
        total = np.where(active, total + term, total)
        size = np.where(active, size + np.abs(term), size)
        active = active & ~_last(k, a, b, z, term, total)
        if not active.any():
            break
    return np.where(good & ~active & (size <= 2 * np.abs(total)) & np.isfinite(size), total, np.nan)


def _turned(a: np.ndarray, b: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Kummer's transformation, where the difference of the parameters is exact."""
    other, lacks = _difference(b, a)
    return np.where((lacks == 0) & (z < 0) & _turns(b), np.exp(z) * _plain(other, b, -z), np.nan)


def _turns(b: np.ndarray) -> np.ndarray:
    """Where Kummer's transformation holds: a series that ends before its pole at b = 0, -1, ... has another sum."""
    holds: np.ndarray = (b > 0) | (b != np.floor(b))
    return holds


def _doubled(a: np.ndarray, b: np.ndarray, z: np.ndarray) -> np.ndarray:
    first = _in_two((a, np.zeros_like(a)), b, z)
    return np.where(z < 0, _scaled(_in_two(_difference(b, a), b, -z), b, z), first)


def _doubled_turned(a: np.ndarray, b: np.ndarray, z: np.ndarray) -> np.ndarray:
    first = _in_two((a, np.zeros_like(a)), b, z)
    return np.where(z < 0, first, _scaled(_in_two(_difference(b, a), b, -z), b, z))


def _scaled(series: np.ndarray, b: np.ndarray, z: np.ndarray) -> np.ndarray:
    scale = np.exp(z)
    return np.where(_turns(b) & (scale > 1e-290) & (scale < 1e290), scale * series, np.nan)


def _in_two(a: Two, b: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The series in twice as many digits."""
    zero = np.zeros_like(z)
    term, total, size = (zero + 1, zero), (zero + 1, zero), zero + 1
    active = np.abs(z) <= FAR
    good = active.copy()
    for k in range(TERMS):
        above = _times(_times(term, _plus(a, (zero + k, zero))), (z, zero))
        below = _times(_plus((b, zero), (zero + k, zero)), (zero + (k + 1), zero))
        new = _over(above, below)
        term = (np.where(active, new[0], term[0]), np.where(active, new[1], term[1]))
        new = _plus(total, term)
        total = (np.where(active, new[0], total[0]), np.where(active, new[1], total[1]))
        size = np.where(active, size + np.abs(term[0]), size)
        tiny = np.abs(term[0]) <= 1e-33 * size
        active = active & ~(_last(k, a[0], b, z, term[0], total[0]) & (tiny | (term[0] == 0)))
        if not active.any():
            break
    return np.where(good & ~active & (size <= CANCELLED * np.abs(total[0])) & np.isfinite(size), total[0], np.nan)


# ---------------------------------------------------------------------- numbers in two parts
def _sum(a: np.ndarray, b: np.ndarray) -> Two:
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _difference(a: np.ndarray, b: np.ndarray) -> Two:
    return _sum(a, -b)


def _near(a: np.ndarray, b: np.ndarray) -> Two:
    """The sum of a number and one that is much smaller."""
    total = a + b
    return total, b - (total - a)


def _product(a: np.ndarray, b: np.ndarray) -> Two:
    made = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return made, ((a1 * b1 - made) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: np.ndarray) -> Two:
    wide = 134217729.0 * a
    high = wide - (wide - a)
    return high, a - high


def _plus(a: Two, b: Two) -> Two:
    total, lacks = _sum(a[0], b[0])
    return _near(total, lacks + (a[1] + b[1]))


def _times(a: Two, b: Two) -> Two:
    made, lacks = _product(a[0], b[0])
    return _near(made, lacks + (a[0] * b[1] + a[1] * b[0]))


def _over(a: Two, b: Two) -> Two:
    first = a[0] / b[0]
    zero = np.zeros_like(first)
    rest = _plus(a, _times((-first, zero), b))
    second = rest[0] / b[0]
    rest = _plus(rest, _times((-second, zero), b))
    total, lacks = _near(first, second)
    return _near(total, lacks + rest[0] / b[0])
