"""Choices: known conditions, equal arms, choices within choices, and choices that are a maximum or an absolute
value.
"""

from termgraph.rulelib._goals_control import alone_in_arms
from termgraph.rules import Bool, Constant, Float, Real, head, nonzero, param, rule, ruleset, this
from termgraph.terms.ops.elementwise import (
    abs_, arccos, arccosh, arcsin, arcsinh, arctan, arctanh, cast, cos, cosh, digamma, eq, erf, erfc, erfcinv, erfcx,
    erfinv, exp, exp2, expm1, gamma, gammaln, ge, gt, le, log, log1mexp, log1p, log2, log10, logical_and, logical_not,
    logical_or, lt, maximum, minimum, neq, sigmoid, sin, sinh, softplus, sqr, sqrt, tan, tanh,
)
from termgraph.terms.ops.elementwise import switch as switch_

AGAIN = ["specialize"]  # tidies up after the rules of that stage as well
NAN = ["finite", "signed_zero"]  # maximum and minimum give NaN for any NaN, a choice only for that in the chosen arm


@ruleset("canonicalize")
def switch(c, d, x, y, z, k: Constant, p: Bool, u: Real, v: Real, f: head[lt, le], g: head[gt, ge]):
    yield rule("true",           switch_(k[nonzero], x, y),                      x, tags=AGAIN)
    yield rule("false",          switch_(0, x, y),                               y, tags=AGAIN)
    yield rule("equal_arms",     switch_(c, x, x),                               x, tags=AGAIN)
    yield rule("not",            switch_(logical_not(c), x, y),                  switch_(c, y, x))
    yield rule("neq_zero",       switch_(neq(c, 0), x, y),                       switch_(c, x, y))
    yield rule("eq_zero",        switch_(eq(c, 0), x, y),                        switch_(c, y, x))
    yield rule("of_itself",      switch_(p, p, logical_not(p)),                  True)
    yield rule("of_not_itself",  switch_(p, logical_not(p), p),                  False)
    yield rule("is_condition",   switch_(p, 1, 0),                               cast(p, dtype=this.dtype))
    yield rule("is_not_condition", switch_(p, 0, 1),                             cast(logical_not(p), dtype=this.dtype))

    # choices within choices
    yield rule("then_same",      switch_(c, switch_(c, x, y), z),                switch_(c, x, z), tags=AGAIN)
    yield rule("else_same",      switch_(c, x, switch_(c, y, z)),                switch_(c, x, z), tags=AGAIN)
    yield rule("then_and",       switch_(c, switch_(d, x, y), y),                switch_(logical_and(c, d), x, y))
    yield rule("else_or",        switch_(c, x, switch_(d, x, y)),                switch_(logical_or(c, d), x, y))
    yield rule("then_and_not",   switch_(c, switch_(d, y, x), y),
                                 switch_(logical_and(c, logical_not(d)), x, y))
    yield rule("else_or_not",    switch_(c, x, switch_(d, y, x)),
                                 switch_(logical_or(c, logical_not(d)), x, y))

    # maximum and minimum
    yield rule("larger",         switch_(f(u, v), v, u),                         maximum(u, v), assumes=NAN)
    yield rule("larger_first",   switch_(g(u, v), u, v),                         maximum(u, v), assumes=NAN)
    yield rule("smaller",        switch_(g(u, v), v, u),                         minimum(u, v), assumes=NAN)
    yield rule("smaller_first",  switch_(f(u, v), u, v),                         minimum(u, v), assumes=NAN)

    # absolute values
    yield rule("abs",            switch_(f(u, 0), -u, u),                        abs_(u), assumes=["signed_zero"])
    yield rule("abs_first",      switch_(g(u, 0), u, -u),                        abs_(u), assumes=["signed_zero"])

    # which of two equal things is chosen does not matter
    yield rule("eq_arms",        switch_(eq(u, v), u, v),                        v,
                                 assumes=NAN)
    yield rule("neq_arms",       switch_(neq(u, v), u, v),                       u,
                                 assumes=NAN)


@ruleset("specialize")
def choices(c, x, y, p: Bool, u: Float | 1, v: Float | 1, z: Float, d: param, e: param,
            w: Float, g: head[gt, ge],
            f: head[arccos, arccosh, arcsin, arcsinh, arctan, arctanh, cos, cosh, digamma, erf, erfc, erfcinv, erfcx,
                    erfinv, exp, exp2, expm1, gamma, gammaln, log, log10, log1mexp, log1p, log2, sigmoid, sin,
                    sinh, softplus, sqr, sqrt, tan, tanh]):
    # one function of what is chosen, not two of which one is not needed
    yield rule("neg",            switch_(c, -x, -y[x.dtype]),                    -switch_(c, x, y))
    yield rule("function",       switch_(c, f(x), f(y[x.dtype])),                f(switch_(c, x, y)),
                                 alone_in_arms(this, f, x, y))
    yield rule("function_neg",   switch_(c, f(x), -f(y[x.dtype])), switch_(c, 1, -1) * f(switch_(c, x, y)),
                                 alone_in_arms(this, f, x, y))
    yield rule("neg_function",   switch_(c, -f(x), f(y[x.dtype])), switch_(c, -1, 1) * f(switch_(c, x, y)),
                                 alone_in_arms(this, f, x, y))
    yield rule("factor",         switch_(c, x * z, y * z),                       switch_(c, x, y) * z)
    yield rule("factor_neg",     switch_(c, x * z, -(y[this.dtype] * z)),        switch_(c, x, -y) * z)
    yield rule("neg_factor",     switch_(c, -(x[this.dtype] * z), y * z),        switch_(c, -x, y) * z)

    # a factor of which only the numbers that the condition leaves matter
    yield rule("bounded_factor", switch_(g(w, 0), x, z * minimum(w, 0)),         switch_(g(w, 0), x, z * w),
                                 assumes=NAN)

    # masks that exclude each other, as gradients of choices make them
    yield rule("masks",          u * switch_(c, x[this.dtype], 0) + v * switch_(c, 0, y[this.dtype]),
                                 switch_(c, u * x, v * y), assumes=["finite", "plus_zero"])
    yield rule("masks_minus",    u * switch_(c, x[this.dtype], 0) - v * switch_(c, 0, y[this.dtype]),
                                 switch_(c, u * x, -(v * y)), assumes=["finite", "plus_zero"])
    yield rule("minus_masks",    v * switch_(c, 0, y[this.dtype]) - u * switch_(c, x[this.dtype], 0),
                                 switch_(c, -(u * x), v * y), assumes=["finite", "plus_zero"])
    yield rule("conditions",     u * cast(p, dtype=d) + v * cast(logical_not(p), dtype=e),
                                 switch_(p, u, v), assumes=["finite", "signed_zero"])
    yield rule("conditions_minus", u * cast(p, dtype=d) - v * cast(logical_not(p), dtype=e),
                                 switch_(p, u, -v), assumes=["finite", "signed_zero"])
    yield rule("minus_conditions", v * cast(logical_not(p), dtype=e) - u * cast(p, dtype=d),
                                 switch_(p, -u, v), assumes=["finite", "signed_zero"])
