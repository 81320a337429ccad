"""Goals of forward derivatives: sums over tangents, zeros where there is none."""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rules import goal
from termgraph.terms.build import filled_like
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.derivative import NOTHING
from termgraph.terms.ops.elementwise import add
from termgraph.terms.ops.sorting import argsort, unique_all
from termgraph.terms.term import mk, mk1


@goal("iiio")
def product_rule(f, xs, ts):
    """The sum of f with one operand after the other replaced by its tangent."""
    parts = [mk(f, (*xs[:i], t, *xs[i + 1 :])) for i, t in enumerate(ts) if t is not NOTHING]
    return parts[0] if len(parts) == 1 else mk(add, tuple(parts))


@goal("iio")
def both(x, y):
    """Two terms as a segment."""
    return x, y


@goal("iio")
def or_zeros(xs, ts):
    """The tangents, zeros where an operand has none."""
    return tuple(filled_like(x, 0) if t is NOTHING else t for x, t in zip(xs, ts))


@goal("iio")
def or_zero(x, t):
    """The tangent, or zeros."""
    return filled_like(x, 0) if t is NOTHING else t


@goal("iiio")
def in_sorted_order(x, t, axis):
    """The tangent of x, moved to where the elements of x go when sorted."""
    return T.take_along_axis(t, mk1(argsort.bind(axis=axis), x), axis=axis)


@goal("iiio")
def at_first_places(x, t, axis):
    """The tangents of the elements or slices of x that are distinct, of each the first."""
    place = mk1(nth.bind(i=1), mk1(unique_all.bind(axis=axis), x))
    return T.take(t, place, axis=axis)
