"""Judging two results: the same bits, rounding, special values, or wrong, and which assumption would excuse it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from termgraph.terms.dtypes import finfo, kind_of

REPAIRED = (
    "repaired"  # the left side is infinite or NaN where the right side is a number, or the left side is NaN, or its
    # numbers are too large or small to tell: a stabilized form may answer otherwise there
)
EXACT, ZERO_SIGN, ROUNDING, SPECIAL, WRONG = "exact", "zero sign", "rounding", "special values", "WRONG"
ORDER = (EXACT, ZERO_SIGN, ROUNDING, SPECIAL, WRONG)
_SLACK = 256  # roundings of the largest intermediate that are still called rounding


class Outcome(NamedTuple):
    """How two results compare: the worst kind of difference, what would excuse it, where it is."""

    kind: str
    excuses: frozenset[str] = frozenset()
    note: str = ""
    place: int = 0


Change = Callable[[], "np.ndarray | None"]


def compare(
    left: Any,
    right: Any,
    between: Sequence[Any],
    kinds: frozenset[str],
    change: Change | None = None,
    by_nan: Change | None = None,
) -> Outcome:
    """Compare the values of a rule's two sides.

    `between` are all values computed on the way, `kinds` the special numbers given; `change` tells how much the left
    side moves when its inputs move by a few roundings, `by_nan` where it is NaN only because inputs are.
    """
    if isinstance(left, tuple):
        return _worst([compare(a, b, between, kinds, change, by_nan) for a, b in zip(left, right, strict=True)])
    if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
        return Outcome(EXACT) if left is right or left == right else Outcome(WRONG, note="different values")
    if left.dtype != right.dtype or left.shape != right.shape:
        note = f"{left.dtype}{list(left.shape)} became {right.dtype}{list(right.shape)}"
        return Outcome(WRONG, note=f"the type changes: {note}")
    if left.tobytes() == right.tobytes():
        return Outcome(EXACT)
    if kind_of(left.dtype) == "c":
        return _complexes(left, right, between, kinds, change)
    if kind_of(left.dtype) != "f":
        return _integers(left, right, between, kinds, change)
    return _floats(left, right, between, kinds, change, by_nan)


def failing(note: str, lefts: Sequence[Any], kinds: frozenset[str], change: Change | None = None) -> Outcome:
    """The right side raises where the left side has a value: excused where that value means nothing.

    A library stops at a singular matrix or a NaN that another one computes on with; so may the left side, where its
    value is made of roundings only.
    """
    left = lefts[-1]
    nothing = isinstance(left, np.ndarray) and _has_no_digits(left, np.ones(left.shape, dtype=bool), change)
    excuses = {"finite", "domain"} if kinds or nothing or not _all_finite(lefts) else set()
    if kinds and _has_zero(lefts):
        excuses.add("nonzero")
    return Outcome(SPECIAL if excuses else WRONG, frozenset(excuses), note)


def _worst(outcomes: list[Outcome]) -> Outcome:
    return max(outcomes, key=lambda o: ORDER.index(o.kind))


def _integers(
    left: np.ndarray, right: np.ndarray, between: Sequence[Any], kinds: frozenset[str], change: Change | None
) -> Outcome:
    place = int(np.flatnonzero(left != right)[0])
    if not kinds & {"nan", "int limits"} and _decided_by_rounding(left != right, change):
        return Outcome(ROUNDING, frozenset(("reassoc",)), "rounding decides between equals", place)
    excuses = set()
    if not _all_finite(between) or "nan" in kinds:
        excuses.add("finite")
    if "zero" in kinds:
        excuses.add("nonzero")
    if "int limits" in kinds or _near_limits(between):
        excuses.add("overflow")
    if kinds & {"huge", "tiny"}:
        excuses |= {"finite", "reassoc"}
    kind = SPECIAL if kinds or excuses else WRONG
    return Outcome(kind, frozenset(excuses), _kinds_text(kinds), place)


def _complexes(
    left: np.ndarray, right: np.ndarray, between: Sequence[Any], kinds: frozenset[str], change: Change | None
) -> Outcome:
    """Complex infinities and the signs of zero parts are not compared: NumPy's own operations disagree about them."""
    finite = np.isfinite(left) & np.isfinite(right)
    lost = np.isfinite(left) & ~np.isfinite(right)
    if lost.any() and not kinds and not _has_zero(between):
        return Outcome(WRONG, note="not finite where the left side is", place=int(np.flatnonzero(lost)[0]))
    gap = np.abs(np.where(finite, left, 0) - np.where(finite, right, 0))
    if not gap.any():
        return Outcome(EXACT)
    place = int(np.argmax(gap))
    if _close(left, right, gap, between, left.dtype) or _sensitive(gap, change):
        return Outcome(ROUNDING, frozenset(("reassoc",)), "rounding", place)
    if kinds & {"inf", "nan", "huge", "tiny", "int limits"}:
        return Outcome(SPECIAL, frozenset(("finite", "overflow")), _kinds_text(kinds), place)
    return Outcome(WRONG, note="complex numbers", place=place)


