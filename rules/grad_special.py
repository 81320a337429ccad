"""Derivatives of special functions that `grad.py` does not have.

By orders and shapes there are none, where no function of the table is one.
"""

from math import pi
from math import sqrt as root

from termgraph.rulelib._formulas_grad_special import poch_slope
from termgraph.rules import rule, ruleset
from termgraph.terms.ops.derivative import missing, pullback
from termgraph.terms.ops.elementwise import (
    cos, digamma, eq, erf, exp, gammaln, i0e, i1e, log, log1p, sign, sin, sqr, switch,
)
from termgraph.terms.ops.special import (
    beta, betaincinv, binom, cosint, dawsn, exp1, expi, expn, gammainccinv, gammaincinv, hyp1f1, hyp2f1, ive, kv, kve,
    lambertw, owens_t, poch, sinint, spence, zeta,
)

ORDER = missing("Bessel functions are differentiated by their argument, not their order")
SHAPE = missing("inverses of incomplete functions are differentiated by their last argument, not by shapes")
BRANCH = missing("lambertw has branches, by whose number there is no derivative")
LAST = missing("this function is differentiated by its last argument only")


@ruleset("grad")
def grad_bessel_scaled(v, x, g):
    yield rule("i0e",        pullback(i0e(x), g),            (g * (i1e(x) - sign(x) * i0e(x)),))
    yield rule("i1e",        pullback(i1e(x), g),            (g * ((i0e(x) + ive(2, x)) / 2 - sign(x) * i1e(x)),))
    yield rule("ive",        pullback(ive(v, x), g),
                             (ORDER, g * ((ive(v - 1, x) + ive(v + 1, x)) / 2 - sign(x) * ive(v, x))))
    yield rule("kv",         pullback(kv(v, x), g),          (ORDER, g * -((kv(v - 1, x) + kv(v + 1, x)) / 2)))
    yield rule("kve",        pullback(kve(v, x), g),
                             (ORDER, g * (kve(v, x) - (kve(v - 1, x) + kve(v + 1, x)) / 2)))


@ruleset("grad")
def grad_gammas(a, b, x, y, g):
    yield rule("beta",       pullback(beta(a, b), g),        (g * (beta(a, b) * (digamma(a) - digamma(a + b))),
                                                              g * (beta(a, b) * (digamma(b) - digamma(a + b)))))
    yield rule("poch",       pullback(poch(a, b), g),        (g * poch_slope(a, b),
                                                              g * (poch(a, b) * digamma(a + b))))
    yield rule("binom",      pullback(binom(a, b), g),
                             (g * (binom(a, b) * (digamma(a + 1) - digamma(a - b + 1))),
                                 g * (binom(a, b) * (digamma(a - b + 1) - digamma(b + 1)))))
    yield rule("zeta",       pullback(zeta(x, a), g),        (LAST, g * (-x * zeta(x + 1, a))))
    yield rule("gammaincinv", pullback(gammaincinv(a, y), g),
                             (SHAPE, g * exp(gammaln(a) + gammaincinv(a, y) - (a - 1) * log(gammaincinv(a, y)))))
    yield rule("gammainccinv", pullback(gammainccinv(a, y), g),
                             (SHAPE, g * -exp(gammaln(a) + gammainccinv(a, y) - (a - 1) * log(gammainccinv(a, y)))))
    yield rule("betaincinv", pullback(betaincinv(a, b, y), g),
                             (SHAPE, SHAPE, g * exp(gammaln(a) + gammaln(b) - gammaln(a + b)
                                 - (a - 1) * log(betaincinv(a, b, y)) - (b - 1) * log1p(-betaincinv(a, b, y)))))


@ruleset("grad")
def grad_integrals(a, b, c, n, x, g):
    yield rule("exp1",       pullback(exp1(x), g),           (g * (-exp(-x) / x),))
    yield rule("expi",       pullback(expi(x), g),           (g * (exp(x) / x),))
    yield rule("expn",       pullback(expn(n, x), g),
                             (LAST, g * switch(eq(n, 0), -exp(-x) * (1 / x + 1 / sqr(x)),
                                               -expn(switch(eq(n, 0), 0, n - 1), x))))
    yield rule("spence",     pullback(spence(x), g),
                             (g * switch(eq(x, 1), -1, log(x) / switch(eq(x, 1), 1, 1 - x)),))
    yield rule("dawsn",      pullback(dawsn(x), g),          (g * (1 - 2 * x * dawsn(x)),))
    yield rule("sinint",     pullback(sinint(x), g),
                             (g * switch(eq(x, 0), 1, sin(x) / switch(eq(x, 0), 1, x)),))
    yield rule("cosint",     pullback(cosint(x), g),         (g * (cos(x) / x),))
    yield rule("owens_t",    pullback(owens_t(x, a), g),
                             (g * (-1 / (2 * root(2 * pi)) * exp(-0.5 * sqr(x)) * erf(a * x * root(0.5))),
                                 g * (exp(-0.5 * sqr(x) * (1 + sqr(a))) / (2 * pi * (1 + sqr(a))))))
    yield rule("lambertw",   pullback(lambertw(x, a), g),    (g * exp(-lambertw(x, a)) / (1 + lambertw(x, a)), BRANCH))
    yield rule("hyp1f1",     pullback(hyp1f1(a, b, x), g),   (LAST, LAST, g * (a / b * hyp1f1(a + 1, b + 1, x))))
    yield rule("hyp2f1",     pullback(hyp2f1(a, b, c, x), g),
                             (LAST, LAST, LAST, g * (a * b / c * hyp2f1(a + 1, b + 1, c + 1, x))))
