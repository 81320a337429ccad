"""Derivatives of filters between rates. Conventions are those of `grad_linalg`."""

from __future__ import annotations

from termgraph.rulelib._formulas_grad_resampling import filter_slope, samples_slope
from termgraph.rules import param, rule, ruleset
from termgraph.terms.ops.derivative import pullback
from termgraph.terms.ops.resampling import upfirdn


@ruleset("grad")
def grad_resampling(x, y, g, a: param, b: param):
    yield rule("upfirdn",     pullback(upfirdn(x, y, up=a, down=b), g),
                              (samples_slope(x, y, g, a, b), filter_slope(x, y, g, a, b)))
