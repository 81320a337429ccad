"""Signs go outside and sums are written `P - N`; whole numbers cancel exactly, in every dtype."""

from termgraph.rules import (
    Constant, Float, Guard, Inexact, Integer, NonConst, Real, Uniform, Unsigned, even, finite, head, needed_once,
    negative, nonnegative, nonpositive, odd, of_integers, param, positive, rule, ruleset, seg, this,
)
from termgraph.rules.constant_guards import below_zero
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import abs_, floor_div, invert, mod, mul, sign

Signed = Guard(
    "Signed",
    lambda t: t.type.dtype is not None and t.type.kind in "ifc",
    "({x}.type.dtype is not None and {x}.type.kind in 'ifc')",
)
ZERO = ["signed_zero"]


@ruleset("canonicalize")
def negation(x, y, v: NonConst, c: Constant, w: Inexact, i: Integer, j: Integer, k: Integer, f: head, s: Signed,
             u: Uniform & Float, n: Uniform & Integer, o: param):
    yield rule("sub_constant",   v - c[this.dtype],          v + (-c))
    yield rule("add_neg",        x + (-y[this.dtype]),       x - y)
    yield rule("mul_neg",        (-x[this.dtype]) * y[this.dtype], -(x * y))
    yield rule("neg_over",       (-x[this.dtype]) / y,       -(x / y))
    yield rule("over_neg",       x / (-y[this.dtype]),       -(x / y))
    yield rule("neg_sub",        (-x[this.dtype]) - y[this.dtype], -(x + y), assumes=ZERO)
    yield rule("add_spread_neg", x + dimshuffle(-y[this.dtype], order=o), x - dimshuffle(y, order=o))
    yield rule("sub_spread_neg", x - dimshuffle(-y[this.dtype], order=o), x + dimshuffle(y, order=o))
    yield rule("mul_spread_neg", x[this.dtype] * dimshuffle(-y[this.dtype], order=o), -(x * dimshuffle(y, order=o)))
    yield rule("neg_scaled",     -(n[this.dtype, below_zero] * x), (-n) * x)
    yield rule("scaled",         u[this.dtype, below_zero] * x, -((-u) * x))
    yield rule("over_scaled",    x / u[this.dtype, below_zero], -(x / (-u)))
    yield rule("number_over",    u[this.dtype, below_zero] / x, -((-u) / x))
    yield rule("odd",            f(-w),                      -f(w),
                                 odd(f), assumes=["signed_zero", "reassoc"])
    yield rule("even",           f(-s),                      f(s),                      even(f))

    # absolute values and signs of what has a known sign
    yield rule("abs_nonnegative", abs_(x[nonnegative]),      x, assumes=ZERO)
    yield rule("abs_nonpositive", abs_(x[nonpositive]),      -x, assumes=ZERO)
    yield rule("sign_positive",  sign(x[positive, finite]),  1)
    yield rule("sign_negative",  sign(x[negative, finite]),  -1)
    yield rule("abs_times_sign", abs_(w) * sign(w),          w, assumes=["reassoc", "signed_zero"])

    # whole numbers wrap around, so nothing is lost
    yield rule("plus_minus",     ((i + j) - j)[of_integers], i)
    yield rule("minus_plus",     ((i - j) + j)[of_integers], i)
    yield rule("minus_minus",    i - (i - j[i.dtype]),       j)
    yield rule("minus_sum",      i - (i + j[i.dtype]),       -j)
    yield rule("sums",           (i + j[i.dtype]) - (i + k[i.dtype]), j - k)
    yield rule("not_plus_one",   invert(i) + 1,              -i)
    yield rule("neg_minus_one",  -i - 1,                     invert(i))
    yield rule("floor_div_one",  floor_div(i, 1),            i)
    yield rule("mod_one",        mod(i, 1),                  0)
    yield rule("mod_mod",        mod(mod(i, j), j)[of_integers], mod(i, j))


@ruleset("specialize", "fast_run", "fast_compile")
def signs(x, y, u: Uniform & Real & ~Unsigned, w: Uniform & Float, xs: seg):
    # the sign goes back into a number, which is one operation less
    yield rule("scaled",         -mul(u[this.dtype], *xs)[needed_once], mul(-u, *xs))
    yield rule("divided",        -(x / u[this.dtype])[needed_once], x / (-u))
    yield rule("over",           -(u[this.dtype] / x)[needed_once], (-u) / x)
    yield rule("scaled_over",    -(mul(u[this.dtype], *xs)[needed_once] / x)[needed_once], mul(-u, *xs) / x)
    yield rule("over_scaled",    -(x / mul(u[this.dtype], *xs)[needed_once])[needed_once], x / mul(-u, *xs))
    yield rule("scaled_plus",    -(mul(w[this.dtype], *xs)[needed_once] + y)[needed_once], mul(-w, *xs) - y,
                                 assumes=ZERO)
    yield rule("over_plus",      -((mul(w[this.dtype], *xs)[needed_once] / x)[needed_once] + y)[needed_once],
                                 mul(-w, *xs) / x - y, assumes=ZERO)
