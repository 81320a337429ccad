"""Formulas of the derivatives of special functions that need other ones at some points."""

from __future__ import annotations

from math import pi

import termgraph.tensor as T
from termgraph.rules.formulas import formula


@formula
def poch_slope(z, m):
    """The derivative of poch(z, m) by z.

    A gamma function that is infinite at both ends (z and z + m whole, not above 0) is taken from the other side of 0.
    One that is infinite at z alone makes poch 0, and the slope a product: pi * poch(1 - z - m, m) / sin(pi * m), or of
    gamma functions for whole m, where that is 0 by 0. Each function stands once: C keeps such a loop in vectors.
    """
    step = T.eq(T.floor(m), m)
    pole = (z <= 0) & T.eq(T.floor(z), z)
    both = pole & step & (z + m <= 0)
    whole, between = pole & step & ~both, pole & ~step
    start = T.where(both, 1 - z - m, z)
    change = (T.digamma(start + m) - T.digamma(start)) * T.where(both, -1, 1)
    sine = pi / T.sin(pi * T.where(between, m, 0.5))
    product = T.poch(T.where(between, 1 - z - m, z), m) * T.where(between, sine, change)
    odd = T.neq(2 * T.floor(z / 2), z)
    factorials = T.gamma(T.where(whole, 1 - z, 1)) * T.gamma(T.where(whole, z + m, 1)) * T.where(odd, -1, 1)
    return T.where(whole, factorials, product)
