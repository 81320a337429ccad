"""Formulas of the derivatives of forward derivatives: elements that are moved."""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rulelib._formulas_grad_shape import row_numbers, sorted_places
from termgraph.rules.formulas import formula
from termgraph.terms.ops.sorting import argpartition, argsort, unique_all


@formula
def in_sorted_order(x, t, axis):
    """The tangent of x, moved to where the elements of x go when sorted."""
    return T.take_along_axis(t, argsort(x, axis=axis), axis=axis)


@formula
def from_sorted_places(x, places, t):
    """The tangents of the elements of x that sorting its rows puts at places."""
    return t[sorted_places(x, places)]


@formula
def from_partitioned_places(x, places, t):
    """The tangents of the elements of x, moved as a partition of x moves these."""
    return t[(*row_numbers(x), argpartition(x, places))]


@formula
def at_first_places(x, t, axis, equal_nan):
    """The tangents of the elements or slices of x that are distinct, of each the first."""
    return T.take(t, unique_all(x, axis=axis, equal_nan=equal_nan)[1], axis=axis)
