"""The search for forms that lose fewer bits: steps from the best forms so far, measured at sampled points.

A form is the best at some points and not at others, so those are kept that together lose least; `regions` chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from termgraph.accuracy.exact import below, exact
from termgraph.accuracy.forms import Collected, Tidy, neighbours, size
from termgraph.accuracy.points import lost, sample
from termgraph.accuracy.series import leaves_of, series
from termgraph.rules.price import price
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first, substitute

ROUNDS, WIDTH, MOST = 4, 6, 600  # rounds of steps, forms that steps start from in each, forms measured in all
GROWTH, ROOM = 2, 12  # how much larger a form may be than the expression
ENOUGH = 0.3  # bits lost on average that are not worth a search


class Points(NamedTuple):
    """Places at which forms are compared, with the exact values there."""

    at: dict[Any, np.ndarray]
    truth: np.ndarray

    def __len__(self) -> int:
        return len(self.truth)


class Problem(NamedTuple):
    """An expression of element-wise operators, the leaves it is about, and the range of each."""

    root: Any
    leaves: tuple[Any, ...]
    ranges: tuple[tuple[float, float], ...]

    def points(self, count: int, rng: np.random.Generator) -> Points:
        """Up to `count` points of the ranges at which the exact value is a finite number."""
        found: list[Points] = []
        have = 0
        for _ in range(6):
            drawn = sample(self.ranges, count, [v.type.dtype for v in self.leaves], rng)
            at = dict(zip(self.leaves, drawn, strict=True))
            truth = exact(self.root, at)
            good = np.isfinite(truth)
            found.append(Points({k: v[good] for k, v in at.items()}, truth[good]))
            have += int(good.sum())
            if have >= count or have < len(found) * count // 16:
                break
        joined = {k: np.concatenate([p.at[k] for p in found])[:count] for k in self.leaves}
        return Points(joined, np.concatenate([p.truth for p in found])[:count])


class Values:
    """The values of terms at fixed points, as NumPy computes them; shared parts are computed once."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.known: dict[Any, Any] = dict(points.at)
        self.known |= {leaf.args[0]: v for leaf, v in points.at.items() if leaf.args}  # what rules take out of assume()

    def lost(self, root: AnyTerm) -> np.ndarray:
        """Bits that a form loses at each point."""
        with np.errstate(all="ignore"):
            for t in below(root, self.known):
                if t not in self.known:
                    self.known[t] = t.value if t.op is CONST else t.op.meaning(*[self.known[a] for a in t.args])
        found = np.broadcast_to(self.known[root], self.points.truth.shape).astype(self.points.truth.dtype)
        return lost(found, self.points.truth)


class Form(NamedTuple):
    """A form of the expression, the bits it loses at each point, what it costs, and the rules that led to it."""

    term: Any
    lost: np.ndarray
    cost: float
    rules: tuple[str, ...]

    @property
    def mean(self) -> float:
        """Bits lost on average."""
        return float(self.lost.mean())


class Search:
    """Forms of one expression, and how much each loses at the points."""

    def __init__(self, problem: Problem, points: Points) -> None:
        self.problem, self.values = problem, Values(points)
        self.tidy = (Tidy(trusting=False), Tidy(trusting=True))
        self.leaves, self.collected = frozenset(problem.leaves), Collected()
        self.forms: dict[Any, Form] = {}
        self.expanded: set[Any] = set()
        self.largest = GROWTH * size(problem.root) + ROOM

    def add(self, found: Sequence[tuple[Any, tuple[str, ...]]]) -> None:
        """Measure forms, as they are and as rules tidy them, unless they are there already."""
        roots = [t for t, _ in found]
        for tidied in (roots, *[tidy(roots) for tidy in self.tidy]):
            for t, (_, rules) in zip(tidied, found, strict=True):
                if t not in self.forms and t.type is self.problem.root.type and len(self.forms) < MOST:
                    cost = sum([price(u) for u in children_first([t]) if u.args])
                    self.forms[t] = Form(t, self.values.lost(t), cost, rules)

    def run(self) -> list[Form]:
        """The forms that together lose least."""
        self.add([(self.problem.root, ())])
        if self.floor() >= ENOUGH:
            self.add([(t, ("series",)) for t in self.series()])
        for _ in range(ROUNDS):
            best = self.best(WIDTH)
            starts = [f for f in best if f.term not in self.expanded]
            if not starts or self.floor() < ENOUGH or len(self.forms) >= MOST:
                break
            for f in starts:
                self.expanded.add(f.term)
                found = [
                    (t, (*f.rules, name)) for name, t in neighbours(f.term, self.leaves, self.largest, self.collected)
                ]
                self.add(list({t: (t, rules) for t, rules in found if t not in self.forms}.values()))
        return self.best(2 * WIDTH)

    def series(self) -> Iterator[Any]:
        """The expression with each of its largest parts of one variable replaced by the start of a series."""
        root = self.problem.root
        stack, seen = [root], set()
        while stack:
            t = stack.pop()
            if t in seen or not t.args or t in self.leaves:
                continue
            seen.add(t)
            about = leaves_of(t, self.leaves)
            if len(about) == 1 and size(t) > 1:
                for s in series(t, about.pop()):
                    made = substitute([root], {t: s})[0]
                    if made.type is root.type:
                        yield made
            else:
                stack.extend(t.args)

    def floor(self) -> float:
        """Bits lost on average if at each point the best form were taken."""
        return float(np.min([f.lost for f in self.forms.values()], axis=0).mean())

    def best(self, count: int) -> list[Form]:
        """Forms in the order in which each takes most away from what those before it lose."""
        left = sorted(self.forms.values(), key=lambda f: (round(f.mean, 1), f.cost))
        table = np.array([f.lost for f in left])
        costs = np.array([f.cost for f in left])
        chosen = [0]
        least = table[0]
        while len(chosen) < min(count, len(left)):
            gain = (least - np.minimum(least, table)).mean(axis=1)
            gain[chosen] = -1
            top = float(gain.max())
            near = np.flatnonzero(gain >= top - 0.02)
            new = int(near[np.argmin(costs[near])])
            if top < 0.02:  # nothing takes anything away: the best of the rest
                new = next(i for i in range(len(left)) if i not in chosen)
            chosen.append(new)
            least = np.minimum(least, table[new])
        return [left[i] for i in chosen]


def original(problem: Problem, points: Points) -> np.ndarray:
    """Bits that the expression loses as it stands."""
    return Values(points).lost(problem.root)


def measured(term: AnyTerm, points: Points) -> np.ndarray:
    """Bits that a form loses."""
    return Values(points).lost(term)
