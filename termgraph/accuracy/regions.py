"""Branches by range: which form is taken between which values of a variable, and where exactly one follows another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from termgraph.accuracy.exact import exact
from termgraph.accuracy.points import from_ordinal, ordinal, sample
from termgraph.accuracy.search import Form, Points, Problem, Values
from termgraph.terms.ops.elementwise import abs_, lt, switch
from termgraph.terms.term import AnyTerm, Const, mk

MOST = 3  # regions
WORTH = 0.4  # bits on average that a further region must save
_STEPS, _PROBES = 12, 6  # halvings between two points, and points tried at each


class Region(NamedTuple):
    """One form, used where the variable is below `below` (and not below the limit of the region before)."""

    form: Form
    below: float


class Branches(NamedTuple):
    """Regions of the values of one leaf (or of its absolute value), in ascending order; a single one needs no leaf."""

    leaf: Any
    absolute: bool
    regions: tuple[Region, ...]
    mean: float

    @property
    def key(self) -> Any:
        """The term whose value decides."""
        return mk(abs_, (self.leaf,)) if self.absolute else self.leaf

    def term(self) -> Any:
        """All regions as one term."""
        made = self.regions[-1].form.term
        for region in reversed(self.regions[:-1]):
            limit = Const(np.asarray(region.below, dtype=self.leaf.type.np_dtype))
            made = mk(switch, (mk(lt, (self.key, limit)), region.form.term, made))
        return made


def branches(problem: Problem, points: Points, forms: Sequence[Form], rng: np.random.Generator) -> Branches:
    """The best choice of one form, or of up to three by the value of one leaf."""
    best = Branches(problem.leaves[0], False, (Region(_cheapest(forms), np.inf),), _cheapest(forms).mean)
    for leaf in problem.leaves:
        for absolute in (True, False):
            column = points.at[leaf]
            if absolute and column.min() >= 0:
                continue
            found = _cut(leaf, absolute, column, forms, best)
            if found is not None:
                best = found
    return _sharpened(problem, best, rng) if len(best.regions) > 1 else best


def _cheapest(forms: Sequence[Form]) -> Form:
    """The best single form; of those that are as good, the cheapest."""
    least = min(f.mean for f in forms)
    return min((f for f in forms if f.mean <= least + 0.1), key=lambda f: f.cost)


def _cut(leaf: AnyTerm, absolute: bool, column: np.ndarray, forms: Sequence[Form], best: Branches) -> Branches | None:
    values = np.abs(column) if absolute else column
    order = np.argsort(values, kind="stable")
    count = len(order)
    sums = np.zeros((len(forms), count + 1))
    np.cumsum([f.lost[order] for f in forms], axis=1, out=sums[:, 1:])
    apart = np.flatnonzero(np.diff(values[order]) > 0) + 1  # places between different values
    places = np.concatenate([[0], apart[:: max(1, len(apart) // 120)], [count]])
    at = sums[:, places]
    pieces = at[:, None, :] - at[:, :, None]  # form, from, to
    which = pieces.argmin(axis=0)
    cost = pieces.min(axis=0)
    last = len(places) - 1
    found, least = None, best.mean * count
    allowed = len(best.regions)
    for regions, cuts in _ways(cost, last):
        total = sum([cost[a, b] for a, b in zip(cuts, cuts[1:], strict=False)])
        if total + WORTH * count * max(0, regions - allowed) < least - 0.05 * count:
            least = total + WORTH * count * max(0, regions - allowed)
            found = cuts
    if found is None:
        return None
    made = []
    for a, b in zip(found, found[1:], strict=False):
        end = places[b]
        below = np.inf if end == count else _between(values[order][end - 1], values[order][end], column.dtype.name)
        made.append(Region(forms[which[a, b]], below))
    total = sum([cost[a, b] for a, b in zip(found, found[1:], strict=False)])
    return Branches(leaf, absolute, tuple(made), total / count)


def _ways(cost: np.ndarray, last: int) -> list[tuple[int, tuple[int, ...]]]:
    """The best cuts into two and into three pieces."""
    two = cost[0, :] + cost[:, last]
    first = int(two[1:last].argmin()) + 1 if last > 1 else None
    ways: list[tuple[int, tuple[int, ...]]] = []
    if first is not None:
        ways.append((2, (0, first, last)))
    if last > 2:
        three = cost[0, :, None] + cost + cost[:, last][None, :]
        inner = three[1:last, 1:last] + np.where(np.tri(last - 1, dtype=bool), np.inf, 0)
        a, b = np.unravel_index(int(inner.argmin()), inner.shape)
        if np.isfinite(inner[a, b]):
            ways.append((3, (0, int(a) + 1, int(b) + 1, last)))
    return ways


def _between(a: float, b: float, dtype: str) -> float:
    first, second = (int(ordinal(np.array([v], dtype=dtype))[0]) for v in (a, b))
    return float(from_ordinal(np.array([(first + second) // 2 + 1]), dtype)[0])


def _sharpened(problem: Problem, found: Branches, rng: np.random.Generator) -> Branches:
    """The limits, moved to where the form above starts to be better."""
    regions = list(found.regions)
    for i in range(len(regions) - 1):
        low = regions[i - 1].below if i else (0.0 if found.absolute else problem.ranges[_place(problem, found)][0])
        limit = _limit(problem, found, regions[i], regions[i + 1], (low, regions[i + 1].below), rng)
        regions[i] = regions[i]._replace(below=limit)
    return found._replace(regions=tuple(regions))


def _place(problem: Problem, found: Branches) -> int:
    return problem.leaves.index(found.leaf)


def _limit(
    problem: Problem, found: Branches, below: Region, above: Region, ends: tuple[float, float], rng: np.random.Generator
) -> float:
    dtype = found.leaf.type.dtype
    width = 2**52 if dtype == "float64" else 2**23  # a factor of two in either direction
    center = int(ordinal(np.array([below.below], dtype=dtype))[0])
    low, high = center - width, center + width
    outer = [int(ordinal(np.array([max(min(e, 1e300), -1e300)], dtype=np.float64))[0]) for e in ends]
    if dtype == "float64":
        low, high = max(low, outer[0] + 1), min(high, outer[1])
    for _ in range(_STEPS):
        middle = (low + high) // 2
        value = float(from_ordinal(np.array([middle]), dtype)[0])
        if _better(problem, found, below.form.term, above.form.term, value, rng):
            low = middle
        else:
            high = middle
    return float(from_ordinal(np.array([high]), dtype)[0])


def _better(problem: Problem, found: Branches, a: Any, b: Any, value: float, rng: np.random.Generator) -> bool:
    """Whether form `a` loses less than `b` near a value of the leaf."""
    columns = sample(problem.ranges, _PROBES, [v.type.dtype for v in problem.leaves], rng)
    at = dict(zip(problem.leaves, columns, strict=True))
    near = value * (1 + 0.01 * rng.uniform(-1, 1, _PROBES))
    signs = np.where(columns[_place(problem, found)] < 0, -1, 1) if found.absolute else 1
    at[found.leaf] = (near * signs).astype(found.leaf.type.dtype)
    truth = exact(problem.root, at)
    good = np.isfinite(truth)
    if not good.any():
        return value < found.regions[0].below
    values = Values(Points({k: v[good] for k, v in at.items()}, truth[good]))
    return bool(values.lost(a).sum() <= values.lost(b).sum())
