"""How convolutions are computed: each way is one rule, and a query chooses among them.

The tags `conv_dnn` (the library cuDNN, on a GPU), `conv_winograd` (fewer products for filters of 3x3 and 5x5) and
`conv_panels` (products of panels), both routines of compiled code, `conv_gemm` (products of matrices), `conv_direct`
(sums of products) and `conv_fft` (Fourier transforms) include and exclude them; the first in this order that is not
excluded is used. A placeholder that no rule replaces is computed by its plain meaning, slowly. Rules are tried in the
order of their topics' names: that is why these are a, b, g, s, t.
"""

from __future__ import annotations

from termgraph.rulelib._formulas_convolutions import (
    dnn_forward, dnn_inputs, dnn_weights, inputs_as_forward, padded_forward, padded_inputs, padded_weights,
    panels_forward, panels_spread, panels_turned, panels_weights, product_forward, product_inputs, product_weights,
    spread_forward, summed_forward, summed_inputs, summed_weights, transformed_forward, weights_as_forward,
    winograd_forward,
)
from termgraph.rulelib._formulas_lines import lines_forward, lines_inputs, lines_weights
from termgraph.rulelib._goals_convolutions import (
    by, fixed_padding, has_places, known_lengths, long_filter, moves_by_one, narrow_padding, of_lines, open_padding,
    quicker_by_winograd, steps_without_gaps,
)
from termgraph.rules import Float, Real, head, param, rule, ruleset, seg
from termgraph.rules.parts import turned
from termgraph.terms.ops.convolution import conv, conv_grad_inputs, conv_grad_weights

MOVED = ["finite", "reassoc"]


@ruleset("canonicalize")
def convolutions(x, w, g, ns: seg, a: param, b: param, c: param, d: param, e: param, i: param):
    # whether filters are turned is said once, here: the rules below know filters that are not
    how = {"stride": a, "border": b, "dilation": c, "groups": d, "algo": e, "vectors": i}
    yield rule("turned",          conv(x, w, flip=True, **how),
                                  conv(x, turned(w), flip=False, **how))
    yield rule("turned_inputs",   conv_grad_inputs(w, g, *ns, flip=True, **how),
                                  conv_grad_inputs(turned(w), g, *ns, flip=False, **how))
    yield rule("turned_weights",  conv_grad_weights(x, g, *ns, flip=True, **how),
                                  turned(conv_grad_weights(x, g, *ns, flip=False, **how), like=x))


@ruleset("specialize", "conv_winograd", "fast_run", "fast_compile")
def conv_as_winograd(x, w, f: head[conv]):
    yield rule("forward",         f(x, w),       winograd_forward(f, x, w),
                                  by(f, "winograd"), quicker_by_winograd(f, x, w), fixed_padding(f, x, w),
                                  assumes=MOVED)


@ruleset("specialize", "conv_dnn", "fast_run", "fast_compile")
def conv_by_dnn(x: Float, w: Float, g: Float, ns: seg, f: head[conv], h: head[conv_grad_inputs],
                k: head[conv_grad_weights]):
    yield rule("forward",         f(x, w),       dnn_forward(f, x, w), by(f, "cudnn"), fixed_padding(f, x, w),
                                  assumes=MOVED)
    yield rule("inputs",          h(w, g, *ns),  dnn_inputs(h, w, g, ns), by(h, "cudnn"), fixed_padding(h, ns, w),
                                  assumes=MOVED)
    yield rule("weights",         k(x, g, *ns),  dnn_weights(k, x, g, ns), by(k, "cudnn"), fixed_padding(k, x, ns),
                                  assumes=MOVED)


