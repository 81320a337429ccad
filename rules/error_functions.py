"""erf, erfc and the logarithms of Gaussian tails, which underflow long before their logarithm leaves the range."""

from termgraph.rules import Float, rule, ruleset
from termgraph.terms.ops.elementwise import erf, erfc, erfcx, exp, gamma, gt, log, log1p, maximum, sqr, switch


@ruleset("stabilize")
def error_functions(x: Float, y: Float):
    # one minus a number close to one
    yield rule("one_minus_erf_neg", 1 - erf(-x),                     erfc(-x))
    yield rule("one_minus_erf",   1 - erf(x),                        erfc(x))
    yield rule("one_plus_erf",    1 + erf(x),                        erfc(-x))
    yield rule("erf_minus_one",   erf(x) - 1,                        -erfc(x),               assumes=["plus_zero"])
    yield rule("one_minus_erfc",  1 - erfc(x),                       erf(x),                     assumes=["reassoc"])
    yield rule("erfc_minus_one",  erfc(x) - 1,                       -erf(x),                assumes=["plus_zero"])
    yield rule("two_minus_erfc",  2 - erfc(x),                       erfc(-x),                   assumes=["reassoc"])

    # tails: erfc(30) is 0, its logarithm is not
    yield rule("log_half_erfc",   log(0.5 * erfc(x)),                switch(gt(x, 0.5),
                                  log(0.5 * erfcx(maximum(x, 0.5))) - sqr(x), log1p(-0.5 * erfc(-x))),
                                  assumes=["plus_zero"])
    yield rule("log_erfc_half",   log(erfc(x) / 2),                  switch(gt(x, 0.5),
                                  log(0.5 * erfcx(maximum(x, 0.5))) - sqr(x), log1p(-0.5 * erfc(-x))),
                                  assumes=["plus_zero"])
    yield rule("log_erfc",        log(erfc(x)),                      switch(gt(x, 0.5),
                                  log(erfcx(maximum(x, 0.5))) - sqr(x), log1p(-erf(x))), assumes=["plus_zero"])
    yield rule("erfcx",           exp(sqr(x)) * erfc(x),             erfcx(x))
    yield rule("tail_slope",      exp(-sqr(x)) / erfc(x),            1 / erfcx(x),             assumes=["finite"])
    yield rule("tail_slope_mul",  (y * exp(-sqr(x))) / erfc(x),      y / erfcx(x),             assumes=["finite"])

    # factorials
    yield rule("gamma_step",      gamma(1 + x) / gamma(x),           x,                          assumes=["finite"])
