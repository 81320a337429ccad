"""Goals about matrix products: lengths that agree, costs of bracketings, squareness."""

from __future__ import annotations

from typing import Any

from termgraph.rules import goal


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