@ruleset("specialize", "conv_panels", "fast_run", "fast_compile")
def conv_by_panels(u, v, x: Real, w: Real, g: Real, ns: seg, f: head[conv], h: head[conv_grad_inputs],
                   k: head[conv_grad_weights]):
    yield rule("lines",           f(u, v),       lines_forward(u, v), of_lines(f, u, v), assumes=MOVED)
    yield rule("lines_inputs",    h(u, v, *ns),  lines_inputs(u, v, ns), of_lines(h, u, v), assumes=MOVED)
    yield rule("lines_weights",   k(u, v, *ns),  lines_weights(u, v, ns),
                                  of_lines(k, u, v), long_filter(k, u, v, ns), assumes=MOVED)
    yield rule("forward",         f(x, w),       panels_forward(f, x, w),
                                  by(f, "panels"), fixed_padding(f, x, w), assumes=MOVED)
    yield rule("inputs",          h(w, g, *ns),  panels_spread(h, w, g, ns),
                                  by(h, "panels"), steps_without_gaps(h), fixed_padding(h, ns, w), assumes=MOVED)
    yield rule("inputs_stride_1", h(w, g, *ns),  panels_turned(h, w, g, ns),
                                  by(h, "panels"), moves_by_one(h), fixed_padding(h, ns, w), assumes=MOVED)
    yield rule("weights",         k(x, g, *ns),  panels_weights(k, x, g, ns),
                                  by(k, "panels"), fixed_padding(k, x, ns), assumes=MOVED)
    # zeros whose number is computed lie around a copy of the image: far less than an array of all windows
    yield rule("padded",          f(x, w),       padded_forward(f, x, w),
                                  by(f, "panels"), open_padding(f, x, w), assumes=MOVED)
    yield rule("padded_inputs",   h(w, g, *ns),  padded_inputs(h, w, g, ns),
                                  by(h, "panels"), open_padding(h, ns, w), assumes=MOVED)
    yield rule("padded_weights",  k(x, g, *ns),  padded_weights(k, x, g, ns),
                                  by(k, "panels"), open_padding(k, x, ns), assumes=MOVED)


@ruleset("specialize", "conv_gemm", "fast_run", "fast_compile")
def conv_gemm(x, w, g, ns: seg, f: head[conv], h: head[conv_grad_inputs], k: head[conv_grad_weights]):
    yield rule("forward",         f(x, w),       product_forward(f, x, w), by(f, "gemm"), assumes=MOVED)
    yield rule("inputs_stride_1", h(w, g, *ns),  spread_forward(h, w, g),
                                  by(h, "gemm"), moves_by_one(h), narrow_padding(h, w), assumes=MOVED)
    yield rule("inputs",          h(w, g, *ns),  product_inputs(h, w, g, ns), by(h, "gemm"), assumes=MOVED)
    yield rule("weights",         k(x, g, *ns),  product_weights(k, x, g, ns), by(k, "gemm"), assumes=MOVED)


@ruleset("specialize", "conv_direct", "fast_run", "fast_compile")
def conv_sums(x, w, g, ns: seg, f: head[conv], h: head[conv_grad_inputs], k: head[conv_grad_weights]):
    yield rule("forward",         f(x, w),       summed_forward(f, x, w), by(f, "direct"), assumes=MOVED)
    yield rule("inputs",          h(w, g, *ns),  summed_inputs(h, w, g, ns), by(h, "direct"), assumes=MOVED)
    yield rule("weights",         k(x, g, *ns),  summed_weights(k, x, g, ns), by(k, "direct"), assumes=MOVED)


@ruleset("specialize", "conv_fft", "fast_run", "fast_compile")
def conv_transforms(x: Float, w: Float, g: Float, ns: seg, f: head[conv], h: head[conv_grad_inputs],
                    k: head[conv_grad_weights]):
    yield rule("forward",         f(x, w),       transformed_forward(f, x, w),
                                  by(f, "fft"), known_lengths(x), known_lengths(w), assumes=MOVED)
    yield rule("inputs",          h(w, g, *ns),  inputs_as_forward(h, w, g, ns),
                                  by(h, "fft"), known_lengths(ns), known_lengths(w), known_lengths(g), assumes=MOVED)
    yield rule("weights",         k(x, g, *ns),  weights_as_forward(k, x, g, ns),
                                  by(k, "fft"), known_lengths(x), known_lengths(ns), known_lengths(g), has_places(g),
                                  assumes=MOVED)
