"""Goals about pooling: what may come out of a maximum, and which windows are written out."""

from __future__ import annotations

import math
from typing import Any

from termgraph.rules import goal
from termgraph.terms.op import CONST
from termgraph.terms.ops.elementwise import maximum, minimum, mul
from termgraph.terms.ops.pooling import window_places
from termgraph.terms.term import mk

FEW = 16  # elements of a window, up to which loops have them written out


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


@goal("ii")
def few_in_windows(f: Any, x: Any) -> bool:
    """All windows are whole, and have so few elements that loops have them written out."""
    p = f.params
    spatial = x.type.shape[x.type.ndim - len(p["size"]) :]
    if any(p["pad"]) or math.prod(p["size"]) > FEW or (p["short"] and not _all_fit(spatial, p["size"])):
        return False
    return p["ignore_border"] or all(
        _are_whole(m, k, s) for m, k, s in zip(spatial, p["size"], p["stride"])
    )


def _all_fit(spatial: tuple, size: tuple) -> bool:
    return all(m is not None and m >= k for m, k in zip(spatial, size))


def _are_whole(m: int | None, k: int, s: int) -> bool:
    count = None if m is None else window_places(m, k, s, 0, False, max, lambda a, b: a // b)
    return bool(m is not None and count and (count - 1) * s + k <= m)
