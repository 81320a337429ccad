"""Goals about reductions: which axes are left, which factors do not vary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from termgraph.rulelib._goals_joins import fitted
from termgraph.rules import goal
from termgraph.rules.length_parts import reorder
from termgraph.terms.dtypes import kind_of
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.term import Const, mk, mk1


def _drop(x: Any, axes: Any) -> Any:
    """`x` without some dimensions of length 1."""
    return reorder(x, tuple([d for d in range(x.type.ndim) if d not in axes]))


# ---------------------------------------------------------------------- axes
@goal("iio")
def without_short_axes(r: Any, x: Any) -> Any:
    """The reduction without the axes whose length is 1."""
    axis = r.params["axis"]
    short = [a for a in axis if x.type.shape[a] == 1]
    if not short:
        return None
    long = tuple([a - sum(s < a for s in short) for a in axis if a not in short])
    return mk1(r.bind(axis=long), _drop(x, short))


@goal("iiio")
def reduced_before_order(r: Any, x: Any, o: tuple) -> Any:
    """`r(dimshuffle(x, order=o))` as a dimshuffle of a reduction of `x`."""
    axis = r.params["axis"]
    inner = tuple(sorted([o[a] for a in axis if o[a] != "x"]))
    left = {d: k for k, d in enumerate(d for d in range(x.type.ndim) if d not in inner)}
    order = tuple(["x" if d == "x" else left[d] for k, d in enumerate(o) if k not in axis])
    return reorder(mk1(r.bind(axis=inner), x), order)


# ---------------------------------------------------------------------- factors that do not vary
@goal("iiiioo")
def constant_factors(t: Any, xs: tuple, a: tuple, d: str) -> Any:
    """Of the factors of a sum over axes `a`, those that do not vary along them (their product, without the axes), and
    the product of the others."""
    if any(x.type.dtype != d for x in xs):
        return None
    ndim = max([x.type.ndim for x in xs])
    outside = [x for x in xs if _constant_along(x, a, ndim)]
    inside = [x for x in xs if not _constant_along(x, a, ndim)]
    if not outside or not inside or not _spans(inside, a, ndim):
        return None
    made = [_drop(x, [k - (ndim - x.type.ndim) for k in a]) for x in outside]
    return _product(made), _product(_lifted(inside, ndim))


@goal("iiio")
def constant_divisor(x: Any, y: Any, a: tuple) -> Any:
    """The divisor of a summed quotient without the summed axes, if it does not vary along them."""
    ndim = max(x.type.ndim, y.type.ndim)
    if x.type.dtype != y.type.dtype or x.type.ndim != ndim or not _constant_along(y, a, ndim):
        return None
    return _drop(y, [k - (ndim - y.type.ndim) for k in a]) if _spans([x], a, ndim) else None


@goal("iiiiioo")
def chosen_for_all(c: Any, x: Any, j: Any, a: tuple, d: str) -> Any:
    """Of a choice that is one along the summed axes: the condition without them, and the sum of the arm that is one
    number, over lengths that are known (no elements have no sum but 0)."""
    ndim = max(c.type.ndim, x.type.ndim)
    if x.type.ndim != ndim or j.type.ndim > ndim or any(n != 1 for n in j.type.shape) or kind_of(d) != "f":
        return None
    lengths = [x.type.shape[k] for k in a]
    if None in lengths or 0 in lengths or 1 in lengths or x.type.dtype != d or not _constant_along(c, a, ndim):
        return None
    total = np.asarray(j.value, d).reshape(()) * np.asarray(math.prod(lengths), d)
    return _drop(c, [k - (ndim - c.type.ndim) for k in a]), Const(np.asarray(total, d))


def _constant_along(x: Any, axes: tuple, ndim: int) -> bool:
    lead = ndim - x.type.ndim
    return all(a < lead or x.type.shape[a - lead] == 1 for a in axes)


def _spans(xs: list, axes: tuple, ndim: int) -> bool:
    """Along each axis some factor has the full length."""
    return all(any(x.type.ndim >= ndim - a and x.type.shape[a - ndim] != 1 for x in xs) for a in axes)


def _lifted(xs: list, ndim: int) -> list:
    """The factors, one of them with all dimensions, so that axes keep their numbers."""
    if max([x.type.ndim for x in xs]) == ndim:
        return xs
    first = xs[0]
    lead = ndim - first.type.ndim
    return [reorder(first, ("x",) * lead + tuple(range(first.type.ndim))), *xs[1:]]


def _product(xs: list) -> Any:
    return xs[0] if len(xs) == 1 else mk(ew.mul, tuple(xs))


@goal("iiio")
def sum_of_parts(xs: tuple, r: Any, b: int) -> Any:
    """The sum of a concatenated array, as the sum of the sums of its parts."""
    d = r.params["dtype"]
    if b not in r.params["axis"] or any(x.type.dtype != xs[0].type.dtype for x in xs):
        return None
    made = tuple([mk1(r, x) for x in fitted(xs, b)])
    return mk(ew.add, made) if kind_of(d) != "b" and len(made) > 1 else None
