"""Identities that change gradients: what flows back through them, and that nothing is left of them in compiled code."""

from __future__ import annotations

from termgraph.rulelib._formulas_grad_marks import number
from termgraph.rules import head, param, rule, ruleset
from termgraph.terms.ops.derivative import pullback, pushforward, undefined
from termgraph.terms.ops.elementwise import clip
from termgraph.terms.ops.gradmarks import (
    disconnected_grad, grad_clip, grad_scale, undefined_grad, zero_grad,
)
from termgraph.terms.ops.transfer import to_device
from termgraph.terms.ops.workers import mean_over_workers


@ruleset("grad")
def grad_marks(x, g, a: param, b: param):
    yield rule("clip",         pullback(grad_clip(x, lower=a, upper=b), g),  (clip(g, number(a, g), number(b, g)),))
    yield rule("forward_clip", pushforward(grad_clip(x, lower=a, upper=b), g),
                               g)   # it is what flows back that is clipped
    yield rule("scale",        pullback(grad_scale(x, multiplier=a), g),     (g * number(a, g),))
    yield rule("device",       pullback(to_device(x, device=a), g),          (g,))
    yield rule("zero",         pullback(zero_grad(x), g),                    (None,))
    yield rule("undefined",    pullback(undefined_grad(x), g),               (undefined("declared by undefined_grad"),))
    yield rule("workers",      pullback(mean_over_workers(x), g),
                               (undefined("mark the gradient, not the cost: dist.mean(tg.grad(cost, w))"),))
    yield rule("forward_workers", pushforward(mean_over_workers(x), g),      mean_over_workers(g))


@ruleset("canonicalize")
def gradients_taken(x, f: head[grad_clip, grad_scale, zero_grad, disconnected_grad, undefined_grad]):
    yield rule("mark",         f(x),                  x)
