"""Goals of the derivatives of convolutions and pooling: windows laid back, lengths, tangents."""

from __future__ import annotations

from termgraph.rulelib._goals_convolutions import overlapped
from termgraph.rulelib._goals_grad_forward import or_zeros, product_rule
from termgraph.rulelib._goals_pooling import of_the_largest
from termgraph.rules import goal
from termgraph.tensor.lengths import lengths
from termgraph.tensor.lifting import handle
from termgraph.terms.build import lengths as length_terms
from termgraph.terms.op import CONST
from termgraph.terms.term import mk1


@goal("iiiiio")
def laid_back(x, g, ks, stride, dilation):
    """The cotangent of windows, added up where they were read."""
    taps = [int(k.scalar) if k.op is CONST else handle(k) for k in ks]
    return overlapped(handle(g), lengths(handle(x)), taps, {"stride": stride, "dilation": dilation}).term


@goal("iiio")
def linear_in_two(f, xs, ts):
    """The tangent of an op that is linear in its first two operands; lengths follow them."""
    return product_rule.run("iiio", (f, xs, ts[:2], None))


# ---------------------------------------------------------------------- pooling
@goal("iio")
def pooled_lengths(x, size):
    """The lengths of the dimensions of x that are pooled."""
    return tuple(length_terms(x)[x.type.ndim - len(size) :])


@goal("iiio")
def tangent(p, x, t):
    """The tangent of a pooling: that of the largest elements, or of all."""
    return mk1(p, t) if p.params["kind"] == "sum" else of_the_largest.run("iiiio", (p, x, mk1(p, x), t, None))


@goal("iio")
def one_or_zeros(g, v):
    """The tangent of one operand, zeros where it has none."""
    return or_zeros.run("iio", ((g,), (v,), None))[0]