def _floats(
    left: np.ndarray,
    right: np.ndarray,
    between: Sequence[Any],
    kinds: frozenset[str],
    change: Change | None,
    by_nan: Change | None,
) -> Outcome:
    both_nan = np.isnan(left) & np.isnan(right)
    different = ~((left == right) | both_nan)
    if not different.any():
        signs = (np.signbit(left) != np.signbit(right)) & ~both_nan
        if signs.any():
            place = int(np.flatnonzero(signs)[0])
            excuses = {"signed_zero", "reassoc"} | (set() if np.signbit(left[signs]).any() else {"plus_zero"})
            return Outcome(ZERO_SIGN, frozenset(excuses), "the sign of a zero", place)
        return Outcome(EXACT)
    finite = np.isfinite(left) & np.isfinite(right)
    lost = different & ~finite
    if lost.any():
        return _not_finite(left, right, lost, between, kinds, change, by_nan)
    place = int(np.flatnonzero(different)[0])
    gap = np.abs(np.where(different, left, 0).astype(np.float64) - np.where(different, right, 0).astype(np.float64))
    if _close(left, right, gap, between, left.dtype) or _sensitive(gap, change):
        return Outcome(ROUNDING, frozenset(("reassoc",)), "rounding", place)
    worst = int(np.argmax(gap))
    wrapped = "int limits" in kinds or _near_limits(between)
    if kinds or wrapped:
        excuses = {"reassoc"} if kinds & {"huge", "tiny"} else set()
        if excuses and not kinds & {"inf", "nan"}:
            excuses.add(REPAIRED)
        if wrapped:
            excuses.add("overflow")
        if not _all_finite(between) or kinds & {"inf", "nan", "huge", "tiny"}:
            excuses.add("finite")
        if "zero" in kinds:
            excuses.add("nonzero")
        if excuses:
            return Outcome(SPECIAL, frozenset(excuses), _kinds_text(kinds), worst)
    return Outcome(WRONG, frozenset(), "", worst)


def _not_finite(
    left: np.ndarray,
    right: np.ndarray,
    lost: np.ndarray,
    between: Sequence[Any],
    kinds: frozenset[str],
    change: Change | None,
    by_nan: Change | None,
) -> Outcome:
    place = int(np.flatnonzero(lost)[0])
    excuses = set()
    if np.isnan(left[lost]).all():
        excuses.add("domain")
    unresolved = (
        bool(kinds & {"huge", "tiny", "int limits"})
        and not kinds & {"inf", "nan"}
        and not np.isfinite(left[lost]).any()
    )
    swallowed = "nan" in kinds and _swallowed(left, right, lost, by_nan)
    if not swallowed and ((np.isfinite(right[lost]) | np.isnan(left[lost])).all() or unresolved):
        excuses.add(REPAIRED)
    if "int limits" in kinds or _near_limits(between):
        excuses.add("overflow")
    if not kinds and _has_no_digits(left, lost, change):
        excuses.add("finite")  # the exact value is infinite: log of a determinant that is 0 but for rounding
    if not kinds:  # with everyday numbers the right side must be as good as the left one, wherever that is a number
        if _half_overflows(between):
            excuses |= {"finite", "overflow"}
        if (np.isnan(right[lost]) & np.isfinite(left[lost])).any() and not excuses:
            return Outcome(WRONG, frozenset(), "NaN where the left side is a number", place)
        if _has_zero(between):
            excuses |= {"nonzero", "domain"}
        if not np.isfinite(left[lost]).any():
            excuses.add("finite")
        return Outcome(SPECIAL if excuses else WRONG, frozenset(excuses), "undefined on the left", place)
    if not _all_finite(between) or kinds & {"inf", "nan", "huge"}:
        excuses.add("finite")
    if "zero" in kinds or _has_zero(between):
        excuses.add("nonzero")
    return Outcome(SPECIAL if excuses else WRONG, frozenset(excuses), _kinds_text(kinds), place)


