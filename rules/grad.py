"""Derivatives of element-wise ops, one line each.

`pullback(y, g)` is what a cotangent g of y contributes to each argument of y: the right side lists one term per
argument, None where nothing flows. Broadcasts are summed back and dtypes kept by the driver.

Complex numbers: dL = Re(g dy), so holomorphic functions need no conjugates here; `tg.grad` conjugates at both ends.
Choices at kinks: abs'(0) = sign'(x) = 0, hypot'(0, 0) = 0, steps (floor, sign, comparisons) have derivative 0
everywhere; where operands of maximum and minimum are equal they share the gradient equally, but a constant operand
takes it all (so relu'(0) = 0); at a bound, clip counts as the identity.
"""

from __future__ import annotations

from math import log as ln
from math import pi
from math import sqrt as root

from termgraph.rulelib._goals_grad import Number, power_slope, times_the_others, where_largest
from termgraph.rules import Complex, head, param, rule, ruleset, seg
from termgraph.rules.parts import each
from termgraph.terms.facts import circular, inverse
from termgraph.terms.ops.assume import assume, required
from termgraph.terms.ops.derivative import missing, pullback, tup
from termgraph.terms.ops.draws import beta_draw, gamma_draw
from termgraph.terms.ops.elementwise import (
    abs_, add, arccos, arccosh, arctan2, cast, cbrt, ceil, clip, complex_, conj, copysign, cos, cosh, deg2rad, digamma,
    eq, erf, erfc, erfcinv, erfcx, erfinv, exp, exp2, exp_below_zero, expm1, floor, fma, fmax, fmin, fmod,
    frexp_exponent, frexp_mantissa, gamma, gammainc, gammaincc, gammaln, ge, gt, heaviside, hypot, i0, i1, imag, isnan,
    j0, j1, ldexp, le, log, log1mexp, log1p, log2, log10, logaddexp, logaddexp2, logical_and, logical_or, lt, maximum,
    minimum, mul, nextafter, polygamma, rad2deg, real, reciprocal, round_, sigmoid, sign, sin, sinh, softplus, sqr,
    sqrt, switch, trunc, xlog1py, xlogy,
)
from termgraph.terms.ops.special import betainc, iv, jv

LN2, LN10 = ln(2), ln(10)


