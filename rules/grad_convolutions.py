"""Derivatives of convolutions: of a bilinear form, each partial result is the derivative of the two others.

Windows give their cotangent back to where they were read.
"""

from __future__ import annotations

from termgraph.rulelib._goals_convolutions import overlapped, taps_of
from termgraph.rulelib.grad_forward import product_rule
from termgraph.rulelib.grad_shape import nothing_for_each
from termgraph.rules import goal, head, param, rule, ruleset, seg
from termgraph.tensor.lengths import lengths
from termgraph.tensor.lifting import handle
from termgraph.terms.op import CONST
from termgraph.terms.ops.convolution import conv, conv_grad_inputs, conv_grad_weights, windows
from termgraph.terms.ops.derivative import pullback, pushforward, tup


@goal("iiiiio")
def laid_back(x, g, ks, stride, dilation):
    """The cotangent of windows, added up where they were read."""
    taps = [int(k.scalar) if k.op is CONST else handle(k) for k in ks]
    return overlapped(handle(g), lengths(handle(x)), taps, {"stride": stride, "dilation": dilation}).term


@goal("iiio")
def linear_in_two(f, xs, ts):
    """The tangent of an op that is linear in its first two operands; lengths follow them."""
    return product_rule.run("iiio", (f, xs, ts[:2], None))


@ruleset("grad")
def grad_convolution(x, w, g, h, ns: seg, ks: seg, us: seg, a: param, b: param, c: param, d: param, e: param, i: param):
    yield rule("forward",  pullback(conv(x, w, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i), g),
                           (conv_grad_inputs(w, g, *ns, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i), conv_grad_weights(x, g, *ks, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i)),
                           taps_of(x, ns), taps_of(w, ks))
    yield rule("inputs",   pullback(conv_grad_inputs(w, g, *ns, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i), h),
                           tup(conv_grad_weights(h, g, *ks, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i), conv(h, w, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i), *us),
                           taps_of(w, ks), nothing_for_each(ns, us))
    yield rule("weights",  pullback(conv_grad_weights(x, g, *ks, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i), h),
                           tup(conv_grad_inputs(h, g, *ns, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i), conv(x, h, stride=a, border=b, dilation=c, groups=d, flip=e, algo=i), *us),
                           taps_of(x, ns), nothing_for_each(ks, us))
    yield rule("windows",  pullback(windows(x, *ks, stride=a, dilation=b), g),
                           tup(h, *us),  laid_back(x, g, ks, a, b, h), nothing_for_each(ks, us))


@ruleset("grad")
def forward_convolution(x, y, t, v, ns: seg, us: seg, xs: seg, ts: seg, f: head[conv],
                        m: head[conv_grad_inputs, conv_grad_weights], a: param, b: param):
    yield rule("product",  pushforward(f(*xs), *ts),                                v,  linear_in_two(f, xs, ts, v))
    yield rule("partial",  pushforward(m(*xs), *ts),                                v,  linear_in_two(m, xs, ts, v))
    yield rule("windows",  pushforward(windows(x, *ns, stride=a, dilation=b), t, *us),  windows(t, *ns, stride=a, dilation=b))
