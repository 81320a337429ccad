"""Comparisons whose answer is known, and one spelling for the others: constants stand on the right."""

from termgraph.rules import (
    Bool, Constant, Float, Integer, NonConst, Real, at_most_one, complement, head, negative, nonnegative, nonpositive,
    positive, rule, ruleset, swapped,
)
from termgraph.terms.ops.elementwise import (
    abs_, arctan, eq, erf, erfc, exp, expm1, ge, gt, hypot, isfinite, isinf, isnan, le, logical_not, logical_xor, lt,
    maximum, minimum, neg, neq, sigmoid, softplus, tanh,
)

INF = float("inf")


@ruleset("canonicalize")
def comparisons(x, y, z: NonConst, c: Constant, f: head, g: head, i: Integer, j: Integer, p: Bool, u: Real,
                v: Real, w: Float, q: Float, r: head[abs_, neg],
                s: head[arctan, erf, erfc, exp, expm1, sigmoid, softplus, tanh], h: head[hypot, logical_xor],
                a: head[le, ge], b: head[lt, gt], k: head[isnan, isinf], t: head[isnan, isinf, isfinite]):
    # with itself; NaN is not equal to itself
    yield rule("below_self",     b(x, x),                    False)
    yield rule("at_most_self",   a(x, x),                    eq(x, x))
    yield rule("neq_self",       neq(x, x),                  isnan(x))
    yield rule("eq_self",        eq(x, x),                   logical_not(isnan(x)))
    yield rule("special_integer", k(i),                      False)
    yield rule("special_bool",   k(p),                       False)
    yield rule("isfinite_integer", isfinite(i),              True)
    yield rule("isfinite_bool",  isfinite(p),                True)
    yield rule("special_sign",   t(r(x)),                    t(x))
    yield rule("isnan_total",    isnan(s(w)),                isnan(w))

    # one spelling
    yield rule("constant_right", f(c, z),                    g(z, c),                   swapped(f, g))
    yield rule("constant_last",  h(c, z),                    h(z, c))
    yield rule("not",            logical_not(f(x, y)),       g(x, y),                   complement(f, g))
    yield rule("not_lt",         logical_not(i < j),         i >= j)
    yield rule("not_le",         logical_not(i <= j),        i > j)
    yield rule("not_gt",         logical_not(i > j),         i <= j)
    yield rule("not_ge",         logical_not(i >= j),        i < j)

    # of bounds with what they bound; NaN is in no order, before as after
    yield rule("min_lt",         minimum(u, v) < u,          v < u)
    yield rule("max_gt",         maximum(u, v) > u,          v > u)
    yield rule("max_lt",         maximum(u, v) < u,          False)
    yield rule("min_gt",         minimum(u, v) > u,          False)
    yield rule("lt_max",         u < maximum(u, v),          u < v)
    yield rule("gt_min",         u > minimum(u, v),          u > v)
    yield rule("lt_min",         u < minimum(u, v),          False)
    yield rule("gt_max",         u > maximum(u, v),          False)
    yield rule("signs",          f(-w, -q),                  g(w, q),                   swapped(f, g))

    # with infinities: nothing lies beyond them
    yield rule("lt_minus_inf",   u < -INF,                   False)
    yield rule("gt_inf",         u > INF,                    False)
    yield rule("le_inf",         u <= INF,                   logical_not(isnan(u)))
    yield rule("ge_minus_inf",   u >= -INF,                  logical_not(isnan(u)))

    # from what is known about signs
    yield rule("lt_zero",        x[nonnegative] < 0,         False)
    yield rule("gt_zero",        x[nonpositive] > 0,         False)
    yield rule("le_zero",        x[positive] <= 0,           False)
    yield rule("ge_zero",        x[negative] >= 0,           False)
    yield rule("le_zero_eq",     x[nonnegative] <= 0,        eq(x, 0))
    yield rule("ge_zero_eq",     x[nonpositive] >= 0,        eq(x, 0))
    yield rule("ge_zero_number", w[nonnegative] >= 0,        logical_not(isnan(w)))
    yield rule("le_zero_number", w[nonpositive] <= 0,        logical_not(isnan(w)))
    yield rule("le_one_number",  w[at_most_one] <= 1,        logical_not(isnan(w)))
    yield rule("gt_one",         x[at_most_one] > 1,         False)
    yield rule("ge_zero_true",   i[nonnegative] >= 0,        True)
    yield rule("le_zero_true",   i[nonpositive] <= 0,        True)
    yield rule("gt_zero_true",   i[positive] > 0,            True)
    yield rule("lt_zero_true",   i[negative] < 0,            True)

    # of truth values
    yield rule("eq_true",        eq(p, 1),                   p)
    yield rule("eq_false",       eq(p, 0),                   logical_not(p))
    yield rule("neq_true",       neq(p, 1),                  logical_not(p))
    yield rule("neq_false",      neq(p, 0),                  p)
