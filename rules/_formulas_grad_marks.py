"""Formulas of the derivatives of identities that change gradients: parameters as numbers."""

from __future__ import annotations

from termgraph.rules.formulas import formula
from termgraph.terms.build import number_like


@formula
def number(value, g):
    """A parameter as a number in the dtype of g."""
    return number_like(g, value)
