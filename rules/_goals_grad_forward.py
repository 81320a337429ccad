"""Goals of forward derivatives: sums over tangents, zeros where there is none."""

from __future__ import annotations

from termgraph.rules import goal
from termgraph.terms.build import filled_like, summed
from termgraph.terms.ops.derivative import NOTHING
from termgraph.terms.term import mk


@goal("iiio")
def product_rule(f, xs, ts):
    """The sum of f with one operand after the other replaced by its tangent."""
    parts = [mk(f, (*xs[:i], t, *xs[i + 1 :])) for i, t in enumerate(ts) if t is not NOTHING]
    return summed(parts)


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
