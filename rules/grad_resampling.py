"""Derivatives of filters between rates. Conventions are those of `grad_linalg`."""

from __future__ import annotations

from termgraph.rulelib._formulas_grad_resampling import samples_slope
from termgraph.rules import param, rule, ruleset
from termgraph.terms.ops.derivative import pullback
from termgraph.terms.ops.resampling import upfirdn, upfirdn_slope


@ruleset("grad")
def grad_resampling(x, y, z, g, a: param, b: param):
    yield rule("upfirdn",     pullback(upfirdn(x, y, up=a, down=b), g),
                              (samples_slope(x, y, g, a, b), upfirdn_slope(x, g, y, up=a, down=b)))

    yield rule("slope",       pullback(upfirdn_slope(x, y, z, up=a, down=b), g),
                              (samples_slope(x, g, y, a, b), upfirdn(x, g, up=a, down=b), None))
