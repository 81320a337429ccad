"""Signs go outside and sums are written `P - N`; whole numbers cancel exactly, in every dtype."""

from termgraph.rules import (
    Constant,
    Float,
    Guard,
    Inexact,
    Integer,
    NonConst,
    Real,
    Uniform,
    Unsigned,
    even,
    finite,
    head,
    needed_once,
    negative,
    nonnegative,
    nonpositive,
    odd,
    of_integers,
    param,
    positive,
    rule,
    ruleset,
    same_dtype,
    seg,
    this,
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
    yield rule("sub_constant",   v - c,                      v + (-c),                 same_dtype(c, this))
    yield rule("add_neg",        x + (-y),                   x - y,                     same_dtype(y, this))
    yield rule("mul_neg",        (-x) * y,                   -(x * y),
                                 same_dtype(x, this), same_dtype(y, this))
    yield rule("neg_over",       (-x) / y,                   -(x / y),                  same_dtype(x, this))
    yield rule("over_neg",       x / (-y),                   -(x / y),                  same_dtype(y, this))
    yield rule("neg_sub",        (-x) - y,                   -(x + y),
                                 same_dtype(x, this), same_dtype(y, this), assumes=ZERO)
    yield rule("add_spread_neg", x + dimshuffle(-y, order=o), x - dimshuffle(y, order=o), same_dtype(y, this))
    yield rule("sub_spread_neg", x - dimshuffle(-y, order=o), x + dimshuffle(y, order=o), same_dtype(y, this))
    yield rule("mul_spread_neg", x * dimshuffle(-y, order=o), -(x * dimshuffle(y, order=o)),
                                 same_dtype(x, this), same_dtype(y, this))
    yield rule("neg_scaled",     -(n * x),                   (-n) * x,
                                 below_zero(n), same_dtype(n, this))
    yield rule("scaled",         u * x,                      -((-u) * x),
                                 below_zero(u), same_dtype(u, this))
    yield rule("over_scaled",    x / u,                      -(x / (-u)),
                                 below_zero(u), same_dtype(u, this))
    yield rule("number_over",    u / x,                      -((-u) / x),
                                 below_zero(u), same_dtype(u, this))
    yield rule("odd",            f(-w),                      -f(w),
                                 odd(f), assumes=["signed_zero", "reassoc"])
    yield rule("even",           f(-s),                      f(s),                      even(f))

    # absolute values and signs of what has a known sign
    yield rule("abs_nonnegative", abs_(x),                   x,                         nonnegative(x), assumes=ZERO)
    yield rule("abs_nonpositive", abs_(x),                   -x,                        nonpositive(x), assumes=ZERO)
    yield rule("sign_positive",  sign(x),                    1,                         positive(x), finite(x))
    yield rule("sign_negative",  sign(x),                    -1,                        negative(x), finite(x))
    yield rule("abs_times_sign", abs_(w) * sign(w),          w, assumes=["reassoc", "signed_zero"])

    # whole numbers wrap around, so nothing is lost
    yield rule("plus_minus",     (i + j) - j,                i,                         of_integers(this))
    yield rule("minus_plus",     (i - j) + j,                i,                         of_integers(this))
    yield rule("minus_minus",    i - (i - j),                j,                         same_dtype(i, j))
    yield rule("minus_sum",      i - (i + j),                -j,                        same_dtype(i, j))
    yield rule("sums",           (i + j) - (i + k),          j - k,
                                 same_dtype(i, j), same_dtype(i, k))
    yield rule("not_plus_one",   invert(i) + 1,              -i)
    yield rule("neg_minus_one",  -i - 1,                     invert(i))
    yield rule("floor_div_one",  floor_div(i, 1),            i)
    yield rule("mod_one",        mod(i, 1),                  0)
    yield rule("mod_mod",        mod(mod(i, j), j),          mod(i, j),                 of_integers(this))


@ruleset("specialize", "fast_run", "fast_compile")
def signs(x, y, u: Uniform & Real & ~Unsigned, w: Uniform & Float, xs: seg):
    # the sign goes back into a number, which is one operation less
    yield rule("scaled",         -mul(u, *xs),               mul(-u, *xs),
                                 needed_once(mul(u, *xs)), same_dtype(u, this))
    yield rule("divided",        -(x / u),                   x / (-u),
                                 needed_once(x / u), same_dtype(u, this))
    yield rule("over",           -(u / x),                   (-u) / x,
                                 needed_once(u / x), same_dtype(u, this))
    yield rule("scaled_over",    -(mul(u, *xs) / x),         mul(-u, *xs) / x,
                                 needed_once(mul(u, *xs)), needed_once(mul(u, *xs) / x), same_dtype(u, this))
    yield rule("over_scaled",    -(x / mul(u, *xs)),         x / mul(-u, *xs),
                                 needed_once(mul(u, *xs)), needed_once(x / mul(u, *xs)), same_dtype(u, this))
    yield rule("scaled_plus",    -(mul(w, *xs) + y),         mul(-w, *xs) - y,
                                 needed_once(mul(w, *xs)), needed_once(mul(w, *xs) + y), same_dtype(w, this),
                                 assumes=ZERO)
    yield rule("over_plus",      -(mul(w, *xs) / x + y),     mul(-w, *xs) / x - y,
                                 needed_once(mul(w, *xs)), needed_once(mul(w, *xs) / x),
                                 needed_once(mul(w, *xs) / x + y), same_dtype(w, this), assumes=ZERO)
