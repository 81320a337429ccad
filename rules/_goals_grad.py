"""Goals of the derivatives of element-wise ops: products of many, largest of many, powers."""

from __future__ import annotations

from termgraph.rules import Guard, goal
from termgraph.terms.build import number_like
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.derivative import NOTHING
from termgraph.terms.ops.elementwise import (
    add, cast, eq, gt, logical_and, lt, maximum, mul, pow_, switch, true_div,
)
from termgraph.terms.ops.shaping import alloc
from termgraph.terms.term import mk, mk1, mk2


def constant_below(x):
    """The constant behind broadcasts, or None."""
    while x.op.family in (dimshuffle, alloc):
        x = x.args[0]
    return x if x.op is CONST else None


def number_of(x):
    """The number a term consists of, or None."""
    found = constant_below(x)
    return None if found is None else found.scalar


Number = Guard("Number", lambda x: number_of(x) is not None, doc="An array that is one number everywhere.")


@goal("iio")
def times_the_others(xs, g):
    """For every factor, g times the product of the other factors."""
    if len(xs) == 2:
        return (mk2(mul, g, xs[1]), mk2(mul, g, xs[0]))
    if len(xs) == 1:
        return (g,)
    before = [g]  # products from the left and from the right: three products per factor, however many there are
    for x in xs[:-1]:
        before.append(mk2(mul, before[-1], x))
    after, out = None, []
    for x, b in zip(reversed(xs), reversed(before)):
        out.append(b if after is None else mk2(mul, b, after))
        after = x if after is None else mk2(mul, x, after)
    return tuple(reversed(out))


@goal("iiio")
def where_largest(m, xs, g):
    """For every operand of a maximum or minimum `m`: g where it is the result. Constants win ties, others share."""
    zero = number_like(g, 0)
    fixed = [x for x in xs if constant_below(x) is not None]
    free = [x for x in xs if x not in fixed]
    bound = fixed[0] if len(fixed) == 1 else mk(m.op, tuple(fixed)) if fixed else None
    beats = gt if m.op is maximum else lt
    if len(free) == 1:
        found = g if bound is None else mk(switch, (mk2(beats, free[0], bound), g, zero))
        return tuple([zero if x in fixed else found for x in xs])
    hits = [zero if x in fixed else _hit(x, m, bound, beats, g) for x in xs]
    count = mk(add, tuple([h for x, h in zip(xs, hits) if x not in fixed]))
    if bound is not None:  # nobody is hit where a constant wins
        count = mk(maximum, (count, number_like(g, 1)))
    shared = mk2(true_div, g, count)
    return tuple([zero if h is zero else mk2(mul, shared, h) for h in hits])


def _hit(x, m, bound, beats, g):
    """1 where the operand is the result and beats the constants, else 0."""
    equal = mk2(eq, x, m)
    return mk1(cast.bind(dtype=g.type.dtype), equal if bound is None else mk2(logical_and, equal, mk2(beats, x, bound)))


@goal("iiio")
def power_slope(x, c, g):
    """g c x ** (c - 1), written for the usual constants."""
    power = number_of(c)
    if power == 0:
        return NOTHING
    if power == 1:
        return g
    rest = x if power == 2 else mk2(pow_, x, number_like(g, power - 1))
    return mk2(mul, g, mk2(mul, number_like(g, power), rest))


@goal("io")
def other_format(format):
    """The format of a sparse matrix that reads the same arrays as the transpose."""
    return "csc" if format == "csr" else "csr"
