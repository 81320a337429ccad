"""Bessel functions of order two in derivatives: by those of orders 0 and 1, which C computes without SciPy."""

from termgraph.rules import Float, rule, ruleset
from termgraph.terms.ops.elementwise import abs_, i0, i0e, i1, i1e, isinf, j0, j1, le, switch
from termgraph.terms.ops.special import iv, ive, jv


@ruleset("specialize")
def bessel(x: Float):
    # nothing cancels: at 0 these are 1 - 1/2; up to 1e-30, which is 0 in float16, the quotient is 1/2, and not 0 / 0
    yield rule("i1_slope",       i0(x) + iv(2, x),           switch(isinf(i0(x)), i0(x),
                                 2 * (i0(x) - switch(le(abs_(x), 1e-30), 0.5, i1(x) / x))),     assumes=["reassoc"])
    yield rule("i1e_slope",      i0e(x) + ive(2, x),  # 0 at infinity, where SciPy's order two is NaN
                                 2 * (i0e(x) - switch(le(abs_(x), 1e-30), 0.5, i1e(x) / x)),
                                 assumes=["reassoc", "domain"])
    yield rule("j1_slope",       j0(x) - jv(2, x),
                                 2 * (j0(x) - switch(le(abs_(x), 1e-30), 0.5, j1(x) / x)),      assumes=["reassoc"])
