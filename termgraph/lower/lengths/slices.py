"""Where a slice reads, as polynomials in the bounds and the length of what is sliced."""

from __future__ import annotations

from typing import Any

from termgraph._records import record
from termgraph.lower.lengths.index import ZERO, Poly, divide, maximum, minimum, nonneg, poly, wrapped


@record(frozen=True)
class Cut:
    """Where `x[start:stop:step]` reads: element k of the result is element `start + k * step`."""

    start: Poly
    step: int
    length: Poly


def cut(start: Any, stop: Any, step: int | None, n: Poly) -> Cut:
    """The geometry of a slice; bounds are None, integers or polynomials."""
    step = 1 if step is None else step
    if step > 0:
        lo = ZERO if start is None else _low(start, n)
        hi = n if stop is None else minimum(wrapped(stop, n), n)
        return Cut(lo, step, _steps(hi - lo, step))
    first = n - 1 if start is None else minimum(wrapped(start, n), n - 1)
    end = poly(-1) if stop is None else maximum(wrapped(stop, n), -1)
    return Cut(first, step, _steps(first - end, -step))


def _steps(span: Poly, step: int) -> Poly:
    """How many each `step`-th element of a span is, which may be negative; no maximum where it cannot matter."""
    whole = span + (step - 1)
    return divide(whole if nonneg(whole) else maximum(0, span) + (step - 1), step)[0]


def _low(start: Any, n: Poly) -> Poly:
    known = poly(start).const
    if known is not None and known >= 0:
        return poly(start)  # past the end, nothing is read
    return minimum(maximum(0, wrapped(start, n)), n) if known is None else maximum(0, n + known)
