"""Whether a result is what the reference says: dtype, shape, NaN, infinities, signs of zeros, values up to rounding."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from termgraph.terms.dtypes import is_bfloat16, kind_of

from .differences import excused
from .table import ROUNDING, Row, common_dtype, widened


def disagreement(row: Row, unit, values: list, got, expected: np.ndarray) -> str | None:
    """What differs, in words, or None."""
    if sp.issparse(got):
        got = got.toarray()
    if not isinstance(got, np.ndarray):
        return f"a {type(got).__name__} instead of an array"
    if got.shape != expected.shape:
        return f"shape {got.shape}, NumPy gives {expected.shape}"
    wrong = wrong_dtype(got, expected, values)
    if wrong:
        return None if np.all(excused(row.differs, unit, values, expected)) else wrong
    if is_bfloat16(got.dtype):
        with np.errstate(all="ignore"):
            expected = expected.astype(got.dtype)
        got, expected = got.astype(np.float32), expected.astype(np.float32)
    signs = unit.rules in ("None", "STRICT") and row.signs  # of zeros
    bad = differing(row, values, got, expected, signs) & ~np.asarray(excused(row.differs, unit, values, expected))
    if not bad.any():
        return None
    at = tuple(int(k) for k in np.argwhere(bad)[0])
    return f"{got[at]!r} instead of {expected[at]!r} at {at}; {int(bad.sum())} of {bad.size} differ"


def wrong_dtype(got: np.ndarray, expected: np.ndarray, values: list) -> str | None:
    """NumPy's dtype, but for bfloat16, which it does not know: there the kind is compared."""
    brain = is_bfloat16(got.dtype) or any(hasattr(v, "dtype") and is_bfloat16(v.dtype) for v in values)
    same = kind_of(got.dtype) == kind_of(expected.dtype) if brain else got.dtype == expected.dtype
    return None if same else f"dtype {got.dtype}, NumPy gives {expected.dtype}"


def differing(row: Row, values: list, got: np.ndarray, expected: np.ndarray, signs: bool) -> np.ndarray:
    """Which elements differ by more than rounding."""
    if kind_of(expected.dtype) not in "fc":
        return np.asarray(got != expected)
    with np.errstate(all="ignore"):
        if kind_of(expected.dtype) == "c":
            return differing_complex(row, values, got, expected)
        allowed = tolerance(row, values, expected)
        bad = ~((np.abs(got - expected) <= allowed) | (got == expected) | (np.isnan(got) & np.isnan(expected)))
        if signs and not row.scaled:
            bad |= (got == 0) & (expected == 0) & (np.signbit(got) != np.signbit(expected))
    return np.asarray(bad)


def differing_complex(row: Row, values: list, got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The error of a complex number is measured by its size; numbers with NaN or infinite parts are only that."""
    finite = np.isfinite(expected)
    bad = ~(np.abs(got - expected) <= tolerance(row, values, expected))
    return np.where(finite, bad, np.isfinite(got) & ~np.isfinite(expected))


def tolerance(row: Row, values: list, expected: np.ndarray):
    """The error that rounding excuses, element by element."""
    dtypes = [v.dtype for v in values if hasattr(v, "dtype") and kind_of(v.dtype) in "fc"]
    coarsest = max([ROUNDING[d.name] for d in [*dtypes, expected.dtype]]) * row.loose
    size = np.abs(expected)
    if row.scaled:
        size = size + largest([expected, *values])
    return coarsest * size + np.finfo(expected.dtype).tiny * (0 if common_dtype(values) is None else 1)


def largest(arrays: list) -> float:
    """The largest finite number in sight."""
    found = 1.0
    for array in arrays:
        array = np.abs(widened(array.data if sp.issparse(array) else np.asarray(array))).astype(np.float64)
        found = max(found, float(np.max(array, where=np.isfinite(array), initial=0)))
    return found
