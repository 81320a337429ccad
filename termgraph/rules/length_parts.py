"""Parts and facts about lengths: of reshapes, of arrays of one value, of arrays whose lengths are known."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from termgraph.rules.facts import nonnegative
from termgraph.rules.goals import goal
from termgraph.rules.indices import is_length, length
from termgraph.rules.kinds import param
from termgraph.rules.parts import part_of
from termgraph.terms.op import CONST
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.shaping import alloc
from termgraph.terms.term import AnyTerm, Const, mk, mk1

Terms = tuple[Any, ...]
Axes = tuple[int, ...]


def number(n: int) -> Any:
    """A length as a constant."""
    return Const(np.asarray(n, dtype="int64"))


def is_one(n: AnyTerm) -> bool:
    """A length that is known to be 1."""
    return isinstance(n, Const) and bool(n.scalar == 1)


def reorder(x: AnyTerm, order: Terms) -> Any:
    """`dimshuffle(x, order)`, or `x` if nothing moves."""
    return x if order == tuple(range(x.type.ndim)) else mk1(dimshuffle.bind(order=order), x)


def _product(chosen: Iterable[AnyTerm]) -> Any:
    known = math.prod([int(n.scalar) for n in chosen if isinstance(n, Const)])
    others = [n for n in chosen if not isinstance(n, Const)]
    if not others or known == 0:
        return number(known)
    if known != 1:
        others.append(number(known))
    return mk(ew.mul, tuple(others)) if len(others) > 1 else others[0]


# ---------------------------------------------------------------------- parts
@part_of(None)
def known_length(x: AnyTerm, a: int) -> Any:
    """The length along an axis, where the type says it."""
    n = x.type.shape[a]
    return None if n is None else number(n)


@part_of(None)
def total_length(xs: Terms, a: int) -> Any:
    """The sum of the lengths of some arrays along an axis."""
    return mk(ew.add, tuple([length(x, a) for x in xs]))


@part_of(param)
def ones_only(x: AnyTerm, ns: Terms) -> Any:
    """The order of dimensions by which a reshape is a dimshuffle: only lengths 1 come or go."""
    if any(n.op is not CONST and x.type.ndim == 0 for n in ns):
        return None
    order: list[Any] = []
    d, ndim = 0, x.type.ndim
    for n in ns:
        while d < ndim and x.type.shape[d] == 1 and not is_one(n):
            d += 1
        if d < ndim and (is_length(n, x, d)):
            order.append(d)
            d += 1
        elif is_one(n):
            order.append("x")
        else:
            return None
    return tuple(order) if all(x.type.shape[k] == 1 for k in range(d, ndim)) else None


@part_of(None)
def as_scalar(x: AnyTerm) -> Any:
    """An array of one element without its dimensions."""
    if any(n != 1 for n in x.type.shape):
        return None
    if isinstance(x, Const):
        return Const(x.value.reshape(()))
    return reorder(x, ())


@part_of(None)
def repetitions(ns: Terms, axes: Axes) -> Any:
    """How many elements an array of these lengths has along some axes: the product of the lengths."""
    return _product([ns[a] for a in axes])


@part_of(None)
def unrepeated(v: AnyTerm, ns: Terms, axes: Axes) -> Any:
    """What is left of `alloc(v, *ns)` without axes that only repeat its value."""
    lead = len(ns) - v.type.ndim
    gone = [d - lead for d in axes]
    value = reorder(v, tuple([d for d in range(v.type.ndim) if d not in gone]))
    left = [n for d, n in enumerate(ns) if d not in axes]
    return mk(alloc, (value, *left)) if left else value


# ---------------------------------------------------------------------- facts
@goal("iii", fact=True)
def repeats(v: AnyTerm, ns: Terms, axes: Axes) -> bool:
    """Along some axes `alloc(v, *ns)` only repeats its value, over lengths that are not below zero."""
    lead = len(ns) - v.type.ndim
    if not axes or any(d >= lead and v.type.shape[d - lead] != 1 for d in axes):
        return False
    return all(_surely_a_length(ns[d]) for d in axes)  # the alloc is what refuses a length below zero


_KEEP_SIGN = (ew.add, ew.mul, ew.maximum, ew.minimum, ew.cast, dimshuffle)


def _surely_a_length(n: AnyTerm) -> bool:
    """Whether a length is known to be zero or more: sums and products of lengths stay within 64 bits."""
    return nonnegative.proved(n) or (n.op.family in _KEEP_SIGN and all(map(_surely_a_length, n.args)))


@goal("iii", fact=True)
def has_length(x: AnyTerm, n: AnyTerm, axis: int) -> bool:
    """`n` is the length of a dimension."""
    return is_length(n, x, axis)


@goal("ii", fact=True)
def has_lengths(x: AnyTerm, ns: Terms) -> bool:
    """`x` has these lengths."""
    return x.type.ndim == len(ns) and all(is_length(n, x, d) for d, n in enumerate(ns))


@goal("ii", fact=True)
def same_total(ms: Terms, ns: Terms) -> bool:
    """Arrays of these lengths are known to have the same number of elements."""
    return _product(ms) is _product(ns)


@goal("iii", fact=True)
def spreads_further(x: AnyTerm, ms: Terms, ns: Terms) -> bool:
    """Broadcasting `x` to the lengths `ns` is the same as first to `ms`, then to `ns`."""
    tail = ns[len(ns) - len(ms) :]
    return all(m is n or is_one(m) for m, n in zip(ms, tail))
