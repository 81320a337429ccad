"""The accepted differences: the table of docs/differences.md, and which elements each excuses where a row names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from termgraph.terms.dtypes import kind_of

from .table import widened

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
AT_MOST = 20


def documented() -> dict[str, str]:
    """The names in the table of the page, each with its reason."""
    rows = [line.strip("|\n").split("|") for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return {cells[0].strip(): cells[2].strip() for cells in rows[2:]}


def excused(names: tuple, unit: Any, values: list, expected: np.ndarray) -> np.ndarray | bool:
    """The elements of a result for which the differences of these names count."""
    out: np.ndarray | bool = False
    for name in names:
        out = out | EXCUSES[name](unit, values, expected)
    return out


def _finite(unit: Any, values: list, expected: np.ndarray) -> Any:
    """NaN or infinity of special operands, in modes that take them for finite."""
    return ~np.isfinite(expected) if unit.rules not in ("None", "STRICT") and _special(values) else False


def _special(values: list) -> bool:
    return any(kind_of(v.dtype) in "fc" and not np.isfinite(widened(v)).all() for v in values)


def _nan_among(unit: Any, values: list, expected: np.ndarray) -> Any:
    return any(kind_of(v.dtype) == "c" and np.isnan(v).any() for v in values)


def _extreme_complex(unit: Any, values: list, expected: np.ndarray) -> Any:
    """Complex operands beyond the square roots of their dtype's range: quotients may overflow on the way."""
    if kind_of(expected.dtype) != "c":
        return False
    sizes = [np.abs(widened(v)).astype("float64") for v in values]
    with np.errstate(all="ignore"):
        return any(((s > 1e18) | ((s < 1e-18) & (s > 0)) | ~np.isfinite(s)).any() for s in sizes)


def _half(unit: Any, values: list, expected: np.ndarray) -> Any:
    """An overflow on the way that numbers of 16 bits have and float32 has not."""
    return ~np.isfinite(widened(expected)) if any(getattr(v, "itemsize", 8) == 2 for v in values) else False


def _extreme_factors(unit: Any, values: list, expected: np.ndarray) -> Any:
    """Operands whose products may overflow or vanish on the way, depending on which are multiplied first."""
    if kind_of(expected.dtype) not in "fc":
        return False
    sizes = np.abs(widened(values[0]).astype("float64"))
    tiny = np.finfo("float32" if values[0].dtype.itemsize <= 4 else "float64").tiny ** 0.25
    return bool((sizes > 1 / tiny).any() and ((sizes < tiny) & (sizes > 0)).any())


def _beyond_float(unit: Any, values: list, expected: np.ndarray) -> Any:
    """Whole numbers that float64 has not, or within ten of the largest."""
    if kind_of(expected.dtype) not in "iu":
        return False
    info, far = np.iinfo(expected.dtype), np.abs(values[0].astype("float64"))
    return (far > 2.0**53) | (values[0] > info.max - 10) | (values[0] < info.min + 10)


EXCUSES = {
    "half products": _half,
    "complex special": _extreme_complex,
    "order of factors": _extreme_factors,
    "finite": _finite,
    "complex clip": _nan_among,
    "complex order": _nan_among,
    "round to tens": _beyond_float,
    "std at zero": lambda unit, values, expected: unit.gradient,
    "empty counts": lambda unit, values, expected: not expected.size,
}