# ---------------------------------------------------------------------- arithmetic
@ruleset("grad")
def grad_arithmetic(x, y, z, g, c: Number, w: Complex, xs: seg, gs: seg):
    yield rule("add",        pullback(add(*xs), g),          tup(*each(xs, g)))
    yield rule("sub",        pullback(x - y, g),             (g, -g))
    yield rule("neg",        pullback(-x, g),                (-g,))
    yield rule("mul",        pullback(mul(*xs), g),          tup(*gs),                times_the_others(xs, g, gs))
    yield rule("true_div",   pullback(x / y, g),             (g / y, -(g / y) * (x / y)))
    yield rule("reciprocal", pullback(reciprocal(x), g),     (-g * sqr(reciprocal(x)),))
    yield rule("fma",        pullback(fma(x, y, z), g),      (g * y, g * x, g))
    yield rule("sqr",        pullback(sqr(x), g),            (g * (2 * x),))
    yield rule("sqrt",       pullback(sqrt(x), g),           (g / (2 * sqrt(x)),))
    yield rule("cbrt",       pullback(cbrt(x), g),           (g / (3 * sqr(cbrt(x))),))

    # x ** 0 is 1 everywhere, and 0 ** y is 0: neither derivative may become 0 * inf
    yield rule("pow_const",  pullback(x ** c, g),            (z, None),               power_slope(x, c, g, z))
    # the logarithm of a negative number is complex, and wanted where the exponent is
    yield rule("pow_complex", pullback(x ** w, g),           (g * (w * x ** switch(eq(w, 0), 1, w - 1)),
                                                              g * (x ** w * log(switch(eq(x, 0), 1, x) * (1 + 0j)))))
    yield rule("pow",        pullback(x ** y, g),            (g * (y * x ** switch(eq(y, 0), 1, y - 1)),
                                                              g * (x ** y * log(switch(eq(x, 0), 1, x)))))

    yield rule("floor_div",  pullback(x // y, g),            (None, None))
    yield rule("mod",        pullback(x % y, g),             (g, -g * (x // y)))
    yield rule("fmod",       pullback(fmod(x, y), g),        (g, -g * trunc(x / y)))
    yield rule("deg2rad",    pullback(deg2rad(x), g),        (deg2rad(g),))
    yield rule("rad2deg",    pullback(rad2deg(x), g),        (rad2deg(g),))


@ruleset("grad")
def grad_choice(x, y, z, g, c, f: head[floor, ceil, trunc, round_, sign],
                w: Complex, xs: seg, gs: seg):
    yield rule("maximum",    pullback(maximum(*xs), g),      tup(*gs),     where_largest(maximum(*xs), xs, g, gs))
    yield rule("minimum",    pullback(minimum(*xs), g),      tup(*gs),     where_largest(minimum(*xs), xs, g, gs))
    yield rule("fmax",       pullback(fmax(x, y), g),
                             (switch(logical_or(gt(x, y), isnan(y)), g, switch(eq(x, y), 0.5 * g, 0)),
                                 switch(logical_or(gt(y, x), isnan(x)), g, switch(eq(x, y), 0.5 * g, 0))))
    yield rule("fmin",       pullback(fmin(x, y), g),
                             (switch(logical_or(lt(x, y), isnan(y)), g, switch(eq(x, y), 0.5 * g, 0)),
                                 switch(logical_or(lt(y, x), isnan(x)), g, switch(eq(x, y), 0.5 * g, 0))))
    yield rule("switch",     pullback(switch(c, x, y), g),   (None, switch(c, g, 0), switch(c, 0, g)))
    yield rule("clip",       pullback(clip(x, y, z), g),
                             (switch(logical_and(ge(x, y), le(x, z)), g, 0),
                                 switch(logical_and(lt(x, y), le(y, z)), g, 0),
                                 switch(logical_or(gt(x, z), gt(y, z)), g, 0)))
    yield rule("abs_c",      pullback(abs_(w), g),           (g * conj(w) / switch(eq(w, 0), 1, abs_(w)),))
    yield rule("abs",        pullback(abs_(x), g),           (g * sign(x),))
    yield rule("sign_c",     pullback(sign(w), g),           ((g - real(g * sign(w)) * conj(sign(w))) / abs_(w),))
    yield rule("step",       pullback(f(x), g),              (None,))
    yield rule("copysign",   pullback(copysign(x, y), g),    (g * (sign(x) * copysign(1, y)), None))
    yield rule("nextafter",  pullback(nextafter(x, y), g),   (g, None))
    yield rule("ldexp",      pullback(ldexp(x, y), g),       (ldexp(g, y), None))
    yield rule("frexp_mantissa", pullback(frexp_mantissa(x), g), (ldexp(g, -frexp_exponent(x)),))
    yield rule("heaviside",  pullback(heaviside(x, y), g),   (None, switch(eq(x, 0), g, 0)))
    yield rule("hypot",      pullback(hypot(x, y), g),       (g * (x / switch(eq(hypot(x, y), 0), 1, hypot(x, y))),
                                                              g * (y / switch(eq(hypot(x, y), 0), 1, hypot(x, y)))))


@ruleset("grad")
def grad_conversion(x, y, g, a: param):
    yield rule("cast",       pullback(cast(x, dtype=a), g),     (g,))
    yield rule("assume",     pullback(assume(x, facts=a), g),   (g,))
    yield rule("required",   pullback(required(x, y, message=a), g), (g, None))
    yield rule("real",       pullback(real(x), g),              (g,))
    yield rule("imag",       pullback(imag(x), g),              (g * -1j,))
    yield rule("conj",       pullback(conj(x), g),              (conj(g),))
    yield rule("complex",    pullback(complex_(x, y), g),       (real(g), -imag(g)))


@ruleset("grad")
def grad_exponential(x, y, g):
    yield rule("exp",        pullback(exp(x), g),            (g * exp(x),))
    yield rule("exp_below_zero", pullback(exp_below_zero(x), g), (g * exp_below_zero(x),))
    yield rule("exp2",       pullback(exp2(x), g),           (g * (LN2 * exp2(x)),))
    yield rule("expm1",      pullback(expm1(x), g),          (g * exp(x),))
    yield rule("log",        pullback(log(x), g),            (g / x,))
    yield rule("log2",       pullback(log2(x), g),           (g / (LN2 * x),))
    yield rule("log10",      pullback(log10(x), g),          (g / (LN10 * x),))
    yield rule("log1p",      pullback(log1p(x), g),          (g / (1 + x),))
    yield rule("log1mexp",   pullback(log1mexp(x), g),       (-g / expm1(-x),))
    yield rule("logaddexp",  pullback(logaddexp(x, y), g),   (g * sigmoid(x - y), g * sigmoid(y - x)))
    yield rule("logaddexp2", pullback(logaddexp2(x, y), g),  (g * sigmoid(LN2 * (x - y)), g * sigmoid(LN2 * (y - x))))
    yield rule("xlogy",      pullback(xlogy(x, y), g),       (xlogy(g, y), g * x / y))
    yield rule("xlog1py",    pullback(xlog1py(x, y), g),     (xlog1py(g, y), g * x / (1 + y)))
    yield rule("sigmoid",    pullback(sigmoid(x), g),        (g * (sigmoid(x) * (1 - sigmoid(x))),))
    yield rule("softplus",   pullback(softplus(x), g),       (g * sigmoid(x),))


@ruleset("grad")
def grad_trigonometric(x, y, g, w: Complex, s: head, c: head, t: head, f: head, n):
    # the hyperbolic functions are like the others but for a sign
    yield rule("sin",        pullback(s(x), g),              (g * c(x),),                        circular(s, c, t, n))
    yield rule("cos",        pullback(cos(x), g),            (-g * sin(x),))
    yield rule("cosh",       pullback(cosh(x), g),           (g * sinh(x),))
    yield rule("tan",        pullback(t(x), g),              (g * (1 + n * sqr(t(x))),),         circular(s, c, t, n))
    yield rule("arcsin",     pullback(f(x), g),              (g / sqrt(1 - n * sqr(x)),),
                             inverse(s, f), circular(s, c, t, n))
    yield rule("arccos",     pullback(arccos(x), g),         (-g / sqrt(1 - sqr(x)),))
    yield rule("arccosh_c",  pullback(arccosh(w), g),        (g / (sqrt(w - 1) * sqrt(w + 1)),))
    yield rule("arccosh",    pullback(arccosh(x), g),        (g / sqrt((x - 1) * (x + 1)),))
    yield rule("arctan",     pullback(f(x), g),              (g / (1 + n * sqr(x)),),
                             inverse(t, f), circular(s, c, t, n))
    yield rule("arctan2",    pullback(arctan2(y, x), g),
                             (g * (x / (sqr(x) + sqr(y))), -g * (y / (sqr(x) + sqr(y)))))


@ruleset("grad")
def grad_special(x, y, z, g):
    yield rule("erf",        pullback(erf(x), g),            (g * (2 / root(pi) * exp(-sqr(x))),))
    yield rule("erfc",       pullback(erfc(x), g),           (g * (-2 / root(pi) * exp(-sqr(x))),))
    yield rule("erfcx",      pullback(erfcx(x), g),          (g * (2 * x * erfcx(x) - 2 / root(pi)),))
    yield rule("erfinv",     pullback(erfinv(x), g),         (g * (root(pi) / 2 * exp(sqr(erfinv(x)))),))
    yield rule("erfcinv",    pullback(erfcinv(x), g),        (g * (-root(pi) / 2 * exp(sqr(erfcinv(x)))),))
    yield rule("gamma",      pullback(gamma(x), g),          (g * (gamma(x) * digamma(x)),))
    yield rule("gammaln",    pullback(gammaln(x), g),        (g * digamma(x),))
    yield rule("digamma",    pullback(digamma(x), g),        (g * polygamma(1, x),))
    yield rule("polygamma",  pullback(polygamma(y, x), g),
                             (missing("polygamma is differentiated by its argument, not its order"),
                                 g * polygamma(y + 1, x)))
    yield rule("gammainc",   pullback(gammainc(y, x), g),
                             (missing("gammainc is differentiated by its argument, not its order"),
                                 g * exp((y - 1) * log(x) - x - gammaln(y))))
    yield rule("gammaincc",  pullback(gammaincc(y, x), g),
                             (missing("gammaincc is differentiated by its argument, not its order"),
                                 g * -exp((y - 1) * log(x) - x - gammaln(y))))
    yield rule("betainc",    pullback(betainc(y, z, x), g),
                             (missing("betainc is differentiated by its argument, not its shape"),
                                 missing("betainc is differentiated by its argument, not its shape"),
                                 g * exp((y - 1) * log(x) + (z - 1) * log1p(-x) + gammaln(y + z) - gammaln(y) -
                                 gammaln(z))))


@ruleset("grad")
def grad_bessel(x, y, g):
    yield rule("j0",         pullback(j0(x), g),             (g * -j1(x),))
    yield rule("j1",         pullback(j1(x), g),             (g * ((j0(x) - jv(2, x)) / 2),))
    yield rule("jv",         pullback(jv(y, x), g),
                             (missing("jv is differentiated by its argument, not its order"),
                                 g * ((jv(y - 1, x) - jv(y + 1, x)) / 2)))
    yield rule("i0",         pullback(i0(x), g),             (g * i1(x),))
    yield rule("i1",         pullback(i1(x), g),             (g * ((i0(x) + iv(2, x)) / 2),))
    yield rule("iv",         pullback(iv(y, x), g),
                             (missing("iv is differentiated by its argument, not its order"),
                                 g * ((iv(y - 1, x) + iv(y + 1, x)) / 2)))


@ruleset("grad")
def grad_draws(k, n, i, x, y, g):
    parameter = missing("draws are differentiated by their scale, not by shape parameters")
    yield rule("gamma",      pullback(gamma_draw(k, n, i, x), g),   (None, None, None, parameter))
    yield rule("beta",       pullback(beta_draw(k, n, i, x, y), g), (None, None, None, parameter, parameter))
