"""Goals of the identities that change gradients: parameters as numbers."""

from __future__ import annotations

from termgraph.rules import goal
from termgraph.terms.build import number_like


@goal("iio")
def number(value, g):
    """A parameter as a number in the dtype of g."""
    return number_like(g, value)
