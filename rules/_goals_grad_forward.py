"""Goals of forward derivatives: sums over tangents, of choices too, zeros where there is none."""

from __future__ import annotations

from termgraph.rules import goal
from termgraph.terms.build import filled_like, summed
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.derivative import NOTHING, tup
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


@goal("iiio")
def linear_in_two(f, xs, ts):
    """The tangent of an op that is linear in its first two operands; lengths follow them."""
    return product_rule.run("iiio", (f, xs, ts[:2], None))


@goal("iiio")
def choice_of_tangents(c, xs, ts):
    """The choice between the tangents of the branches."""
    n = len(xs) // 2
    full = [filled_like(x, 0) if t is NOTHING and x.type.kind in "fc" else t for x, t in zip(xs, ts)]
    out = [NOTHING if a is NOTHING else mk(ifelse.bind(n=1), (c, a, b)) for a, b in zip(full[:n], full[n:])]
    return out[0] if n == 1 else mk(tup, tuple(out))
