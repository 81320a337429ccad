"""Goals about pooling: as windows and reductions, and what may come out of a maximum."""

from __future__ import annotations

import math
from typing import Any

import termgraph.tensor as T
from termgraph.rulelib._goals_convolutions import integers, laid_back, most
from termgraph.rules import goal
from termgraph.tensor.lengths import length, length_operands, lengths
from termgraph.tensor.lifting import handle
from termgraph.tensor.padding import pad
from termgraph.terms.op import CONST
from termgraph.terms.ops.convolution import windows
from termgraph.terms.ops.elementwise import maximum, minimum, mul
from termgraph.terms.ops.pooling import lowest, window_places
from termgraph.terms.term import mk

FEW = 16  # elements of a window, up to which loops have them written out


# ---------------------------------------------------------------------- out of the maximum
@goal("iiio")
def after_the_maximum(f: Any, g: Any, xs: tuple) -> Any:
    """`f(g(*xs))`, where g increases with its one operand that differs within windows, as g of that one's maxima."""
    n = len(f.params["size"])
    vary = [x for x in xs if any(m != 1 for m in x.type.shape[max(x.type.ndim - n, 0) :])]
    if f.params["kind"] != "max" or len(vary) != 1 or vary[0].type.ndim < n or vary[0].type.kind not in "fiu":
        return None
    x = vary[0]
    whole = g.family in (maximum, minimum)
    if any(o.type.dtype != x.type.dtype and o.op is not CONST for o in xs) or (x.type.kind != "f" and not whole):
        return None
    if g.family is mul and not all(o is x or _above_zero(o) for o in xs):
        return None
    found = mk(g, tuple([mk(f, (x,)) if o is x else o for o in xs]))
    return found if found.type.dtype == x.type.dtype else None


def _above_zero(o: Any) -> bool:
    return o.op is CONST and o.type.kind != "c" and (o.scalar or 0) > 0


# ---------------------------------------------------------------------- as windows
@goal("iio")
def few_in_windows(f: Any, x: Any) -> Any:
    """The pooling as a reduction of windows, where all are whole and have so few elements that they are written out."""
    p = f.params
    n = len(p["size"])
    if any(p["pad"]) or math.prod(p["size"]) > FEW:
        return None
    for m, k, s in zip(x.type.shape[x.type.ndim - n :], p["size"], p["stride"]):
        if not p["ignore_border"]:
            count = None if m is None else window_places(m, k, s, 0, False, max, lambda a, b: a // b)
            if not count or (count - 1) * s + k > m:
                return None
    return _reduced(windows(handle(x), *length_operands(list(p["size"])), stride=p["stride"], dilation=(1,) * n), p, n)


@goal("iio")
def as_windows(f: Any, x: Any) -> Any:
    """The pooling as a reduction of the windows of the array with what lies around it."""
    n = len(f.params["size"])
    return _reduced(_windows(handle(x), f.params, _outside(x, f.params)), f.params, n)


def _outside(x: Any, p: Any) -> Any:
    return lowest(x.type.np_dtype) if p["kind"] == "max" else 0


def _reduced(found: Any, p: Any, n: int) -> Any:
    axes = tuple(range(found.ndim - n, found.ndim))
    return (T.max(found, axis=axes) if p["kind"] == "max" else T.sum(found, axis=axes, dtype=found.dtype)).term


def _widths(spatial: list, p: Any) -> list[tuple]:
    """How much goes before and after each dimension, so that all windows are whole."""
    out = []
    for m, k, s, b in zip(spatial, p["size"], p["stride"], p["pad"]):
        count = window_places(m, k, s, b, p["ignore_border"], most, lambda a, b: a // b)
        out.append((b, most((count - 1) * s + k - b - m, 0)))
    return out


def _windows(x: Any, p: Any, outside: Any) -> Any:
    n = len(p["size"])
    widths = [(0, 0)] * (x.ndim - n) + _widths(lengths(x)[x.ndim - n :], p)
    wide = pad(x, widths, constant_values=outside)
    return windows(wide, *length_operands(list(p["size"])), stride=p["stride"], dilation=(1,) * n)


def _over_taps(y: Any, n: int) -> Any:
    return y.dimshuffle(*range(y.ndim), *["x"] * n)


def _laid_back(shares: Any, shape: list, p: Any) -> Any:
    """What windows give to the elements they read, added up."""
    n = len(p["size"])
    lead, spatial = shape[: len(shape) - n], shape[len(shape) - n :]
    how = {"stride": p["stride"], "dilation": (1,) * n}
    return laid_back(shares, lead, spatial, list(p["size"]), _widths(spatial, p), how).term


@goal("iiiio")
def maxima_as_windows(f: Any, x: Any, y: Any, g: Any) -> Any:
    """The gradient of maxima: the cotangent of each window to those of its elements that are equal to it."""
    x, y, g = handle(x), handle(y), handle(g)
    n = len(f.params["size"])
    hits = T.eq(_windows(x, f.params, 0), _over_taps(y, n))
    return _laid_back(T.switch(hits, _over_taps(g, n), 0), lengths(x), f.params)


@goal("iiio")
def sums_as_windows(f: Any, g: Any, ns: tuple) -> Any:
    """The gradient of sums: the cotangent of each window to all of its elements."""
    g, spatial, n = handle(g), integers(ns), len(ns)
    lead = [length(g, d) for d in range(g.ndim - n)]
    shares = _over_taps(g, n) + T.zeros((1,) * g.ndim + tuple(f.params["size"]), dtype=g.dtype)
    return _laid_back(shares, [*lead, *spatial], f.params)


@goal("iiiio")
def of_the_largest(f: Any, x: Any, y: Any, t: Any) -> Any:
    """The sum of `t` over the elements of each window of `x` that are equal to its maximum in `y`."""
    x, y, t = handle(x), handle(y), handle(t)
    n, p = len(f.params["size"]), f.params
    hits = T.eq(_windows(x, p, 0), _over_taps(y, n))
    found = T.switch(hits, _windows(t, p, 0), 0)
    return T.sum(found, axis=tuple(range(found.ndim - n, found.ndim)), dtype=t.dtype).term


__all__ = [
    "after_the_maximum", "as_windows", "few_in_windows", "maxima_as_windows", "of_the_largest", "sums_as_windows",
]  # fmt: skip
