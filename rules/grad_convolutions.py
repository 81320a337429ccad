"""Derivatives of convolutions: of a bilinear form, each partial result is the derivative of the two others.

Windows give their cotangent back to where they were read. Of equal largest elements in a pooled window each gets the
whole cotangent of the window, as in Theano.
"""

from __future__ import annotations

from termgraph.rulelib._formulas_convolutions import taps_of
from termgraph.rulelib._formulas_grad_convolutions import laid_back
from termgraph.rulelib._formulas_pooling import of_the_largest, pooled_lengths
from termgraph.rulelib._goals_grad_forward import linear_in_two, or_zero
from termgraph.rules import head, param, rule, ruleset, seg
from termgraph.rules.parts import nothing_for, zeros_like
from termgraph.terms.ops.convolution import conv, conv_grad_inputs, conv_grad_weights, windows
from termgraph.terms.ops.derivative import pullback, pushforward, tup
from termgraph.terms.ops.pooling import pool, pool_max_grad, pool_sum_grad


@ruleset("grad")
def grad_convolution(x, w, g, h, ns: seg, ks: seg, a: param, b: param, c: param, d: param, e: param, i: param,
                     j: param):
    how = {"stride": a, "border": b, "dilation": c, "groups": d, "flip": e, "algo": i, "vectors": j}
    yield rule("forward",  pullback(conv(x, w, **how), g),
                           (conv_grad_inputs(w, g, *taps_of(x), **how), conv_grad_weights(x, g, *taps_of(w), **how)))
    yield rule("inputs",   pullback(conv_grad_inputs(w, g, *ns, **how), h),
                           tup(conv_grad_weights(h, g, *taps_of(w), **how), conv(h, w, **how), *nothing_for(ns)))
    yield rule("weights",  pullback(conv_grad_weights(x, g, *ks, **how), h),
                           tup(conv_grad_inputs(h, g, *taps_of(x), **how), conv(x, h, **how), *nothing_for(ks)))
    yield rule("windows",  pullback(windows(x, *ks, stride=a, dilation=b), g),
                           tup(laid_back(x, g, ks, a, b), *nothing_for(ks)))


@ruleset("grad")
def forward_convolution(x, y, t, v, ns: seg, us: seg, xs: seg, ts: seg, f: head[conv],
                        m: head[conv_grad_inputs, conv_grad_weights], a: param, b: param):
    yield rule("product",  pushforward(f(*xs), *ts),                                v,  linear_in_two(f, xs, ts, v))
    yield rule("partial",  pushforward(m(*xs), *ts),                                v,  linear_in_two(m, xs, ts, v))
    yield rule("windows",  pushforward(windows(x, *ns, stride=a, dilation=b), t, *us),
                           windows(t, *ns, stride=a, dilation=b))


@ruleset("grad")
def grad_pooling(x, y, g, h, ns: seg, a: param, b: param, c: param, d: param, e: param):
    how = {"size": a, "stride": b, "pad": c, "ignore_border": d, "short": e}
    yield rule("largest",      pullback(pool(x, kind="max", **how), g),
                               (pool_max_grad(x, pool(x, kind="max", **how), g, **how),))
    yield rule("sum",          pullback(pool(x, kind="sum", **how), g),
                               (pool_sum_grad(g, *pooled_lengths(x, a), **how),))
    yield rule("largest_back", pullback(pool_max_grad(x, y, g, **how), h),
                               (zeros_like(x), zeros_like(y), of_the_largest(x, y, h, a, b, c, d, e)))
    yield rule("sum_back",     pullback(pool_sum_grad(g, *ns, **how), h),
                               tup(pool(h, kind="sum", **how), *nothing_for(ns)))


@ruleset("grad")
def forward_pooling(x, y, g, t, u, v, w, ns: seg, us: seg, a: param, b: param, c: param, d: param,
                    e: param, f: head[pool_max_grad], k: head[pool_sum_grad]):
    how = {"size": a, "stride": b, "pad": c, "ignore_border": d, "short": e}
    yield rule("largest",      pushforward(pool(x, kind="max", **how), t),
                               of_the_largest(x, pool(x, kind="max", **how), t, a, b, c, d, e))
    yield rule("sum",          pushforward(pool(x, kind="sum", **how), t),  pool(t, kind="sum", **how))
    yield rule("max_grad",     pushforward(f(x, y, g), t, u, v),      f(x, y, w),   or_zero(g, v, w))
    yield rule("sum_grad",     pushforward(k(g, *ns), t, *us),        k(t, *ns))
