"""Goals of the derivatives of convolutions: the tangent of a bilinear form."""

from __future__ import annotations

from termgraph.rulelib._goals_grad_forward import product_rule
from termgraph.rules import goal


@goal("iiio")
def linear_in_two(f, xs, ts):
    """The tangent of an op that is linear in its first two operands; lengths follow them."""
    return product_rule.run("iiio", (f, xs, ts[:2], None))
