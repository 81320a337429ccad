"""How convolutions are computed: each way is one rule, and a query chooses among them.

The tags `conv_winograd` (fewer products for filters of 3x3 and 5x5) and `conv_panels` (products of panels), both
routines of compiled code, `conv_gemm` (products of matrices), `conv_direct` (sums of products) and `conv_fft` (Fourier
transforms) include and exclude them; the first in this order that is not excluded is used. A placeholder that no rule
replaces is computed by its plain meaning, slowly. Rules are tried in the order of their topics' names: that is why
these are a, b, g, s, t.
"""

from __future__ import annotations

from termgraph.rulelib._goals_convolution_forms import (
    inputs_as_forward,
    summed_forward,
    summed_inputs,
    summed_weights,
    transformed_forward,
    weights_as_forward,
)
from termgraph.rulelib._goals_convolutions import (
    panels_forward,
    panels_inputs,
    panels_weights,
    product_forward,
    product_inputs,
    product_weights,
    spread_forward,
    winograd_forward,
)
from termgraph.rulelib._goals_lines import lines_forward, lines_inputs, lines_weights
from termgraph.rules import head, param, rule, ruleset, seg
from termgraph.rules.parts import turned
from termgraph.terms.ops.convolution import conv, conv_grad_inputs, conv_grad_weights


@ruleset("canonicalize")
def convolutions(x, w, g, ns: seg, a: param, b: param, c: param, d: param, e: param):
    # whether filters are turned is said once, here: the rules below know filters that are not
    how = {"stride": a, "border": b, "dilation": c, "groups": d, "algo": e}
    yield rule("turned",          conv(x, w, flip=True, **how),
                                  conv(x, turned(w), flip=False, **how))
    yield rule("turned_inputs",   conv_grad_inputs(w, g, *ns, flip=True, **how),
                                  conv_grad_inputs(turned(w), g, *ns, flip=False, **how))
    yield rule("turned_weights",  conv_grad_weights(x, g, *ns, flip=True, **how),
                                  turned(conv_grad_weights(x, g, *ns, flip=False, **how), like=x))


@ruleset("specialize", "conv_winograd", "fast_run", "fast_compile")
def conv_as_winograd(x, w, y, f: head[conv]):
    yield rule("forward",         f(x, w),       y,  winograd_forward(f, x, w, y), assumes=["finite", "reassoc"])


@ruleset("specialize", "conv_panels", "fast_run", "fast_compile")
def conv_by_panels(x, w, g, y, ns: seg, f: head[conv], h: head[conv_grad_inputs], k: head[conv_grad_weights]):
    yield rule("lines",           f(x, w),       y,  lines_forward(f, x, w, y), assumes=["finite", "reassoc"])
    yield rule("lines_inputs",    h(w, g, *ns),  y,  lines_inputs(h, w, g, ns, y), assumes=["finite", "reassoc"])
    yield rule("lines_weights",   k(x, g, *ns),  y,  lines_weights(k, x, g, ns, y), assumes=["finite", "reassoc"])
    yield rule("forward",         f(x, w),       y,  panels_forward(f, x, w, y), assumes=["finite", "reassoc"])
    yield rule("inputs",          h(w, g, *ns),  y,  panels_inputs(h, w, g, ns, y), assumes=["finite", "reassoc"])
    yield rule("weights",         k(x, g, *ns),  y,  panels_weights(k, x, g, ns, y), assumes=["finite", "reassoc"])


@ruleset("specialize", "conv_gemm", "fast_run", "fast_compile")
def conv_gemm(x, w, g, y, ns: seg, f: head[conv], h: head[conv_grad_inputs], k: head[conv_grad_weights]):
    yield rule("forward",         f(x, w),       y,  product_forward(f, x, w, y), assumes=["finite", "reassoc"])
    yield rule("inputs_stride_1", h(w, g, *ns),  y,  spread_forward(h, w, g, y), assumes=["finite", "reassoc"])
    yield rule("inputs",          h(w, g, *ns),  y,  product_inputs(h, w, g, ns, y), assumes=["finite", "reassoc"])
    yield rule("weights",         k(x, g, *ns),  y,  product_weights(k, x, g, ns, y), assumes=["finite", "reassoc"])


@ruleset("specialize", "conv_direct", "fast_run", "fast_compile")
def conv_sums(x, w, g, y, ns: seg, f: head[conv], h: head[conv_grad_inputs], k: head[conv_grad_weights]):
    yield rule("forward",         f(x, w),       y,  summed_forward(f, x, w, y), assumes=["finite", "reassoc"])
    yield rule("inputs",          h(w, g, *ns),  y,  summed_inputs(h, w, g, ns, y), assumes=["finite", "reassoc"])
    yield rule("weights",         k(x, g, *ns),  y,  summed_weights(k, x, g, ns, y), assumes=["finite", "reassoc"])


@ruleset("specialize", "conv_fft", "fast_run", "fast_compile")
def conv_transforms(x, w, g, y, ns: seg, f: head[conv], h: head[conv_grad_inputs], k: head[conv_grad_weights]):
    yield rule("forward",         f(x, w),       y,  transformed_forward(f, x, w, y), assumes=["finite", "reassoc"])
    yield rule("inputs",          h(w, g, *ns),  y,  inputs_as_forward(h, w, g, ns, y), assumes=["finite", "reassoc"])
    yield rule("weights",         k(x, g, *ns),  y,  weights_as_forward(k, x, g, ns, y), assumes=["finite", "reassoc"])