def _swallowed(left: np.ndarray, right: np.ndarray, lost: np.ndarray, by_nan: Change | None) -> bool:
    """Whether a NaN that was given is on the left side and no longer on the right one."""
    gone = lost & np.isnan(left) & ~np.isnan(right)
    if not gone.any():
        return False
    where = by_nan() if by_nan is not None else None
    return where is None or where.shape != gone.shape or bool((gone & where).any())


def _half_overflows(between: Sequence[Any]) -> bool:
    """Whether a number of 16 bits on the way is infinite: everyday numbers get there, 65504 being the largest."""
    return any(isinstance(v, np.ndarray) and v.dtype == np.float16 and np.isinf(v).any() for v in between)


def _close(left: np.ndarray, right: np.ndarray, gap: np.ndarray, between: Sequence[Any], dtype: np.dtype) -> bool:
    """Whether the gap is within a few hundred roundings of the largest number met on the way."""
    eps = float(finfo(dtype).eps)
    for v in between:  # a computation in single precision inside is as good as single precision
        if isinstance(v, np.ndarray) and kind_of(v.dtype) in "fc" and v.size:
            eps = max(eps, float(finfo(v.dtype).eps))
    scale = _scale([left, right, *between])
    return bool(np.all(gap <= _SLACK * eps * max(scale, 1e-300)))


def _scale(between: Sequence[Any]) -> float:
    largest = 0.0
    for v in between:
        if isinstance(v, np.ndarray) and kind_of(v.dtype) in "fciu" and v.size:
            magnitude = np.abs(v.astype(np.complex128 if kind_of(v.dtype) == "c" else np.float64, copy=False))
            finite = magnitude[np.isfinite(magnitude)]
            if finite.size:
                largest = max(largest, float(finite.max()))
    return largest


def _sensitive(gap: np.ndarray, change: Change | None) -> bool:
    """Whether the left side itself moves that much when its inputs move by roundings: an ill-conditioned place."""
    if change is None:
        return False
    moved = change()
    return moved is not None and moved.shape == gap.shape and bool(np.all(gap <= 512 * moved + 1e-300))


def _has_no_digits(left: np.ndarray, lost: np.ndarray, change: Change | None) -> bool:
    """Whether the left side changes by a good part of itself when numbers move by roundings."""
    moved = change() if change is not None else None
    if moved is None or moved.shape != left.shape:
        return False
    with np.errstate(all="ignore"):
        return bool(np.all(moved[lost] > 1e-3 * np.maximum(1, np.abs(left[lost]))))


def _decided_by_rounding(differs: np.ndarray, change: Change | None) -> bool:
    """Whether the left side, a choice such as argmax, itself changes there when numbers move by roundings."""
    moved = change() if change is not None else None
    return moved is not None and moved.shape == differs.shape and bool(np.all(moved[differs] > 0))


def _all_finite(between: Sequence[Any]) -> bool:
    return all(
        np.isfinite(v).all() for v in between if isinstance(v, np.ndarray) and kind_of(v.dtype) in "fc" and v.size
    )


def _has_zero(between: Sequence[Any]) -> bool:
    return any(isinstance(v, np.ndarray) and v.size and (v == 0).any() for v in between)


def _near_limits(between: Sequence[Any]) -> bool:
    """Whether some small integer type overflowed, or nearly did."""
    for v in between:
        if isinstance(v, np.ndarray) and kind_of(v.dtype) in "iu" and v.size and v.dtype.itemsize <= 4:
            if np.abs(v.astype(np.int64)).max() > np.iinfo(v.dtype).max // 4:
                return True
    return False


def _kinds_text(kinds: frozenset[str]) -> str:
    return ", ".join(sorted(kinds)) or "everyday numbers"
