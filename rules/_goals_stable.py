"""Goals of the stable forms: axes that were reduced and put back."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules import goal
from termgraph.rules.indices import length
from termgraph.rules.parts import kept
from termgraph.rules.shape_facts import constant_along, count_along
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import add, mul, neg, sub, true_div
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.ops.shaping import alloc
from termgraph.terms.term import Const, mk


@goal("iio")
def undivided(z: Any, d: Any) -> Any:
    """`z` times `d`, where `d` is a factor below the line in `z`."""
    if z.op is neg:
        inner = undivided.modes["iio"](z.args[0], d)
        return None if inner is None else mk(neg, (inner,))
    if z.op is not true_div:
        return None
    over, under = z.args
    if under is d:
        return over
    factors = under.args if under.op is mul else ()
    if d not in factors:
        return None
    at = factors.index(d)
    left = factors[:at] + factors[at + 1 :]
    return mk(true_div, (over, left[0] if len(left) == 1 else mk(mul, left)))


@goal("iio")
def without_deviations(t: Any, a: tuple) -> Any:
    """A sum without the terms that are deviations from the mean along axes `a`, times what is constant along them."""
    plus, minus = (_summands(t.args[0]), _summands(t.args[1])) if t.op is sub else (_summands(t), ())
    kept = [[s for s in part if not _deviates(s, a, t.type.ndim)] for part in (plus, minus)]
    if _deviates(t, a, t.type.ndim):
        kept = [[], []]
    elif len(kept[0]) == len(plus) and len(kept[1]) == len(minus):
        return None
    over, under = (None if not part else part[0] if len(part) == 1 else mk(add, tuple(part)) for part in kept)
    rest = over if under is None else mk(neg, (under,)) if over is None else mk(sub, (over, under))
    if rest is None:
        return mk(alloc, (Const(np.zeros((), t.type.np_dtype)), *[length(t, d) for d in range(t.type.ndim)]))
    same = rest.type.ndim == t.type.ndim and all(n != 1 or m == 1 for n, m in zip(rest.type.shape, t.type.shape))
    return rest if same else None


def _summands(t: Any) -> tuple:
    return t.args if t.op is add else (t,)


def _deviates(t: Any, a: tuple, ndim: int) -> bool:
    """`x - mean(x)`, times factors that do not vary along the axes."""
    factors = t.args if t.op is mul else (t,)
    found = [f for f in factors if _is_deviation(f, a)]
    others = [f for f in factors if f not in found]
    return len(found) == 1 and found[0].type.ndim == ndim and all(constant_along.modes["iii"](f, a, t) for f in others)


def _is_deviation(t: Any, a: tuple) -> bool:
    if t.op is not sub or t.args[1].op.family is not dimshuffle:
        return False
    x, spread = t.args
    mean = spread.args[0]
    if spread.op.params["order"] != kept(x, a) or mean.op is not true_div:
        return False
    total, n = mean.args
    summed = total.op.family is sum_ and total.args[0] is x and total.op.params["axis"] == a
    return summed and count_along.modes["iii"](n, x, a)
