"""Derivatives of convolutions: of a bilinear form, each partial result is the derivative of the two others.

Windows give their cotangent back to where they were read. Of equal largest elements in a pooled window each gets the
whole cotangent of the window, as in Theano.
"""

from __future__ import annotations

from termgraph.rulelib._goals_convolutions import taps_of
from termgraph.rulelib._goals_grad_convolutions import laid_back, linear_in_two, one_or_zeros, pooled_lengths, tangent
from termgraph.rulelib._goals_pooling import of_the_largest
from termgraph.rules import head, param, rule, ruleset, seg
from termgraph.rules.parts import nothing_for, zeros_like
from termgraph.terms.ops.convolution import conv, conv_grad_inputs, conv_grad_weights, windows
from termgraph.terms.ops.derivative import pullback, pushforward, tup
from termgraph.terms.ops.pooling import pool, pool_max_grad, pool_sum_grad


@ruleset("grad")
def grad_convolution(x, w, g, h, ns: seg, ks: seg, us: seg, a: param, b: param, c: param, d: param, e: param, i: param):
    yield rule("forward",  pullback(conv(x, w, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i), g),
                           (conv_grad_inputs(w, g, *ns, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i),
                               conv_grad_weights(x, g, *ks, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i)),
                           taps_of(x, ns), taps_of(w, ks))
    yield rule("inputs",   pullback(conv_grad_inputs(w, g, *ns, stride=a, border=b, dilation=c, groups=d, flip=e,
                               algo=i), h),
                           tup(conv_grad_weights(h, g, *ks, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i),
                               conv(h, w, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i), *nothing_for(ns)),
                           taps_of(w, ks))
    yield rule("weights",  pullback(conv_grad_weights(x, g, *ks, stride=a, border=b, dilation=c, groups=d, flip=e,
                               algo=i), h),
                           tup(conv_grad_inputs(h, g, *ns, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i),
                               conv(x, h, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i), *nothing_for(ks)),
                           taps_of(x, ns))
    yield rule("windows",  pullback(windows(x, *ks, stride=a, dilation=b), g),
                           tup(h, *nothing_for(ks)),  laid_back(x, g, ks, a, b, h))


@ruleset("grad")
def forward_convolution(x, y, t, v, ns: seg, us: seg, xs: seg, ts: seg, f: head[conv],
                        m: head[conv_grad_inputs, conv_grad_weights], a: param, b: param):
    yield rule("product",  pushforward(f(*xs), *ts),                                v,  linear_in_two(f, xs, ts, v))
    yield rule("partial",  pushforward(m(*xs), *ts),                                v,  linear_in_two(m, xs, ts, v))
    yield rule("windows",  pushforward(windows(x, *ns, stride=a, dilation=b), t, *us),
                           windows(t, *ns, stride=a, dilation=b))


@ruleset("grad")
def grad_pooling(x, y, g, h, u, v, z, ns: seg, us: seg, a: param, b: param, c: param, d: param, f: head[pool_max_grad]):
    yield rule("largest",      pullback(pool(x, kind="max", size=a, stride=b, pad=c, ignore_border=d), g),
                               (pool_max_grad(x, pool(x, kind="max", size=a, stride=b, pad=c, ignore_border=d), g,
                                   size=a, stride=b, pad=c, ignore_border=d),))
    yield rule("sum",          pullback(pool(x, kind="sum", size=a, stride=b, pad=c, ignore_border=d), g),
                               (pool_sum_grad(g, *ns, size=a, stride=b, pad=c, ignore_border=d),),
                               pooled_lengths(x, a, ns))
    yield rule("largest_back", pullback(f(x, y, g), h),  (zeros_like(x), zeros_like(y), z),
                               of_the_largest(f, x, y, h, z))
    yield rule("sum_back",     pullback(pool_sum_grad(g, *ns, size=a, stride=b, pad=c, ignore_border=d), h),
                               tup(pool(h, kind="sum", size=a, stride=b, pad=c, ignore_border=d), *nothing_for(ns)))


@ruleset("grad")
def forward_pooling(x, y, g, t, u, v, w, z, ns: seg, us: seg, p: head[pool], f: head[pool_max_grad],
                    k: head[pool_sum_grad]):
    yield rule("pool",         pushforward(p(x), t),                  z,            tangent(p, x, t, z))
    yield rule("max_grad",     pushforward(f(x, y, g), t, u, v),      f(x, y, w),   one_or_zeros(g, v, w))
    yield rule("sum_grad",     pushforward(k(g, *ns), t, *us),        k(t, *ns))
