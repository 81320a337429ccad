"""Maximum, minimum and clip: bounds that bind nothing, and those that always do."""

from termgraph.rulelib._goals_dtypes import one_increasing
from termgraph.rules import (
    Float, Real, Uniform, at_most_one, dual, each_once, finite, head, needed_once, nonnegative, nonpositive, rule,
    ruleset, seg,
)
from termgraph.rules.constant_guards import ascending
from termgraph.rules.shape_facts import kept_as_bound
from termgraph.terms.ops.elementwise import abs_, clip, maximum, minimum

INF = float("inf")


@ruleset("canonicalize")
def bounds(x, y, t: Real, u: Real, v: Real, w: Float, q: Float, j: Uniform, k: Uniform, f: head, xs: seg, ys: seg,
           m: head[maximum, minimum], o: head):
    yield rule("max_nonnegative", maximum(u[nonnegative], 0),                    u, assumes=["signed_zero"])
    yield rule("max_nonpositive", maximum(u[nonpositive, finite], 0),            0, assumes=["signed_zero"])
    yield rule("min_nonpositive", minimum(u[nonpositive], 0),                    u, assumes=["signed_zero"])
    yield rule("min_nonnegative", minimum(u[nonnegative, finite], 0),            0, assumes=["signed_zero"])
    yield rule("min_one",        minimum(u[at_most_one], 1),                     u)
    yield rule("max_one",        maximum(u[at_most_one, finite], 1),             1)
    yield rule("max_minus_inf",  maximum(w, -INF),                               w)
    yield rule("min_inf",        minimum(w, INF),                                w)

    # bounds within bounds
    yield rule("absorbs",        m(u, o(u, v[finite])),                          u, dual(m, o), assumes=["signed_zero"])
    yield rule("of_bounds",      m(o(u, v)[needed_once], o(u, t)[needed_once]),  o(u, m(v, t)), dual(m, o),
                                 assumes=["signed_zero"])
    yield rule("again",          m(o(m(u, v), t), u),                            m(o(v, t), u),
                                 dual(m, o), assumes=["signed_zero"])
    yield rule("of_negatives",   m(-w, -q),                                      -o(w, q),
                                 dual(m, o), assumes=["signed_zero"])
    yield rule("abs",            maximum(w, -w),                                 abs_(w), assumes=["signed_zero"])
    yield rule("minus_abs",      minimum(w, -w),                                 -abs_(w), assumes=["signed_zero"])
    yield rule("max_abs",        maximum(abs_(u), u),                            abs_(u), assumes=["signed_zero"])
    yield rule("max_abs_neg",    maximum(abs_(w), -w),                           abs_(w), assumes=["signed_zero"])
    yield rule("min_abs",        minimum(abs_(w), w),                            w, assumes=["signed_zero"])
    yield rule("min_abs_neg",    minimum(abs_(w), -w),                           -w, assumes=["signed_zero"])
    yield rule("max_minus_abs",  maximum(-abs_(w), w),                           w, assumes=["signed_zero"])
    yield rule("min_minus_abs",  minimum(-abs_(w), w),                           -abs_(w), assumes=["signed_zero"])
    yield rule("max_abs_bound",  maximum(abs_(w), minimum(w, q[finite])),        abs_(w), assumes=["signed_zero"])
    yield rule("plus",           m((w + x)[needed_once], (w + y)[needed_once]),  w + m(x, y),
                                 assumes=["finite", "reassoc"])
    yield rule("increasing",     m(*xs),                                         f(m(*ys)),
                                 one_increasing(xs, f, ys), each_once(xs), assumes=["domain", "reassoc"])
    yield rule("max_plus_min",   maximum(w, q) + minimum(w, q),                  w + q,
                                 assumes=["finite", "signed_zero"])
    yield rule("max_minus_min",  maximum(w, q) - minimum(w, q),                  abs_(w - q), assumes=["signed_zero"])
    yield rule("min_minus_max",  minimum(w, q) - maximum(w, q),                  -abs_(w - q), assumes=["signed_zero"])

    # clip(x, low, high) is minimum(maximum(x, low), high)
    yield rule("clip_same",      clip(u[finite], x[finite], x),                  x, assumes=["signed_zero"])
    yield rule("clip_twice",     clip(clip(u, x, y), x, y),                      clip(u, x, y))
    yield rule("clip_min_inf",   clip(w, -INF, q),                               minimum(w, q))
    yield rule("clip_max_inf",   clip(w, q, INF),                                maximum(w, q))
    yield rule("clip_nonnegative", clip(u[nonnegative], 0, x),                   minimum(u, x), assumes=["signed_zero"])
    yield rule("clip_at_most_one", clip(u[at_most_one], x[at_most_one], 1),      maximum(u, x))
    yield rule("max_clip",       maximum(clip(u, j, k), j),                      clip(u, j, k),
                                 ascending(j, k))
    yield rule("min_clip",       minimum(clip(u, j, k), k),                      clip(u, j, k))


@ruleset("specialize")
def bounded(w: Float):
    # the sign of what a product gives is that of its bound, which the next product reads: only that is kept
    yield rule("sign",           w > 0,                                          maximum(w, 0) > 0, kept_as_bound(w))
