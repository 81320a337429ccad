"""Goals about matrix products: lengths that agree, costs of bracketings, squareness."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rulelib._goals_index import length
from termgraph.rules import Guard, goal, positive_definite, symmetric
from termgraph.terms.op import ARG, CONST, INPUT
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.linalg import cholesky, expm, inv
from termgraph.terms.ops.shaping import eye


def _is_unit(x: Any) -> bool:
    """A unit matrix, computed or (if it is small enough to have been folded) constant."""
    if x.op.family is eye:
        n, m, k = x.args
        return n is m and getattr(k, "scalar", None) == 0
    if x.op is not CONST or x.type.ndim != 2 or x.type.shape[0] != x.type.shape[1]:
        return False
    return bool(np.array_equal(x.value, np.eye(x.type.shape[0])))


Unit = Guard("Unit", _is_unit, doc="A unit matrix.")


@goal("i")
def stored(x: Any) -> bool:
    """An array that has storage anyway: an input, a constant, the result of a product, or a view of these."""
    while x.op.family in (dimshuffle, subtensor):
        x = x.args[0]
    return x.op in (INPUT, ARG, CONST) or x.op.kind == "linalg"


def _lengths(*matrices: Any) -> list | None:
    sizes = [matrices[0].type.shape[0], *[m.type.shape[1] for m in matrices]]
    return None if None in sizes else sizes


def _costs(x: Any, y: Any, z: Any) -> tuple[int, int] | None:
    """How many multiplications (x y) z and x (y z) take."""
    sizes = _lengths(x, y, z)
    if sizes is None:
        return None
    n, k, m, p = sizes
    return n * k * m + n * m * p, k * m * p + n * k * p


@goal("iii")
def cheaper_right(x: Any, y: Any, z: Any) -> bool:
    """x (y z) takes fewer multiplications than (x y) z."""
    costs = _costs(x, y, z)
    return costs is not None and costs[1] < costs[0]


@goal("iii")
def cheaper_left(x: Any, y: Any, z: Any) -> bool:
    """(x y) z takes fewer multiplications than x (y z)."""
    costs = _costs(x, y, z)
    return costs is not None and costs[0] < costs[1]


@goal("iio")
def square_product(x: Any, y: Any) -> Any:
    """The dtype of x @ y, if it is known to be square."""
    if length(x, 0) is not length(y, 1) or x.type.dtype != y.type.dtype or x.type.kind not in "fc":
        return None
    return x.type.dtype


@goal("i")
def one_column(x: Any) -> bool:
    """A matrix known to have one column."""
    return x.type.shape[1] == 1


@goal("i")
def one_row(x: Any) -> bool:
    """A matrix known to have one row."""
    return x.type.shape[0] == 1


@goal("i")
def square(x: Any) -> bool:
    """A matrix known to have as many rows as columns."""
    if x.type.ndim < 2:
        return False
    if x.op.family in (inv, cholesky, expm) or symmetric.known(x) is True or positive_definite.known(x) is True:
        return True
    n, m = x.type.shape[-2:]
    return length(x, x.type.ndim - 2) is length(x, x.type.ndim - 1) if n == m else False
